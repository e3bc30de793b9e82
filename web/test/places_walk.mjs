// SPDX-License-Identifier: Apache-2.0
// Checks of several dumps: a grid of steps and ranks, every cause once; and what a small report must not do.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdirSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

const kStamp = '20260101000000';
const kTitles = 'API name,Bench Dtype,DEVICE Dtype,Shape,Cosine similarity,Maximum absolute error,Maximum relative error,Status,Message,Strict Status,Strict Reason,Likely Cause,Error Over Bound\r\n';
const right = 'equal to the rounded benchmark';
const reason = (over) => `5 of 9 elements are beyond the bound, worst at (0,): device 1, bench 2, ${over} times its bound`;

/** As the strict reasons say it. */
const overOf = (why, strict) => (why.includes('not finite') ? 'inf' : strict === 'inconclusive' ? '0' : /([\d.]+) times its bound/.exec(why)?.[1] ?? (why === right ? '0' : ' '));

/** Rows of [call, dtype, cosine, absolute error, relative error, strict status, strict reason, cause, message]; without a dtype, a skip. */
function result(directory, rows) {
  mkdirSync(directory, {recursive: true});
  const verdict = ([, dtype, , , , strict]) => (dtype === '' ? 'SKIP' : strict === 'inconclusive' ? 'pass' : strict);
  writeFileSync(join(directory, `accuracy_checking_result_${kStamp}.csv`), 'API name,Forward Test Success,Backward Test Success,Message\r\n' +
                rows.map((row) => `${row[0]},${verdict(row)},SKIP,"${row[8] ?? ''}"\r\n`).join(''));
  writeFileSync(join(directory, `accuracy_checking_details_${kStamp}.csv`), kTitles +
                rows.map(([call, dtype, cosine, absolute, relative, strict, why, cause, message], i) =>
                  `${call}.forward.output.0,torch.float32,${dtype},"(9,)",${cosine},${absolute},${relative},${verdict(rows[i])},"${message ?? ''}",${strict},"${why}",${cause},${overOf(why, strict)}\r\n`).join(''));
}

const pass = (i) => [`Torch.add.${i}`, 'torch.bfloat16', 1, 0, 0, 'pass', right, ''];
const lost = ['Torch.matmul.0', 'torch.bfloat16', 0.5, 3, 2, 'error', reason(5000), 'lost terms: sums without the last 4 of 16'];
const dtype = ['Functional.group_norm.0', 'torch.float32', 1, 0.1, 0.1, 'error', 'dtype torch.float32, recorded is torch.bfloat16', 'wrong dtype'];
const slight = ['Torch.exp.0', 'torch.bfloat16', 1, 0.1, 0.1, 'warning', reason(2.5), ''];
const spread = ['Functional.silu.0', 'torch.bfloat16', 'nan', 'nan', 6.67e-8, 'error', '1 of 9 elements is beyond the bound, 1 of them not finite on one side only, worst at (0,): device nan, bench 1', 'NaN or Inf spread: 1 NaN'];

const raised = ['VF.lstm.0', '', '', '', '', 'SKIP', '', '', `device_failed: Could not run 'aten::lstm' on this back end.\nPythonDispatcher: registered at a\nPythonDispatcher: registered at b`];
const little = ['Torch.zeros.0', 'torch.bfloat16', 1, 0, 0, 'inconclusive', 'all zero', ''];

async function grid({open, accessible, tall, program, out}) {
  const made = join(out, 'places');
  rmSync(made, {recursive: true, force: true});
  for (let step = 0; step < 3; step++) {
    for (let rank = 0; rank < 16; rank++) {
      const more = rank === 5 ? [dtype] : step === 2 && rank === 7 ? [slight] : [];
      result(join(made, `step${step}`, `rank${rank}`), [pass(0), ...(step === 1 ? [lost] : []), ...more, pass(1)]);
    }
  }
  const file = join(out, 'places.html');
  execFileSync(program, ['report', made, '-o', file], {stdio: ['ignore', 'ignore', 'pipe']});
  for (const width of [1440, 390]) {
    const page = await open(file, {viewport: {width, height: 1000}});
    await tall(page, 5000);
    assert.equal(await page.locator('.place').count(), 48);
    const classes = await page.locator('.place').evaluateAll((cells) => cells.map((cell) => cell.className.replace('place ', '')));
    assert.deepEqual([0, 5, 16, 31, 39].map((i) => classes[i]), ['ok', 'wrong', 'wrong', 'wrong', 'slight']);
    assert.match(await page.locator('.answer').textContent(), /18 of 48 dumps are wrong\. 2 APIs wrong: matmul \(16 of 16 calls, lost terms\), group_norm \(3 of 3, wrong dtype\)/);
    const cards = await page.locator('.card').allTextContents();
    assert.equal(cards.length, 3, 'each cause once');
    assert.match(cards[0], /matmul.*16 calls, on 16 of 16 ranks, in 1 of 3 steps: 1/);
    assert.match(cards[1], /group_norm.*wrong dtype.*recorded is torch\.bfloat16.*3 calls, on 1 of 16 ranks: 5, in 3 of 3 steps/);
    const head = await page.evaluate(() => document.querySelector('.top').getBoundingClientRect().height);
    assert.ok(head < (width === 390 ? 520 : 260), `the head is ${head} px high`);
    // A cause opens where it is; a cell shows its dump.
    await page.locator('.card').nth(1).locator('text=worst call').click();
    await page.locator('aside.side').waitFor({state: 'visible'});
    assert.match(await page.locator('.chosen').textContent(), /step0\/rank5/);
    await page.keyboard.press('Escape');
    await page.locator('.place').nth(20).click();
    assert.match(await page.locator('.chosen').textContent(), /step1\/rank4.*NOT OK 1 wrong, 2 pass/);
    assert.equal(await page.locator('.space .tr').first().locator('.callname').textContent(), 'Torch.matmul.0');
    await accessible(page, `steps and ranks at ${width} px`);
    await page.screenshot({path: join(out, `places_${width}.png`)});
    await page.close();
  }
}

