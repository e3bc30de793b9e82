// SPDX-License-Identifier: Apache-2.0
// The page: the answer per device, causes, the order of calls, the call table, plots, and the view of one call.
import {answers, CardActions, cards, changes, placeCards} from './answer';
import {Calls, Filter, noFilter, Range, Sort, SortKey} from './calls';
import {callOf, Card, kOverBound, kRaised, kSpreads, kStandings, loadDetails, loadRun, Metric, readSummary, Run, RunInfo, textAt} from './data';
import {detailView} from './detail';
import {count, h} from './dom';
import {dtypeText, GroupPanel, matrixPanel, modulePanel, Bar, standingBar} from './overview';
import {farthest, histogram, scatter} from './plots';
import {mayBeQuantised, quantisedPanel} from './quantised';
import './compare.css';
import './report.css';
import {spreadPanel, spreadWord} from './spread';
import {arePlaces} from './places';
import {Address, readAddress, writeAddress} from './state';
import {Strip} from './strip';
import {CallTable} from './table';
import {treePanel} from './tree';
import {differs, isOk, nounOf, plainDtype, showsCauses, standingWord} from './words';

const summary = readSummary();
const kSpreadWords = Array.from({length: kSpreads}, (_, i) => spreadWord(i));
const runs = new Map<RunInfo, Promise<Run>>();

/** What the page measured of itself, for its tests and the curious: milliseconds. */
const timing: Record<string, number> = {};
(globalThis as unknown as {msprobeTiming: Record<string, number>}).msprobeTiming = timing;

class RunView {
  readonly element: HTMLElement;
  private filter: Filter = noFilter();
  private sort: Sort | null = null;
  private calls: Calls | null = null;
  private table: CallTable | null = null;
  private strip: Strip | null = null;
  private readonly bar: Bar;
  private readonly changed: ReturnType<typeof changes>;
  private groups: GroupPanel[] = [];
  private readonly parting = h('div', {class: 'partingplace'});
  private readonly order = h('div', {class: 'orderplace'});
  private readonly panels = h('div', {class: 'panels'});
  private readonly quantised = h('div', {class: 'quantisedplace'});
  private readonly plots = h('section', {class: 'panel plots'});
  private readonly compare = h('section', {class: 'panel compare', hidden: true});
  private readonly chips = h('div', {class: 'chips', role: 'group', 'aria-label': 'Filters'});
  private readonly status = h('span', {class: 'note', role: 'status'}, 'unpacking \u2026');
  private readonly search = h('input', {type: 'search', 'aria-label': 'Search', oninput: () => this.change({text: this.search.value})});
  private readonly list = h('section', {class: 'list', id: 'calls', 'aria-label': 'Call table'});
  private readonly detailTitle = h('h2', {tabindex: -1});
  private readonly detailBody = h('div', {class: 'body', tabindex: 0, role: 'region', 'aria-label': 'Call details'});
  private readonly detail = h('aside', {class: 'side', hidden: true, 'aria-label': 'Call'},
                              h('header', {}, this.detailTitle, h('button', {type: 'button', class: 'small', onclick: () => this.leave()}, 'close (Esc)')),
                              this.detailBody);

  readonly actions: CardActions;
  private loaded: () => void = () => {};
  private readonly ready = new Promise<void>((done) => (this.loaded = done));

