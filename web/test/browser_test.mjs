// SPDX-License-Identifier: Apache-2.0
// Clicks through reports in Chromium: a made one of thousands of calls, a comparison of two devices, one whose cells attack the page.
//   node browser_test.mjs MSPROBE SOURCE_DIR OUT_DIR
// Ends with 77 where Chromium or the npm packages are missing. It measures nothing: that is web/test/benchmark.mjs.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {commands} from './command_test.mjs';
import {twoRuns} from './comparison_walk.mjs';
import {makeLargeResult} from './large_result.mjs';
import {places} from './places_walk.mjs';

const kCalls = 9000;
const kSkipped = 77;
const [program, source, out] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
let chromium, axe, transform;
try {
  ({chromium} = require('playwright-core'));
  ({transform} = require('esbuild'));
  axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
} catch {
  console.log("skipped: the npm packages are not there; run 'npm ci' in web/");
  process.exit(kSkipped);
}
if (!executablePath) {
  console.log('skipped: no Chromium; install the package chromium');
  process.exit(kSkipped);
}
mkdirSync(out, {recursive: true});

const kPatience = 180000;  // ms, on a busy machine

const browser = await chromium.launch({executablePath, args: ['--no-sandbox'], timeout: kPatience});

async function open(file, options = {}) {
  const page = await browser.newPage({viewport: {width: 1440, height: 1000}, ...options});
  page.setDefaultTimeout(kPatience);
  page.on('pageerror', (error) => assert.fail(`${file}: ${error.message}`));
  page.on('request', (request) => assert.match(request.url(), /^(file|blob|data):/, 'the page went to the network'));
  await page.goto(`file://${file}`);
  await page.waitForFunction(() => globalThis.msprobeTiming?.ready > 0, null, {timeout: kPatience});
  return page;
}

