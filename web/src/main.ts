// The page: a tab per run; in it tiles, groups, plots, the call table and the view of one call.
import {Calls, Filter, noFilter, Range, Sort} from './calls';
import {callOf, loadDetails, loadRun, Metric, readSummary, Run, RunInfo, textAt} from './data';
import {detailView} from './detail';
import {count, h} from './dom';
import {apiPanel, GroupPanel, modulePanel, nounOf, Tiles, tiles} from './overview';
import {farthest, histogram, scatter} from './plots';
import './report.css';
import {CallTable} from './table';

const summary = readSummary();
const runs = new Map<RunInfo, Promise<Run>>();

/** What the page measured of itself, for its tests and the curious: milliseconds. */
const timing: Record<string, number> = {};
(globalThis as unknown as {msprobeTiming: Record<string, number>}).msprobeTiming = timing;

class RunView {
  readonly element: HTMLElement;
  private filter: Filter = noFilter();
  private sort: Sort = {key: 'worst', descending: true};
  private calls: Calls | null = null;
  private table: CallTable | null = null;
  private readonly top: Tiles;
  private groups: {api: GroupPanel; module: GroupPanel} | null = null;
  private readonly panels = h('div', {class: 'panels'});
  private readonly plots = h('section', {class: 'panel plots'});
  private readonly compare = h('section', {class: 'panel compare', hidden: true});
  private readonly chips = h('div', {class: 'chips'});
  private readonly status = h('span', {class: 'note', role: 'status'}, 'unpacking \u2026');
  private readonly search = h('input', {type: 'search', placeholder: 'Search calls, modules, causes', 'aria-label': 'Search calls',
                                        oninput: () => this.change({text: this.search.value})});
  private readonly list = h('section', {class: 'list', 'aria-label': 'Call table'});
  private readonly detailTitle = h('h2', {tabindex: -1});
  private readonly detailBody = h('div', {class: 'body', tabindex: 0, role: 'region', 'aria-label': 'Call details'});
  private readonly detail = h('aside', {class: 'side', hidden: true, 'aria-label': 'Call'},
                              h('header', {}, this.detailTitle, h('button', {type: 'button', class: 'small', onclick: () => this.close()}, 'close (Esc)')),
                              this.detailBody);

