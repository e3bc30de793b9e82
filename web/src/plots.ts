// SPDX-License-Identifier: Apache-2.0
// The distribution of a metric over all rows, and one device against another: log scales, zero and
// what is not finite in places of their own.
import {scaleLog, scaleSymlog} from 'd3-scale';
import {Range} from './calls';
import {kError, kNone, kNoNumber, kOverBound, kPass, kWarning, Metric, Run} from './data';
import {count, figure, h, s} from './dom';
import {ticksBelow} from './ticks';
import {verdictBadge} from './table';

const kWidth = 370, kHeight = 212;
const kLeft = 44, kRight = 8, kTop = 8, kBottom = 34;
const kPerDecade = 2;  // bins
const kFewestDecades = 3, kMostDecades = 24;

interface Bin { low: number; high: number; label: string; total: number; bad: number; error: number }

const powerText = (power: number): string => (power === 0 ? '1' : `1e${power}`);

/** What decides: the strict status where there is one. */
const decisive = (run: Run): Uint8Array => (run.info.answer.hasStrict && run.rowStrict.some((v) => v !== kNone) ? run.rowStrict : run.rowStatus);

/** Bins of the metric: zero, then half decades, then what is not finite. */
function binsOf(run: Run, metric: Metric): Bin[] {
  const verdicts = decisive(run);
  let least = Infinity, most = metric.title === kOverBound ? 10 : 0;  // the bound itself is always in view
  for (const x of metric.numbers) {
    if (x > 0 && x < Infinity) {
      if (x < least) least = x;
      if (x > most) most = x;
    }
  }
  const bins: Bin[] = [{low: -Number.MAX_VALUE / 2, high: Number.MIN_VALUE, label: '0', total: 0, bad: 0, error: 0}];
  let first = 0, last = 0;
  if (most > 0) {
    if (least === Infinity) least = 1e-3;
    last = Math.floor(Math.log10(most)) + 1;
    first = Math.max(Math.floor(Math.log10(least)), last - kMostDecades);
    first = Math.min(first, last - kFewestDecades);
    for (let i = first * kPerDecade; i < last * kPerDecade; i++) {
      const low = i === first * kPerDecade ? Number.MIN_VALUE : 10 ** (i / kPerDecade);
      const high = 10 ** ((i + 1) / kPerDecade);
      bins.push({low, high, label: `${figure(10 ** (i / kPerDecade))} to ${figure(high)}`, total: 0, bad: 0, error: 0});
    }
  }
  bins.push({low: NaN, high: NaN, label: 'NaN, inf', total: 0, bad: 0, error: 0});
  metric.numbers.forEach((x, row) => {
    if (x === kNoNumber) return;
    let at = bins.length - 1;
    if (x <= 0) at = 0;
    else if (Number.isFinite(x)) {
      at = 1 + Math.min(bins.length - 3, Math.max(0, Math.floor(Math.log10(x) * kPerDecade) - first * kPerDecade));
    }
    const verdict = verdicts[row];
    bins[at].total++;
    if (verdict === kError || verdict === kWarning) bins[at].bad++;
    if (verdict === kError) bins[at].error++;
  });
  return bins;
}

/** 1 first, then every 8th, 4th, 2nd power, then the rest: where there is not room for all, these stay. */
function decadesFirst<T extends {power: number}>(decades: T[]): T[] {
  const rank = ({power}: T) => [0, 8, 4, 2, 1].findIndex((step) => (step === 0 ? power === 0 : power % step === 0));
  return [...decades].sort((a, b) => rank(a) - rank(b));
}

