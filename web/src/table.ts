// SPDX-License-Identifier: Apache-2.0
// The call table: only the rows in view exist, so 100,000 calls scroll as 20 do.
import {Calls, Sort, SortKey, Worst} from './calls';
import {kInconclusive, kNone, kNoNumber, kOverBound, kPass, kRight, kSkipped, kSlight, kWrong, RunInfo, textAt, verdictNames} from './data';
import {figure, h} from './dom';
import {spreadBadge} from './spread';
import {nounOf, standingHelp, standingWord, times} from './words';

const kRowHeight = 38, kHeadHeight = 44;  // px, as in report.css
const kMargin = 8;      // rows made beyond the view
const kPrintedRows = 200;
const kScrollbar = 20;  // px
const kFewestRows = 3;  // the height of an empty table

interface Heading { key: SortKey; label: string; help?: string }
/** Most columns have one heading; a call has its module below it, a verdict its two directions. */
interface Column { title?: string; headings: Heading[]; rem: number; share?: number; cell: (call: number) => Node | string; number?: boolean; hover?: (call: number) => string }

export function verdictBadge(verdict: number): HTMLElement {
  return h('span', {class: `badge v${verdict}`}, verdict === kNone ? '\u2013' : verdictNames[verdict]);
}

/** The strict status of a row, in the words of standings. */
export function rowBadge(info: RunInfo, strict: number): HTMLElement {
  return standingBadge(info, [kRight, kSlight, kWrong, kSkipped, kInconclusive][strict]);
}

export function standingBadge(info: RunInfo, standing: number): HTMLElement {
  return h('span', {class: `badge s${standing}`, title: standingHelp(info, standing)}, standingWord(info, standing));
}

const title = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The call, and below it where it is in the model and in the program. */
function placeOf(calls: Calls, call: number): string {
  const group = calls.group(call), line = textAt(calls.run.line, call);
  return line === '' || group.startsWith(line) ? group : group === '' ? line : `${group}  \u00b7  ${line}`;
}

/** What a comparison says of a call: who is to blame comes before its verdict, and green is only what agrees. */
function resultOf(calls: Calls, call: number): Node | string {
  const {run} = calls;
  if (!calls.hasSpread) return standingBadge(run.info, run.standing[call]);
  const spread = spreadBadge(run.spread[call]);
  const verdict = run.standing[call] === kRight ? '' : standingBadge(run.info, run.standing[call]);
  return h('span', {class: 'stacked'}, spread, verdict);
}

/** A verdict per direction, one above the other. */
function directionsOf(calls: Calls, call: number): HTMLElement {
  const {run} = calls;
  const line = (key: 'forward' | 'backward', i: number) =>
      run[key][call] === kNone ? null : h('span', {class: 'direction'}, h('span', {class: 'note'}, run.info.directions[i]), calls.hasSpread ? plainVerdict(run[key][call]) : verdictBadge(run[key][call]));
  return h('span', {class: 'stacked'}, line('forward', 0), line('backward', 1));
}

/** Where another column decides, a pass is no news. */
function plainVerdict(verdict: number): HTMLElement {
  return verdict === kPass ? h('span', {class: 'badge v5'}, 'pass') : verdictBadge(verdict);
}

