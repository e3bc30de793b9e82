// SPDX-License-Identifier: Apache-2.0
// Where in an output the error is, how it is distributed, and its worst elements: what the engine kept of a wrong output.
import {ErrorMap} from './data';
import {count, h, s} from './dom';
import {heatOf, heatWords, kNoHeat} from './heat';
import {Tick, ticksBelow} from './ticks';
import {times} from './words';

const kCodes = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const kBound = 20, kFar = 60, kNotFinite = 61, kPerDecade = 4;  // as src/judge/strict/error_map.cc

/** The error over bound a cell's character stands for: the upper end of its step within the bound, the middle beyond. */
function overBoundOf(code: string): number {
  const n = kCodes.indexOf(code);
  if (n <= 0) return 0;
  if (n >= kFar) return Infinity;
  return n <= kBound ? 10 ** ((n - kBound) / kPerDecade) : 10 ** ((n - kBound - 0.5) / kPerDecade);
}

const binWords = ['equal', '\u2264 0.001', '\u2264 0.01', '\u2264 0.1', '\u2264 1', '\u2264 10', '\u2264 100', '\u2264 1,000', '\u2264 1e4', '\u2264 1e5', '\u2264 1e6',
                  '\u2264 1e7', '\u2264 1e8', '\u2264 1e9', '> 1e9', 'not finite'];
const binHeat = [0, 1, 1, 1, 2, 3, 4, 4, 5, 5, 5, 6, 6, 6, 6, 6];

const kMapWidth = 300;  // px, at most

/** "0..31" of the elements that fall into cell `i` of `cells` along an extent. */
function span(i: number, cells: number, extent: number): string {
  const first = Math.ceil((i * extent) / cells), last = Math.ceil(((i + 1) * extent) / cells) - 1;
  return first === last ? String(first) : `${first}..${last}`;
}

function sizeText(code: string): string {
  const n = kCodes.indexOf(code);
  if (n === 0) return 'equal';
  if (n === kNotFinite) return 'NaN or infinite on one side only';
  if (n === kFar) return 'more than 5e9 \u00d7 bound';
  return `about ${times(overBoundOf(code))} \u00d7 bound`;
}

function cellText(map: ErrorMap, cell: number): string {
  const size = sizeText(map.cells[cell]);
  const row = Math.floor(cell / map.columns), column = cell % map.columns;
  if (map.plane) {
    const [height, width] = map.shape.slice(-2);
    return `(${map.shape.length > 2 ? '\u2026, ' : ''}${span(row, map.rows, height)}, ${span(column, map.columns, width)}): ${size}`;
  }
  return `${span(cell, map.cells.length, elementsOf(map))}: ${size}`;
}

const elementsOf = (map: ErrorMap): number => map.shape.reduce((product, extent) => product * extent, 1);

/** "rows 16..31, columns 0..63": what the cells beyond the bound span, in elements. */
function regionText(map: ErrorMap, beyond: number[]): string {
  const first = (n: number, cells: number, extent: number) => Math.ceil((n * extent) / cells);
  const range = (low: number, high: number, cells: number, extent: number) => {
    const [from, to] = [first(low, cells, extent), first(high + 1, cells, extent) - 1];
    return from === to ? count(from) : `${count(from)}..${count(to)}`;
  };
  if (!map.plane) return `elements ${range(beyond[0], beyond[beyond.length - 1], map.cells.length, elementsOf(map))}`;
  const [height, width] = map.shape.slice(-2);
  const rows = beyond.map((cell) => Math.floor(cell / map.columns)), columns = beyond.map((cell) => cell % map.columns);
  return `rows ${range(Math.min(...rows), Math.max(...rows), map.rows, height)}, ` +
      `columns ${range(Math.min(...columns), Math.max(...columns), map.columns, width)}`;
}

/** One path per colour, so that theme and print choose the colours. */
function cellPaths(map: ErrorMap): SVGElement[] {
  const paths = new Map<number, string>();
  for (let cell = 0; cell < map.cells.length; cell++) {
    const heat = heatOf(overBoundOf(map.cells[cell]));
    paths.set(heat, `${paths.get(heat) ?? ''}M${cell % map.columns} ${Math.floor(cell / map.columns)}h1v1h-1z`);
  }
  return [...paths].map(([heat, d]) => s('path', {class: `bin heat${heat}`, d}));
}

function heatMap(map: ErrorMap): HTMLElement {
  const scale = Math.max(1, Math.min(14, Math.floor(kMapWidth / Math.max(map.columns, map.rows))));
  const picture = s('svg', {class: 'map', width: map.columns * scale, viewBox: `0 0 ${map.columns} ${map.rows}`}, ...cellPaths(map));
  const beyond = [...map.cells].flatMap((code, cell) => (kCodes.indexOf(code) > kBound ? [cell] : []));
  const [height, width] = map.shape.slice(-2);
  const what = map.plane
      ? `${count(height)} rows down, ${count(width)} columns across${map.shape.length > 2 ? ' (the worst over all other dimensions)' : ''}`
      : `${count(elementsOf(map))} elements in flat order, ${count(map.columns)} cells per line`;
  const where = beyond.length === 0 ? 'nothing beyond the bound' : `beyond the bound: ${regionText(map, beyond)}`;
  const tip = h('p', {class: 'note'}, where);
  picture.addEventListener('mousemove', (event) => {
    const box = picture.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * map.columns), row = Math.floor(((event.clientY - box.top) / box.height) * map.rows);
    const cell = row * map.columns + column;
    if (cell >= 0 && cell < map.cells.length) tip.textContent = cellText(map, cell);
  });
  picture.addEventListener('mouseleave', () => (tip.textContent = where));
  const seen = new Set([...map.cells].map((code) => heatOf(overBoundOf(code))));
  return h('figure', {}, h('figcaption', {}, `Where the error is: ${what}`),
           h('div', {role: 'img', 'aria-label': `Map of the error: ${what}; ${where}`}, picture), tip,
           h('p', {class: 'legend'}, ...heatWords.map((word, i) => i !== kNoHeat && seen.has(i) && h('span', {class: `key heat${i}`}, word))));
}

