// SPDX-License-Identifier: Apache-2.0
// Several dumps of one training: a grid of steps and ranks, one answer for all, and each cause once.
import {Answer, Card, isBad, kNoNumber, kSlight, RunInfo} from './data';
import {count, h} from './dom';
import {cardsOf, differs, isComparison, isOk, standingOrder, standingWord} from './words';

/** "step1/rank0": a row and a column of the grid. Ranks go across; of one step, or without ranks, whatever there is. */
interface Places { rows: string[]; columns: string[]; run: (row: string, column: string) => number | undefined }

const collator = new Intl.Collator('en', {numeric: true});

function split(place: string): [string, string] {
  const at = place.lastIndexOf('/');
  return at < 0 ? ['', place] : [place.slice(0, at), place.slice(at + 1)];
}

function placesOf(runs: RunInfo[]): Places {
  const at = new Map(runs.map((info, i) => [info.place, i]));
  const parts = runs.map((info) => split(info.place));
  const sorted = (names: string[]) => [...new Set(names)].sort(collator.compare);
  const rows = sorted(parts.map(([row]) => row)), columns = sorted(parts.map(([, column]) => column));
  // Steps of one rank go across, too.
  if (columns.length === 1 && rows.length > 1) return {rows: columns, columns: rows, run: (row, column) => at.get(`${column}/${row}`)};
  return {rows, columns, run: (row, column) => at.get(row === '' ? column : `${row}/${column}`)};
}

/** Whether these runs are the dumps of one training. */
export const arePlaces = (runs: RunInfo[]): boolean => runs.length > 1 && runs.every((info) => info.place !== '');

const stateOf = (info: RunInfo): string => {
  const {answer} = info;
  if (answer.checked === 0) return 'none';
  return !isOk(answer) || differs(info) ? 'wrong' : answer.standings[kSlight] > 0 ? 'slight' : 'ok';
};

const badCalls = ({answer}: RunInfo): number => answer.standings.reduce((sum, n, standing) => sum + (isBad(standing) ? n : 0), 0);

/** "5 wrong, 6 slightly off, 628 pass" */
export function resultWords(info: RunInfo): string {
  const {standings} = info.answer;
  if (differs(info)) return 'different';
  return standingOrder.filter((standing) => standings[standing] > 0).map((standing) => `${count(standings[standing])} ${standingWord(info, standing)}`).join(', ');
}

const kWide = 32;  // columns with numbers in their cells; beyond them, cells are small

/** A cell per dump, coloured by its result; the chosen one is what the page below shows. */
export function placeGrid(runs: RunInfo[], choose: (run: number) => void): {element: HTMLElement; mark: (run: number) => void} {
  const {rows, columns, run} = placesOf(runs);
  let lines: [string, (number | undefined)[]][] = rows.map((row) => [row, columns.map((column) => run(row, column))]);
  const folded = rows.length === 1 && columns.length > kWide;
  if (folded) {
    // One long row is cut into several.
    const all = lines[0][1];
    lines = [];
    for (let i = 0; i < all.length; i += kWide) lines.push([columns[i], all.slice(i, i + kWide)]);
  }
  const small = !folded && columns.length > kWide;
  const buttons: HTMLElement[] = [];
  const cell = (i: number | undefined): HTMLElement => {
    if (i === undefined) return h('td', {});
    const info = runs[i], state = stateOf(info), bad = badCalls(info), text = `${info.place}: ${resultWords(info)}`;
    buttons[i] = h('button', {type: 'button', class: `place ${state}`, 'aria-pressed': 'false', 'aria-label': text, title: text, onclick: () => choose(i)},
                   small ? '' : isComparison(info) && state !== 'none' ? (state === 'ok' ? '=' : state === 'slight' ? '~' : '\u2260') : state === 'none' ? '\u2013' : bad > 0 ? count(bad) : state === 'slight' ? '~' : '\u2713');
    return h('td', {}, buttons[i]);
  };
  const shortened = (name: string): string => name.replace(/^(step|rank|proc) ?/, '');
  const word = columns.every((name) => name.startsWith('rank')) ? 'rank' : columns.every((name) => name.startsWith('step')) ? 'step' : '';
  const every = small ? 8 : 1;
  const head = !folded && h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, word),
    ...columns.map((name, i) => h('th', {scope: 'col'}, i % every === 0 ? (word === '' ? name : shortened(name)) : ''))));
  const element = h('div', {class: small ? 'places tiny' : 'places', tabindex: 0, role: 'region', 'aria-label': 'Result per step and rank'},
                    h('table', {}, head, h('tbody', {}, ...lines.map(([name, cells]) => h('tr', {}, h('th', {scope: 'row'}, name), ...cells.map(cell))))));
  return {element, mark: (chosen) => buttons.forEach((button, i) => button.setAttribute('aria-pressed', i === chosen ? 'true' : 'false'))};
}

/** A cause in several dumps: the card of the worst, and where else it is. */
export interface MergedCard extends Card { run: number; runs: number[] }

const sizeOf = (card: Card): number => (card.worst === null ? kNoNumber : card.worst === 'inf' || card.worst === 'nan' ? Infinity : Number(card.worst));

