// SPDX-License-Identifier: Apache-2.0
// One call: what was called, by how much it is off, where, why, from which line, how to run it again.
import {Calls} from './calls';
import {callCommand} from './command';
import {Details, Frame, kNone, kNoNumber, kOverBound, kSkipped, Limit, Metric, textAt} from './data';
import {copyButton, figure, h} from './dom';
import {mapView} from './map';
import {rowBadge, standingBadge, verdictBadge} from './table';
import {callOfEntry, plainDtype, standingHelp, times} from './words';

export function detailView(calls: Calls, details: Details, call: number): HTMLElement {
  const {run} = calls;
  const first = run.firstRow[call], last = first + run.rowCount[call];
  const rows = Array.from({length: last - first}, (_, i) => first + i);
  const message = textAt(details.callMessage, call).trim();
  const over = calls.overBound?.numbers[call] ?? kNoNumber;
  const line = textAt(run.line, call);
  // The farthest off first; what passes is listed behind.
  const size = (row: number) => overBoundOf(calls, row);
  const bad = (row: number) => Number(isBad(calls, row));
  const weight = (row: number) => (Number.isNaN(size(row)) ? Infinity : size(row));
  rows.sort((a, b) => bad(b) - bad(a) || (bad(a) ? (weight(b) > weight(a) ? 1 : weight(b) < weight(a) ? -1 : a - b) : a - b));
  const titleOf = titles(calls, details, call);
  return h('div', {class: 'detail'},
           h('p', {class: 'verdicts'}, standingBadge(run.info, run.standing[call]), ' ',
             over === kNoNumber ? standingHelp(run.info, run.standing[call]) : `${times(over)} \u00d7 bound`,
             line === '' ? '' : ` at ${line}`, codeView(details, call)),
           message !== '' && (run.standing[call] >= kSkipped || !calls.hasStrict) && messageView(message),
           argumentsView(textAt(details.arguments, call)),
           ...rows.filter((row) => bad(row)).map((row) => rowView(calls, details, row, titleOf(row))),
           commandsView(calls, details, call),
           stackView(details, call),
           ...rows.filter((row) => !bad(row)).map((row) => rowView(calls, details, row, titleOf(row))));
}

/**
 * "gradient of weight" for "backward.output.1", if as many arguments require grad as there are gradients; "output" for
 * "forward.output.0". Parts of another form keep their names.
 */
function titles({run}: Calls, details: Details, call: number): (row: number) => string {
  const first = run.firstRow[call], last = first + run.rowCount[call];
  const parts = Array.from({length: last - first}, (_, i) => textAt(details.part, first + i));
  const given = textAt(details.arguments, call).split('\n').map((line) => line.split('\t'));
  const wanting = given.filter(([, text]) => text?.endsWith(kRequiresGrad)).map(([name]) => name);
  const nested = given.reduce((n, [, text]) => n + (text?.split(kRequiresGrad).length ?? 1) - 1, 0);
  const gradients = parts.filter((part) => /^backward\.output\.\d+$/.test(part)).length;
  const outputs = parts.filter((part) => part.startsWith('forward.output.')).length;
  return (row) => {
    const part = parts[row - first], number = Number(/^(?:for|back)ward\.output\.(\d+)$/.exec(part)?.[1] ?? NaN);
    if (Number.isNaN(number)) return part;
    if (part.startsWith('forward')) return outputs === 1 && number === 0 ? 'output' : `output ${number}`;
    return wanting.length === gradients && nested === gradients && number < gradients ? `gradient of ${wanting[number]}` : part;
  };
}
const kRequiresGrad = '  requires grad';

const overBoundOf = (calls: Calls, row: number): number => calls.run.metrics.find((m) => m.title === kOverBound)?.numbers[row] ?? kNoNumber;

const isBad = ({run}: Calls, row: number): boolean =>
    [1, 2].includes(run.rowStrict[row]) || (run.rowStrict[row] === kNone && [1, 2].includes(run.rowStatus[row]));

function commandsView(calls: Calls, details: Details, call: number): HTMLElement | null {
  const {rerun, shrink} = calls.run.info;
  const script = details.scripts.get(call);
  const name = callOfEntry(calls.run.info, calls.name(call));
  const command = (label: string, start: string) => {
    const text = callCommand(start, name);
    if (text === '') return null;
    return h('div', {class: 'command'}, h('pre', {tabindex: 0, 'aria-label': label}, text), copyButton('copy', () => text));
  };
  if (name === '' || (rerun === '' && shrink === '')) return null;
  return h('section', {}, h('h3', {}, 'Run this call again'), command('Rerun command', rerun),
           script ? scriptView(script) : shrink !== '' && h('h3', {}, 'Find its smallest failing form, as a PyTorch script'),
           !script && command('Shrink command', shrink));
}

function scriptView(script: string): HTMLElement {
  return h('div', {}, h('h3', {}, 'Its smallest failing form, as a PyTorch script'),
           h('div', {class: 'command script'}, h('pre', {tabindex: 0, 'aria-label': 'Script'}, script), copyButton('copy', () => script)));
}

