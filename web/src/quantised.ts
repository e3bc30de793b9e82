// SPDX-License-Identifier: Apache-2.0
// Tensors of 8 and 4 bits: how much of their range is used, what was lost, and where the recipe is to blame.
import {Calls} from './calls';
import {Details} from './data';
import {count, h} from './dom';

/** What the strict reason of a result says of one tensor; src/judge/strict/quantisation.cc writes it. */
export interface Quantised {
  tensor: string;  // "result", "first factor"
  format: string;
  used: string; underflow: string; saturated: string; error: string; product: string;
  blame: string;  // empty: nothing is wrong with the recipe
}

const kCast = /uses (\S+ %) of the range of (\w+), (\S+ %) underflow, (\S+ %) saturated, error of quantisation (\S+ %)(?:; the recipe is to blame, not the device: (the scale is too (?:large|small)))?/;
const kFactor = /(first|second) factor: uses (\S+ %) of the range of (\w+), (\S+ %) zero, (\S+ %) at the largest/g;
const kProduct = /error of the product (\S+ %)/;

export function quantisedIn(reason: string): Quantised[] {
  const cast = kCast.exec(reason);
  if (cast) {
    return [{tensor: 'result', used: cast[1], format: cast[2], underflow: cast[3], saturated: cast[4], error: cast[5], product: '', blame: cast[6] ?? ''}];
  }
  const product = kProduct.exec(reason)?.[1] ?? '';
  return [...reason.matchAll(kFactor)].map((factor) => (
      {tensor: `${factor[1]} factor`, used: factor[2], format: factor[3], underflow: factor[4], saturated: factor[5], error: '', product, blame: ''}));
}

const kTitles: [string, string][] = [
  ['call', ''], ['tensor', ''], ['format', ''], ['range used', 'the largest number in it, of the largest of the format'],
  ['underflow', 'numbers that became zero; of a factor, codes that are zero'],
  ['saturated', 'numbers beyond the largest of the format; of a factor, codes that are the largest'],
  ['error of quantisation', 'root mean square, of that of the numbers'], ['error of the product', 'the same, of the result against the exact product of the codes'],
];
const kShown = 12;

/** Whether a run may have such tensors, before its reasons are unpacked. */
export const mayBeQuantised = (calls: Calls): boolean =>
    [calls.run.dtype, calls.run.rowDtype].some((column) => column.values.some((dtype) => /float8|float4|HiFloat8/.test(dtype))) ||
    calls.apis.some((api) => /scaled(_grouped)?_mm|\bto$/.test(api));

/** Nothing where no result says anything of a quantised tensor. */
export function quantisedPanel(calls: Calls, details: Details, open: (call: number) => void): HTMLElement | null {
  const {run} = calls;
  // Reasons repeat, and most of them are about something else.
  const byReason = details.reason.values.map(quantisedIn);
  const rows: {call: number; tensor: Quantised}[] = [];
  for (let call = 0; call < calls.count; call++) {
    for (let row = run.firstRow[call]; row < run.firstRow[call] + run.rowCount[call]; row++) {
      for (const tensor of byReason[details.reason.ids[row]]) rows.push({call, tensor});
    }
  }
  if (rows.length === 0) return null;
  const blamed = rows.filter(({tensor}) => tensor.blame !== '');
  rows.sort((a, b) => Number(b.tensor.blame !== '') - Number(a.tensor.blame !== ''));
  const link = (call: number) => h('button', {type: 'button', class: 'link', onclick: () => open(call)}, calls.name(call));
  const line = ({call, tensor}: {call: number; tensor: Quantised}) =>
      h('tr', {class: tensor.blame === '' ? '' : 'blamed'}, h('th', {scope: 'row'}, link(call)),
        ...[tensor.tensor, tensor.format, tensor.used, tensor.underflow, tensor.saturated, tensor.error, tensor.product].map((text) => h('td', {}, text)));
  const body = h('tbody', {}, ...rows.slice(0, kShown).map(line));
  const more = rows.length > kShown && h('button', {type: 'button', class: 'small more', onclick: () => {
    body.append(...rows.slice(kShown).map(line));
    (more as HTMLElement).remove();
  }}, `show all ${count(rows.length)} tensors`);
  const worst = blamed[0];
  const verdict = worst && h('p', {class: 'blame'}, `The recipe is to blame, not the device, for ${count(blamed.length)} ${blamed.length === 1 ? 'tensor' : 'tensors'}: `,
                             link(worst.call), `, ${worst.tensor.blame} (${worst.tensor.underflow} underflow, ${worst.tensor.saturated} saturated)`);
  return h('section', {class: 'panel quantised'}, h('h2', {}, 'Quantised tensors', h('span', {class: 'note'}, `  ${count(rows.length)} of 8 and 4 bits`)), verdict,
           h('div', {class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Quantised tensors'},
             h('table', {}, h('thead', {}, h('tr', {}, ...kTitles.map(([title, help]) => h('th', {scope: 'col', title: help === '' ? undefined : help}, title)))), body)), more);
}
