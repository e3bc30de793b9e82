// SPDX-License-Identifier: Apache-2.0
// Two dumps and two graph-mode dumps: who introduces a difference comes first, with a graph around it; modules nest.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdirSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

const tensor = (x) => ({type: 'torch.Tensor', dtype: 'torch.float32', shape: [4, 8], Max: x, Min: -0.7 * x, Mean: 0.1 * x, Norm: 3 * x, requires_grad: false});

/** A chain of calls in nested modules; from call `wrong` on everything is 30 % larger. */
function dump(directory, wrong) {
  const data = {}, construct = {'Module.net.Net.forward.0': null};
  const value = (i) => (1.3 + 0.37 * i) * (i > wrong ? 1.3 : 1);
  for (let i = 0; i < 12; i++) {
    const block = `Module.net.blocks.${Math.floor(i / 4)}.Block.forward.0`;
    data[`Torch.mul.${i}.forward`] = {input_args: [tensor(value(i))], input_kwargs: {}, output: [tensor(value(i + 1))]};
    construct[`Torch.mul.${i}.forward`] = block;
    construct[block] = 'Module.net.Net.forward.0';
  }
  mkdirSync(directory, {recursive: true});
  writeFileSync(join(directory, 'dump.json'), JSON.stringify({task: 'statistics', level: 'mix', framework: 'pytorch', data}));
  writeFileSync(join(directory, 'construct.json'), JSON.stringify(construct));
  return join(directory, 'dump.json');
}

function run(program, args) {
  const {status, stderr} = spawnSync(program, args, {encoding: 'utf8'});
  assert.ok(status === 0 || status === 1, `${args.join(' ')}: ${stderr}`);
}

async function graphStandsFirst(page, name) {
  const panel = page.locator('.spreading');
  assert.equal(await panel.locator('.callgraph .node.centre.introduces').count(), 1);
  assert.match(await panel.locator('.callgraph .centre .name').textContent(), name);
  assert.ok(await panel.locator('.callgraph .edge').count() > 0);
  const tops = await page.evaluate(() => ['.spreading', '.strip', '.table'].map((what) => document.querySelector(what).getBoundingClientRect().top));
  assert.deepEqual(tops, [...tops].sort((a, b) => a - b));
  // The table too: who introduces it first.
  const badges = await page.locator('.space .tr .badge').allTextContents();
  assert.ok(badges.indexOf('introduces') < badges.indexOf('inherits') && badges.includes('introduces'), badges.join(' '));
}

async function dumps({open, accessible, tall, program, out}) {
  const golden = dump(join(out, 'golden'), Infinity), target = dump(join(out, 'target'), 5);
  const file = join(out, 'dumps.html');
  run(program, ['compare', '-tp', target, '-gp', golden, '-o', join(out, 'dumps'), '--report', file]);
  for (const width of [1440, 390]) {
    const page = await open(file, {viewport: {width, height: 1000}});
    assert.match(await page.locator('.answer').textContent(), /DIFFERENT.*The runs diverge at Torch.mul.5.forward.*1 call introduces a difference, 6 inherit one/);
    await graphStandsFirst(page, /Torch\.mul\.5$/);
    await tall(page, 6000);
    await page.locator('.spreading .parting .link').first().click();
    assert.match(await page.locator('aside.side').textContent(), /acc_check .*--only Torch\.mul\.5(?!\.forward)/);
    await page.keyboard.press('Escape');
    // A module stands for everything in it; what agrees is folded.
    await page.locator('.tree .group', {hasText: 'Net'}).first().click();
    assert.match(await page.locator('.toolbar [role=status]').textContent(), /^12 of 12 calls/);
    await page.locator('.tree .group', {hasText: 'blocks.1'}).first().click();
    assert.match(await page.locator('.toolbar [role=status]').textContent(), /^4 of 12 calls/);
    await accessible(page, `two dumps at ${width} px`);
    await page.screenshot({path: join(out, `dumps_${width}.png`)});
    await page.close();
  }
  const same = join(out, 'same.html');
  run(program, ['compare', '-tp', golden, '-gp', golden, '-o', join(out, 'dumps'), '--report', same]);
  const page = await open(same);
  assert.match(await page.locator('.answer').textContent(), /OK.*agree with the reference/);
  assert.equal(await page.locator('.spreading').count(), 0);
  await page.close();
}

async function graphMode({open, accessible, program, source, out}) {
  const made = join(out, 'torchair');
  rmSync(made, {recursive: true, force: true});
  const {status, stderr} = spawnSync('python3', [join(source, 'tools/make_torchair_dump.py'), made, '--fault', 'Relu:scale=1.05'], {encoding: 'utf8'});
  if (status !== 0) {
    assert.match(stderr, /No module named 'numpy'/, stderr);
    console.log('graph mode: left out, python3 has no numpy');
    return;
  }
  const file = join(out, 'torchair.html');
  run(program, ['compare', '-tp', join(made, 'msprobe_ge_dump'), '-gp', join(made, 'msprobe_fx_dump'), '-o', join(out, 'graph'), '--report', file]);
  const page = await open(file);
  assert.match(await page.locator('.answer').textContent(), /DIFFERENT.*First difference: .* 1 operator introduces a difference/);
  await graphStandsFirst(page, /Relu/);
  const titles = await page.locator('.tr.head').textContent();
  assert.ok(titles.includes('1 - cosine') && !titles.includes('Cosine'), titles);
  await accessible(page, 'graph mode');
  await page.close();
}

export async function twoRuns(tools) {
  await dumps(tools);
  await graphMode(tools);
}