  constructor(private readonly info: RunInfo) {
    this.top = tiles(info, (next) => this.change(next(this.filter)));
    this.top.mark(this.filter);
    this.element = h('div', {class: 'run'}, this.top.element, this.firstDifference(), this.panels, this.compare,
                     h('div', {class: 'toolbar'}, this.search, this.chips, this.status), this.list, this.detail);
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && !this.detail.hidden) this.close();
    });
  }

  async load(): Promise<void> {
    let promise = runs.get(this.info);
    if (!promise) runs.set(this.info, promise = loadRun(this.info));
    const run = await promise;
    this.calls = new Calls(run);
    this.table = new CallTable(this.calls, this.sort, (sort) => this.order(sort), (call) => void this.open(call, true),
                               (call) => { if (!this.detail.hidden) void this.open(call, false); });
    this.list.append(this.table.element);
    this.apply();
    this.drawPanels();
    this.drawPlots(run);
    this.drawComparison(run);
    timing.ready = performance.now();
    const name = decodeURIComponent(location.hash.slice(1));
    const call = name === '' ? -1 : run.name.ids.findIndex((id) => run.name.values[id] === name);
    if (call >= 0) void this.open(call, true);
  }

  focusSearch(): void { this.search.focus(); }

  /** Canvas colours are those of the moment they were drawn. */
  redraw(): void {
    if (this.calls) this.drawComparison(this.calls.run);
  }

  private firstDifference(): HTMLElement | null {
    const first = this.info.firstDifference;
    if (!first) return null;
    return h('p', {class: 'panel first'}, h('b', {}, 'First difference: '), first.text, ' ',
             h('button', {type: 'button', class: 'small', onclick: () => void this.open(first.call, true)}, 'show'));
  }

  private change(change: Partial<Filter>): void {
    this.filter = {...this.filter, ...change};
    this.apply();
  }

  private order(sort: Sort): void {
    this.sort = sort;
    this.apply();
  }

  private apply(): void {
    if (!this.calls || !this.table) return;
    const start = performance.now();
    const order = this.calls.select(this.filter, this.sort);
    this.table.show(order, this.sort);
    this.status.textContent = `${count(order.length)} of ${count(this.calls.count)} ${nounOf(this.info)}`;
    this.top.mark(this.filter);
    this.groups?.api.mark(this.filter.api);
    this.groups?.module.mark(this.filter.group);
    this.drawChips();
    timing.filter = performance.now() - start;
  }

  private drawPanels(): void {
    const calls = this.calls!;
    const api = apiPanel(calls, (id) => this.change({api: this.filter.api === id ? null : id}));
    const module = modulePanel(calls, (id) => this.change({group: this.filter.group === id ? null : id}));
    this.groups = {api, module};
    this.panels.replaceChildren(api.element, module.element, this.plots);
  }

  private drawChips(): void {
    const chip = (text: string, clear: Partial<Filter>) =>
        h('button', {type: 'button', class: 'chip', 'aria-label': `remove filter ${text}`, onclick: () => this.change(clear)}, `${text} \u00d7`);
    const {filter, calls} = this;
    this.chips.replaceChildren(...[
      filter.api !== null && chip(calls!.apis[filter.api], {api: null}),
      filter.group !== null && chip(calls!.run.group.values[filter.group], {group: null}),
      filter.range !== null && chip(filter.range.label, {range: null}),
    ].filter((element): element is HTMLButtonElement => element !== false));
  }

  private drawPlots(run: Run): void {
    const own = run.metrics.filter((metric) => metric.side === '');
    const preferred = run.info.kind === 'compare' ? ['Maximum relative error ratio', 'Mean ULP error']
                                                  : ['Maximum relative error', 'Maximum ULP error', 'Relative difference of max', 'Relative difference of l2 norm'];
    const shown = preferred.filter((title) => own.some((m) => m.title === title)).slice(0, 2);
    for (const metric of own) {
      if (shown.length < Math.min(2, own.length) && !shown.includes(metric.title)) shown.push(metric.title);
    }
    this.plots.replaceChildren(h('h2', {}, 'Error distribution ', h('span', {class: 'note'}, 'rows: '),
                                 h('span', {class: 'key all'}, 'all'), h('span', {class: 'key bad'}, 'warn or fail'), h('span', {class: 'key error'}, 'fail')),
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
    const label = (row: number) => `${this.calls!.name(callOf(run, row))} ${textAt(run.dtype, row).replace('torch.', '')}`;
    const show = (title: string) => {
      const [device, reference] = [find(title, side)!, find(title, 'reference')!];
      place.replaceChildren(scatter(run, device, reference, open), farthest(run, device, reference, label, open));
    };
    const first = titles.includes('Maximum relative error') ? 'Maximum relative error' : titles[0];
    show(first);
    this.compare.hidden = false;
    this.compare.replaceChildren(h('h2', {}, 'Device against reference device ', this.choice('Compared metric', titles, first, show)), place);
  }

  private async open(call: number, focus: boolean): Promise<void> {
    const details = await loadDetails(this.info);
    this.detailTitle.textContent = this.calls!.name(call);
    this.detailBody.replaceChildren(detailView(this.calls!, details, call));
    this.detailBody.scrollTop = 0;
    this.detail.hidden = false;
    document.body.classList.add('open');
    history.replaceState(null, '', `#${encodeURIComponent(this.calls!.name(call))}`);
    if (focus) this.table?.focus();
  }

  private close(): void {
    this.detail.hidden = true;
    document.body.classList.remove('open');
    history.replaceState(null, '', location.pathname + location.search);
    this.table?.focus();
  }
}

const themes = ['auto', 'light', 'dark'];

function themeButton(onChange: () => void): HTMLElement {
  const button = h('button', {type: 'button', class: 'small', onclick: () => {
    const now = themes[(themes.indexOf(document.documentElement.dataset.theme ?? 'auto') + 1) % themes.length];
    document.documentElement.dataset.theme = now;
    button.textContent = `theme: ${now}`;
    onChange();
  }}, 'theme: auto');
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', onChange);
  return button;
}

function start(): void {
  const views = summary.runs.map((info) => new RunView(info));
  const main = h('main', {});
  let current = 0;
  const tabs = summary.runs.map((info, i) => h('button', {type: 'button', class: 'tab', onclick: () => show(i)}, info.title));
  const origin = h('dl', {class: 'origin'});
  const show = (i: number) => {
    current = i;
    tabs.forEach((tab, k) => tab.setAttribute('aria-pressed', k === i ? 'true' : 'false'));
    origin.replaceChildren(...summary.runs[i].origin.flatMap(([what, value]) => [h('dt', {}, what), h('dd', {}, value)]));
    main.replaceChildren(views[i].element);
    if (loadedViews.has(i) || document.readyState === 'loading') return;
    loadedViews.add(i);
    void views[i].load();
  };
  const loadedViews = new Set<number>();
  document.getElementById('app')!.replaceWith(
      h('header', {class: 'top'}, h('h1', {}, 'msprobe report'), tabs.length > 1 ? h('nav', {'aria-label': 'Runs'}, ...tabs) : h('span', {class: 'note'}, summary.runs[0]?.title ?? ''),
        themeButton(() => views.forEach((view) => view.redraw()))),
      main, h('footer', {}, origin, h('p', {class: 'note'}, `msprobe ${summary.version}. Keys: / search, arrows and Enter in the table, Esc closes a call. The CSV files keep all digits.`)));
  show(0);
  // The packed columns follow in the file; what stands here is painted before they are read.
  document.addEventListener('DOMContentLoaded', () => show(0));
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || (event.target as HTMLElement).matches('input, select')) return;
    event.preventDefault();
    views[current].focusSearch();
  });
}

start();
