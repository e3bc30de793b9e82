// The top of the page: how many calls have which verdict, by API and by module.
import {Calls, Filter, Tally, tally, tileOrder} from './calls';
import {kError, kNone, kPass, kSkip, kWarning, RunInfo, verdictNames} from './data';
import {count, h, share} from './dom';

const tileText = ['pass', 'warn', 'fail', 'skipped', 'not judged'];

/** What a row of the table is. */
export const nounOf = (info: RunInfo): string => (info.kind === 'torchair' ? 'operators' : 'calls');

export interface Tiles { element: HTMLElement; mark: (filter: Filter) => void }

/** Shown at once, from the counts in the summary. */
export function tiles(info: RunInfo, change: (next: (now: Filter) => Partial<Filter>) => void): Tiles {
  const total = info.calls.count;
  const marks: ((filter: Filter) => void)[] = [];
  const tile = (label: string, n: number, kind: string, pressed: (filter: Filter) => boolean, next: (now: Filter) => Partial<Filter>) => {
    const button = h('button', {type: 'button', class: `tile ${kind}`, 'aria-pressed': 'false', onclick: () => change(next)},
                     h('span', {class: 'label'}, label), h('span', {class: 'big'}, count(n)), h('span', {class: 'share'}, share(n, total)));
    marks.push((filter) => button.setAttribute('aria-pressed', pressed(filter) ? 'true' : 'false'));
    return button;
  };
  const verdicts = tileOrder.filter((v) => v !== kNone && (info.worst[v] > 0 || v === kError || v === kPass));
  const strict = [kError, kWarning].filter(() => info.strict.slice(0, kSkip).some((n) => n > 0));
  const element = h('div', {class: 'tiles', role: 'group', 'aria-label': 'Calls by verdict'},
      tile(nounOf(info), total, 'all', (now) => now.verdict === null && now.strict === null, () => ({verdict: null, strict: null})),
      ...verdicts.map((v) => tile(tileText[v], info.worst[v], `v${v}`, (now) => now.verdict === v,
                                  (now) => ({verdict: now.verdict === v ? null : v}))),
      ...strict.map((v) => tile(v === kError ? 'strict: fail' : 'strict: warn', info.strict[v], `v${v}`, (now) => now.strict === v,
                                (now) => ({strict: now.strict === v ? null : v}))),
      info.lost > 0 && h('div', {class: 'tile v2'}, h('span', {class: 'label'}, 'lost'), h('span', {class: 'big'}, count(info.lost)),
                         h('span', {class: 'share'}, 'not checked')));
  return {element, mark: (filter) => marks.forEach((mark) => mark(filter))};
}

function verdictBar(row: Tally): HTMLElement {
  const bar = h('span', {class: 'bar', 'aria-hidden': 'true'});
  for (const verdict of [kError, kWarning, kPass, kSkip]) {
    if (row.counts[verdict] === 0) continue;
    const part = h('span', {class: `fill v${verdict}`});
    // A single failure among thousands stays visible.
    part.style.flex = `${row.counts[verdict]} 0 ${verdict === kError || verdict === kWarning ? 4 : 0}px`;
    bar.append(part);
  }
  return bar;
}

/** A panel of groups; mark() shows which one is chosen. */
export interface GroupPanel { element: HTMLElement; mark: (chosen: number | null) => void }

const kMostGroups = 400;  // beyond it the search field serves better

function groupPanel(title: string, rows: Tally[], choose: (id: number) => void): GroupPanel {
  const words = (row: Tally) => [kError, kWarning, kPass, kSkip].filter((v) => row.counts[v] > 0)
                                    .map((v) => `${count(row.counts[v])} ${verdictNames[v]}`).join(', ');
  const failing = rows.filter((row) => row.counts[kError] > 0).length;
  const buttons = new Map(rows.slice(0, kMostGroups).map((row) => [row.id,
    h('button', {type: 'button', class: 'group', 'aria-pressed': 'false', title: `${row.name}: ${words(row)}`, onclick: () => choose(row.id)},
      h('span', {class: 'name'}, row.name === '' ? '(none)' : row.name),
      h('span', {class: row.counts[kError] > 0 ? 'bad' : 'quiet'}, `${count(row.counts[kError])} / ${count(row.total)}`),
      verdictBar(row), h('span', {class: 'hidden'}, words(row)))]));
  const element = h('section', {class: 'panel groups'},
                    h('h2', {}, title, h('span', {class: 'note'}, `  ${count(failing)} of ${count(rows.length)} fail`)),
                    h('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': title}, ...buttons.values(),
                      rows.length > kMostGroups && h('p', {class: 'note'}, `and ${count(rows.length - kMostGroups)} more: use the search field`)));
  let marked: HTMLElement | undefined;
  const mark = (chosen: number | null) => {
    marked?.setAttribute('aria-pressed', 'false');
    marked = chosen === null ? undefined : buttons.get(chosen);
    marked?.setAttribute('aria-pressed', 'true');
  };
  return {element, mark};
}

export function apiPanel(calls: Calls, choose: (id: number) => void): GroupPanel {
  return groupPanel('By API', tally(calls.apis, calls.api, calls.verdict), choose);
}

export function modulePanel(calls: Calls, choose: (id: number) => void): GroupPanel {
  const {group, info} = calls.run;
  return groupPanel(`By ${info.groupTitle}`, tally(group.values, group.ids, calls.verdict), choose);
}
