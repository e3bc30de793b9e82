// SPDX-License-Identifier: Apache-2.0
// Modules inside modules: the groups of a run as a tree, where the recording knows it.
import type {Calls} from './calls';
import {kSlight, kStandings, Run} from './data';
import {count, h} from './dom';
import {bar, badOf} from './overview';

interface Node { name: string; kind: string; id: number; children: Node[]; counts: number[]; total: number }

/** Groups by what they are part of; a run without such knowledge is flat. */
export class GroupTree {
  readonly roots: Node[] = [];
  readonly nested: boolean;
  /** The groups of the run, then those that only hold others; filters count in these. */
  readonly names: string[];
  private readonly nodes = new Map<string, Node>();
  private readonly size: number;

  constructor(run: Run, kinds: Uint8Array) {
    this.size = run.group.values.length;
    this.names = [...run.group.values];
    const parents = new Map(run.groupParents.map(([name, parent]) => [name, parent]));
    const classes = new Map(run.groupParents.map(([name, , kind]) => [name, kind]));
    const ids = new Map(run.group.values.map((name, id) => [name, id]));
    this.nested = run.groupParents.some(([, parent]) => parent !== '');
    const node = (name: string): Node => {
      let known = this.nodes.get(name);
      if (known) return known;
      known = {name, kind: classes.get(name) ?? '', id: ids.get(name) ?? this.names.push(name) - 1, children: [], counts: new Array<number>(kStandings).fill(0), total: 0};
      this.nodes.set(name, known);
      const parent = parents.get(name) ?? '';
      (parent === '' ? this.roots : node(parent).children).push(known);
      return known;
    };
    for (const name of run.group.values) node(name);
    for (let call = 0; call < kinds.length; call++) {
      const own = this.nodes.get(run.group.values[run.group.ids[call]])!;
      own.counts[kinds[call]]++;
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
    const marks = new Uint8Array(this.names.length);
    const mark = (node: Node): void => {
      marks[node.id] = 1;
      node.children.forEach(mark);
    };
    const found = this.nodes.get(this.names[id]);
    if (found) mark(found);
    return marks.subarray(0, this.size);
  }
}

/** "Module.blocks.0.Block.forward.0" inside "Module.blocks...": the part that is new, and the class. */
function shortName(name: string, parent: string): string {
  if (!name.startsWith('Module.')) return parent !== '' && name.startsWith(`${parent}.`) ? name.slice(parent.length + 1) : name;
  const path = (text: string) => text.split('.');
  const own = path(name), above = path(parent);
  let same = 0;
  while (same < own.length - 1 && own[same] === above[same]) same++;
  return own.slice(Math.max(same, 1)).join('.') || name;
}

const kMostOpen = 60;  // lines that are shown at first; the rest opens on demand

export interface TreePanel { element: HTMLElement; mark: (chosen: number | null) => void }

/** What has something wrong in it is open; the rest opens on demand, so that thousands of modules cost nothing. */
export function treePanel(calls: Calls, title: string, choose: (id: number) => void): TreePanel {
  const {groups: tree} = calls;
  const buttons = new Map<number, HTMLElement>();
  let chosen: number | null = null, shown = tree.roots.length;
  const press = (button: HTMLElement | undefined, on: boolean) => button?.setAttribute('aria-pressed', on ? 'true' : 'false');
  const line = (node: Node, parent: string): HTMLElement => {
    const text = `${node.name}${node.kind === '' ? '' : ` (${node.kind})`}: ${calls.words(node.counts)}`;
    const wrong = badOf(node), slight = node.counts[kSlight];
    const label = [h('span', {class: 'name'}, node.name === '' ? '(none)' : shortName(node.name, parent), node.kind !== '' && h('span', {class: 'note'}, `  ${node.kind}`)),
                   h('span', {class: wrong > 0 ? 'bad' : slight > 0 && !calls.hasSpread ? 'slight' : 'quiet'}, wrong + slight > 0 ? `${count(wrong || slight)} / ${count(node.total)}` : count(node.total)),
                   bar(node), h('span', {class: 'hidden'}, calls.words(node.counts))];
    const {id} = node;
    const button = h('button', {type: 'button', class: 'group', 'aria-pressed': 'false', title: text, onclick: () => choose(id)}, ...label);
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
    const open = (badOf(node) > 0 || tree.roots.length === 1 && parent === '') && shown + node.children.length <= kMostOpen;
    if (open) {
      shown += node.children.length;
      fill();
    }
    const toggle = h('button', {type: 'button', class: 'fold', 'aria-expanded': open ? 'true' : 'false', 'aria-label': `parts of ${node.name}`, onclick: () => {
      list.hidden = !list.hidden;
      if (!list.hidden) fill();
      toggle.setAttribute('aria-expanded', list.hidden ? 'false' : 'true');
    }});
    list.hidden = !open;
    return h('li', {}, h('div', {class: 'branch'}, toggle, line(node, parent)), list);
  };
  const element = h('section', {class: 'panel groups tree'}, h('h2', {}, title, h('span', {class: 'note'}, calls.hasSpread ? '  calls that differ, of all in it' : '  wrong calls, of all in it')),
                    h('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': title},
                      h('ul', {}, ...tree.roots.map((node) => item(node, '')))));
  return {element, mark: (id) => {
    if (chosen !== null) press(buttons.get(chosen), false);
    chosen = id;
    if (id !== null) press(buttons.get(id), true);
  }};
}
