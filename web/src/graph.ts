// SPDX-License-Identifier: Apache-2.0
// A small graph around one call: what its inputs come from, and who reads its results.
import {Calls} from './calls';
import {kAgrees, kInherits, kIntroduces, kOneSided} from './data';
import {count, h, s} from './dom';
import {spreadWord} from './spread';
import {nounOf} from './words';

const kBox = {width: 176, height: 40}, kGap = {x: 44, y: 10};
const kLevels = 2;       // before and after the call
const kPerLevel = 5;     // what differs is kept first

interface Placed { call: number; x: number; y: number }

/** Neighbours of a call, level by level: level 0 is the call itself, negative levels are what it reads from. */
function levelsAround(calls: Calls, centre: number): {levels: number[][]; hidden: number[]} {
  const {from, to} = calls.run.edges;
  const seen = new Set([centre]);
  const differs = (call: number) => (calls.run.spread[call] === kIntroduces || calls.run.spread[call] === kInherits ? 0 : 1);
  const next = (now: number[], ends: Uint32Array, others: Uint32Array): [number[], number] => {
    const wanted = new Set(now), found: number[] = [];
    for (let i = 0; i < ends.length; i++) {
      if (!wanted.has(ends[i]) || seen.has(others[i])) continue;
      seen.add(others[i]);
      found.push(others[i]);
    }
    found.sort((a, b) => differs(a) - differs(b) || a - b);
    return [found.slice(0, kPerLevel).sort((a, b) => a - b), Math.max(0, found.length - kPerLevel)];
  };
  const side = (ends: Uint32Array, others: Uint32Array): {levels: number[][]; hidden: number[]} => {
    const levels: number[][] = [], hidden: number[] = [];
    for (let level = 0, now = [centre]; level < kLevels; level++) {
      const [found, left] = next(now, ends, others);
      if (found.length === 0) break;
      levels.push(found);
      hidden.push(left);
      now = found;
    }
    return {levels, hidden};
  };
  const before = side(to, from), after = side(from, to);
  return {levels: [...before.levels.reverse(), [centre], ...after.levels], hidden: [...before.hidden.reverse(), 0, ...after.hidden]};
}

const classOf = (spread: number): string =>
    ({[kIntroduces]: 'introduces', [kInherits]: 'inherits', [kAgrees]: 'agrees', [kOneSided]: 'onesided'} as Record<number, string>)[spread] ?? 'unknown';

/** "Functional.linear.3" of "Functional.linear.3.forward"; the direction goes into the second line. */
function namesOf(name: string): [string, string] {
  const found = /^(.*)\.(forward|backward)$/.exec(name);
  return found ? [found[1], found[2]] : [name, ''];
}

const shortened = (text: string, most: number): string => (text.length <= most ? text : `\u2026${text.slice(text.length - most + 1)}`);

/** Null where nothing is known of its neighbours. */
export function callGraph(calls: Calls, centre: number, open: (call: number) => void): HTMLElement | null {
  const {levels, hidden} = levelsAround(calls, centre);
  if (levels.length < 2) return null;
  const tallest = Math.max(...levels.map((level, i) => level.length + (hidden[i] > 0 ? 0.5 : 0)));
  const height = tallest * (kBox.height + kGap.y) + kGap.y, width = levels.length * (kBox.width + kGap.x) - kGap.x + 4;
  const places = new Map<number, Placed>();
  levels.forEach((level, column) => {
    const top = (height - level.length * (kBox.height + kGap.y) + kGap.y) / 2;
    level.forEach((call, row) => places.set(call, {call, x: 2 + column * (kBox.width + kGap.x), y: top + row * (kBox.height + kGap.y)}));
  });
  const {from, to} = calls.run.edges;
  const lines: SVGElement[] = [];
  for (let i = 0; i < from.length; i++) {
    const a = places.get(from[i]), b = places.get(to[i]);
    if (!a || !b || b.x <= a.x) continue;
    const x1 = a.x + kBox.width, y1 = a.y + kBox.height / 2, x2 = b.x - 5, y2 = b.y + kBox.height / 2, bend = (x2 - x1) / 2;
    const bad = calls.run.spread[a.call] === kIntroduces || calls.run.spread[a.call] === kInherits;
    lines.push(s('path', {class: bad ? 'edge bad' : 'edge', d: `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}),
               s('path', {class: bad ? 'tip bad' : 'tip', d: `M${x2 + 5} ${y2} l-6 -3.5 v7 z`}));
  }
  const first = calls.run.info.firstDifference?.call;
  const box = ({call, x, y}: Placed): SVGElement => {
    // The culprit is red, even where its inputs could not be compared or the other side has no such call.
    const spread = call === first && calls.run.spread[call] !== kInherits ? kIntroduces : calls.run.spread[call];
    const show = () => open(call);
    const [name, direction] = namesOf(calls.name(call));
    const words = [direction, call === first ? 'first difference' : spreadWord(spread)].filter((word) => word !== '').join(', ');
    return s('g', {class: `node ${classOf(spread)}${call === centre ? ' centre' : ''}`, role: 'button', tabindex: 0, transform: `translate(${x} ${y})`, onclick: show,
                   onkeydown: (event: KeyboardEvent) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); show(); } }},
             s('rect', {width: kBox.width, height: kBox.height, rx: 5}),
             s('text', {x: 8, y: 16, class: 'name'}, shortened(name, 24)), s('text', {x: 8, y: 32, class: 'word'}, ` ${words}`));
  };
  const more = levels.map((level, column) => hidden[column] > 0 &&
      s('text', {class: 'word', x: 2 + column * (kBox.width + kGap.x) + 8, y: (height + level.length * (kBox.height + kGap.y)) / 2 + 10}, `and ${count(hidden[column])} more`));
  const svg = s('svg', {class: 'callgraph', width, height, viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': `${nounOf(calls.run.info)} around ${calls.name(centre)}`},
                ...lines, ...[...places.values()].map(box), ...more);
  const view = h('div', {class: 'graphscroll', tabindex: 0, role: 'region', 'aria-label': 'Graph around the first difference'}, svg);
  // On a narrow screen the call in question is in view, not what it reads from.
  requestAnimationFrame(() => (view.scrollLeft = places.get(centre)!.x - (view.clientWidth - kBox.width) / 2));
  return view;
}