/** Those of what does not run are cards already here. */
function mergedCards(runs: RunInfo[]): MergedCard[] {
  const merged = new Map<string, MergedCard>();
  runs.forEach(({answer}, run) => cardsOf(answer).forEach((card) => {
    const key = `${card.api}\n${card.cause}`, known = merged.get(key);
    if (!known) {
      merged.set(key, {...card, lines: [...card.lines], run, runs: [run]});
      return;
    }
    known.runs.push(run);
    known.calls += card.calls;
    known.slight += card.slight;
    known.moreLines = Math.max(known.moreLines, card.moreLines);
    for (const line of card.lines) if (!known.lines.includes(line)) known.lines.push(line);
    if (sizeOf(card) > sizeOf(known)) Object.assign(known, {worst: card.worst, worstCall: card.worstCall, worstName: card.worstName, evidence: card.evidence, run});
  }));
  const wrong = (card: Card) => (card.raised ? 2 : Number(card.slight < card.calls));
  return [...merged.values()].sort((a, b) => wrong(b) - wrong(a) || b.runs.length - a.runs.length || sizeOf(b) - sizeOf(a));
}

/** All dumps as if they were one. Its cards are all of them, those of what does not run as well. */
export function together(runs: RunInfo[]): RunInfo & {answer: Answer & {cards: MergedCard[]}} {
  const sum = (of: (answer: Answer) => number[]) => runs.map(({answer}) => of(answer)).reduce((a, b) => a.map((x, i) => x + b[i]));
  const apis = new Map<string, Answer['apis'][number]>(), raised = new Map<string, Answer['raised'][number]>(), skipped = new Map<string, number>();
  for (const {answer} of runs) {
    for (const one of answer.apis) {
      const known = apis.get(one.api);
      if (known) known.wrong += one.wrong, known.total += one.total;
      else apis.set(one.api, {...one});
    }
    for (const one of answer.raised) {
      const known = raised.get(one.api);
      if (known) known.calls += one.calls;
      else raised.set(one.api, {...one});
    }
    for (const [why, n] of answer.skipped) skipped.set(why, (skipped.get(why) ?? 0) + n);
  }
  const cards = mergedCards(runs);
  const answer = {
    ...runs[0].answer, checked: sum(({checked}) => [checked])[0], apis: [...apis.values()].sort((a, b) => b.wrong - a.wrong), raised: [...raised.values()], cards, cardCount: cards.length,
    skipped: [...skipped].sort((a, b) => b[1] - a[1]), standings: sum(({standings}) => standings), spreads: sum(({spreads}) => spreads),
    hasStrict: runs.some((info) => info.answer.hasStrict),
  };
  const calls = {...runs[0].calls, count: runs.reduce((n, info) => n + info.calls.count, 0)};
  return {...runs[0], answer, calls, origin: [], since: undefined, firstDifference: undefined};
}

/** "on 16 of 16 ranks, in 3 of 3 steps"; of few, their names. */
export function whereText(runs: RunInfo[], chosen: number[]): string {
  const parts = chosen.map((i) => split(runs[i].place));
  const distinct = (at: 0 | 1, of = parts) => [...new Set(of.map((part) => part[at]))].sort(collator.compare);
  const all = runs.map((info) => split(info.place)), rows = distinct(0, all), columns = distinct(1, all);
  const said = (all: string[], some: string[]): string => {
    const word = ['rank', 'step'].find((start) => all.every((name) => name.startsWith(start)));
    if (all.length === 1 || word === undefined) return '';
    const listed = some.length < all.length && some.length <= 4 ? `: ${some.map((name) => name.slice(word.length).trim()).join(', ')}` : '';
    return `${word === 'rank' ? 'on' : 'in'} ${count(some.length)} of ${count(all.length)} ${word}s${listed}`;
  };
  const words = [said(columns, distinct(1)), said(rows, distinct(0))].filter((text) => text !== '');
  if (words.length > 0 && distinct(0).length * distinct(1).length === chosen.length) return words.join(', ');
  return `in ${count(chosen.length)} of ${count(runs.length)} dumps${words.length > 0 ? ` (${words.join(', ')})` : ''}`;
}

/** "16 of 16 dumps are wrong." */
export function overall(runs: RunInfo[]): string {
  const states = runs.map(stateOf), n = (state: string) => states.filter((one) => one === state).length;
  const comparison = isComparison(runs[0]);
  const wrong = n('wrong'), none = n('none');
  const said = [wrong === 0 ? (none === 0 ? `All ${count(runs.length)} dumps ${comparison ? 'agree' : 'are right'}.` : `${count(runs.length - none)} of ${count(runs.length)} dumps are right.`)
                            : `${count(wrong)} of ${count(runs.length)} dumps ${comparison ? (wrong === 1 ? 'differs' : 'differ') : wrong === 1 ? 'is wrong' : 'are wrong'}.`];
  if (none > 0) said.push(`In ${count(none)} nothing was checked.`);
  return said.join(' ');
}

export const allGood = (runs: RunInfo[]): boolean => runs.every((info) => ['ok', 'slight'].includes(stateOf(info)));