async function oneDump({open, tall, program, out}) {
  const made = join(out, 'one');
  rmSync(made, {recursive: true, force: true});
  result(made, [slight, pass(0), dtype, lost, spread]);
  const file = join(out, 'one.html');
  execFileSync(program, ['report', made, '-o', file], {stdio: ['ignore', 'ignore', 'pipe']});
  const page = await open(file, {viewport: {width: 1280, height: 1000}});
  // What is wrong comes first, whatever its number; then what is slightly off.
  const names = () => page.locator('.space .callname').allTextContents();
  assert.deepEqual(await names(), ['Functional.silu.0', 'Torch.matmul.0', 'Functional.group_norm.0', 'Torch.exp.0', 'Torch.add.0']);
  // Beside a NaN no small relative error is shown.
  const silu = await page.locator('.space .tr').first().textContent();
  assert.ok(!silu.includes('6.67e-8') && /NaN.*NaN.*NaN/.test(silu), silu);
  // A call of a wrong dtype is filed under what it should be; no column is cut.
  assert.match(await page.locator('.matrix').textContent(), /bfloat16(?!.*float32)/);
  const [inside, seen] = await page.evaluate(() => [document.querySelector('.tbody').scrollWidth, document.querySelector('.tbody').clientWidth]);
  assert.ok(inside <= seen, `the table is ${inside} px wide, ${seen} are seen`);
  assert.ok(!(await page.locator('.tr.head').textContent()).includes('Doc.'));
  // Nothing found: no empty space, and it says so.
  await page.locator('.toolbar input').fill('nothing like it');
  await page.waitForFunction(() => document.querySelector('.toolbar [role=status]').textContent === '0 of 5 calls');
  assert.match(await page.locator('.space').textContent(), /No call passes the filters above/);
  assert.ok(await page.evaluate(() => document.querySelector('.table').clientHeight) < 240);
  // Blanks are counted among the calls that are shown.
  await page.locator('.toolbar input').fill('group');
  await page.locator('.th button', {hasText: 'Error / bound'}).click();
  await page.waitForFunction(() => document.querySelector('.toolbar [role=status]').textContent === '1 of 5 calls; 1 has no error / bound');
  await tall(page, 3000);
  await page.close();
}

/** What does not run on the device is red, first and said in one line; what proves little is counted, and not green. */
async function raises({open, accessible, program, out}) {
  const made = join(out, 'raises');
  rmSync(made, {recursive: true, force: true});
  result(made, [pass(0), little, raised, lost]);
  const file = join(out, 'raises.html');
  execFileSync(program, ['report', made, '-o', file], {stdio: ['ignore', 'ignore', 'pipe']});
  const page = await open(file, {viewport: {width: 1280, height: 1000}});
  assert.match(await page.locator('.answer').textContent(), /NOT OK.*1 API does not run on the device: lstm \(1 call\).*1 API wrong: matmul.*1 inconclusive/);
  const card = page.locator('.card').first();
  assert.match(await card.textContent(), /lstm.*does not run on the device.*Could not run 'aten::lstm' on this back end\.(?!.*PythonDispatcher)/);
  assert.deepEqual(await page.locator('.space .callname').allTextContents(), ['Torch.matmul.0', 'VF.lstm.0', 'Torch.zeros.0', 'Torch.add.0']);
  assert.deepEqual(await page.locator('.tile').allTextContents(), ['4 calls', '1 wrong', '1 raised', '1 inconclusive', '1 pass']);
  await card.locator('.api').click();
  assert.match(await page.locator('.toolbar [role=status]').textContent(), /^1 of 4 calls/);
  await card.locator('text=first call').click();
  const side = page.locator('aside.side');
  await side.waitFor({state: 'visible'});
  assert.match(await side.textContent(), /raised.*does not run there/);
  for (const text of await side.getByText('registered at b').all()) assert.ok(!await text.isVisible(), 'the dispatcher is folded away');
  await accessible(page, 'a call that raised');
  await page.screenshot({path: join(out, 'raised.png')});
  await page.close();
}

export async function places(tools) {
  await grid(tools);
  await raises(tools);
  await oneDump(tools);
}