/** No finding at all. */
async function accessible(page, what) {
  await page.evaluate(axe);
  const {violations} = await page.evaluate(() => globalThis.axe.run(document, {resultTypes: ['violations']}));
  const bad = violations.map((v) => `${v.impact}: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
  assert.deepEqual(bad, [], `${what}: axe-core`);
  console.log(`${what}: axe-core finds nothing`);
}

const shownCalls = (page) => page.locator('.toolbar [role=status]').textContent();

/** No blank below the page, whatever it lists, and nothing to scroll sideways. */
async function tall(page, most) {
  const [height, width, view] = await page.evaluate(() => [document.documentElement.scrollHeight, document.documentElement.scrollWidth, innerWidth]);
  assert.ok(height < most, `the page is ${height} px high`);
  assert.ok(width <= view, `the page is ${width} px wide, the view ${view}`);
}

async function largeReport() {
  const made = await makeLargeResult(join(out, 'large'), kCalls);
  const file = join(out, 'large.html');
  execFileSync(program, ['report', made.result, '--dump', made.dump, '-o', file], {stdio: ['ignore', 'ignore', 'pipe']});
  const page = await open(file);
  // The answer in words before anything else, then the causes; plots come last.
  assert.match(await page.locator('.answer').textContent(), /^npu:0|NOT OK/);
  assert.match(await page.locator('.answer .said').textContent(), /APIs wrong: .* of .* calls, (wrong scale|bad tile|low-precision accumulation)\).* checked/);
  assert.equal(await page.locator('.card').count(), 8);
  const tops = await page.evaluate(() => ['.cards', '.strip', '.table', '.plots'].map((what) => document.querySelector(what).getBoundingClientRect().top));
  assert.deepEqual(tops, [...tops].sort((a, b) => a - b), 'answer, causes, order, calls, plots');
  await tall(page, 4000);

  // The worst first; the last row is there when one scrolls to it.
  const badge = page.locator('.space .tr').first().locator('.badge').first();
  assert.equal(await badge.textContent(), 'wrong');
  await page.locator('.tbody').focus();
  await page.keyboard.press('End');
  await page.waitForSelector(`[aria-rowindex="${kCalls + 1}"].selected`);
  assert.ok(await page.locator('.space .tr').count() < 100, 'only the rows in view exist');

  // Search by key, choose by key, open, read, close.
  await page.keyboard.press('/');
  await page.keyboard.type('linear wrong');
  assert.match(await shownCalls(page), /^\d+ of 9,000 calls/);
  await page.locator('.tbody').focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  const side = page.locator('aside.side');
  await side.waitFor({state: 'visible'});
  const text = await side.textContent();
  for (const wanted of ['msprobe acc_check -api_info dump.json -d npu:0 --only Functional.linear', 'Likely cause', '> 0.99, else error', 'document',
                        'msprobe shrink -api_info dump.json -d npu:0 --only Functional.linear', '\u00d7 bound',
                        'Called with', 'bfloat16 (', 'Called from', 'self.layer']) {
    assert.ok(text.includes(wanted), `the view of a call lacks '${wanted}'`);
  }
  // Where the error is, how large, and what the worst elements are.
  assert.equal(await side.locator('svg.map').count(), 1);
  assert.match(await side.locator('[role=img]').first().getAttribute('aria-label'), /beyond the bound: rows 0\.\.\d+, columns 96\.\.191$/);
  assert.match(await side.locator('svg.spread').getAttribute('aria-label'), /, 1,536 \u2264 1e5/);
  assert.match(await side.locator('table.worst').textContent(), /\(0, 0, 96\)21\.00000131,000/);
  const first = await side.locator('h2').textContent();
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction((name) => document.querySelector('aside.side h2').textContent !== name, first);
  await page.screenshot({path: join(out, 'call.png')});
  await accessible(page, 'a call');
  await page.keyboard.press('Escape');
  assert.ok(await side.isHidden());
  await page.close();
}

const chipTexts = (page) => page.locator('.chip').allTextContents();

async function filters() {
  const page = await open(join(out, 'large.html'), {colorScheme: 'dark'});
  await page.locator('.tile', {hasText: 'wrong'}).click();
  const failing = Number((await shownCalls(page)).split(' ')[0].replace(',', ''));
  assert.ok(failing > 40 && failing < 200);
  const api = await page.locator('.matrix .link').first().textContent();
  await page.locator('.matrix .link').first().click();
  assert.ok(Number((await shownCalls(page)).split(' ')[0]) < failing);
  const chips = ['result wrong \u00d7', `API ${api} \u00d7`];
  assert.deepEqual(await chipTexts(page), chips);
  const shared = page.url();
  await page.locator('.chip', {hasText: 'API'}).click();
  assert.equal((await chipTexts(page)).length, 1);
  await page.locator('text=clear filters').click();
  assert.match(await shownCalls(page), /^9,000 of/);
  // The default plot is the error over bound, with its line at 1.
  assert.equal(await page.locator('.plots .bound').count(), 1);
  await page.locator('.plots .bar').nth(2).focus();
  await page.keyboard.press('Enter');
  assert.match((await chipTexts(page))[0], /range Error over bound: /);
  // Sorting keeps the focus; a call that is wrong and has no number is not sorted below those that pass.
  await page.locator('.th button', {hasText: '1 - cosine'}).click();
  assert.equal(await page.locator('.th[aria-sort=descending]').count(), 1);
  assert.match(await page.evaluate(() => document.activeElement.textContent), /^1 - cosine/);
  await page.locator('.th button', {hasText: '1 - cosine'}).click();
  assert.equal(await page.locator('.th[aria-sort=ascending]').count(), 1);
  await accessible(page, 'dark');
  await page.screenshot({path: join(out, 'dark.png')});
  const pdf = await page.pdf({preferCSSPageSize: true, path: join(out, 'print.pdf')});
  assert.ok(pdf.length > 20000);
  await page.close();
  await address(shared, chips);
}

/** The address alone brings back filters, theme and the open call; Back closes the call. */
async function address(shared, chips) {
  const page = await open(`${shared.replace('file://', '')}&theme=dark&call=Torch.matmul.7`);
  assert.deepEqual(await chipTexts(page), chips);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await page.waitForFunction(() => document.querySelector('aside.side h2')?.textContent === 'Torch.matmul.7');
  await page.keyboard.press('Tab');
  await page.locator('.side header button').click();
  assert.ok(await page.locator('aside.side').isHidden());
  await page.locator('.space .tr').nth(1).click();
  await page.locator('aside.side').waitFor({state: 'visible'});
  assert.match(page.url(), /call=/);
  await page.goBack();
  await page.locator('aside.side').waitFor({state: 'hidden'});
  assert.deepEqual(await chipTexts(page), chips);
  // The first Tab of a fresh page is the way past the head.
  await page.reload();
  await page.waitForFunction(() => globalThis.msprobeTiming?.ready > 0);
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('role')), 'grid');
  await page.close();
  for (const width of [390, 1280]) {
    const narrow = await open(join(out, 'large.html'), {viewport: {width, height: 844}});
    await tall(narrow, 6000);
    await narrow.screenshot({path: join(out, `width${width}.png`)});
    if (width === 390) await accessible(narrow, 'phone');
    await narrow.close();
  }
}

async function comparison() {
  const file = join(out, 'comparison.html');
  const devices = join(source, 'examples/two_devices');
  try {
    execFileSync(program, ['api_precision_compare', '-npu', join(devices, 'npu_details.csv'), '-gpu', join(devices, 'gpu_details.csv'),
                           '-o', out, '--report', file, '--junit', join(out, 'c.xml'), '--sarif', join(out, 'c.sarif')], {stdio: 'ignore'});
  } catch (error) {
    assert.equal(error.status, 1, 'the example has failing calls');
  }
  const page = await open(file);
  assert.equal(await page.locator('.answers .tab').count(), 3);
  assert.ok(await page.locator('.scatter canvas').isVisible());
  await page.locator('.farthest .link').first().click();
  const text = await page.locator('aside.side').textContent();
  for (const wanted of ['reference', 'Maximum relative error ratio', 'document, level L0']) assert.ok(text.includes(wanted), wanted);
  await page.keyboard.press('Escape');
  await accessible(page, 'comparison');
  await page.screenshot({path: join(out, 'comparison.png')});
  await page.locator('.answers .tab').nth(1).click();
  await page.waitForSelector('.run .space .tr');
  await page.close();
}

/** Whether what `add` does to the page runs a script or changes how it looks. */
const probes = {
  script: () => { const made = document.createElement('script'); made.textContent = 'globalThis.hit=1'; document.body.append(made); },
  handler: () => { document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="globalThis.hit=1"><a id=hot onclick="globalThis.hit=1">x</a>'); document.getElementById('hot').click(); },
  url: () => { const made = document.createElement('a'); made.href = 'javascript:globalThis.hit=1'; document.body.append(made); made.click(); },
  style: () => { document.body.insertAdjacentHTML('beforeend', '<style>body { outline: 7px solid }</style><p id=styled style="outline: 7px solid">x</p>'); },
};

/** Only the page's own script and style count, by their hashes: markup that got into the page would do nothing. */
async function policy(page, what) {
  const rules = await page.evaluate(() => document.querySelector('meta[http-equiv]').content);
  assert.match(rules, /^default-src 'none'; (script-src 'sha256-[\w+/=]{44}'; )?style-src 'sha256-[\w+/=]{44}'( 'sha256-[\w+/=]{44}')?$/, what);
  for (const add of Object.values(probes)) await page.evaluate(add);
  await page.waitForTimeout(100);
  assert.equal(await page.evaluate(() => globalThis.hit), undefined, `${what}: a script ran`);
  const widths = await page.evaluate(() => [document.body, document.getElementById('styled')].map((element) => getComputedStyle(element).outlineWidth));
  assert.ok(!widths.includes('7px'), `${what}: a style counted`);
}

/** The content of a cell is text, even if it looks like markup, a command for a shell or one for a terminal. */
async function attack() {
  const csv = join(out, 'attack_details.csv'), mark = join(out, 'attack_ran');
  const evil = '</script><img src=x onerror=\'globalThis.hit=1\'>', hidden = 'a\u001b]8;;x\u0007b\u202ec\u200bd';
  const call = `Torch.$(touch ${mark})${evil}.0`;
  writeFileSync(csv, 'API name,Bench Dtype,DEVICE Dtype,Shape,Cosine similarity,Status,Message,Strict Status,Strict Reason,Likely Cause,Rerun Command\r\n' +
                `${call}.forward.output.0,${evil},${evil},${evil},0.5,error,${evil}${hidden},error,${evil},${evil},msprobe acc_check -api_info d.json --only Torch.x.0\r\n`);
  const file = join(out, 'attack.html');
  execFileSync(program, ['report', csv, '-o', file], {stdio: 'ignore'});
  const page = await open(file);
  // What the button copies.
  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { globalThis.copied = text; }}}));
  await page.locator('.card button', {hasText: 'copy rerun'}).click();
  const copied = await page.evaluate(() => globalThis.copied);
  const words = execFileSync('sh', ['-c', `printf '%s\\0' ${copied}`], {encoding: 'utf8'}).split('\0').slice(0, -1);
  assert.deepEqual(words, ['msprobe', 'acc_check', '-api_info', 'd.json', '--only', call]);
  assert.ok(!existsSync(mark), 'the command ran something else');
  await page.locator('.space .tr').first().click();
  const side = page.locator('aside.side');
  await side.waitFor({state: 'visible'});
  assert.equal(await page.evaluate(() => globalThis.hit), undefined);
  assert.equal(await page.locator('img').count(), 0);
  const text = await side.textContent();
  assert.ok(text.includes(evil) && text.includes('a\\x1b]8;;x\\x07b\\u202ec\\u200bd') && text.includes(copied), text);
  await policy(page, 'report');
  await page.close();
}

/** A call that was shrunk shows its script instead of the command that would make one. */
async function script() {
  const csv = join(out, 'shrunk_details.csv');
  writeFileSync(csv, 'API name,Bench Dtype,DEVICE Dtype,Shape,Cosine similarity,Status,Message,Strict Status,Strict Reason,Likely Cause,Rerun Command\r\n' +
                'Torch.mm.0.forward.output.0,torch.float64,torch.float32,"(2, 2)",0.5,error,,error,far off,,msprobe acc_check -api_info d.json --only Torch.mm.0\r\n');
  const text = 'import torch\nprint("</script>", torch.ones(2) < 3)\n';
  mkdirSync(join(out, 'shrunk_scripts', 'Torch.mm.0'), {recursive: true});
  writeFileSync(join(out, 'shrunk_scripts', 'Torch.mm.0', 'reproduce.py'), text);
  const file = join(out, 'shrunk.html');
  execFileSync(program, ['report', csv, '-o', file], {stdio: 'ignore'});
  const page = await open(file);
  await page.locator('.space .tr').first().click();
  const side = page.locator('aside.side');
  await side.waitFor({state: 'visible'});
  assert.equal(await side.locator('.script pre').textContent(), text);
  assert.ok(!(await side.textContent()).includes('msprobe shrink'));
  await accessible(page, 'a call with its script');
  await page.close();
}

/** The card of a device: claims open to their evidence, a plot for every function of 16 bits; markup in a card is text. */
async function cardPage() {
  const evil = '<img src=x onerror=1>';
  const line = (section, subject, field, value, confidence, evidence) => ({section, subject, field, value, confidence, evidence});
  const largest = (peak) => Array.from({length: 256}, (_, i) => (i < 16 ? null : i === 200 ? peak : 0.5));
  const json = join(out, 'card.json'), file = join(out, 'card.html');
  writeFileSync(json, JSON.stringify({
    schema: 'msprobe device card', version: 1, device: 'sim:0', torch: '2.13', msprobe: '1',
    lines: [line('products', 'float32', 'block', '8', 'high', 'terms 0 and 1 meet after 2'), line('products', 'float16', 'block', null, 'none', evil),
            line('casts', 'float32 to float16', 'rounding', evil, 'low', ''), line('functions', 'exp float16', 'largest error', '0.5 ulp', 'medium', 'x')],
    curves: [{subject: 'exp float16', largest_ulp: largest(0.5)}, {subject: 'erf bfloat16', largest_ulp: largest(255)}],
  }));
  execFileSync(program, ['probe_device', '--read', json, '--html', file], {stdio: 'ignore'});
  const page = await browser.newPage({viewport: {width: 1280, height: 900}});
  page.on('request', (request) => assert.match(request.url(), /^file:/, 'the page went to the network'));
  await page.goto(`file://${file}`);
  assert.equal(await page.locator('figure svg').count(), 2);
  assert.equal(await page.locator('img').count(), 0);
  const evidence = page.getByText('terms 0 and 1 meet after 2');
  assert.ok(!await evidence.isVisible());
  await page.locator('summary', {hasText: /^8$/}).click();
  assert.ok(await evidence.isVisible());
  await tall(page, 2000);
  await page.screenshot({path: join(out, 'card.png'), fullPage: true});
  await accessible(page, 'card');
  await page.setViewportSize({width: 500, height: 900});
  await tall(page, 3000);
  await policy(page, 'card');
  await page.close();
}

try {
  await commands({transform, source, out});
  await cardPage();
  await largeReport();
  await filters();
  await comparison();
  await twoRuns({open, accessible, tall, program, source, out});
  await places({open, accessible, tall, program, out});
  await attack();
  await script();
  console.log('passed');
} finally {
  await browser.close();
}
