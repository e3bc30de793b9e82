// SPDX-License-Identifier: Apache-2.0
// The data of the page: the summary embedded as JSON, and the packed columns, unpacked
// when they are first asked for. src/show/report/html_report.cc writes both.

/** Verdicts as the columns hold them. */
export const verdictNames = ['pass', 'warning', 'error', 'SKIP', 'inconclusive', 'none'] as const;
export const kPass = 0, kWarning = 1, kError = 2, kSkip = 3, kNone = 5;
/** From the worst to the least: error, warning, inconclusive, pass, SKIP, none. */
export const badness = [2, 4, 5, 1, 3, 0];

/** One word for a call, as src/show/report/answer.h has them. */
export const kWrong = 0, kSlight = 1, kFlagged = 2, kRight = 3, kSkipped = 4, kLost = 5, kRaised = 6, kInconclusive = 7;
export const kStandings = 8;
/** What makes a device not OK. */
export const isBad = (standing: number): boolean => standing === kWrong || standing === kLost || standing === kRaised;

/** What a call of a comparison does to the difference, as src/show/report/report_data.h has it. */
export const kUnknownSpread = 0, kAgrees = 1, kIntroduces = 2, kInherits = 3, kOneSided = 4;
export const kSpreads = 5;

/** The metric the page is about; 1 is the bound. */
export const kOverBound = 'Error over bound';

/** A metric that has no value in a row. */
export const kNoNumber = -Number.MAX_VALUE;

type BlockId = string;
interface TextBlocks { values: BlockId; ids: BlockId }

export interface Limit { metric: string; test: string; value: number | string; effect: string; origin: string }
export interface MetricInfo { title: string; side: '' | 'device' | 'reference'; numbers: BlockId }

export interface Card {
  api: string; cause: string; evidence: string; calls: number; slight: number; worstCall: number; worstName: string; worst: number | string | null;
  lines: string[]; moreLines: number;
  raised?: boolean;  // its calls do not run on the device
}
/** Calls of an API that do not run on the device; the text is the first line of the error. */
export interface RaisedApi { api: string; text: string; calls: number; firstCall: number; firstName: string; lines: string[]; moreLines: number }
export interface Answer {
  checked: number;
  apis: {api: string; wrong: number; total: number; cause: string}[];
  raised: RaisedApi[];
  skipped: [string, number][];
  cardCount: number;
  cards: Card[];
  hasStrict: boolean;
  standings: number[];
  spreads: number[];
}

export interface RunInfo {
  kind: string;
  title: string;
  place: string;  // "step1/rank0" of one of several dumps; empty: there is one
  origin: [string, string][];
  directions: [string, string];
  groupTitle: string;
  rerun: string;   // up to the call, as callCommand() takes it; '': none
  shrink: string;  // the same
  answer: Answer;
  since?: { title: string; appeared: number[]; fixed: number[]; still: number[] };
  firstDifference?: { call: number; text: string };
  calls: {
    count: number; name: TextBlocks; api: TextBlocks; group: TextBlocks; why: TextBlocks; message: TextBlocks; arguments: TextBlocks;
    line: TextBlocks; cause: TextBlocks; dtype: TextBlocks; standing: BlockId; spread: BlockId; forward: BlockId; backward: BlockId; strict: BlockId; firstRow: BlockId; rowCount: BlockId; stack: BlockId;
  };
  rows: {
    count: number; part: TextBlocks; benchDtype: TextBlocks; deviceDtype: TextBlocks; shape: TextBlocks;
    algorithm: TextBlocks; message: TextBlocks; reason: TextBlocks; cause: TextBlocks;
    status: BlockId; strict: BlockId; limits: BlockId;
  };
  edges: { from: BlockId; to: BlockId };
  groupParents: BlockId;
  metrics: MetricInfo[];
  limits: Limit[][];
  stacks: BlockId;
  maps: BlockId;
  scripts: BlockId;
}

/** Where the error of a row is, as src/judge/strict/error_map.cc writes it. */
export interface ErrorMap {
  shape: number[]; plane: boolean; rows: number; columns: number; cells: string; counts: number[];
  worst: [number, number | string, number | string, number | string][];
}

export interface Summary { version: string; runs: RunInfo[] }

/** [file, line, function, code, inside a library] */
export type Frame = [string, number, string, string, boolean];

export function readSummary(): Summary {
  return JSON.parse(document.getElementById('summary')!.textContent!);
}

async function bytesOf(id: BlockId): Promise<Uint8Array> {
  const element = document.getElementById(id)!;
  const binary = atob(element.textContent!);
  const packed = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) packed[i] = binary.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  element.remove();  // its text is large and not needed again
  return bytes;
}

/** Numbers were written in planes: all first bytes, then all second bytes, and so on. */
function fromPlanes(bytes: Uint8Array, width: number): ArrayBuffer {
  const count = bytes.length / width;
  const out = new Uint8Array(bytes.length);
  for (let plane = 0; plane < width; plane++) {
    const from = plane * count;
    for (let i = 0, to = plane; i < count; i++, to += width) out[to] = bytes[from + i];
  }
  return out.buffer;
}