  /** `several`: causes are shown once for all dumps, above. */
  constructor(private readonly info: RunInfo, several: boolean) {
    this.search.placeholder = `Search ${nounOf(info)}, causes, lines  ( / )`;
    this.bar = standingBar(info, (next) => this.change(next(this.filter)));
    this.bar.mark(this.filter);
    this.actions = {show: (card: Card) => void this.showCard(card), open: (call: number) => void this.open(call, true),
                    name: (call: number) => this.calls?.name(call) ?? ''};
    this.changed = changes(info, this.actions);
    this.element = h('div', {class: 'run'}, this.parting, this.changed?.element, !several && showsCauses(info) && cards(info, () => this.actions), this.order, this.panels,
                     h('div', {class: 'toolbar'}, this.bar.element, this.search, this.status, this.chips), this.list, this.quantised,
                     this.plots, this.compare, this.detail);
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && !this.detail.hidden) this.leave();
    });
  }

  async load(): Promise<void> {
    let promise = runs.get(this.info);
    if (!promise) runs.set(this.info, promise = loadRun(this.info));
    const run = await promise;
    this.calls = new Calls(run);
    this.sort = this.calls.defaultSort;
    this.changed?.name();
    const parting = spreadPanel(this.calls, (call) => void this.open(call, true));
    if (parting) this.parting.append(parting);
    this.strip = new Strip(this.calls, (call) => void this.open(call, true));
    this.order.replaceChildren(this.strip.element);
    this.table = new CallTable(this.calls, this.sort, (sort) => this.sortBy(sort), (call) => void this.open(call, true),
                               (call) => { if (!this.detail.hidden) void this.open(call, false); });
    this.list.append(this.table.element);
    this.drawPanels();
    this.follow(readAddress());
    this.drawPlots(run);
    this.drawComparison(run);
    void this.drawQuantised();
    timing.ready = performance.now();
    this.loaded();
  }

  focusSearch(): void { this.search.focus(); }

  /** Canvas colours are those of the moment they were drawn. */
  redraw(): void {
    this.strip?.draw();
    if (this.calls) this.drawComparison(this.calls.run);
  }

  /** Shows what the address says. */
  follow(address: Address): void {
    if (!this.calls) return;
    this.filter = this.filterOf(address);
    this.search.value = this.filter.text;
    this.sort = this.sortOf(address);
    this.apply();
    const name = address.call ?? '';
    const call = name === '' ? -1 : this.calls.run.name.ids.findIndex((id) => this.calls!.run.name.values[id] === name);
    if (call >= 0) void this.show(call, false);
    else if (!this.detail.hidden) this.close();
  }

  private async showCard(card: Card): Promise<void> {
    await this.ready;
    const {run} = this.calls!;
    const api = idOf(run.api.values, card.api);
    this.change(card.raised ? {...noFilter(), api, standing: kRaised} : {...noFilter(), api, cause: idOf(run.cause.values, card.cause)});
    this.list.scrollIntoView({block: 'nearest'});
    this.table?.focus();
  }

  private change(change: Partial<Filter>): void {
    this.filter = {...this.filter, ...change};
    this.apply();
    this.remember();
  }

  private sortBy(sort: Sort): void {
    this.sort = sort;
    this.apply();
    this.remember();
  }

  private remember(): void {
    const {filter, calls, sort} = this;
    if (!calls || !sort) return;
    const {run} = calls;
    const name = (values: string[], id: number | null) => (id === null ? '' : values[id] === '' ? '-' : values[id]);
    const plain = sort.key === calls.defaultSort.key && sort.descending;
    writeAddress({
      q: filter.text, result: filter.standing === null ? '' : standingWord(this.info, filter.standing),
      api: name(run.api.values, filter.api), dtype: name(run.dtype.values, filter.dtype), cause: name(run.cause.values, filter.cause),
      group: name(calls.groups.names, filter.group), spread: filter.spread === null ? '' : spreadWord(filter.spread),
      range: filter.range ? [filter.range.metric.title, filter.range.low, filter.range.high, filter.range.label].join('|') : '',
      sort: plain ? '' : `${sort.descending ? '-' : ''}${typeof sort.key === 'number' ? calls.metrics[sort.key].title : sort.key}`,
    });
  }

  private filterOf(address: Address): Filter {
    const {run} = this.calls!;
    const id = (values: string[], name: string | undefined) => (name === undefined ? null : idOf(values, name === '-' ? '' : name));
    const standings = Array.from({length: kStandings}, (_, i) => standingWord(this.info, i));
    const [title, low, high, ...label] = (address.range ?? '').split('|');
    const metric = run.metrics.find((m) => m.title === title && m.side === '');
    return {text: address.q ?? '', standing: id(standings, address.result), api: id(run.api.values, address.api),
            dtype: id(run.dtype.values, address.dtype), cause: id(run.cause.values, address.cause), group: id(this.calls!.groups.names, address.group), spread: id(kSpreadWords, address.spread),
            range: metric ? {metric, low: Number(low), high: Number(high), label: label.join('|')} : null};
  }

  private sortOf(address: Address): Sort {
    const calls = this.calls!, text = address.sort ?? '';
    if (text === '') return calls.defaultSort;
    const descending = text.startsWith('-'), name = descending ? text.slice(1) : text;
    const metric = calls.metrics.findIndex((m) => m.title === name);
    const keys: SortKey[] = ['order', 'spread', 'name', 'group', 'forward', 'backward', 'standing', 'why'];
    const key = metric >= 0 ? metric : keys.find((k) => k === name);
    return key === undefined ? calls.defaultSort : {key, descending};
  }

  private apply(): void {
    if (!this.calls || !this.table || !this.sort) return;
    const start = performance.now();
    const order = this.calls.select(this.filter, this.sort);
    this.table.show(order, this.sort);
    const sorted = typeof this.sort.key === 'number' ? this.calls.metrics[this.sort.key] : null;
    const blanks = sorted ? this.calls.blanks(sorted, order) : 0;
    this.status.textContent = `${count(order.length)} of ${count(this.calls.count)} ${nounOf(this.info)}` +
        (blanks > 0 ? `; ${count(blanks)} ${blanks === 1 ? 'has' : 'have'} no ${sorted!.label.toLowerCase()}` : '');
    this.bar.mark(this.filter);
    this.strip?.filter(order);
    for (const group of this.groups) group.mark(this.filter);
    this.drawChips();
    timing.filter = performance.now() - start;
  }

  private drawPanels(): void {
    const calls = this.calls!;
    const matrix = matrixPanel(calls, (api, dtype) => {
      const same = this.filter.api === api && this.filter.dtype === dtype;
      this.change(same ? {api: null, dtype: null} : {api, dtype});
    });
    const chooseGroup = (id: number) => this.change({group: this.filter.group === id ? null : id});
    const module = calls.groups.nested ? groupTree(calls, chooseGroup) : modulePanel(calls, chooseGroup);
    this.groups = [matrix, module];
    this.panels.replaceChildren(module.element, matrix.element);
  }

  private async drawQuantised(): Promise<void> {
    const calls = this.calls!;
    if (!mayBeQuantised(calls)) return;
    const panel = quantisedPanel(calls, await loadDetails(this.info), (call) => void this.open(call, true));
    if (panel) this.quantised.replaceChildren(panel);
  }

  private drawChips(): void {
    const {filter} = this;
    const {run} = this.calls!;
    const chip = (what: string, text: string, clear: Partial<Filter>) =>
        h('button', {type: 'button', class: 'chip', title: 'remove this filter', onclick: () => {
          this.search.value = clear.text ?? this.search.value;
          this.change(clear);
          (this.chips.querySelector('button') ?? this.search).focus();
        }}, h('span', {class: 'what'}, `${what} `), text, ' \u00d7');
    const shown = [
      filter.text !== '' && chip('search', filter.text, {text: ''}),
      filter.standing !== null && chip('result', standingWord(this.info, filter.standing), {standing: null}),
      filter.api !== null && chip('API', run.api.values[filter.api], {api: null}),
      filter.dtype !== null && chip('dtype', dtypeText(this.calls!, filter.dtype), {dtype: null}),
      filter.cause !== null && chip('cause', run.cause.values[filter.cause] || 'no known pattern', {cause: null}),
      filter.group !== null && chip(this.info.groupTitle, this.calls!.groups.names[filter.group], {group: null}),
      filter.spread !== null && chip('result', spreadWord(filter.spread), {spread: null}),
      filter.range !== null && chip('range', filter.range.label, {range: null}),
    ].filter((element): element is HTMLButtonElement => element !== false);
    if (shown.length > 0) {
      shown.push(h('button', {type: 'button', class: 'small', onclick: () => {
        this.search.value = '';
        this.change(noFilter());
        this.search.focus();
      }}, 'clear filters'));
    }
    this.chips.replaceChildren(...shown);
  }

  private drawPlots(run: Run): void {
    const own = run.metrics.filter((metric) => metric.side === '');
    if (own.length === 0) return;
    const preferred = [kOverBound, 'Maximum relative error ratio', 'Maximum relative error', '1 - cosine', 'Maximum absolute error', 'Relative difference of max', 'Relative difference of l2 norm'];
    const shown = preferred.filter((title) => own.some((m) => m.title === title)).slice(0, kPlots);
    for (const metric of own) {
      if (shown.length < Math.min(kPlots, own.length) && !shown.includes(metric.title)) shown.push(metric.title);
    }
    this.plots.replaceChildren(h('h2', {}, 'Distribution ', h('span', {class: 'note'}, 'rows: '),
                                 h('span', {class: 'key all'}, 'all'), h('span', {class: 'key bad'}, 'off'), h('span', {class: 'key error'}, 'wrong')),
                               ...shown.map((title) => this.plot(run, own, title)));
  }

  private plot(run: Run, metrics: Metric[], title: string): HTMLElement {
    const place = h('div');
    const show = (chosen: string) => place.replaceChildren(
        histogram(run, metrics.find((metric) => metric.title === chosen)!, (range: Range) => this.change({range})));
    show(title);
    return h('div', {class: 'choice'}, this.choice('Metric of the distribution', metrics.map((metric) => metric.title), title, show), place);
  }

  private choice(label: string, titles: string[], chosen: string, show: (title: string) => void): HTMLElement {
    const select = h('select', {'aria-label': label, onchange: () => show(select.value)},
                     ...titles.map((title) => h('option', {value: title, selected: title === chosen}, title)));
    return select;
  }

  private drawComparison(run: Run): void {
    const side = run.metrics.some((metric) => metric.side === 'device') ? 'device' : '';
    const find = (title: string, which: string) => run.metrics.find((m) => m.title === title && m.side === which);
    const titles = run.metrics.filter((m) => m.side === 'reference' && find(m.title, side)).map((m) => m.title);
    if (titles.length === 0) return;
    const place = h('div', {class: 'sides'});
    const open = (row: number) => void this.open(callOf(run, row), true);
    const label = (row: number) => `${this.calls!.name(callOf(run, row))} ${plainDtype(textAt(run.rowDtype, row))}`;
    const show = (title: string) => {
      const [device, reference] = [find(title, side)!, find(title, 'reference')!];
      place.replaceChildren(scatter(run, device, reference, open), farthest(run, device, reference, label, open));
    };
    const first = [kOverBound, 'Maximum relative error'].find((title) => titles.includes(title)) ?? titles[0];
    show(first);
    this.compare.hidden = false;
    this.compare.replaceChildren(h('h2', {}, this.info.since ? 'New against old ' : 'Device against reference device ', this.choice('Compared metric', titles, first, show)), place);
  }

  /** Opens a call so that Back closes it; from one call to the next Back still closes. */
  private async open(call: number, focus: boolean): Promise<void> {
    await this.ready;
    const closed = Boolean(this.detail.hidden);
    this.detail.hidden = false;
    writeAddress({call: this.calls!.name(call)}, closed);
    await this.show(call, focus);
  }

  private async show(call: number, focus: boolean): Promise<void> {
    const details = await loadDetails(this.info);
    this.detailTitle.textContent = this.calls!.name(call);
    this.detailBody.replaceChildren(detailView(this.calls!, details, call));
    this.detailBody.scrollTop = 0;
    this.detail.hidden = false;
    this.strip?.choose(call);
    this.table?.select(call);
    if (focus) this.table?.focus();
  }

  /** By the button or by Esc: as Back does, where opening made an entry of the history. */
  private leave(): void {
    if ((history.state as {opened?: boolean} | null)?.opened) {
      history.back();
      return;
    }
    writeAddress({call: ''});
    this.close();
  }

  private close(): void {
    this.detail.hidden = true;
    this.strip?.choose(-1);
    this.table?.focus();
  }
}

