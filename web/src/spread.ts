// SPDX-License-Identifier: Apache-2.0
// Of a comparison: which calls introduce a difference, which only carry it on, and where it begins.
import {Calls} from './calls';
import {callCommand} from './command';
import {kAgrees, kInherits, kIntroduces, kNoNumber, kOneSided, textAt} from './data';
import {copyButton, count, figure, h} from './dom';
import {callGraph} from './graph';
import {callOfEntry, nounOf} from './words';

const spreadWords: Record<number, [one: string, many: string]> = {[kIntroduces]: ['introduces', 'introduce'], [kInherits]: ['inherits', 'inherit'], [kAgrees]: ['agrees', 'agree']};
/** "introduces", of one call; "introduce", of several. */
export const spreadWord = (spread: number, calls = 1): string =>
    spreadWords[spread]?.[calls === 1 ? 0 : 1] ?? (spread === kOneSided ? 'one side only' : 'not compared');

const spreadHelps: Record<number, string> = {[kIntroduces]: 'its inputs agree, its output does not', [kInherits]: 'its inputs differ already',
                                            [kAgrees]: 'its outputs agree', [kOneSided]: 'the other side has no such call'};
export const spreadHelp = (spread: number): string => spreadHelps[spread] ?? 'what it reads or returns was not compared';

/** Colours of results: red, amber, green, blue, grey. */
const spreadColours: Record<number, string> = {[kIntroduces]: 's0', [kInherits]: 's1', [kAgrees]: 's3', [kOneSided]: 's2'};
export const spreadColour = (spread: number): string => spreadColours[spread] ?? 's4';

export function spreadBadge(spread: number): HTMLElement {
  return h('span', {class: `badge ${spreadColour(spread)}`, title: spreadHelp(spread)}, spreadWord(spread));
}

const kListed = 12;

/** The numbers of the call that say most: a wrong factor leaves the cosine as it is, one wrong element the norm. */
function sizeOf(calls: Calls, call: number): string {
  const titles = ['1 - cosine', 'Maximum relative error', 'Relative difference of l2 norm', 'Relative difference of max'];
  return titles.flatMap((title) => {
    const metric = calls.metrics.find((m) => m.title === title);
    const x = metric?.numbers[call] ?? kNoNumber;
    return metric && x !== kNoNumber && x !== 0 ? [`${metric.title.toLowerCase()} ${figure(x)}`] : [];
  }).join(', ');
}

/** Null where nothing introduces or inherits a difference. */
export function spreadPanel(calls: Calls, open: (call: number) => void): HTMLElement | null {
  const {run} = calls, {info} = run;
  const introduces: number[] = [], inherits: number[] = [];
  for (let call = 0; call < calls.count; call++) {
    if (run.spread[call] === kIntroduces) introduces.push(call);
    if (run.spread[call] === kInherits) inherits.push(call);
  }
  if (introduces.length + inherits.length === 0) return null;
  const item = (call: number): HTMLElement => {
    const command = callCommand(info.rerun, callOfEntry(info, calls.name(call)));
    return h('li', {}, h('span', {class: 'number'}, `${count(call + 1)}`), h('button', {type: 'button', class: 'link', onclick: () => open(call)}, calls.name(call)),
             h('span', {class: 'note'}, [sizeOf(calls, call), textAt(run.line, call), calls.group(call)].filter((text) => text !== '').join('  \u00b7  ')),
             command !== '' && copyButton('copy rerun', () => command));
  };
  const list = (all: number[]): HTMLElement => {
    const shown = h('ol', {class: 'parting'}, ...all.slice(0, kListed).map(item));
    const rest = all.slice(kListed, 500);
    const more = rest.length > 0 && h('button', {type: 'button', class: 'small more', onclick: () => {
      shown.append(...rest.map(item));
      (more as HTMLElement).remove();
    }}, `show ${count(rest.length)} more`);
    return h('div', {}, shown, more);
  };
  const words = (n: number, one: string, many: string) => `${count(n)} ${nounOf(info, n)} ${n === 1 ? one : many}`;
  return h('section', {class: 'panel spreading', 'aria-label': 'Where the difference begins'},
           h('h2', {}, 'Where the difference begins'), firstGraph(calls, introduces, inherits, open),
           introduces.length > 0
             ? h('h3', {}, words(introduces.length, 'introduces a difference', 'introduce a difference'), h('span', {class: 'note'}, '  inputs agree, output does not; in execution order'))
             : h('h3', {}, 'No single call introduces it', h('span', {class: 'note'}, '  no call has inputs that agree and an output that does not')),
           introduces.length > 0 && list(introduces),
           inherits.length > 0 && h('details', {}, h('summary', {}, words(inherits.length, 'inherits one', 'inherit one'), ': inputs differ already'), list(inherits)));
}

/** Around the first difference; if that has no known neighbours, around the first call that has. */
function firstGraph(calls: Calls, introduces: number[], inherits: number[], open: (call: number) => void): HTMLElement | null {
  const first = calls.run.info.firstDifference?.call;
  for (const call of [first, introduces[0], inherits[0]]) {
    const graph = call === undefined ? null : callGraph(calls, call, open);
    if (graph) return graph;
  }
  return null;
}
