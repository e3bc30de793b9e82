// SPDX-License-Identifier: Apache-2.0
// The first screen: one sentence per device, and a card per cause.
import {callCommand} from './command';
import {Card, kNoNumber, RunInfo} from './data';
import {copyButton, count, h} from './dom';
import {allGood, arePlaces, MergedCard, overall, placeGrid, resultWords, together, whereText} from './places';
import {bareApi, cardsOf, coverage, differs, isComparison, isOk, nounOf, sentence, showsCauses, times} from './words';

interface Answers { element: HTMLElement; mark: (run: number) => void }

const wordOf = (info: RunInfo, ok: boolean): string =>
    info.answer.checked === 0 ? 'NOTHING CHECKED' : ok ? 'OK' : isComparison(info) ? 'DIFFERENT' : 'NOT OK';
const said = (info: RunInfo): HTMLElement => h('span', {class: 'said'}, sentence(info), ' ', h('span', {class: 'note'}, coverage(info)));

/** Of several dumps: one sentence for all, a grid of their results, and a line about the chosen one. */
function answersOfPlaces(runs: RunInfo[], choose: (run: number) => void): Answers {
  const all = together(runs), ok = allGood(runs);
  const grid = placeGrid(runs, choose);
  const chosen = h('p', {class: 'chosen', role: 'status'});
  const element = h('div', {class: 'answers'},
                    h('div', {class: ok ? 'answer good' : 'answer bad'}, h('strong', {class: 'verdict'}, wordOf(all, ok)),
                      h('span', {class: 'said'}, overall(runs), ' ', isComparison(runs[0]) ? '' : sentence(all), ' ', h('span', {class: 'note'}, coverage(all)))),
                    grid.element, chosen);
  return {element, mark: (run) => {
    grid.mark(run);
    const info = runs[run], fine = isOk(info.answer) && !differs(info);
    chosen.replaceChildren(h('span', {class: 'note'}, 'below: '), h('b', {}, info.title), ' ', h('span', {class: fine ? 'good' : 'bad'}, h('strong', {class: 'verdict'}, wordOf(info, fine))), ' ',
                           ...(isComparison(info) ? [said(info)] : [`${resultWords(info)}. `, h('span', {class: 'note'}, coverage(info))]));
  }};
}

/** One line per run; the chosen one is what the page below shows. */
export function answers(runs: RunInfo[], choose: (run: number) => void): Answers {
  if (arePlaces(runs)) return answersOfPlaces(runs, choose);
  const lines = runs.map((info, i) => {
    const ok = isOk(info.answer) && !differs(info);
    const name = runs.length > 1
        ? h('button', {type: 'button', class: 'tab', 'aria-pressed': 'false', onclick: () => choose(i)}, info.title)
        : h('span', {class: 'device'}, info.title);
    return {name, element: h('li', {class: ok ? 'answer good' : 'answer bad'}, name, h('strong', {class: 'verdict'}, wordOf(info, ok)), said(info))};
  });
  return {
    element: h('ul', {class: 'answers', 'aria-label': 'Result per device'}, ...lines.map((line) => line.element)),
    mark: (run) => lines.forEach((line, i) => { if (runs.length > 1) line.name.setAttribute('aria-pressed', i === run ? 'true' : 'false'); }),
  };
}

const kShownCards = 8, kShownLines = 3;

const worstOf = (card: Card): number => (card.worst === null ? kNoNumber : card.worst === 'inf' ? Infinity : Number(card.worst));

export interface CardActions { show: (card: Card) => void; open: (call: number) => void; name: (call: number) => string }

/** The causes of several dumps, each once; a card acts on the dump where it is worst. */
export function placeCards(runs: RunInfo[], actionsOf: (run: number) => CardActions): HTMLElement | null {
  if (!arePlaces(runs) || runs.some((info) => !showsCauses(info))) return null;
  const owner = (card: Card) => (card as MergedCard).run;
  const all = together(runs);
  return cards({...all, answer: {...all.answer, raised: []}}, (card) => actionsOf(owner(card)), (card) => runs[owner(card)], (card) => `, ${whereText(runs, (card as MergedCard).runs)}`);
}