const kWidth = 320, kHeight = 150, kLeft = 8, kTop = 16, kBottom = 26;

/** Elements by their error over bound; the line is the bound. */
function spread(map: ErrorMap): HTMLElement {
  const counts = binWords.map((_, i) => map.counts[i] ?? 0);
  const used = counts.flatMap((n, i) => (n > 0 ? [i] : []));
  const first = Math.min(0, ...used), last = Math.max(5, ...used);
  const shown = counts.slice(first, last + 1);
  const most = Math.max(...shown), step = (kWidth - 2 * kLeft) / shown.length;
  const height = (n: number) => (n === 0 ? 0 : 3 + ((kHeight - kTop - kBottom - 3) * Math.log1p(n)) / Math.log1p(most));
  const bound = kLeft + (5 - first) * step;
  const short = (i: number) => (i === 0 ? '=' : i === 15 ? 'NaN' : i === 14 ? '> 1e9' : powers[i]);
  const words = counts.flatMap((n, i) => (n > 0 ? [`${count(n)} ${binWords[i]}`] : [])).join(', ');
  const middle = (k: number) => kLeft + (k + 0.5) * step;
  const text = (tick: Tick, y: number) => s('text', {class: 'tick', x: tick.x, y, 'text-anchor': tick.anchor}, tick.text);
  // The ends and the bound are named first, then the rest as far as there is room.
  const places = shown.map((_, k) => k).sort((a, b) => kNamedFirst.indexOf(a + first) - kNamedFirst.indexOf(b + first));
  const below = ticksBelow(places.map((k) => ({x: middle(k), text: short(first + k), anchor: 'middle'})));
  // Of two counts that would touch, the larger one is shown; each bar has its own in its title.
  const above = ticksBelow(shown.flatMap((n, k) => (n > 0 ? [{n, k}] : [])).sort((a, b) => b.n - a.n)
                               .map(({n, k}) => ({x: middle(k), text: compact(n), anchor: 'middle', n})));
  return h('figure', {}, h('figcaption', {}, 'Elements by error over bound'),
           s('svg', {class: 'spread', viewBox: `0 0 ${kWidth} ${kHeight}`, role: 'img', 'aria-label': `Elements by error over bound: ${words}`},
             ...shown.map((n, k) => {
               const i = first + k, x = kLeft + k * step;
               return s('g', {}, s('title', {}, `${binWords[i]}: ${count(n)}`),
                        s('rect', {class: `bin heat${binHeat[i]}`, x: x + 1, width: step - 2, y: kHeight - kBottom - height(n), height: height(n)}));
             }),
             ...above.map((tick) => text(tick, kHeight - kBottom - height((tick as Tick & {n: number}).n) - 3)),
             ...below.map((tick) => text(tick, kHeight - 12)),
             s('line', {class: 'axis', x1: kLeft, x2: kWidth - kLeft, y1: kHeight - kBottom, y2: kHeight - kBottom}),
             s('line', {class: 'bound', x1: bound, x2: bound, y1: kTop, y2: kHeight - kBottom})) as unknown as HTMLElement);
}

// Bins by how much they are worth a name: equal, not finite, 1, 1000, ...
const kNamedFirst = [0, 15, 4, 7, 10, 13, 1, 5, 3, 9, 11, 6, 2, 8, 12, 14];
const powers = ['', '1e-3', '0.01', '0.1', '1', '10', '100', '1e3', '1e4', '1e5', '1e6', '1e7', '1e8', '1e9'];
const compact = (n: number): string => (n < 1000 ? String(n) : n < 1e6 ? `${Math.round(n / 100) / 10}k` : `${Math.round(n / 1e5) / 10}M`);

function place(map: ErrorMap, at: number): string {
  const index: number[] = [];
  for (let i = map.shape.length - 1; i >= 0; i--) {
    index.unshift(at % map.shape[i]);
    at = Math.floor(at / map.shape[i]);
  }
  return `(${index.join(', ')})`;
}

/** All digits the engine gave: device and benchmark may differ in the last of them. */
const value = (x: number | string): string => {
  const text = String(x);
  return text.length <= 14 ? text : typeof x === 'number' ? x.toExponential(8).replace('e+', 'e') : text;
};

/** Device against benchmark, the farthest off first. */
function worst(map: ErrorMap): HTMLElement | null {
  if (map.worst.length === 0) return null;
  return h('table', {class: 'worst'}, h('caption', {}, 'Device against benchmark: the worst elements'),
           h('thead', {}, h('tr', {}, ...['element', 'device', 'benchmark', '\u00d7 bound'].map((title, i) => h('th', {scope: 'col', class: i > 0 ? 'number' : ''}, title)))),
           h('tbody', {}, ...map.worst.map(([at, device, bench, over]) => h('tr', {}, h('td', {}, place(map, Number(at))),
             h('td', {class: 'number'}, value(device)), h('td', {class: 'number'}, value(bench)),
             h('td', {class: 'number'}, typeof over === 'string' ? '\u221e' : times(over))))));
}

export function mapView(map: ErrorMap): HTMLElement {
  return h('div', {class: 'maps'}, heatMap(map), spread(map), worst(map));
}
