// SPDX-License-Identifier: Apache-2.0
// The calls of a run as the page works with them: who is worst, who passes the filter, in which order.
import {badness, isBad, kAgrees, kInherits, kIntroduces, kNoNumber, kOverBound, kRight, kSkipped, kSlight, kStandings, kWrong, Metric, Run, textAt} from './data';
import {count} from './dom';
import {GroupTree} from './tree';
import {standingOrder, standingWord} from './words';

/** A number of the call table: the worst of a metric over the rows of a call. */
export interface Worst { label: string; title: string; numbers: Float64Array; largest: boolean }

export interface Range { metric: Metric; low: number; high: number; label: string }

export interface Filter {
  text: string;
  standing: number | null;
  api: number | null;
  dtype: number | null;
  cause: number | null;
  group: number | null;
  spread: number | null;
  range: Range | null;
}
export const noFilter = (): Filter =>
    ({text: '', standing: null, api: null, dtype: null, cause: null, group: null, spread: null, range: null});

export type SortKey = 'order' | 'spread' | 'name' | 'group' | 'forward' | 'backward' | 'standing' | 'why' | number;
export interface Sort { key: SortKey; descending: boolean }

const kCosine = 'Cosine similarity', kRelative = 'Maximum relative error', kAbsolute = 'Maximum absolute error';

/** Metrics the table shows where a run has them. A cosine is shown as its distance to 1: the digits are in that. */
const shownMetrics: [title: string, side: string, label: string, largest: boolean][] = [
  [kOverBound, '', 'Error / bound', true],
  [kOverBound, 'device', 'Error / bound', true],
  ['Maximum relative error ratio', '', 'Max rel ratio', true],
  ['RMSE ratio', '', 'RMSE ratio', true],
  [kCosine, '', '1 - cosine', true],
  ['1 - cosine', '', '1 - cosine', true],
  ['Maximum absolute error', '', 'Max abs err', true],
  [kRelative, '', 'Max rel err', true],
  ['Maximum ULP error', '', 'Max ULP', true],
  ['Relative difference of max', '', 'Max rel diff', true],
  ['Relative difference of l2 norm', '', 'L2 rel diff', true],
  [kOverBound, 'reference', 'Ref. / bound', true],
];

/** NaN is worse than any number. */
const beyond = (one: number, other: number, largest: boolean): boolean =>
    Number.isNaN(one) ? !Number.isNaN(other) : largest ? one > other : one < other;

function worstOf(run: Run, metric: Metric, largest: boolean): Float64Array {
  const out = new Float64Array(run.info.calls.count).fill(kNoNumber);
  for (let call = 0; call < out.length; call++) {
    const end = run.firstRow[call] + run.rowCount[call];
    for (let row = run.firstRow[call]; row < end; row++) {
      const x = metric.numbers[row];
      if (x !== kNoNumber && (out[call] === kNoNumber || beyond(x, out[call], largest))) out[call] = x;
    }
  }
  return out;
}

/**
 * The relative error is taken over the elements that are finite on both sides. Beside a NaN it would look as if all
 * were well, so a call is as bad here as in its absolute error.
 */
function spoil(run: Run, relative: Float64Array): void {
  const metric = run.metrics.find((m) => m.title === kAbsolute && m.side === '');
  if (!metric) return;
  worstOf(run, metric, true).forEach((x, call) => {
    if (relative[call] !== kNoNumber && !Number.isFinite(x)) relative[call] = x;
  });
}

const kindOfSpread: Record<number, number> = {[kIntroduces]: kWrong, [kInherits]: kSlight, [kAgrees]: kRight};
const spreadOfKind: Record<number, string> = {[kWrong]: 'introduces', [kSlight]: 'inherits', [kRight]: 'agrees', [kSkipped]: 'not compared'};

/** A cause is that of a call that is off. */
const hasCause = (standing: number): boolean => isBad(standing) || standing === kSlight;

export class Calls {
  readonly count: number;
  readonly apis: string[];
  readonly api: Uint32Array;
  readonly dtype: Uint32Array;
  readonly overBound: Worst | null;
  readonly metrics: Worst[];
  readonly hasStrict: boolean;
  readonly hasSpread: boolean;    // a comparison that knows who introduces a difference
  /** What colours a call in the tree and in tables of counts: its standing, or in a comparison what stands for it. */
  readonly kind: Uint8Array;
  readonly groups: GroupTree;
  private order: Uint32Array;     // all calls, sorted
  private readonly lowerNames: string[];
  private readonly namedAfterApi: boolean;  // API and a number: what calls are named, operators are not
  private sorted: Sort | null = null;

