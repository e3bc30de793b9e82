// SPDX-License-Identifier: Apache-2.0
// Texts below an axis: those that would touch another are left out.

export interface Tick { x: number; text: string; anchor: 'start' | 'middle' | 'end' }

const kCharacter = 6.6, kApart = 6;  // px of the drawing, at 11 px

function extent({x, text, anchor}: Tick): [number, number] {
  const width = text.length * kCharacter;
  const left = anchor === 'start' ? x : anchor === 'end' ? x - width : x - width / 2;
  return [left, left + width];
}

/** The first of the list have the first choice. */
export function ticksBelow(ticks: Tick[]): Tick[] {
  const kept: Tick[] = [];
  const taken: [number, number][] = [];
  for (const tick of ticks) {
    const [left, right] = extent(tick);
    if (taken.some(([low, high]) => left < high + kApart && right > low - kApart)) continue;
    taken.push([left, right]);
    kept.push(tick);
  }
  return kept;
}
