// SPDX-License-Identifier: Apache-2.0
// Counts of calls by status: per module or source line, and per API and dtype.
import {Calls, Filter, Tally, tally} from './calls';
import {kFlagged, kLost, kRight, kSkipped, kSlight, kWrong, RunInfo, textAt} from './data';
import {count, h, share} from './dom';
import {kindOf, nounOf, standingHelp, standingOrder, standingWord} from './words';

export interface Bar { element: HTMLElement; mark: (filter: Filter) => void }

/** Shown at once, from the counts in the summary; a click filters. */
export function standingBar(info: RunInfo, change: (next: (now: Filter) => Partial<Filter>) => void): Bar {
  const total = info.calls.count;
  const marks: ((filter: Filter) => void)[] = [];
  const tile = (label: string, n: number, kind: string, help: string, pressed: (filter: Filter) => boolean, next: (now: Filter) => Partial<Filter>) => {
    const button = h('button', {type: 'button', class: `tile ${kind}`, 'aria-pressed': 'false', title: help, onclick: () => change(next)},
                     h('span', {class: 'big'}, count(n)), ` ${label}`);
    marks.push((filter) => button.setAttribute('aria-pressed', pressed(filter) ? 'true' : 'false'));
    return button;
  };
  const shown = standingOrder.filter((s) => info.answer.standings[s] > 0 || s === kWrong || s === kRight);
  const element = h('div', {class: 'tiles', role: 'group', 'aria-label': 'Filter by result'},
      tile(nounOf(info, total), total, 'all', 'show all', (now) => now.standing === null, () => ({standing: null})),
      ...shown.map((s) => tile(standingWord(info, s), info.answer.standings[s], `s${s}`, `${standingHelp(info, s)}: ${share(info.answer.standings[s], total)}`,
                               (now) => now.standing === s, (now) => ({standing: now.standing === s ? null : s}))));
  return {element, mark: (filter) => marks.forEach((mark) => mark(filter))};
}

function bar(row: Tally): HTMLElement {
  const element = h('span', {class: 'bar', 'aria-hidden': 'true'});
  for (const standing of standingOrder) {
    if (row.counts[standing] === 0) continue;
    const part = h('span', {class: `fill s${standing}`});
    // A single failure among thousands stays visible.
    part.style.flex = `${row.counts[standing]} 0 ${standing === kRight || standing === kSkipped ? 0 : 4}px`;
    element.append(part);
  }
  return element;
}

/** A panel of groups; mark() shows which one is chosen. */
export interface GroupPanel { element: HTMLElement; mark: (filter: Filter) => void }

const kMostGroups = 400;  // beyond it the search field serves better
const bad = (row: Tally) => row.counts[kWrong] + row.counts[kLost];
const wordsOf = (info: RunInfo, row: Tally) => standingOrder.filter((s) => row.counts[s] > 0)
                                                   .map((s) => `${count(row.counts[s])} ${standingWord(info, s)}`).join(', ');

export function modulePanel(calls: Calls, choose: (id: number) => void): GroupPanel {
  const {group, info, standing} = calls.run;
  const rows = tally(group.values, group.ids, standing);
  const failing = rows.filter((row) => bad(row) > 0).length;
  const title = `By ${info.groupTitle}`;
  const buttons = new Map(rows.slice(0, kMostGroups).map((row) => [row.id,
    h('button', {type: 'button', class: 'group', 'aria-pressed': 'false', title: `${row.name}: ${wordsOf(info, row)}`, onclick: () => choose(row.id)},
      h('span', {class: 'name'}, row.name === '' ? '(none)' : row.name),
      h('span', {class: bad(row) > 0 ? 'bad' : 'quiet'}, `${count(bad(row))} / ${count(row.total)}`),
      bar(row), h('span', {class: 'hidden'}, wordsOf(info, row)))]));
  const element = h('section', {class: 'panel groups'},
                    h('h2', {}, title, h('span', {class: 'note'}, `  ${count(failing)} of ${count(rows.length)} with wrong calls`)),
                    h('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': title}, ...buttons.values(),
                      rows.length > kMostGroups && h('p', {class: 'note'}, `and ${count(rows.length - kMostGroups)} more: use the search field`)));
  let marked: HTMLElement | undefined;
  return {element, mark: ({group: chosen}) => {
    marked?.setAttribute('aria-pressed', 'false');
    marked = chosen === null ? undefined : buttons.get(chosen);
    marked?.setAttribute('aria-pressed', 'true');
  }};
}

