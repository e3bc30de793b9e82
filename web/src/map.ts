// Where in an output the error is, how it is distributed, and its worst elements: what the engine kept of a wrong output.
import {ErrorMap} from './data';
import {count, figure, h, s} from './dom';
import {heatColours, heatOf, heatWords, kNoHeat} from './heat';
import {times} from './words';

const kCodes = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const kBound = 20, kNotFinite = 61, kPerDecade = 4;  // as src/strict/error_map.cc

/** The error over bound a cell's character stands for: the upper end of its step within the bound, the middle beyond. */
function overBoundOf(code: string): number {
  const n = kCodes.indexOf(code);
  if (n <= 0) return 0;
  if (n === kNotFinite) return Infinity;
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

function cellText(map: ErrorMap, cell: number): string {
  const over = overBoundOf(map.cells[cell]);
  const size = over === 0 ? 'equal' : `about ${times(over)} \u00d7 bound`;
  const row = Math.floor(cell / map.columns), column = cell % map.columns;
  if (map.plane) {
    const [height, width] = map.shape.slice(-2);
    return `(${map.shape.length > 2 ? '\u2026, ' : ''}${span(row, map.rows, height)}, ${span(column, map.columns, width)}): ${size}`;
  }
  const total = map.shape.reduce((product, extent) => product * extent, 1);
  return `${span(cell, Math.min(total, 4096), total)}: ${size}`;
}

function heatMap(map: ErrorMap): HTMLElement {
  const canvas = h('canvas', {class: 'map', width: map.columns, height: map.rows});
  const scale = Math.max(1, Math.min(14, Math.floor(kMapWidth / Math.max(map.columns, map.rows))));
  canvas.style.width = `${map.columns * scale}px`;
  canvas.style.aspectRatio = `${map.columns} / ${map.rows}`;
  const context = canvas.getContext('2d')!;
  const colours = heatColours();
  for (let cell = 0; cell < map.cells.length; cell++) {
    context.fillStyle = colours[heatOf(overBoundOf(map.cells[cell]))];
    context.fillRect(cell % map.columns, Math.floor(cell / map.columns), 1, 1);
  }
  const beyond = [...map.cells].filter((code) => kCodes.indexOf(code) > kBound).length;
  const what = map.plane ? `rows and columns of the last two dimensions${map.shape.length > 2 ? ', the worst over all others' : ''}` : 'flat index, row by row';
  const tip = h('p', {class: 'note tip'}, `${count(beyond)} of ${count(map.cells.length)} cells beyond the bound`);
  canvas.addEventListener('mousemove', (event) => {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * map.columns), row = Math.floor(((event.clientY - box.top) / box.height) * map.rows);
    const cell = row * map.columns + column;
    if (cell >= 0 && cell < map.cells.length) tip.textContent = cellText(map, cell);
  });
  const seen = new Set([...map.cells].map((code) => heatOf(overBoundOf(code))));
  return h('figure', {}, h('figcaption', {}, `Where: ${what}`),
           h('div', {role: 'img', 'aria-label': `Map of the error: ${what}; ${count(beyond)} of ${count(map.cells.length)} cells beyond the bound`}, canvas), tip,
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
  const short = (i: number) => (i === 0 ? '=' : i === 15 ? 'NaN' : i === 14 ? '\u2026' : powers[i]);
  const words = counts.flatMap((n, i) => (n > 0 ? [`${count(n)} ${binWords[i]}`] : [])).join(', ');
  return h('figure', {}, h('figcaption', {}, 'How many elements are how far off, in bounds'),
           s('svg', {class: 'spread', viewBox: `0 0 ${kWidth} ${kHeight}`, role: 'img', 'aria-label': `Elements by error over bound: ${words}`},
             ...shown.map((n, k) => {
               const i = first + k, x = kLeft + k * step;
               return s('g', {}, s('title', {}, `${binWords[i]}: ${count(n)}`),
                        s('rect', {class: `bin heat${binHeat[i]}`, x: x + 1, width: step - 2, y: kHeight - kBottom - height(n), height: height(n)}),
                        n > 0 && s('text', {class: 'tick', x: x + step / 2, y: kHeight - kBottom - height(n) - 3, 'text-anchor': 'middle'}, compact(n)),
                        s('text', {class: 'tick', x: x + step / 2, y: kHeight - 12, 'text-anchor': 'middle'}, short(i)));
             }),
             s('line', {class: 'axis', x1: kLeft, x2: kWidth - kLeft, y1: kHeight - kBottom, y2: kHeight - kBottom}),
             s('line', {class: 'bound', x1: bound, x2: bound, y1: kTop, y2: kHeight - kBottom})) as unknown as HTMLElement);
}

const powers = ['', '1e-3', '.01', '.1', '1', '10', '100', '1e3', '1e4', '1e5', '1e6', '1e7', '1e8', '1e9'];
const compact = (n: number): string => (n < 1000 ? String(n) : n < 1e6 ? `${Math.round(n / 100) / 10}k` : `${Math.round(n / 1e5) / 10}M`);

function place(map: ErrorMap, at: number): string {
  const index: number[] = [];
  for (let i = map.shape.length - 1; i >= 0; i--) {
    index.unshift(at % map.shape[i]);
    at = Math.floor(at / map.shape[i]);
  }
  return `(${index.join(', ')})`;
}

const value = (x: number | string): string => (typeof x === 'string' ? x : figure(x));

/** Device against benchmark, the farthest off first. */
function worst(map: ErrorMap): HTMLElement | null {
  if (map.worst.length === 0) return null;
  return h('table', {class: 'worst'}, h('caption', {}, 'Device against benchmark, the worst elements'),
           h('thead', {}, h('tr', {}, ...['element', 'device', 'benchmark', '\u00d7 bound'].map((title, i) => h('th', {scope: 'col', class: i > 0 ? 'number' : ''}, title)))),
           h('tbody', {}, ...map.worst.map(([at, device, bench, over]) => h('tr', {}, h('td', {}, place(map, Number(at))),
             h('td', {class: 'number'}, value(device)), h('td', {class: 'number'}, value(bench)),
             h('td', {class: 'number'}, typeof over === 'string' ? '\u221e' : times(over))))));
}

export function mapView(map: ErrorMap): HTMLElement {
  return h('div', {class: 'maps'}, heatMap(map), spread(map), worst(map));
}
