// SPDX-License-Identifier: Apache-2.0
// How the page says things: standings, numbers of calls, sizes of errors.
import {Answer, Card, isBad, kFlagged, kInconclusive, kInherits, kIntroduces, kLost, kNoNumber, kRaised, kRight, kSkipped, kSlight, kWrong, RunInfo} from './data';
import {count, figure} from './dom';

/** What a row of the table is. */
export const nounOf = (info: RunInfo, n = 2): string => {
  const word = info.kind === 'torchair' ? 'operator' : 'call';
  return n === 1 ? word : `${word}s`;
};

/** What groups the rows of the table. */
export const kindOf = (info: RunInfo): string => (info.kind === 'torchair' ? 'operator type' : 'API');

const strictWords = ['wrong', 'slightly off', 'flagged only', 'pass', 'skipped', 'lost', 'raised', 'inconclusive'];
const documentedWords = ['error', 'warning', 'flagged only', 'pass', 'skipped', 'lost', 'raised', 'inconclusive'];
const strictHelp = ['beyond its strict bound', 'up to four times its strict bound', 'within its strict bound, but flagged by the documented thresholds',
                    'within its bound', 'not checked, for the reason given', 'should have been checked, but could not be', 'raised an error on the device: it does not run there',
                    'within its bound, which proves little here'];

export const standingWord = (info: RunInfo, standing: number): string =>
    (info.answer.hasStrict ? strictWords : documentedWords)[standing];
export const standingHelp = (info: RunInfo, standing: number): string =>
    info.answer.hasStrict || standing > kRight ? strictHelp[standing] : `documented verdict: ${documentedWords[standing]}`;

/** From what to look at first to the least. */
export const standingOrder = [kWrong, kRaised, kLost, kSlight, kInconclusive, kFlagged, kSkipped, kRight];

/** An error in units of its bound. */
export function times(x: number): string {
  if (x === kNoNumber) return '';
  if (Number.isNaN(x)) return 'NaN';
  if (!Number.isFinite(x)) return '\u221e';
  if (x >= 1e6) return x.toExponential(1).replace('e+', 'e');
  if (x >= 1000) return count(Math.round(x));
  return figure(Number(x.toPrecision(3)));
}