const kMatrixRows = 14;

interface Cell { right: number; judged: number; flagged: number }

/** Pass rates: a row per API, a column per dtype. */
export function matrixPanel(calls: Calls, choose: (api: number, dtype: number | null) => void): GroupPanel {
  const {run} = calls;
  const thing = kindOf(run.info);
  const cells = new Map<number, Cell>();
  const width = run.dtype.values.length;
  const dtypes = new Map<number, number>();  // id -> calls
  for (let call = 0; call < calls.count; call++) {
    const standing = run.standing[call];
    if (standing === kSkipped || standing === kLost) continue;
    const key = calls.api[call] * width + calls.dtype[call];
    let cell = cells.get(key);
    if (!cell) cells.set(key, cell = {right: 0, judged: 0, flagged: 0});
    cell.judged++;
    if (standing === kRight || standing === kFlagged) cell.right++;
    if (standing === kFlagged || standing === kSlight) cell.flagged++;
    dtypes.set(calls.dtype[call], (dtypes.get(calls.dtype[call]) ?? 0) + 1);
  }
  const columns = [...dtypes.keys()].filter((id) => run.dtype.values[id] !== '').sort((a, b) => dtypes.get(b)! - dtypes.get(a)!).slice(0, 10);
  const rows = tally(calls.apis, calls.api, run.standing).filter((row) => columns.some((id) => cells.has(row.id * width + id)));
  const buttons = new Map<string, HTMLElement>();
  const cellOf = (api: number, dtype: number) => {
    const cell = cells.get(api * width + dtype);
    if (!cell) return h('td', {});
    const rate = cell.right / cell.judged;
    const kind = cell.right < cell.judged ? (rate < 0.5 ? 'low' : 'mid') : cell.flagged > 0 ? 'near' : 'full';
    const text = `${calls.apis[api]} in ${dtypeText(calls, dtype)}: ${count(cell.right)} of ${count(cell.judged)} pass`;
    const seen = rate === 1 ? count(cell.judged) : `${count(cell.right)}/${count(cell.judged)}`;
    const button = h('button', {type: 'button', class: `cell ${kind}`, 'aria-pressed': 'false', 'aria-label': `${seen}: ${text}`, title: text,
                                onclick: () => choose(api, dtype)}, seen);
    buttons.set(`${api} ${dtype}`, button);
    return h('td', {}, button);
  };
  const rowOf = (row: Tally) => {
    const name = h('button', {type: 'button', class: 'link', onclick: () => choose(row.id, null)}, row.name);
    return h('tr', {}, h('th', {scope: 'row'}, name), ...columns.map((id) => cellOf(row.id, id)));
  };
  const body = h('tbody', {}, ...rows.slice(0, kMatrixRows).map(rowOf));
  const more = rows.length > kMatrixRows && h('button', {type: 'button', class: 'small more', onclick: () => {
    body.append(...rows.slice(kMatrixRows).map(rowOf));
    (more as HTMLElement).remove();
  }}, `show all ${count(rows.length)} ${thing}s`);
  const title = `${thing.charAt(0).toUpperCase()}${thing.slice(1)} by dtype`;
  const element = h('section', {class: 'panel matrix'}, h('h2', {}, title, h('span', {class: 'note'}, `  ${nounOf(run.info)} that pass, of those judged`)),
                    h('div', {class: 'wide', tabindex: 0, role: 'region', 'aria-label': title},
                      h('table', {}, h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, thing),
                        ...columns.map((id) => h('th', {scope: 'col'}, dtypeText(calls, id))))), body)), more);
  let marked: HTMLElement | undefined;
  return {element, mark: ({api, dtype}) => {
    marked?.setAttribute('aria-pressed', 'false');
    marked = api === null || dtype === null ? undefined : buttons.get(`${api} ${dtype}`);
    marked?.setAttribute('aria-pressed', 'true');
  }};
}

export const dtypeText = (calls: Calls, id: number): string => calls.run.dtype.values[id].replace('torch.', '');
export const dtypeOf = (calls: Calls, row: number): string => textAt(calls.run.dtype, row).replace('torch.', '');