function argumentsView(text: string): HTMLElement | null {
  if (text === '') return null;
  return h('section', {}, h('h3', {}, 'Called with'),
           h('table', {class: 'plain'}, h('tbody', {}, ...text.split('\n').map((line) => {
             const tab = line.indexOf('\t');
             return h('tr', {}, h('th', {scope: 'row'}, line.slice(0, tab)), h('td', {}, line.slice(tab + 1)));
           }))));
}

function frameView([file, line, inside, code, library]: Frame, here: boolean): HTMLElement {
  return h('li', {class: library ? 'library' : here ? 'own here' : 'own'},
           h('span', {class: 'place'}, file === '' ? '' : `${file}:${line}`), inside === '' ? '' : ` in ${inside}`, h('code', {}, code));
}

/** PyTorch's messages end with pages about its dispatcher: the first line says what is wrong, the rest is there on demand. */
function messageView(message: string): HTMLElement {
  const end = message.indexOf('\n');
  if (end < 0) return h('p', {class: 'message'}, message);
  return h('details', {class: 'message'}, h('summary', {}, message.slice(0, end)), h('p', {class: 'message'}, message.slice(end + 1)));
}

/** The line of the user's program, as far as the recording has it. */
function codeView(details: Details, call: number): HTMLElement | null {
  const id = details.stack[call];
  const code = id === 0 ? '' : details.stacks[id - 1].find((frame) => !frame[4] && frame[0] !== '')?.[3] ?? '';
  return code === '' ? null : h('code', {}, code);
}

/** Your own lines; those of libraries on demand. */
function stackView(details: Details, call: number): HTMLElement | null {
  const id = details.stack[call];
  if (id === 0) return null;
  const frames: Frame[] = details.stacks[id - 1];
  const own = frames.filter((frame) => !frame[4]);
  const shown = own.length > 0 ? own : frames;
  return h('section', {}, h('h3', {}, 'Called from'),
           h('ol', {class: 'stack'}, ...shown.map((frame, i) => frameView(frame, i === 0))),
           shown.length < frames.length &&
             h('details', {}, h('summary', {}, `whole stack, ${frames.length} frames`), h('ol', {class: 'stack'}, ...frames.map((frame) => frameView(frame, false)))));
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

function rowView(calls: Calls, details: Details, row: number, title: string): HTMLElement {
  const {run} = calls;
  const dtype = plainDtype(textAt(run.rowDtype, row));
  const bench = plainDtype(textAt(details.benchDtype, row));
  const over = overBoundOf(calls, row), bad = isBad(calls, row);
  const facts = [dtype && (bench && bench !== dtype ? `${dtype} against ${bench}` : dtype), textAt(details.shape, row),
                 textAt(details.algorithm, row), over === kNoNumber ? '' : `${times(over)} \u00d7 bound`].filter((fact) => fact !== '');
  const cause = textAt(run.rowCause, row), reason = textAt(details.reason, row), message = textAt(details.message, row).trim();
  const strict = calls.hasStrict && run.rowStrict[row] !== kNone;
  const map = details.maps.get(row);
  const metrics = metricsView(run.metrics, run.info.limits[details.limits[row]], row);
  return h('section', {class: bad ? 'row bad' : 'row'},
           h('h3', {title: textAt(details.part, row)}, title, ' ', strict ? rowBadge(run.info, run.rowStrict[row]) : verdictBadge(run.rowStatus[row]), ' ',
             h('span', {class: 'note'}, facts.join('  \u00b7  '))),
           cause !== '' && h('p', {class: 'cause'}, h('b', {}, 'Likely cause: '), cause),
           map && mapView(map),
           reason !== '' && h('p', {class: bad ? '' : 'note'}, reason),
           (metrics || message !== '') &&
             h('details', {open: !strict}, h('summary', {}, 'documented metrics ', verdictBadge(run.rowStatus[row])),
               message !== '' && h('p', {class: 'message'}, message), metrics));
}

function metricsView(metrics: Metric[], limits: Limit[], row: number): HTMLElement | null {
  const titles = [...new Set(metrics.filter((m) => m.numbers[row] !== kNoNumber && m.title !== kOverBound).map((m) => m.title))];
  if (titles.length === 0) return null;
  const at = (title: string, side: string) => metrics.find((m) => m.title === title && m.side === side)?.numbers[row] ?? kNoNumber;
  const sides = ['device', 'reference'].filter((side) => titles.some((title) => at(title, side) !== kNoNumber));
  const shown = (x: number) => (x === kNoNumber ? '' : figure(x));
  const absolute = at('Maximum absolute error', ''), finite = absolute !== kNoNumber && !Number.isFinite(absolute);
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
             return h('tr', {class: met === false && limit?.effect.startsWith('else') ? 'missed' : ''},
                      h('th', {scope: 'row'}, title, finite && title.endsWith('relative error') && h('span', {class: 'note'}, ', of what is finite on both sides')),
                      h('td', {class: 'number'}, shown(own)), ...sides.map((side) => h('td', {class: 'number'}, shown(at(title, side)))),
                      h('td', {}, limit ? `${met === null ? '' : met ? '\u2713 ' : '\u2717 '}${limit.test} ${figure(Number(limit.value))}, ${limit.effect}` : ''),
                      h('td', {}, limit?.origin ?? ''));
           })));
}
