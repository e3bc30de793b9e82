// SPDX-License-Identifier: Apache-2.0
// Counts of calls by status: per module or source line, and per API and dtype.
import {Calls, Filter, Tally, tally} from './calls';
import {isBad, kAgrees, kFlagged, kInherits, kIntroduces, kLost, kOneSided, kRight, kSkipped, kSlight, kStandings, kUnknownSpread, kWrong, RunInfo} from './data';
import {count, h, share} from './dom';
import {spreadColour, spreadHelp, spreadWord} from './spread';
import {kindOf, knowsSpread, nounOf, plainDtype, standingHelp, standingOrder, standingWord} from './words';

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
  const {standings, spreads} = info.answer;
  const bySpread = knowsSpread(info.answer);
  const spreadTiles = bySpread ? [kIntroduces, kInherits, kOneSided, kAgrees, kUnknownSpread].filter((i) => spreads[i] > 0).map(
      (i) => tile(spreadWord(i, spreads[i]), spreads[i], spreadColour(i), `${spreadHelp(i)}: ${share(spreads[i], total)}`,
                  (now) => now.spread === i, (now) => ({spread: now.spread === i ? null : i}))) : [];
  // Where the spread is known it decides; of the verdicts only those that object are news.
  const shown = standingOrder.filter((s) => (bySpread ? standings[s] > 0 && s !== kRight : standings[s] > 0 || s === kWrong || s === kRight));
  const element = h('div', {class: 'tiles', role: 'group', 'aria-label': 'Filter by result'},
      tile(nounOf(info, total), total, 'all', 'show all', (now) => now.standing === null && now.spread === null, () => ({standing: null, spread: null})),
      ...spreadTiles,
      ...shown.map((s) => tile(standingWord(info, s), standings[s], `s${s}`, `${standingHelp(info, s)}: ${share(standings[s], total)}`,
                               (now) => now.standing === s, (now) => ({standing: now.standing === s ? null : s}))));
  return {element, mark: (filter) => marks.forEach((mark) => mark(filter))};
}

/** How the calls of a group or module did. */
export function bar(row: {counts: number[]}): HTMLElement {
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
export const badOf = (row: {counts: number[]}): number => row.counts.reduce((sum, n, standing) => sum + (isBad(standing) ? n : 0), 0);

export function modulePanel(calls: Calls, choose: (id: number) => void): GroupPanel {
  const {group, info} = calls.run;
  const rows = tally(group.values, group.ids, calls.kind);
  const failing = rows.filter((row) => badOf(row) > 0).length;
  const title = `By ${info.groupTitle}`;
  const buttons = new Map(rows.slice(0, kMostGroups).map((row) => [row.id,
    h('button', {type: 'button', class: 'group', 'aria-pressed': 'false', title: `${row.name}: ${calls.words(row.counts)}`, onclick: () => choose(row.id)},
      h('span', {class: 'name'}, row.name === '' ? '(none)' : row.name),
      h('span', {class: badOf(row) > 0 ? 'bad' : 'quiet'}, `${count(badOf(row))} / ${count(row.total)}`),
      bar(row), h('span', {class: 'hidden'}, calls.words(row.counts)))]));
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

interface Cell { right: number; judged: number; counts: number[] }

/** Pass rates: a row per API, a column per dtype. */
export function matrixPanel(calls: Calls, choose: (api: number, dtype: number | null) => void): GroupPanel {
  const {run} = calls;
  const thing = kindOf(run.info);
  const cells = new Map<number, Cell>();
  const width = run.dtype.values.length;
  const dtypes = new Map<number, number>();  // id -> calls
  for (let call = 0; call < calls.count; call++) {
    const kind = calls.kind[call];
    if (kind === kSkipped || kind === kLost) continue;
    const key = calls.api[call] * width + calls.dtype[call];
    let cell = cells.get(key);
    if (!cell) cells.set(key, cell = {right: 0, judged: 0, counts: new Array<number>(kStandings).fill(0)});
    cell.judged++;
    cell.counts[kind]++;
    if (kind === kRight || kind === kFlagged) cell.right++;
    dtypes.set(calls.dtype[call], (dtypes.get(calls.dtype[call]) ?? 0) + 1);
  }
  const columns = [...dtypes.keys()].filter((id) => run.dtype.values[id] !== '').sort((a, b) => dtypes.get(b)! - dtypes.get(a)!).slice(0, 10);
  const rows = tally(calls.apis, calls.api, calls.kind).filter((row) => columns.some((id) => cells.has(row.id * width + id)));
  const buttons = new Map<string, HTMLElement>();
  const cellOf = (api: number, dtype: number) => {
    const cell = cells.get(api * width + dtype);
    if (!cell) return h('td', {});
    const kind = badOf(cell) > 0 ? 'low' : cell.counts[kSlight] > 0 ? 'mid' : cell.right < cell.judged || cell.counts[kFlagged] > 0 ? 'near' : 'full';
    const text = `${calls.apis[api]} in ${dtypeText(calls, dtype)}: ${calls.words(cell.counts)}`;
    const seen = cell.right === cell.judged ? count(cell.judged) : `${count(cell.right)}/${count(cell.judged)}`;
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
  const element = h('section', {class: 'panel matrix'}, h('h2', {}, title, h('span', {class: 'note'}, `  ${nounOf(run.info)} that ${calls.hasSpread ? 'agree, of those compared' : 'pass, of those judged'}`)),
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

export const dtypeText = (calls: Calls, id: number): string => plainDtype(calls.run.dtype.values[id]);