const list = (words: string[]): string =>
    words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words[words.length - 1]}`;

const kNamed = 4;  // APIs in a sentence

/** Two sides are compared, not a device with its benchmark. */
export const isComparison = (info: RunInfo): boolean => info.kind === 'torchair' || info.kind === 'dumps';
export const knowsSpread = ({spreads}: Answer): boolean => spreads[kIntroduces] + spreads[kInherits] > 0;
/** A comparison that has a first difference, be it within the limits of the verdicts. */
export const differs = (info: RunInfo): boolean => isComparison(info) && (info.firstDifference !== undefined || knowsSpread(info.answer));
/** Causes belong to checks; a comparison says who introduces a difference. */
export const showsCauses = (info: RunInfo): boolean => !isComparison(info) || !knowsSpread(info.answer);

/** What acc_check --only takes for an entry of a dump; a module has none. */
export const callOfEntry = (info: RunInfo, name: string): string =>
    info.kind !== 'dumps' ? name : name.startsWith('Module.') ? '' : name.replace(/\.(forward|backward)$/, '');

function partingSentence(info: RunInfo): string {
  const first = info.firstDifference?.text ?? '', {spreads} = info.answer;
  const start = first === '' || info.kind === 'dumps' ? first : `First difference: ${first}.`;
  const [introduce, inherit] = [spreads[kIntroduces], spreads[kInherits]];
  const noun = (n: number) => `${count(n)} ${nounOf(info, n)}`;
  const counts = [introduce > 0 && `${noun(introduce)} ${introduce === 1 ? 'introduces' : 'introduce'} a difference`,
                  inherit > 0 && `${introduce > 0 ? count(inherit) : noun(inherit)} ${inherit === 1 ? 'inherits' : 'inherit'} one`].filter((text) => text !== false);
  return counts.length > 0 ? `${start} ${counts.join(', ')}.`.trim() : start;
}

/** "float32" of "torch.float32", "int" of "<class 'int'>": a number that is not a tensor. */
export const plainDtype = (text: string): string => text.replace('torch.', '').replace(/^<class '(.*)'>$/, '$1');

/** The causes of an answer; what does not run at all comes first. */
export const cardsOf = (answer: Answer): Card[] => [
  ...answer.raised.map(({api, text, calls, firstCall, firstName, lines, moreLines}): Card =>
      ({api, cause: 'does not run on the device', evidence: text, calls, slight: 0, worstCall: firstCall, worstName: firstName, worst: null, lines, moreLines, raised: true})),
  ...answer.cards];

export const bareApi = (api: string): string => api.slice(api.indexOf('.') + 1);

/** "2 APIs wrong: matmul (4 of 4 calls, lost terms), conv2d (1 of 3, bad tile). 2 more calls ..." */
export function sentence(info: RunInfo): string {
  const {answer} = info;
  const said: string[] = [];
  const {apis, standings} = answer;
  if (isComparison(info)) said.push(partingSentence(info));
  if (answer.raised.length > 0) {
    const named = answer.raised.slice(0, kNamed).map(({api, calls}, i) => `${bareApi(api)} (${count(calls)}${i === 0 ? ` ${nounOf(info, calls)}` : ''})`);
    const rest = answer.raised.length > kNamed ? ` and ${count(answer.raised.length - kNamed)} more` : '';
    said.push(`${count(answer.raised.length)} ${kindOf(info)}${answer.raised.length === 1 ? ' does' : 's do'} not run on the device: ${named.join(', ')}${rest}.`);
  }
  if (apis.length > 0 && showsCauses(info)) {
    const named = apis.slice(0, kNamed).map(
        ({api, wrong, total, cause}, i) => `${bareApi(api)} (${count(wrong)} of ${count(total)}${i === 0 ? ` ${nounOf(info, total)}` : ''}${cause === '' ? '' : `, ${cause}`})`);
    const rest = apis.length > kNamed ? ` and ${count(apis.length - kNamed)} more` : '';
    said.push(`${count(apis.length)} ${kindOf(info)}${apis.length === 1 ? '' : 's'} wrong: ${named.join(', ')}${rest}.`);
  }
  if (standings[kSlight] > 0) {
    said.push(answer.hasStrict ? `${count(standings[kSlight])} ${nounOf(info, standings[kSlight])} slightly off (up to four times the bound).`
                               : `${count(standings[kSlight])} ${nounOf(info, standings[kSlight])} with a warning.`);
  }
  if (standings[kFlagged] > 0) said.push(`${count(standings[kFlagged])} ${apis.length + standings[kSlight] > 0 ? 'more ' : ''}flagged by the documented thresholds only.`);
  if (standings[kInconclusive] > 0) said.push(`${count(standings[kInconclusive])} inconclusive: within the bound, which proves little there.`);
  const {since} = info;
  if (since) said.push(`Since ${since.title}: ${count(since.appeared.length)} new, ${count(since.fixed.length)} fixed, ${count(since.still.length)} still failing.`);
  if (answer.checked === 0) said.push('Nothing was checked.');
  else if (isOk(answer) && !differs(info) && standings[kSlight] + standings[kFlagged] + standings[kInconclusive] === 0) said.unshift(`All ${count(answer.checked)} checked ${nounOf(info)} agree with the ${isComparison(info) ? 'reference' : 'benchmark'}.`);
  return said.filter((text) => text !== '').join(' ');
}

/** "72 of 72 calls checked." or with what was skipped, and why. */
export function coverage(info: RunInfo): string {
  const {answer} = info;
  const total = info.calls.count;
  const recorded = Number(info.origin.find(([what]) => what === 'recorded')?.[1] ?? NaN);
  const said = [`${count(answer.checked)} of ${count(total)} ${nounOf(info, total)} checked`];
  const skipped = answer.standings[kSkipped], lost = answer.standings[kLost];
  const why = list(answer.skipped.slice(0, 4).map(([words, n]) => `${count(n)} ${words}`));
  const more = answer.skipped.length > 4 ? ', and others' : '';
  if (skipped + lost > 0) {
    const parts = [skipped > 0 ? `${count(skipped)} skipped` : '', lost > 0 ? `${count(lost)} lost` : ''].filter((part) => part !== '');
    said.push(`${parts.join(', ')} (${why}${more})`);
  }
  if (recorded > total) said.push(`${count(recorded - total)} recorded ${nounOf(info)} left out by options`);
  return `${said.join('; ')}.`;
}

export const isOk = (answer: Answer): boolean => answer.checked > 0 && answer.standings.every((n, standing) => n === 0 || !isBad(standing));
