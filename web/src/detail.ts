// One call: what was judged, by how much it failed, why, from where it was called, how to run it again.
import {Calls} from './calls';
import {Details, Frame, kNoNumber, kSkip, Limit, Metric, textAt} from './data';
import {figure, h} from './dom';
import {verdictBadge} from './table';

export function detailView(calls: Calls, details: Details, call: number): HTMLElement {
  const {run} = calls;
  const first = run.firstRow[call], last = first + run.rowCount[call];
  const rows = Array.from({length: last - first}, (_, i) => first + i);
  const message = textAt(details.callMessage, call).trim();
  return h('div', {class: 'detail'},
           h('p', {class: 'verdicts'}, `${run.info.directions[0]} `, verdictBadge(run.forward[call]), ` ${run.info.directions[1]} `, verdictBadge(run.backward[call]),
             ...(calls.hasStrict ? [' strict ', verdictBadge(run.strict[call])] : [])),
           message !== '' && h('p', {class: 'note'}, message),
           rerunView(run.info.rerun, calls.name(call)),
           ...rows.map((row) => rowView(calls, details, row)),
           argumentsView(textAt(details.arguments, call)),
           stackView(details, call));
}

function rerunView(command: string, name: string): HTMLElement | null {
  if (command === '') return null;
  const text = `${command} ${name}`;
  const button = h('button', {type: 'button', class: 'small', onclick: async () => {
    await navigator.clipboard?.writeText(text).catch(() => undefined);
    button.textContent = 'copied';
  }}, 'copy');
  return h('section', {}, h('h3', {}, 'Run this call again ', button), h('pre', {tabindex: 0, 'aria-label': 'Re-run command'}, text));
}

function argumentsView(text: string): HTMLElement | null {
  if (text === '') return null;
  return h('section', {}, h('h3', {}, 'Arguments'),
           h('table', {class: 'plain'}, h('tbody', {}, ...text.split('\n').map((line) => {
             const tab = line.indexOf('\t');
             return h('tr', {}, h('th', {scope: 'row'}, line.slice(0, tab)), h('td', {}, line.slice(tab + 1)));
           }))));
}

function stackView(details: Details, call: number): HTMLElement | null {
  const id = details.stack[call];
  if (id === 0) return null;
  const frames: Frame[] = details.stacks[id - 1];
  const own = frames.findIndex((frame) => !frame[4]);
  return h('section', {}, h('h3', {}, 'Called from'),
           h('ol', {class: 'stack'}, ...frames.map(([file, line, inside, code, library], i) =>
             h('li', {class: library ? 'library' : i === own ? 'own here' : 'own'},
               h('span', {class: 'place'}, file === '' ? '' : `${file}:${line}`), inside === '' ? '' : ` in ${inside}`, h('code', {}, code)))));
}

/** Whether a value meets its limit; null where there is nothing to compare. */
export function meets(value: number, limit: Limit): boolean | null {
  const bound = Number(limit.value);
  if (value === kNoNumber) return null;
  switch (limit.test) {
    case '>': return value > bound;
    case '<': return value < bound;
    case '<=': return value <= bound;
    case '>=': return value >= bound;
    case '=': return value === bound;
    default: return null;
  }
}

function rowView(calls: Calls, details: Details, row: number): HTMLElement {
  const {run} = calls;
  const dtype = textAt(run.dtype, row).replace('torch.', '');
  const bench = textAt(details.benchDtype, row).replace('torch.', '');
  const facts = [dtype && (bench && bench !== dtype ? `${dtype}, bench ${bench}` : dtype), textAt(details.shape, row),
                 textAt(details.algorithm, row)].filter((fact) => fact !== '');
  const cause = textAt(run.cause, row), reason = textAt(details.reason, row), message = textAt(details.message, row).trim();
  return h('section', {class: 'row'},
           h('h3', {}, textAt(details.part, row), ' ', verdictBadge(run.rowStatus[row]),
             ...(calls.hasStrict && run.rowStrict[row] <= kSkip ? [' strict ', verdictBadge(run.rowStrict[row])] : [])),
           facts.length > 0 && h('p', {class: 'facts'}, facts.join('  \u00b7  ')),
           cause !== '' && h('p', {class: 'cause'}, h('b', {}, 'Likely cause: '), cause),
           reason !== '' && h('p', {}, h('b', {}, 'Strict: '), reason),
           message !== '' && h('p', {class: 'message'}, message),
           metricsView(run.metrics, run.info.limits[details.limits[row]], row));
}

function metricsView(metrics: Metric[], limits: Limit[], row: number): HTMLElement | null {
  const titles = [...new Set(metrics.filter((m) => m.numbers[row] !== kNoNumber).map((m) => m.title))];
  if (titles.length === 0) return null;
  const at = (title: string, side: string) => metrics.find((m) => m.title === title && m.side === side)?.numbers[row] ?? kNoNumber;
  const sides = ['device', 'reference'].filter((side) => titles.some((title) => at(title, side) !== kNoNumber));
  const shown = (x: number) => (x === kNoNumber ? '' : figure(x));
  // What decides comes first.
  const limitOf = (title: string) => limits.find((limit) => limit.metric === title);
  titles.sort((a, b) => Number(!limitOf(a)) - Number(!limitOf(b)));
  return h('table', {class: 'metrics'},
           h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'Metric'), h('th', {scope: 'col', class: 'number'}, sides.includes('device') ? 'compared' : 'value'),
             ...sides.map((side) => h('th', {scope: 'col', class: 'number'}, side)),
             h('th', {scope: 'col'}, 'limit'), h('th', {scope: 'col'}, 'origin'))),
           h('tbody', {}, ...titles.map((title) => {
             const limit = limitOf(title), own = at(title, '');
             const met = limit ? meets(own, limit) : null;
             return h('tr', {class: met === false && limit?.effect.startsWith('else') ? 'missed' : ''}, h('th', {scope: 'row'}, title),
                      h('td', {class: 'number'}, shown(own)), ...sides.map((side) => h('td', {class: 'number'}, shown(at(title, side)))),
                      h('td', {}, limit ? `${met === null ? '' : met ? '\u2713 ' : '\u2717 '}${limit.test} ${figure(Number(limit.value))}, ${limit.effect}` : ''),
                      h('td', {}, limit?.origin ?? ''));
           })));
}