/** Cards are made from the summary; their buttons work once the calls are unpacked. */
export function cards(all: RunInfo, actionsOf: (card: Card) => CardActions, ownerOf: (card: Card) => RunInfo = () => all, where: (card: Card) => string = () => ''): HTMLElement | null {
  const {answer} = all;
  const causes = cardsOf(answer);
  if (causes.length === 0) return null;
  const made = (card: Card) => {
    const info = ownerOf(card), actions: CardActions = {...actionsOf(card), name: () => card.worstName};
    const worst = worstOf(card);
    const slight = card.slight === card.calls;
    const lines = card.lines.slice(0, kShownLines).join(', ') + (card.moreLines > 0 ? ` and ${count(card.moreLines)} more` : '');
    const title = card.cause === '' ? (answer.hasStrict ? 'no known pattern' : slight ? 'warning' : 'error') : card.cause;
    return h('li', {class: slight ? 'card slight' : 'card'},
             h('div', {class: 'title'}, h('button', {type: 'button', class: 'link api', onclick: () => actions.show(card)}, bareApi(card.api)),
               h('span', {class: 'cause'}, title)),
             h('div', {class: 'size'}, ...(worst <= 1 ? [] : [h('b', {}, times(worst)), ' \u00d7 bound'])),
             h('p', {class: 'evidence'}, card.evidence.startsWith(`${card.cause}: `) && card.cause !== '' ? card.evidence.slice(card.cause.length + 2) : card.evidence),
             h('p', {class: 'note'}, `${count(card.calls)} ${nounOf(info, card.calls)}`, `${lines === '' ? '' : ` at ${lines}`}${where(card)}`),
             h('div', {class: 'actions'},
               h('button', {type: 'button', class: 'small', onclick: () => actions.open(card.worstCall)}, card.raised ? 'first call' : 'worst call'),
               info.rerun !== '' && copyButton('copy rerun', () => callCommand(info.rerun, actions.name(card.worstCall))),
               info.shrink !== '' && copyButton('copy shrink', () => callCommand(info.shrink, actions.name(card.worstCall)))));
  };
  const grid = h('ul', {class: 'cards'}, ...causes.slice(0, kShownCards).map(made));
  const rest = causes.slice(kShownCards);
  const more = rest.length > 0 && h('button', {type: 'button', class: 'small more', onclick: () => {
    grid.append(...rest.map(made));
    (more as HTMLElement).remove();
  }}, `show ${count(answer.cardCount + answer.raised.length - kShownCards)} more causes`);
  return h('section', {class: 'causes', 'aria-label': 'Causes'}, h('h2', {}, 'Causes'), grid, more);
}

const kListedCalls = 12;

/** What became of the calls of an earlier check of this device. */
export function changes(info: RunInfo, actions: CardActions): {element: HTMLElement; name: () => void} | null {
  const {since} = info;
  if (!since) return null;
  const links: [HTMLElement, number][] = [];
  const column = (title: string, kind: string, calls: number[]) => {
    const made = calls.slice(0, kListedCalls).map((call) => {
      const link = h('button', {type: 'button', class: 'link', onclick: () => actions.open(call)}, `call ${count(call + 1)}`);
      links.push([link, call]);
      return h('li', {}, link);
    });
    const more = calls.length > kListedCalls && h('li', {class: 'note'}, `and ${count(calls.length - kListedCalls)} more`);
    return h('section', {class: kind}, h('h3', {}, `${title}: ${count(calls.length)}`), h('ul', {}, ...made, more));
  };
  const element = h('section', {class: 'panel changes', 'aria-label': 'Changes'}, h('h2', {}, `Since ${since.title}`),
                    h('div', {class: 'columns'}, column('new failures', 'appeared', since.appeared), column('fixed', 'fixed', since.fixed),
                      column('still failing', 'still', since.still)));
  return {element, name: () => links.forEach(([link, call]) => (link.textContent = actions.name(call)))};
}
