// SPDX-License-Identifier: Apache-2.0
// All calls in the order they ran, coloured by error over bound.
import {Calls} from './calls';
import {isBad, kAgrees, kInconclusive, kInherits, kIntroduces, kNoNumber, kOneSided, kSkipped, kSlight, kWrong} from './data';
import {count, h} from './dom';
import {heatColours, heatOf, kNoHeat} from './heat';
import {nounOf, standingWord, times} from './words';

const kHeight = 34;  // px

const kSlightHeat = 3, kBadHeat = 5, kFarHeat = 6, kInconclusiveHeat = 8;

/** Of a comparison: items that introduce a difference get the strongest colour. */
const spreadHeat = (spread: number): number =>
    (spread === kIntroduces ? kBadHeat : spread === kInherits ? kSlightHeat : spread === kOneSided ? 1 : spread === kAgrees ? 0 : kNoHeat);

/** What is wrong is red however small its number is; within the bound the number decides. */
function standingHeat(standing: number, over: number): number {
  if (isBad(standing)) return over !== kNoNumber && heatOf(over) === kFarHeat ? kFarHeat : kBadHeat;
  if (standing === kSlight) return kSlightHeat;
  if (standing === kInconclusive) return kInconclusiveHeat;
  if (over !== kNoNumber) return Math.min(heatOf(over), 2);
  return standing === kSkipped ? kNoHeat : 1;
}

/** Of two calls in one pixel the worse one is seen. */
const weight = Uint8Array.of(1, 2, 3, 5, 6, 7, 8, 0, 4);

export class Strip {
  readonly element: HTMLElement;
  private readonly canvas = h('canvas', {class: 'strip', height: kHeight, 'aria-hidden': 'true'});
  private readonly tip = h('p', {class: 'note tip', 'aria-hidden': 'true'}, '\u00a0');
  private readonly heat: Uint8Array;
  private worst: Int32Array = new Int32Array();  // per pixel, the call that is seen there
  private shown: Uint8Array | null = null;       // the calls that pass the filter
  private chosen = -1;
  private width = 0;  // px; asking the page for it would lay it out again

  constructor(private readonly calls: Calls, private readonly onOpen: (call: number) => void) {
    const {run} = calls;
    this.heat = new Uint8Array(calls.count);
    for (let call = 0; call < calls.count; call++) {
      const x = calls.overBound?.numbers[call] ?? kNoNumber;
      this.heat[call] = calls.hasSpread ? spreadHeat(run.spread[call]) : standingHeat(run.standing[call], x);
    }
    const beyond = this.heat.reduce((n, heat) => n + Number(heat >= kSlightHeat && heat < kNoHeat), 0);
    const words = calls.hasSpread ? ['agrees', 'one side only', '', 'inherits a difference', '', 'introduces one', '', 'not compared']
        : calls.overBound ? ['equal', 'within the bound', 'over half of it', standingWord(run.info, kSlight), '', run.info.answer.raised.length > 0 ? 'wrong, or raised' : 'wrong', 'wrong, over 1e6 \u00d7', 'not checked', 'inconclusive']
        : ['', 'pass', '', standingWord(run.info, kSlight), '', standingWord(run.info, kWrong), '', 'not checked'];
    const seen = new Set(this.heat);
    this.element = h('section', {class: 'order', 'aria-label': 'Calls in execution order'},
                     h('h2', {}, 'Execution order',
                       h('span', {class: 'legend'}, ...words.map((word, i) => word !== '' && seen.has(i) && h('span', {class: `key heat${i}`}, word)))),
                     h('div', {class: 'layers', role: 'img', 'aria-label': `${count(calls.count)} ${nounOf(run.info)} in execution order, ${count(beyond)} beyond their bound`}, this.canvas),
                     this.tip);
    new ResizeObserver(() => {
      this.width = this.canvas.clientWidth;
      this.draw();
    }).observe(this.canvas);
    this.canvas.addEventListener('mousemove', (event) => this.point(this.at(event)));
    this.canvas.addEventListener('mouseleave', () => this.point(this.chosen));
    this.canvas.addEventListener('click', (event) => {
      const call = this.at(event);
      if (call >= 0) this.onOpen(call);
    });
  }

  /** Calls outside the filter are drawn faint. */
  filter(order: Uint32Array): void {
    this.shown = order.length === this.calls.count ? null : new Uint8Array(this.calls.count);
    if (this.shown) for (const call of order) this.shown[call] = 1;
    this.draw();
  }

  choose(call: number): void {
    this.chosen = call;
    this.draw();
    this.point(call);
  }

  private at(event: MouseEvent): number {
    const box = this.canvas.getBoundingClientRect();
    const pixel = Math.floor(((event.clientX - box.left) / box.width) * this.worst.length);
    return this.worst[Math.max(0, Math.min(pixel, this.worst.length - 1))] ?? -1;
  }

  private point(call: number): void {
    if (call < 0) {
      this.tip.textContent = '\u00a0';
      return;
    }
    const x = this.calls.overBound?.numbers[call] ?? kNoNumber;
    this.tip.textContent = `${count(call + 1)}: ${this.calls.name(call)}${x === kNoNumber ? '' : `, ${times(x)} \u00d7 bound`}`;
  }

  /** What passes the filter is seen before what does not. */
  private worstPerColumn(columns: number): Int32Array {
    const {heat, shown} = this, n = this.calls.count;
    const worst = new Int32Array(columns);
    for (let column = 0, call = 0; column < columns; column++) {
      const end = Math.ceil(((column + 1) * n) / columns);
      for (let most = -1; call < end; call++) {
        const score = weight[heat[call]] + (shown !== null && shown[call] === 1 ? 10 : 0);
        if (score <= most) continue;
        most = score;
        worst[column] = call;
      }
    }
    return worst;
  }

  draw(): void {
    const width = Math.round(this.width * Math.min(2, devicePixelRatio || 1));
    if (width === 0) return;
    this.canvas.width = width;
    const context = this.canvas.getContext('2d')!;
    const colours = heatColours();
    const n = this.calls.count;
    const columns = Math.min(n, width);
    this.worst = this.worstPerColumn(columns);
    const step = width / columns, gap = step > 5 ? 1 : 0;
    for (let column = 0; column < columns; column++) {
      const call = this.worst[column], heat = this.heat[call];
      const beyond = heat >= kSlightHeat && heat < kNoHeat;
      const height = beyond ? kHeight : kHeight * 0.6;
      context.globalAlpha = this.shown && !this.shown[call] ? 0.18 : 1;
      context.fillStyle = colours[heat];
      context.fillRect(column * step, kHeight - height, Math.max(1, step - gap), height);
    }
    context.globalAlpha = 1;
    if (this.chosen < 0 || n === 0) return;
    const x = ((this.chosen + 0.5) / n) * width;
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--ink');
    context.fillRect(x - 1, 0, 2, kHeight);
  }
}
