// SPDX-License-Identifier: Apache-2.0
// The call table: only the rows in view exist, so 100,000 calls scroll as 20 do.
import {Calls, Sort, SortKey, Worst} from './calls';
import {kNoNumber, kOverBound, kRight, kSkip, kSkipped, kSlight, kWrong, RunInfo, textAt, verdictNames} from './data';
import {figure, h} from './dom';
import {spreadBadge} from './spread';
import {standingHelp, standingWord, times} from './words';

const kRowHeight = 26;  // px, as in report.css
const kMargin = 8;      // rows made beyond the view
const kPrintedRows = 200;
const kScrollbar = 20;  // px

interface Column { key: SortKey; label: string; width: string; cell: (call: number) => Node | string; number?: boolean; help?: string }

export function verdictBadge(verdict: number): HTMLElement {
  return h('span', {class: `badge v${verdict}`}, verdict === 4 ? '\u2013' : verdictNames[verdict]);
}

/** The strict status of a row, in the words of standings. */
export function rowBadge(info: RunInfo, strict: number): HTMLElement {
  return standingBadge(info, [kRight, kSlight, kWrong, kSkipped][strict]);
}

export function standingBadge(info: RunInfo, standing: number): HTMLElement {
  return h('span', {class: `badge s${standing}`, title: standingHelp(info, standing)}, standingWord(info, standing));
}

const title = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function columnsOf(calls: Calls): Column[] {
  const {run} = calls;
  const columns: Column[] = [
    {key: 'order', label: '#', width: '2.8rem', number: true, cell: (call) => String(call + 1)},
    {key: 'name', label: run.info.kind === 'torchair' ? 'Operator' : 'Call', width: 'minmax(12rem, 1.6fr)', cell: (call) => calls.name(call)},
    {key: 'standing', label: 'Result', width: '5.6rem', cell: (call) => standingBadge(run.info, run.standing[call])},
  ];
  if (calls.hasSpread) {
    columns.push({key: 'spread', label: 'Difference', width: '6rem', help: 'introduces: inputs agree, output does not; inherits: inputs differ already',
                  cell: (call) => spreadBadge(run.spread[call])});
  }
  const shownMetric = (metric: Worst, i: number) => {
    const ofBound = metric.title === kOverBound;
    columns.push({key: i, label: metric.label, width: ofBound ? '7.2rem' : '5.6rem', number: true, help: metric.title,
                  cell: (call) => (metric.numbers[call] === kNoNumber ? '' : ofBound ? times(metric.numbers[call]) : figure(metric.numbers[call]))});
  };
  if (calls.overBound) shownMetric(calls.overBound, calls.metrics.indexOf(calls.overBound));
  if (run.why.values.some((why) => why !== '')) {
    columns.push({key: 'why', label: 'Cause', width: 'minmax(10rem, 2fr)', cell: (call) => textAt(run.why, call)});
  }
  columns.push({key: 'group', label: title(run.info.groupTitle), width: 'minmax(8rem, 1.6fr)', cell: (call) => calls.group(call)});
  calls.metrics.forEach((metric, i) => { if (metric !== calls.overBound) shownMetric(metric, i); });
  const directions = ['forward', 'backward'] as const;
  directions.forEach((key, i) => {
    if (run[key].every((v) => v > kSkip)) return;
    columns.push({key, label: calls.hasStrict ? `Doc. ${run.info.directions[i].slice(0, 3)}.` : title(run.info.directions[i]), width: '4.8rem',
                  help: `documented verdict, ${run.info.directions[i]}`, cell: (call) => verdictBadge(run[key][call])});
  });
  return columns;
}

export class CallTable {
  readonly element: HTMLElement;
  private readonly columns: Column[];
  private readonly head: HTMLElement;
  private readonly body: HTMLElement;
  private readonly space: HTMLElement;
  private order: Uint32Array = new Uint32Array();
  private selected = -1;  // place in order
  private printing = false;
  // Asking the page for these would lay it out again and again.
  private height = 0;
  private top = 0;

  constructor(private readonly calls: Calls, private sort: Sort, private readonly onSort: (sort: Sort) => void,
              private readonly onOpen: (call: number) => void, private readonly onSelect: (call: number) => void) {
    this.columns = columnsOf(calls);
    this.head = h('div', {role: 'row', class: 'tr head', 'aria-rowindex': 1});
    this.space = h('div', {class: 'space', role: 'rowgroup'});
    this.body = h('div', {class: 'tbody', tabindex: 0, role: 'grid', 'aria-label': 'Calls', 'aria-multiselectable': 'false'},
                  h('div', {role: 'rowgroup', class: 'thead'}, this.head), this.space);
    this.element = h('div', {class: 'table'}, this.body);
    this.element.style.setProperty('--columns', this.columns.map((column) => column.width).join(' '));
    // Of all rows, not of those that pass the filter: the page below stays in its place. A bar to scroll needs some, too.
    this.element.style.setProperty('--whole', `${(calls.count + 1) * kRowHeight + kScrollbar}px`);
    this.body.addEventListener('scroll', () => {
      this.top = this.body.scrollTop;
      this.draw();
    });
    new ResizeObserver(() => {
      this.height = this.body.clientHeight;
      this.draw();
    }).observe(this.body);
    this.body.addEventListener('keydown', (event) => this.onKey(event));
    this.makeHead();
    this.drawHead();
    addEventListener('beforeprint', () => this.print(true));
    addEventListener('afterprint', () => this.print(false));
  }