const kPlots = 3;  // side by side

function groupTree(calls: Calls, choose: (id: number) => void): GroupPanel {
  const tree = treePanel(calls, `By ${calls.run.info.groupTitle}`, choose);
  return {element: tree.element, mark: ({group}) => tree.mark(group)};
}

function idOf(values: string[], name: string): number | null {
  const at = values.indexOf(name);
  return at < 0 ? null : at;
}

const themes = ['auto', 'light', 'dark'];

function themeButton(onChange: () => void): HTMLElement {
  const button = h('button', {type: 'button', class: 'small theme', onclick: () => {
    const now = themes[(themes.indexOf(document.documentElement.dataset.theme ?? 'auto') + 1) % themes.length];
    set(now);
    writeAddress({theme: now === 'auto' ? '' : now});
    onChange();
  }});
  const set = (theme: string) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = `theme: ${theme}`;
  };
  set(themes.find((theme) => theme === readAddress().theme) ?? 'auto');
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', onChange);
  return button;
}

function start(): void {
  const several = arePlaces(summary.runs);
  const views = summary.runs.map((info) => new RunView(info, several));
  const main = h('main', {id: 'main', tabindex: -1});
  // Of an older and a newer check the newer one is what people came for; of several dumps the first that is wrong.
  const kFirst = Math.max(0, summary.runs.findIndex((info) => info.since || (several && (!isOk(info.answer) || differs(info)))));
  const chosenRun = () => Math.min(Math.max(0, Number(readAddress().run ?? kFirst + 1) - 1 || 0), summary.runs.length - 1);
  let current = chosenRun();
  const loadedViews = new Set<number>();
  const choose = (i: number) => {
    show(i);
    writeAddress({run: i === kFirst ? '' : String(i + 1), call: '', api: '', dtype: '', cause: '', group: '', spread: '', range: '', result: '', q: '', sort: ''});
    views[i].follow(readAddress());
  };
  const top = answers(summary.runs, choose);
  // A cause of several dumps is looked at in the dump where it is worst.
  const causes = several && placeCards(summary.runs, (i) => {
    const {show: list, open, name} = views[i].actions;
    const go = () => { if (i !== current) choose(i); };
    return {show: (card) => { go(); list(card); }, open: (call) => { go(); open(call); }, name};
  });
  const origin = h('dl', {class: 'origin'});
  const subtitle = h('span', {class: 'note subtitle'});
  const fact = (info: RunInfo, key: string) => info.origin.find(([what]) => what === key)?.[1] ?? '';
  const show = (i: number) => {
    current = i;
    const info = summary.runs[i];
    top.mark(i);
    subtitle.textContent = [fact(info, 'date'), fact(info, 'torch') && `PyTorch ${fact(info, 'torch')}`].filter((part) => part !== '').join('  \u00b7  ');
    document.title = `${info.title} \u2013 msprobe report`;
    origin.replaceChildren(...info.origin.flatMap(([what, value]) => [h('dt', {}, what), h('dd', {}, value)]));
    main.replaceChildren(views[i].element);
    if (loadedViews.has(i) || document.readyState === 'loading') return;
    loadedViews.add(i);
    void views[i].load();
  };
  document.getElementById('app')!.replaceWith(
      h('a', {class: 'skip', href: '#calls', onclick: (event: Event) => {
        event.preventDefault();
        document.querySelector<HTMLElement>('.tbody')?.focus();
      }}, 'Skip to the calls'),
      h('header', {class: 'top'}, h('div', {class: 'line'}, h('h1', {}, 'msprobe report'), subtitle, themeButton(() => views.forEach((view) => view.redraw()))), top.element),
      ...(causes ? [h('div', {class: 'run shared'}, causes)] : []), main, h('footer', {}, origin, h('p', {class: 'note'}, `msprobe ${summary.version}. Keys: / search, arrows and Enter in the table, Esc or Back closes a call. The CSV files keep all digits.`)));
  if (summary.runs.length === 0) return;
  show(current);
  // The packed columns follow in the file; the summary is painted before they are read.
  document.addEventListener('DOMContentLoaded', () => show(current));
  const follow = () => {
    if (chosenRun() !== current) show(chosenRun());
    views[current].follow(readAddress());
  };
  addEventListener('popstate', follow);
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || (event.target as HTMLElement).matches('input, select')) return;
    event.preventDefault();
    views[current].focusSearch();
  });
}

start();
