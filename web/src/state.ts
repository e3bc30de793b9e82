// SPDX-License-Identifier: Apache-2.0
// What the address keeps: the tab, the open call, filters, sorting and the theme, so that a link or a reload shows the same page.

export interface Address { [key: string]: string }

/** "#run=1&call=Torch.mm.0"; "#Torch.mm.0" alone names a call. */
export function readAddress(): Address {
  const text = location.hash.slice(1);
  if (text === '') return {};
  if (!text.includes('=')) return {call: decodeURIComponent(text)};
  return Object.fromEntries(new URLSearchParams(text));
}

/** Sets some keys, removes those that are empty. `push`: Back returns to what was before. */
export function writeAddress(change: Address, push = false): void {
  const now: Address = {...readAddress(), ...change};
  const kept = Object.entries(now).filter(([, value]) => value !== '');
  const hash = kept.length > 0 ? `#${new URLSearchParams(kept)}` : '';
  if (hash === location.hash) return;
  const url = location.pathname + location.search + hash;
  if (push) history.pushState({opened: true}, '', url);
  else history.replaceState(history.state, '', url);
}