  show(order: Uint32Array, sort: Sort): void {
    const call = this.order[this.selected];
    this.order = order;
    this.sort = sort;
    this.selected = call === undefined ? -1 : order.indexOf(call);
    if (this.top > 0) this.body.scrollTop = this.top = 0;
    this.body.setAttribute('aria-rowcount', String(order.length + 1));
    this.drawHead();
    this.draw();
  }

  /** Selects a call where the table shows it. */
  select(call: number): void {
    this.selected = this.order.indexOf(call);
    if (this.selected >= 0) this.scrollTo(this.selected);
    this.draw();
  }

  focus(): void { this.body.focus({preventScroll: true}); }

  /** The buttons stay, so that the focus does. */
  private makeHead(): void {
    this.head.replaceChildren(...this.columns.map((column) =>
      h('div', {role: 'columnheader', class: column.number ? 'th number' : 'th'},
        h('button', {type: 'button', title: column.help, onclick: () => this.sortBy(column)}, column.label,
          h('span', {class: 'arrow', 'aria-hidden': 'true'})))));
  }

  private drawHead(): void {
    this.columns.forEach((column, i) => {
      const cell = this.head.children[i], active = this.sort.key === column.key;
      cell.setAttribute('aria-sort', active ? (this.sort.descending ? 'descending' : 'ascending') : 'none');
      cell.querySelector('.arrow')!.textContent = active ? (this.sort.descending ? ' \u2193' : ' \u2191') : '';
    });
  }

  private sortBy(column: Column): void {
    const verdict = ['forward', 'backward', 'standing', 'spread'].includes(String(column.key));
    const worstFirst = verdict || (typeof column.key === 'number' && this.calls.metrics[column.key].largest);
    const same = this.sort.key === column.key;
    this.onSort({key: column.key, descending: same ? !this.sort.descending : worstFirst});
  }

  private draw(): void {
    const visible = Math.ceil((this.height || innerHeight) / kRowHeight);
    let first = Math.max(0, Math.floor(this.top / kRowHeight) - kMargin);
    let last = Math.min(this.order.length, first + visible + 2 * kMargin);
    if (this.printing) [first, last] = [0, Math.min(this.order.length, kPrintedRows)];
    this.space.style.height = `${(this.printing ? last : this.order.length) * kRowHeight}px`;
    const rows: HTMLElement[] = [];
    for (let place = first; place < last; place++) rows.push(this.row(place));
    this.space.replaceChildren(...rows);
    const active = this.selected >= first && this.selected < last;
    if (active) this.body.setAttribute('aria-activedescendant', `row${this.selected}`);
    else this.body.removeAttribute('aria-activedescendant');
  }

  private row(place: number): HTMLElement {
    const call = this.order[place];
    const row = h('div', {role: 'row', id: `row${place}`, class: place === this.selected ? 'tr selected' : 'tr',
                          'aria-rowindex': place + 2, 'aria-selected': place === this.selected ? 'true' : 'false',
                          onclick: () => this.choose(place, true)},
                  ...this.columns.map((column) => {
                    const content = column.cell(call);
                    return h('div', {role: 'gridcell', class: column.number ? 'td number' : 'td',
                                     title: typeof content === 'string' && content.length > 18 ? content : undefined}, content);
                  }));
    row.style.top = `${place * kRowHeight}px`;
    return row;
  }

  private choose(place: number, open: boolean): void {
    if (this.order.length === 0) return;
    this.selected = Math.max(0, Math.min(place, this.order.length - 1));
    this.scrollTo(this.selected);
    this.draw();
    if (open) this.onOpen(this.order[this.selected]);
    else this.onSelect(this.order[this.selected]);
  }

  private scrollTo(place: number): void {
    const top = place * kRowHeight;
    const height = this.height - 2 * kRowHeight;
    if (top < this.top) this.body.scrollTop = this.top = top;
    else if (top > this.top + height) this.body.scrollTop = this.top = top - height;
  }

  private onKey(event: KeyboardEvent): void {
    if (event.target !== this.body) return;
    const page = Math.max(1, Math.floor(this.height / kRowHeight) - 2);
    const moves: Record<string, number> = {
      ArrowDown: this.selected + 1, ArrowUp: Math.max(0, this.selected - 1), PageDown: this.selected + page,
      PageUp: this.selected - page, Home: 0, End: this.order.length - 1,
    };
    if (event.key === 'Enter' && this.selected >= 0) this.choose(this.selected, true);
    else if (event.key in moves) this.choose(moves[event.key], false);
    else return;
    event.preventDefault();
  }

  private print(printing: boolean): void {
    this.printing = printing;
    this.draw();
  }
}
