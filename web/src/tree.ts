// SPDX-License-Identifier: Apache-2.0
// Modules inside modules: the groups of a run as a tree, where the recording knows it.
import {kRight, kSkipped, kStandings, Run} from './data';
import {count, h} from './dom';

interface Node { name: string; id: number | null; children: Node[]; counts: number[]; total: number }

/** Groups by what they are part of; a run without such knowledge is flat. */
export class GroupTree {
  readonly roots: Node[] = [];
  readonly nested: boolean;
  private readonly nodes = new Map<string, Node>();
  private readonly size: number;

  constructor(run: Run) {
    this.size = run.group.values.length;
    const parents = new Map(run.groupParents);
    const ids = new Map(run.group.values.map((name, id) => [name, id]));
    this.nested = run.groupParents.some(([, parent]) => parent !== '');
    const node = (name: string): Node => {
      let known = this.nodes.get(name);
      if (known) return known;
      known = {name, id: ids.get(name) ?? null, children: [], counts: new Array<number>(kStandings).fill(0), total: 0};
      this.nodes.set(name, known);
      const parent = parents.get(name) ?? '';
      (parent === '' ? this.roots : node(parent).children).push(known);
      return known;
    };
    for (const name of run.group.values) node(name);
    for (let call = 0; call < run.standing.length; call++) {
      const own = this.nodes.get(run.group.values[run.group.ids[call]])!;
      own.counts[run.standing[call]]++;
      own.total++;
    }
    const add = (one: Node): void => one.children.forEach((child) => {
      add(child);
      child.counts.forEach((n, i) => (one.counts[i] += n));
      one.total += child.total;
    });
    this.roots.forEach(add);
  }

  /** Which groups are the one with this id, or part of it. */
  within(id: number): Uint8Array {
    const marks = new Uint8Array(this.size);
    marks[id] = 1;
    const mark = (node: Node): void => {
      if (node.id !== null) marks[node.id] = 1;
      node.children.forEach(mark);
    };
    for (const node of this.nodes.values()) if (node.id === id) mark(node);
    return marks;
  }
}

const off = (node: Node): number => node.total - node.counts[kRight] - node.counts[kSkipped];

/** "Module.blocks.0.Block.forward.0" inside "Module.blocks...": the part that is new, and the class. */
function shortName(name: string, parent: string): string {
  const path = (text: string) => text.split('.');
  const own = path(name), above = path(parent);
  let same = 0;
  while (same < own.length - 1 && own[same] === above[same]) same++;
  return own.slice(same > 1 || own[0] === 'Module' ? Math.max(same, 1) : 0).join('.') || name;
}

export interface TreePanel { element: HTMLElement; mark: (chosen: number | null) => void }

/** What is off is open; the rest opens on demand, so that thousands of modules cost nothing. */
export function treePanel(tree: GroupTree, title: string, choose: (id: number) => void): TreePanel {
  const buttons = new Map<number, HTMLElement>();
  let chosen: number | null = null;
  const press = (button: HTMLElement | undefined, on: boolean) => button?.setAttribute('aria-pressed', on ? 'true' : 'false');
  const line = (node: Node, parent: string): HTMLElement => {
    const text = `${count(off(node))} of ${count(node.total)} off`;
    const label = [h('span', {class: 'name'}, node.name === '' ? '(none)' : shortName(node.name, parent)),
                   h('span', {class: off(node) > 0 ? 'bad' : 'quiet'}, `${count(off(node))} / ${count(node.total)}`)];
    if (node.id === null) return h('span', {class: 'group', title: `${node.name}: ${text}`}, ...label);
    const id = node.id;
    const button = h('button', {type: 'button', class: 'group', 'aria-pressed': 'false', title: `${node.name}: ${text}`, onclick: () => choose(id)}, ...label);
    buttons.set(id, button);
    press(button, id === chosen);
    return button;
  };
  const item = (node: Node, parent: string): HTMLElement => {
    if (node.children.length === 0) return h('li', {class: 'leaf'}, line(node, parent));
    const list = h('ul', {});
    let made = false;
    const fill = () => {
      if (made) return;
      made = true;
      list.append(...node.children.map((child) => item(child, node.name)));
    };
    const open = off(node) > 0;
    if (open) fill();
    const toggle = h('button', {type: 'button', class: 'fold', 'aria-expanded': open ? 'true' : 'false', 'aria-label': `parts of ${node.name}`, onclick: () => {
      list.hidden = !list.hidden;
      if (!list.hidden) fill();
      toggle.setAttribute('aria-expanded', list.hidden ? 'false' : 'true');
    }});
    list.hidden = !open;
    return h('li', {}, h('div', {class: 'branch'}, toggle, line(node, parent)), list);
  };
  const element = h('section', {class: 'panel groups tree'}, h('h2', {}, title, h('span', {class: 'note'}, '  calls that do not pass, of all in it')),
                    h('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': title},
                      h('ul', {}, ...tree.roots.map((node) => item(node, '')))));
  return {element, mark: (id) => {
    if (chosen !== null) press(buttons.get(chosen), false);
    chosen = id;
    if (id !== null) press(buttons.get(id), true);
  }};
}