/** Nested bars from one base line: all rows, those that warn or fail, those that fail. */
export function histogram(run: Run, metric: Metric, onRange: (range: Range) => void): Element {
  const bins = binsOf(run, metric);
  const rows = bins.reduce((sum, bin) => sum + bin.total, 0);
  const title = metric.title;
  if (rows === 0) return h('p', {class: 'note'}, `No row has a value for ${title.toLowerCase()}.`);
  const most = Math.max(...bins.map((bin) => bin.total));
  const y = scaleSymlog().domain([0, most]).range([kHeight - kBottom, kTop]);
  const step = (kWidth - kLeft - kRight) / bins.length;
  const x = (i: number) => kLeft + i * step;
  const ticks = [1, 10, 100, 1000, 10000, 100000, 1e6].filter((n) => n <= most);
  const axis = ticks.map((n) => s('g', {}, s('line', {class: 'grid', x1: kLeft, x2: kWidth - kRight, y1: y(n), y2: y(n)}),
                                  s('text', {class: 'tick', x: kLeft - 6, y: y(n) + 4, 'text-anchor': 'end'}, count(n))));
  const labels = ticksBelow([
    {x: x(0.5), text: '0', anchor: 'middle'}, {x: kWidth - kRight, text: 'NaN, inf', anchor: 'end'},
    ...decadesFirst(bins.flatMap((bin, i) => (i > 0 && i < bins.length - 1 && (i - 1) % kPerDecade === 0 ? [{at: i, power: Math.round(Math.log10(bin.high) - 1 / kPerDecade)}] : [])))
        .map(({at, power}) => ({x: x(at), text: powerText(power), anchor: 'middle' as const})),
  ]).map((tick) => s('text', {class: 'tick', x: tick.x, y: kHeight - 18, 'text-anchor': tick.anchor}, tick.text));
  const bars = bins.map((bin, i) => {
    if (bin.total === 0) return null;
    const text = `${title} ${bin.label}: ${count(bin.total)} rows, ${count(bin.bad)} warn or fail, ${count(bin.error)} fail`;
    const choose = () => onRange({metric, low: bin.low, high: bin.high, label: `${title}: ${bin.label}`});
    const bar = (n: number, kind: string) =>
        n > 0 && s('rect', {class: kind, x: x(i) + 1, width: Math.max(1, step - 2), y: y(n), height: y(0) - y(n)});
    return s('g', {class: 'bar', tabindex: 0, role: 'button', 'aria-label': text, onclick: choose,
                   onkeydown: (event: KeyboardEvent) => {
                     if (event.key !== 'Enter' && event.key !== ' ') return;
                     event.preventDefault();
                     choose();
                   }},
             s('title', {}, text), s('rect', {class: 'hit', x: x(i), width: step, y: kTop, height: kHeight - kBottom - kTop}),
             bar(bin.total, 'all'), bar(bin.bad, 'bad'), bar(bin.error, 'error'));
  });
  const bound = metric.title === kOverBound && bins.findIndex((bin) => bin.low === 1);
  const line = typeof bound === 'number' && bound > 0 &&
      s('g', {'aria-hidden': 'true'}, s('line', {class: 'bound', x1: x(bound), x2: x(bound), y1: kTop, y2: y(0)}),
        s('text', {class: 'tick', x: x(bound) + 4, y: kTop + 8}, 'bound'));
  const blanks = metric.numbers.length - rows;
  return s('svg', {class: 'plot', viewBox: `0 0 ${kWidth} ${kHeight}`, role: 'group',
                   'aria-label': `${title}, ${count(rows)} rows, logarithmic`},
           ...axis, s('line', {class: 'axis', x1: kLeft, x2: kWidth - kRight, y1: y(0), y2: y(0)}), ...labels, ...bars, line,
           s('text', {class: 'tick', x: (kLeft + kWidth) / 2, y: kHeight - 3, 'text-anchor': 'middle'},
             `${title}: ${count(rows)} rows${blanks > 0 ? `, ${count(blanks)} blank` : ''}`));
}

const kPlotWidth = 560, kPlotHeight = 330, kEdge = 60;
const kListed = 12;  // rows named beside the plot

