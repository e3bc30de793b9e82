// SPDX-License-Identifier: Apache-2.0
// Elements, and numbers as a person reads them.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | undefined | ((event: any) => void)>;

/** h('button', {class: 'tile', onclick: f}, 'text'): text is only ever text. */
export function h<K extends keyof HTMLElementTagNameMap>(
    tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  set(element, attributes);
  element.append(...children.filter((child): child is Node | string => !!child || child === ''));
  return element;
}

/** The same for SVG. */
export function s(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  set(element, attributes);
  element.append(...children.filter((child): child is Node | string => !!child));
  return element;
}

function set(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

export const count = (n: number): string => n.toLocaleString('en-US');

/** A metric: exact where it is short, else four digits. */
export function figure(x: number): string {
  if (Number.isNaN(x)) return 'NaN';
  if (!Number.isFinite(x)) return x > 0 ? 'inf' : '-inf';
  if (x === 0) return '0';
  if (Number.isInteger(x) && Math.abs(x) < 1e6) return String(x);
  const magnitude = Math.abs(x);
  if (magnitude >= 1e-3 && magnitude < 1e5) return String(Number(x.toPrecision(5)));
  return x.toExponential(2).replace('e+', 'e');
}

export function share(part: number, whole: number): string {
  if (whole === 0) return '';
  const percent = (100 * part) / whole;
  return percent > 0 && percent < 0.1 ? '<0.1 %' : `${Number(percent.toFixed(1))} %`;
}

/** Copies what `text` gives at the time of the click. */
export function copyButton(label: string, text: () => string): HTMLButtonElement {
  const button = h('button', {type: 'button', class: 'small', onclick: async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = 'copied';
    } catch {
      copyOldWay(text());
      button.textContent = 'copied';
    }
    setTimeout(() => (button.textContent = label), 1500);
  }}, label);
  return button;
}

/** A page opened from a file may have no clipboard of its own. */
function copyOldWay(text: string): void {
  const area = h('textarea', {class: 'hidden', 'aria-hidden': 'true'});
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}