  constructor(readonly run: Run) {
    this.count = run.info.calls.count;
    this.apis = run.api.values;
    this.api = run.api.ids;
    this.dtype = run.dtype.ids;
    this.hasStrict = run.info.answer.hasStrict;
    this.hasSpread = run.spread.some((spread) => spread === kIntroduces || spread === kInherits);
    this.lowerNames = Array.from({length: this.count}, (_, i) => textAt(run.name, i).toLowerCase());
    this.kind = this.hasSpread ? run.spread.map((spread) => kindOfSpread[spread] ?? kSkipped) : run.standing;
    this.groups = new GroupTree(run, this.kind);
    this.namedAfterApi = run.info.kind !== 'torchair';
    this.metrics = [];
    for (const [title, side, label, largest] of shownMetrics) {
      const metric = run.metrics.find((m) => m.title === title && m.side === side);
      // Beside the error over bound one more measure of the same says little.
      if (title === 'Maximum ULP error' && this.metrics.some((m) => m.title === kOverBound)) continue;
      if (!metric) continue;
      const numbers = worstOf(run, metric, title !== kCosine && largest);
      if (title === kRelative) spoil(run, numbers);
      if (title === kCosine) numbers.forEach((x, i) => { if (x !== kNoNumber) numbers[i] = Math.max(0, 1 - x); });
      this.metrics.push({label, title, largest, numbers});
    }
    this.overBound = this.metrics.find((m) => m.title === kOverBound) ?? null;
    this.order = Uint32Array.from({length: this.count}, (_, i) => i);
  }

  /** What the table is sorted by at first: who introduces a difference, else what is wrong. */
  get defaultSort(): Sort { return {key: this.hasSpread ? 'spread' : 'standing', descending: true}; }

  /** How many of these calls have no number in a metric. */
  blanks(metric: Worst, calls: Uint32Array): number {
    let n = 0;
    for (const call of calls) if (metric.numbers[call] === kNoNumber) n++;
    return n;
  }

  /** "2 wrong, 5 pass", of counts by kind. */
  words(counts: number[]): string {
    const word = (kind: number) => (this.hasSpread ? spreadOfKind[kind] : standingWord(this.run.info, kind));
    return standingOrder.filter((kind) => counts[kind] > 0).map((kind) => `${count(counts[kind])} ${word(kind)}`).join(', ');
  }

  name(call: number): string { return textAt(this.run.name, call); }
  group(call: number): string { return textAt(this.run.group, call); }

  /** The calls that pass the filter, in order. Filtering keeps an order once it is made. */
  select(filter: Filter, sort: Sort): Uint32Array {
    if (!this.sorted || this.sorted.key !== sort.key || this.sorted.descending !== sort.descending) {
      this.sortBy(sort);
    }
    const words = filter.text.toLowerCase().split(/\s+/).filter((word) => word !== '').map((word) => this.matches(word));
    const inGroup = filter.group === null ? null : this.groups.within(filter.group);
    const inRange = filter.range && this.callsInRange(filter.range);
    const out = new Uint32Array(this.count);
    let kept = 0;
    for (let place = 0; place < this.count; place++) {
      const call = this.order[place];
      if (filter.standing !== null && this.run.standing[call] !== filter.standing) continue;
      if (filter.api !== null && this.api[call] !== filter.api) continue;
      if (filter.dtype !== null && this.dtype[call] !== filter.dtype) continue;
      if (filter.cause !== null && (this.run.cause.ids[call] !== filter.cause || !hasCause(this.run.standing[call]))) continue;
      if (filter.spread !== null && this.run.spread[call] !== filter.spread) continue;
      if (inGroup && !inGroup[this.run.group.ids[call]]) continue;
      if (inRange && !inRange[call]) continue;
      let found = 1;
      for (let i = 0; i < words.length; i++) found &= words[i][call];
      if (found === 1) out[kept++] = call;
    }
    return out.subarray(0, kept);
  }

  /** 1 for the calls whose API, group, line or reason holds the word: asked once per value, not once per call. */
  private matches(word: string): Uint8Array {
    const holds = (values: string[]) => Uint8Array.from(values, (value) => Number(value.toLowerCase().includes(word)));
    const {run} = this;
    const api = holds(this.apis), group = holds(run.group.values), why = holds(run.why.values), line = holds(run.line.values);
    const apis = this.api, groups = run.group.ids, reasons = run.why.ids, lines = run.line.ids;
    const out = new Uint8Array(this.count);
    for (let call = 0; call < out.length; call++) out[call] = api[apis[call]] | group[groups[call]] | why[reasons[call]] | line[lines[call]];
    // Only a word that ends so can reach into the number behind the API.
    if (this.namedAfterApi && !/[.\d]$/.test(word)) return out;
    for (let call = 0; call < out.length; call++) if (out[call] === 0 && this.lowerNames[call].includes(word)) out[call] = 1;
    return out;
  }

  private callsInRange(range: Range): Uint8Array {
    const {firstRow, rowCount} = this.run;
    const out = new Uint8Array(this.count);
    for (let call = 0; call < this.count; call++) {
      for (let row = firstRow[call]; row < firstRow[call] + rowCount[call]; row++) {
        const x = range.metric.numbers[row];
        const inside = Number.isNaN(range.low) ? x !== kNoNumber && !Number.isFinite(x) : x >= range.low && x < range.high;
        if (inside) out[call] = 1;
      }
    }
    return out;
  }