/** Each row as a point: the reference device's error to the right, the device's upwards. */
export function scatter(run: Run, device: Metric, reference: Metric, onOpen: (row: number) => void): HTMLElement {
  const points: {row: number; x: number; y: number}[] = [];
  let least = Infinity, most = 0;
  for (let row = 0; row < device.numbers.length; row++) {
    const x = reference.numbers[row], y = device.numbers[row];
    if (x === kNoNumber || y === kNoNumber || !Number.isFinite(x) || !Number.isFinite(y)) continue;
    points.push({row, x, y});
    for (const value of [x, y]) {
      if (value > 0 && value < least) least = value;
      if (value > most) most = value;
    }
  }
  if (points.length === 0 || most === 0) {
    return h('p', {class: 'note'}, 'No row differs from the benchmark in this metric on both devices.');
  }
  const low = Math.floor(Math.log10(least)), high = Math.ceil(Math.log10(most)) + (most === least ? 1 : 0);
  const domain = [10 ** (low - 1), 10 ** high];  // the first decade is for zero
  const at = {
    x: scaleLog().domain(domain).range([kEdge, kPlotWidth - 10]).clamp(true),
    y: scaleLog().domain(domain).range([kPlotHeight - 40, 10]).clamp(true),
  };
  const canvas = h('canvas', {class: 'points'});
  const place = points.map((point) => ({row: point.row, px: at.x(point.x || domain[0]), py: at.y(point.y || domain[0])}));
  draw(canvas, run, place);
  const worse = points.filter((point) => point.y > 2 * point.x).length;
  const text = `${count(points.length)} rows; on ${count(worse)} the device errs more than twice as much as the reference device`;
  const every = Math.ceil((high - low + 1) / 10);
  const ticks: Element[] = [];
  for (let power = low; power <= high; power += every) {
    const value = 10 ** power;
    ticks.push(s('text', {class: 'tick', x: at.x(value), y: kPlotHeight - 24, 'text-anchor': 'middle'}, powerText(power)),
               s('text', {class: 'tick', x: kEdge - 6, y: at.y(value) + 4, 'text-anchor': 'end'}, powerText(power)),
               s('line', {class: 'grid', x1: at.x(value), x2: at.x(value), y1: 10, y2: kPlotHeight - 40}),
               s('line', {class: 'grid', x1: kEdge, x2: kPlotWidth - 10, y1: at.y(value), y2: at.y(value)}));
  }
  const svg = s('svg', {class: 'axes', viewBox: `0 0 ${kPlotWidth} ${kPlotHeight}`, 'aria-hidden': 'true'}, ...ticks,
                s('text', {class: 'tick', x: at.x(domain[0]), y: kPlotHeight - 24, 'text-anchor': 'middle'}, '0'),
                s('text', {class: 'tick', x: kEdge - 6, y: at.y(domain[0]) + 4, 'text-anchor': 'end'}, '0'),
                s('line', {class: 'equal', x1: at.x(domain[0]), y1: at.y(domain[0]), x2: at.x(domain[1]), y2: at.y(domain[1])}),
                s('text', {class: 'tick', x: kPlotWidth / 2, y: kPlotHeight - 6, 'text-anchor': 'middle'}, `reference device: ${reference.title.toLowerCase()}`),
                s('text', {class: 'tick', x: 12, y: kPlotHeight / 2 - 15, 'text-anchor': 'middle', transform: `rotate(-90 12 ${kPlotHeight / 2 - 15})`}, 'device under test'));
  canvas.addEventListener('click', (event) => {
    const box = canvas.getBoundingClientRect();
    const px = ((event.clientX - box.left) / box.width) * kPlotWidth, py = ((event.clientY - box.top) / box.height) * kPlotHeight;
    let best = -1, distance = 100;
    for (const point of place) {
      const d = (point.px - px) ** 2 + (point.py - py) ** 2;
      if (d < distance) [best, distance] = [point.row, d];
    }
    if (best >= 0) onOpen(best);
  });
  return h('figure', {class: 'scatter'}, h('div', {class: 'layers', role: 'img', 'aria-label': text}, svg as unknown as Node, canvas),
           h('figcaption', {}, `${text}. Points above the line are worse than the reference device; a click opens the call.`));
}

/** The rows on which the device errs most beside the reference device, by the ratio of their errors. */
export function farthest(run: Run, device: Metric, reference: Metric, label: (row: number) => string, onOpen: (row: number) => void): HTMLElement {
  const worst: {row: number; ratio: number}[] = [];
  for (let row = 0; row < device.numbers.length; row++) {
    const x = reference.numbers[row], y = device.numbers[row];
    if (x === kNoNumber || y === kNoNumber || x === y) continue;
    const ratio = Number.isFinite(y) ? y / x : Infinity;
    if (ratio > 1) worst.push({row, ratio});
  }
  worst.sort((a, b) => b.ratio - a.ratio || a.row - b.row);
  if (worst.length === 0) return h('p', {class: 'note'}, 'No row errs more than on the reference device.');
  return h('table', {class: 'farthest'},
           h('caption', {}, `Farthest from the reference device, ${count(Math.min(kListed, worst.length))} of ${count(worst.length)} rows`),
           h('thead', {}, h('tr', {}, ...['Call', 'Device', 'Reference', 'Ratio', 'Verdict'].map((title, i) =>
             h('th', {scope: 'col', class: i > 0 && i < 4 ? 'number' : ''}, title)))),
           h('tbody', {}, ...worst.slice(0, kListed).map(({row, ratio}) => h('tr', {},
             h('td', {}, h('button', {type: 'button', class: 'link', onclick: () => onOpen(row)}, label(row))),
             h('td', {class: 'number'}, figure(device.numbers[row])), h('td', {class: 'number'}, figure(reference.numbers[row])),
             h('td', {class: 'number'}, figure(ratio)), h('td', {}, verdictBadge(run.rowStatus[row]))))));
}

const marks = ['--green-mark', '--amber-mark', '--red-mark', '--grey-mark'];  // by verdict

function draw(canvas: HTMLCanvasElement, run: Run, place: {row: number; px: number; py: number}[]): void {
  const scale = Math.min(3, devicePixelRatio || 1);
  canvas.width = kPlotWidth * scale;
  canvas.height = kPlotHeight * scale;
  const context = canvas.getContext('2d')!;
  context.scale(scale, scale);
  const style = getComputedStyle(document.documentElement);
  const faint = place.length > 5000;
  // The worst last, so that they lie on top.
  for (const verdict of [3, kPass, kWarning, kError]) {
    context.fillStyle = style.getPropertyValue(marks[verdict]);
    context.globalAlpha = faint && verdict === kPass ? 0.25 : 0.75;
    for (const point of place) {
      if (run.rowStatus[point.row] !== verdict) continue;
      context.beginPath();
      context.arc(point.px, point.py, 2.4, 0, 7);
      context.fill();
    }
  }
}