function columnsOf(calls: Calls): Column[] {
  const {run} = calls;
  const columns: Column[] = [
    {headings: [{key: 'order', label: '#'}], rem: 2.6, number: true, cell: (call) => String(call + 1)},
    {headings: [{key: 'name', label: run.info.kind === 'torchair' ? 'Operator' : 'Call'}, {key: 'group', label: run.info.groupTitle}], rem: 12.5, share: 1.4,
     hover: (call) => `${calls.name(call)}\n${placeOf(calls, call)}`,
     cell: (call) => h('span', {class: 'stacked'}, h('span', {class: 'callname'}, calls.name(call)), h('span', {class: 'note where'}, placeOf(calls, call)))},
    {headings: [calls.hasSpread ? {key: 'spread', label: 'Result', help: 'introduces: inputs agree, output does not; inherits: inputs differ already'}
                                : {key: 'standing', label: 'Result', help: 'what is wrong comes first'}], rem: 5.6, cell: (call) => resultOf(calls, call)},
  ];
  const shownMetric = (metric: Worst, i: number) => {
    const ofBound = metric.title === kOverBound;
    columns.push({headings: [{key: i, label: metric.label, help: metric.title}], rem: ofBound ? 5.2 : 4.8, number: true,
                  cell: (call) => (metric.numbers[call] === kNoNumber ? '' : ofBound ? times(metric.numbers[call]) : figure(metric.numbers[call]))});
  };
  if (calls.overBound) shownMetric(calls.overBound, calls.metrics.indexOf(calls.overBound));
  if (run.why.values.some((why) => why !== '')) {
    columns.push({headings: [{key: 'why', label: 'Cause'}], rem: 14, share: 2, hover: (call) => textAt(run.why, call),
                  cell: (call) => h('span', {class: 'why'}, textAt(run.why, call))});
  }
  calls.metrics.forEach((metric, i) => { if (metric !== calls.overBound) shownMetric(metric, i); });
  const directions = (['forward', 'backward'] as const).filter((key) => run[key].some((v) => v !== kNone));
  if (directions.length > 0) {
    columns.push({title: calls.hasStrict ? 'Documented' : 'Verdict', rem: 8, cell: (call) => directionsOf(calls, call),
                  headings: directions.map((key) => ({key, label: run.info.directions[key === 'forward' ? 0 : 1], help: `${calls.hasStrict ? 'documented verdict' : 'verdict'}, ${key === 'forward' ? run.info.directions[0] : run.info.directions[1]}`}))});
  }
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
    const width = ({rem, share}: Column) => (share ? `minmax(${rem}rem, ${share}fr)` : `${rem}rem`);
    this.element.style.setProperty('--columns', this.columns.map(width).join(' '));
    this.element.style.setProperty('--least', `${this.columns.reduce((sum, {rem}) => sum + rem, 0)}rem`);
    this.element.style.setProperty('--gaps', String(this.columns.length - 1));
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
    // As high as what it shows; a bar to scroll needs some, too.
    this.element.style.setProperty('--whole', `${Math.max(kFewestRows, order.length) * kRowHeight + kHeadHeight + kScrollbar}px`);
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
    const button = ({key, label, help}: Heading, below: boolean) =>
        h('button', {type: 'button', class: below ? 'below' : '', title: help, onclick: () => this.sortBy(key)}, below ? label : title(label), h('span', {class: 'arrow', 'aria-hidden': 'true'}));
    this.head.replaceChildren(...this.columns.map((column) => {
      const [first, ...rest] = column.headings;
      const top = column.title === undefined ? button(first, false) : h('span', {}, column.title);
      const below = column.title === undefined ? rest : column.headings;
      return h('div', {role: 'columnheader', class: column.number ? 'th number' : 'th'}, top,
               below.length > 0 && h('span', {class: 'belows'}, ...below.map((heading) => button(heading, true))));
    }));
  }

  private drawHead(): void {
    this.columns.forEach((column, i) => {
      const cell = this.head.children[i], active = column.headings.findIndex(({key}) => key === this.sort.key);
      cell.setAttribute('aria-sort', active >= 0 ? (this.sort.descending ? 'descending' : 'ascending') : 'none');
      cell.querySelectorAll('.arrow').forEach((arrow, j) => (arrow.textContent = j === active ? (this.sort.descending ? ' \u2193' : ' \u2191') : ''));
    });
  }

  private sortBy(key: SortKey): void {
    const verdict = ['forward', 'backward', 'standing', 'spread'].includes(String(key));
    const worstFirst = verdict || (typeof key === 'number' && this.calls.metrics[key].largest);
    const same = this.sort.key === key;
    this.onSort({key, descending: same ? !this.sort.descending : worstFirst});
  }

  private draw(): void {
    const visible = Math.ceil((this.height || innerHeight) / kRowHeight);
    let first = Math.max(0, Math.floor(this.top / kRowHeight) - kMargin);
    let last = Math.min(this.order.length, first + visible + 2 * kMargin);
    if (this.printing) [first, last] = [0, Math.min(this.order.length, kPrintedRows)];
    this.space.style.height = `${(this.printing ? last : this.order.length) * kRowHeight}px`;
    const rows: HTMLElement[] = [];
    for (let place = first; place < last; place++) rows.push(this.row(place));
    if (this.order.length === 0) rows.push(h('p', {class: 'note empty'}, `No ${nounOf(this.calls.run.info, 1)} passes the filters above.`));
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
                    return h('div', {role: 'gridcell', class: column.number ? 'td number' : 'td', title: column.hover?.(call)}, content);
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
    const height = this.height - kHeadHeight - kRowHeight;
    if (top < this.top) this.body.scrollTop = this.top = top;
    else if (top > this.top + height) this.body.scrollTop = this.top = top - height;
  }

  private onKey(event: KeyboardEvent): void {
    if (event.target !== this.body) return;
    const page = Math.max(1, Math.floor((this.height - kHeadHeight) / kRowHeight) - 1);
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