/** Text that repeats: its values, and the number of the value per row. */
export interface TextColumn { values: string[]; ids: Uint32Array }
export const textAt = (column: TextColumn, row: number): string => column.values[column.ids[row]];

async function integers(id: BlockId): Promise<Uint32Array> {
  return new Uint32Array(fromPlanes(await bytesOf(id), 4));
}
async function numbers(id: BlockId): Promise<Float64Array> {
  return new Float64Array(fromPlanes(await bytesOf(id), 8));
}
async function json<T>(id: BlockId): Promise<T> {
  return JSON.parse(new TextDecoder().decode(await bytesOf(id)));
}
async function text(blocks: TextBlocks): Promise<TextColumn> {
  const [values, ids] = await Promise.all([json<string[]>(blocks.values), integers(blocks.ids)]);
  return {values, ids};
}

export interface Metric { title: string; side: MetricInfo['side']; numbers: Float64Array }

/** A group, the one it is part of (empty: none), and the class of a module (empty: not known). */
export type GroupParent = [group: string, parent: string, kind: string];

/** What the table, the filters and the plots need; the rest is in Details. */
export interface Run {
  info: RunInfo;
  name: TextColumn;
  api: TextColumn;
  group: TextColumn;
  why: TextColumn;
  line: TextColumn;
  cause: TextColumn;
  standing: Uint8Array;
  spread: Uint8Array;
  edges: { from: Uint32Array; to: Uint32Array };
  groupParents: GroupParent[];
  forward: Uint8Array;
  backward: Uint8Array;
  strict: Uint8Array;
  firstRow: Uint32Array;
  rowCount: Uint32Array;
  rowStatus: Uint8Array;
  rowStrict: Uint8Array;
  rowCause: TextColumn;
  rowDtype: TextColumn;   // of what the device gave
  dtype: TextColumn;      // of a call: where they differ, what the device should have given
  metrics: Metric[];
}

export async function loadRun(info: RunInfo): Promise<Run> {
  const {calls, rows} = info;
  const [name, api, group, why, line, cause, dtype, rowCause, rowDtype] = await Promise.all(
      [calls.name, calls.api, calls.group, calls.why, calls.line, calls.cause, calls.dtype, rows.cause, rows.deviceDtype].map(text));
  const [standing, spread, forward, backward, strict, rowStatus, rowStrict] = await Promise.all(
      [calls.standing, calls.spread, calls.forward, calls.backward, calls.strict, rows.status, rows.strict].map(bytesOf));
  const [firstRow, rowCount, from, to] = await Promise.all([calls.firstRow, calls.rowCount, info.edges.from, info.edges.to].map(integers));
  const groupParents = await json<GroupParent[]>(info.groupParents);
  const metrics = await Promise.all(info.metrics.map(
      async (metric) => ({title: metric.title, side: metric.side, numbers: await numbers(metric.numbers)})));
  return {info, name, api, group, why, line, cause, standing, spread, edges: {from, to}, groupParents, forward, backward, strict, firstRow, rowCount, rowStatus, rowStrict, rowCause, rowDtype, dtype, metrics};
}

/** The call a row belongs to. */
export function callOf(run: Run, row: number): number {
  let low = 0, high = run.firstRow.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (run.firstRow[middle] <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** What only the view of one call needs. */
export interface Details {
  callMessage: TextColumn;
  arguments: TextColumn;
  stack: Uint32Array;
  stacks: Frame[][];
  part: TextColumn;
  benchDtype: TextColumn;
  shape: TextColumn;
  algorithm: TextColumn;
  message: TextColumn;
  reason: TextColumn;
  limits: Uint32Array;
  maps: Map<number, ErrorMap>;
  scripts: Map<number, string>;
}

const loaded = new Map<RunInfo, Promise<Details>>();

export function loadDetails(info: RunInfo): Promise<Details> {
  const known = loaded.get(info);
  if (known) return known;
  const promise = (async () => {
    const [callMessage, args, stack, stacks, part, benchDtype, shape, algorithm, message, reason, limits, maps, scripts] =
        await Promise.all([
          text(info.calls.message), text(info.calls.arguments), integers(info.calls.stack), json<Frame[][]>(info.stacks),
          text(info.rows.part), text(info.rows.benchDtype), text(info.rows.shape), text(info.rows.algorithm),
          text(info.rows.message), text(info.rows.reason), integers(info.rows.limits), json<[number, ErrorMap][]>(info.maps),
          json<[number, string][]>(info.scripts),
        ]);
    return {callMessage, arguments: args, stack, stacks, part, benchDtype, shape, algorithm, message, reason, limits, maps: new Map(maps),
            scripts: new Map(scripts)};
  })();
  loaded.set(info, promise);
  return promise;
}
