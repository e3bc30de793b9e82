// SPDX-License-Identifier: Apache-2.0
// One colour scale for errors in units of their bound: cool within it, warm beyond.

/** 0: equal; 1, 2: within; 3 to 6: beyond, by a decade or more each; 7: no number; 8: proves little. */
export const kHeats = 9;
export const kNoHeat = 7;

export function heatOf(overBound: number): number {
  if (Number.isNaN(overBound)) return 6;
  if (overBound <= 0) return 0;
  if (overBound <= 1) return overBound <= 0.5 ? 1 : 2;
  return overBound <= 10 ? 3 : overBound <= 1e3 ? 4 : overBound <= 1e6 ? 5 : 6;
}

export const heatWords = ['equal', 'to 0.5', 'to 1', 'to 10', 'to 1,000', 'to 1e6', 'over 1e6', 'no number'];

/** The colours of this moment: they change with the theme. */
export function heatColours(): string[] {
  const style = getComputedStyle(document.documentElement);
  return Array.from({length: kHeats}, (_, i) => style.getPropertyValue(`--heat${i}`).trim());
}