  private sortBy(sort: Sort): void {
    const keys = this.keys(sort);
    const sign = sort.descending ? -1 : 1;
    // Ties stay in the order of the dump.
    this.order = Uint32Array.from({length: this.count}, (_, i) => i)
                     .sort((a, b) => (keys[a] === keys[b] ? a - b : sign * (keys[a] - keys[b])));
    this.sorted = sort;
  }

  private keys(sort: Sort): ArrayLike<number> {
    const {key} = sort;
    if (typeof key === 'number') return this.metricKeys(this.metrics[key], sort.descending);
    switch (key) {
      case 'standing': return this.severity();
      case 'spread': return this.spreadKeys();
      case 'order': return Float64Array.from({length: this.count}, (_, i) => i);
      case 'name': return this.namedAfterApi ? this.nameKeys() : ranks(this.run.name.values, this.run.name.ids);
      case 'group': return ranks(this.run.group.values, this.run.group.ids);
      case 'why': return ranks(this.run.why.values, this.run.why.ids, true);
      case 'forward': return this.run.forward.map((v) => badness[v]);
      case 'backward': return this.run.backward.map((v) => badness[v]);
    }
  }

  /** Who introduces a difference, then who inherits one; each in the order they ran. The rest by verdict. */
  private spreadKeys(): Float64Array {
    const severity = this.severity();
    return severity.map((other, call) => {
      const spread = this.run.spread[call];
      return spread === kIntroduces ? 30 : spread === kInherits ? 20 : other;
    });
  }

  /** By API, then by the number of the call. */
  private nameKeys(): Float64Array {
    const rank = ranks(this.apis, this.api);
    return rank.map((api, call) => api * 1e9 + Number(/\d+$/.exec(this.name(call))?.[0] ?? 0));
  }

  /** A call without a number sorts above every call that passes, unless it passes itself. */
  private metricKeys(metric: Worst, descending: boolean): Float64Array {
    const top = metric.largest ? Number.MAX_VALUE : -Number.MAX_VALUE;
    const ofBound = metric.title === kOverBound;
    return metric.numbers.map((x, call) => {
      if (Number.isNaN(x)) return top;
      if (x !== kNoNumber) return Math.min(Math.max(x, -Number.MAX_VALUE), Number.MAX_VALUE);
      const standing = this.run.standing[call];
      if (isBad(standing)) return top;
      // Between what is beyond its bound and what is within.
      if (ofBound) return standing === kSlight ? 4 : 1 + Number.EPSILON * (standing === kSkipped ? 2 : 1);
      return standing === kRight ? (descending ? -Infinity : Infinity) : top;
    });
  }

  /** By standing, then by how much: the error over bound, else the largest relative error or ratio. */
  private severity(): Float64Array {
    const measure = this.overBound ?? this.metrics.find((m) => m.title.startsWith('Maximum relative error'));
    const out = new Float64Array(this.count);
    for (let i = 0; i < this.count; i++) {
      const x = measure ? measure.numbers[i] : kNoNumber;
      // Maps 0..inf to 0..1, growing; NaN counts as infinite.
      const excess = x === kNoNumber ? 0 : Number.isFinite(x) ? Math.atan(Math.log1p(Math.max(x, 0) * 1e6)) / 2 : 0.99;
      out[i] = severityOf[this.run.standing[i]] + excess;
    }
    return out;
  }
}

/** By standing, as standingOrder of words.ts has them. */
const severityOf = Float64Array.from({length: kStandings}, (_, standing) => standingOrder.length - standingOrder.indexOf(standing));

/** The place of each value in alphabetical order, empty values last where asked. */
function ranks(values: string[], ids: Uint32Array, emptyLast = false): Float64Array {
  const order = values.map((_, i) => i);
  const collator = new Intl.Collator('en', {numeric: true});
  order.sort((a, b) => {
    if (emptyLast && (values[a] === '') !== (values[b] === '')) return values[a] === '' ? 1 : -1;
    return collator.compare(values[a], values[b]);
  });
  const rank = new Float64Array(values.length);
  order.forEach((value, place) => (rank[value] = place));
  return Float64Array.from(ids, (id) => rank[id]);
}

/** Calls of one API or group by standing. */
export interface Tally { id: number; name: string; total: number; counts: number[] }

export function tally(names: string[], ids: Uint32Array, standing: Uint8Array): Tally[] {
  const all = names.map((name, id) => ({id, name, total: 0, counts: new Array<number>(kStandings).fill(0)}));
  for (let i = 0; i < ids.length; i++) {
    all[ids[i]].total++;
    all[ids[i]].counts[standing[i]]++;
  }
  return all.sort((a, b) => {
    for (const standing of standingOrder) if (a.counts[standing] !== b.counts[standing]) return b.counts[standing] - a.counts[standing];
    return b.total - a.total;
  });
}
