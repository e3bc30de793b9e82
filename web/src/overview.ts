// The top of the page: how many calls have which verdict, by API and by module.
import {Calls, Filter, Tally, tally, tileOrder} from './calls';
import {kError, kNone, kPass, kSkip, kWarning, RunInfo, verdictNames} from './data';
import {count, h, share} from './dom';

type Change = (change: Partial<Filter>) => void;

const tileText = ['pass', 'warn', 'fail', 'skipped', 'not judged'];

/** Shown at once, from the counts in the summary. */
export function tiles(info: RunInfo, filter: Filter, change: Change): HTMLElement {
  const total = info.calls.count;
  const tile = (label: string, n: number, kind: string, pressed: boolean, onclick: () => void) =>
      h('button', {type: 'button', class: `tile ${kind}`, 'aria-pressed': pressed ? 'true' : 'false', onclick},
        h('span', {class: 'label'}, label), h('span', {class: 'big'}, count(n)), h('span', {class: 'share'}, share(n, total) || '\u00a0'));
  const verdicts = tileOrder.filter((v) => v !== kNone && (info.worst[v] > 0 || v === kError || v === kPass));
  const strict = [kError, kWarning].filter(() => info.strict.slice(0, kSkip).some((n) => n > 0));
  return h('div', {class: 'tiles', role: 'group', 'aria-label': 'Calls by verdict'},
           tile('calls', total, 'all', filter.verdict === null && filter.strict === null, () => change({verdict: null, strict: null})),
           ...verdicts.map((v) => tile(tileText[v], info.worst[v], `v${v}`, filter.verdict === v,
                                       () => change({verdict: filter.verdict === v ? null : v}))),
           ...strict.map((v) => tile(v === kError ? 'strict: fail' : 'strict: warn', info.strict[v], `v${v}`, filter.strict === v,
                                     () => change({strict: filter.strict === v ? null : v}))),
           info.lost > 0 && h('div', {class: 'tile v2'}, h('span', {class: 'label'}, 'lost'), h('span', {class: 'big'}, count(info.lost)),
                              h('span', {class: 'share'}, 'not checked')));
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

function groupPanel(title: string, rows: Tally[], chosen: number | null, choose: (id: number | null) => void): HTMLElement {
  const words = (row: Tally) => [kError, kWarning, kPass, kSkip].filter((v) => row.counts[v] > 0)
                                    .map((v) => `${count(row.counts[v])} ${verdictNames[v]}`).join(', ');
  const failing = rows.filter((row) => row.counts[kError] > 0).length;
  return h('section', {class: 'panel groups'},
           h('h2', {}, title, h('span', {class: 'note'}, ` ${failing} of ${count(rows.length)} fail`)),
           h('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': title}, ...rows.slice(0, 400).map((row) =>
             h('button', {type: 'button', class: 'group', 'aria-pressed': row.id === chosen ? 'true' : 'false', title: `${row.name}: ${words(row)}`,
                          onclick: () => choose(row.id === chosen ? null : row.id)},
               h('span', {class: 'name'}, row.name === '' ? '(none)' : row.name),
               h('span', {class: row.counts[kError] > 0 ? 'bad' : 'quiet'}, `${count(row.counts[kError])} / ${count(row.total)}`),
               verdictBar(row), h('span', {class: 'hidden'}, words(row)))),
             rows.length > 400 && h('p', {class: 'note'}, `and ${count(rows.length - 400)} more: use the search field`)));
}

export function apiPanel(calls: Calls, filter: Filter, change: Change): HTMLElement {
  return groupPanel('By API', tally(calls.apis, calls.api, calls.verdict), filter.api, (api) => change({api}));
}

export function modulePanel(calls: Calls, filter: Filter, change: Change): HTMLElement {
  const {group, info} = calls.run;
  return groupPanel(`By ${info.groupTitle}`, tally(group.values, group.ids, calls.verdict), filter.group, (chosen) => change({group: chosen}));
}
