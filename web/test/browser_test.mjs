// Clicks through reports in Chromium: a made one of 100,000 calls, a comparison of two devices, one whose cells attack the page.
//   node browser_test.mjs MSPROBE SOURCE_DIR OUT_DIR
// Ends with 77 where Chromium or the npm packages are missing. MSPROBE_IDLE_MACHINE=1 also holds it against times, which mean nothing on a
// busy machine.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, statSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {makeLargeResult} from './large_result.mjs';

const kCalls = 100000;
const kSkipped = 77;
const [program, source, out] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
let chromium, axe;
try {
  ({chromium} = require('playwright-core'));
  axe = require.resolve('axe-core/axe.min.js');
} catch {
  console.log("skipped: the npm packages are not there; run 'npm ci' in web/");
  process.exit(kSkipped);
}
if (!executablePath) {
  console.log('skipped: no Chromium; install the package chromium');
  process.exit(kSkipped);
}
mkdirSync(out, {recursive: true});

const kIdle = process.env.MSPROBE_IDLE_MACHINE === '1';
const kPatience = 600000;  // ms, on a busy machine

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

/** No serious or critical finding. */
async function accessible(page, what) {
  await page.evaluate(() => document.querySelector('meta[http-equiv]')?.remove());
  await page.addScriptTag({path: axe});
  const {violations} = await page.evaluate(() => globalThis.axe.run(document, {resultTypes: ['violations']}));
  const bad = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
                  .map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
  assert.deepEqual(bad, [], `${what}: axe-core`);
  console.log(`${what}: axe-core finds nothing serious (${violations.length} lesser findings${violations.map((v) => ' ' + v.id)})`);
}

const filterTime = (page) => page.evaluate(() => globalThis.msprobeTiming.filter);
const shownCalls = (page) => page.locator('.toolbar [role=status]').textContent();
const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

async function largeReport() {
  const made = await makeLargeResult(join(out, 'large'), kCalls);
  const file = join(out, 'large.html');
  execFileSync(program, ['report', made.result, '--dump', made.dump, '-o', file], {stdio: ['ignore', 'ignore', 'pipe']});
  const size = statSync(file).size;
  assert.ok(size < 30e6, `${size} bytes`);
  const page = await open(file);
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
  assert.ok(!kIdle || paint < 2000, `first paint after ${paint} ms`);
  const times = [];
  for (const text of ['conv2d', 'block12', 'matmul.12', 'bad tile', 'nothing has this', 'a', '']) {
    await page.fill('input[type=search]', text);
    times.push(await filterTime(page));
  }
  assert.ok(!kIdle || median(times) < 100, `filtering takes ${times} ms`);
  console.log(`${kCalls} calls, ${made.rows} rows: ${(size / 1e6).toFixed(1)} MB, first paint ${paint.toFixed(0)} ms, ` +
              `all unpacked ${(await page.evaluate(() => globalThis.msprobeTiming.ready)).toFixed(0)} ms, ` +
              `filter ${median(times).toFixed(0)} ms (${times.map((t) => t.toFixed(0))})`);

  // The worst first; the last row is there when one scrolls to it.
  const badge = page.locator('.space .tr').first().locator('.badge').first();
  assert.equal(await badge.textContent(), 'error');
  await page.locator('.tbody').focus();
  await page.keyboard.press('End');
  await page.waitForSelector(`[aria-rowindex="${kCalls + 1}"].selected`);
  assert.ok(await page.locator('.space .tr').count() < 100, 'only the rows in view exist');

  // Search by key, choose by key, open, read, close.
  await page.keyboard.press('/');
  await page.keyboard.type('linear wrong');
  assert.match(await shownCalls(page), /^\d+ of 100,000 calls$/);
  await page.locator('.tbody').focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  const side = page.locator('aside.side');
  await side.waitFor({state: 'visible'});
  const text = await side.textContent();
  for (const wanted of ['msprobe acc_check -api_info dump.json -d npu:0 --only Functional.linear', 'Likely cause', '> 0.99, else error', 'document',
                        'Arguments', 'bfloat16 (', 'Called from', 'self.layer', 'Strict']) {
    assert.ok(text.includes(wanted), `the view of a call lacks '${wanted}'`);
  }
  const first = await side.locator('h2').textContent();
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction((name) => document.querySelector('aside.side h2').textContent !== name, first);
  await page.screenshot({path: join(out, 'call.png')});
  await accessible(page, 'a call');
  await page.keyboard.press('Escape');
  assert.ok(await side.isHidden());
  await page.close();
}

async function filters() {
  const page = await open(join(out, 'large.html'), {colorScheme: 'dark'});
  await page.locator('.tile', {hasText: 'fail'}).first().click();
  const failing = Number((await shownCalls(page)).split(' ')[0].replace(',', ''));
  assert.ok(failing > 500 && failing < 2000);
  await page.locator('.group', {hasText: 'Torch.matmul'}).click();
  assert.ok(Number((await shownCalls(page)).split(' ')[0]) < failing);
  await page.locator('.chip').click();
  await page.locator('.tile', {hasText: 'calls'}).click();
  await page.locator('.plot .bar').nth(2).focus();
  await page.keyboard.press('Enter');
  assert.match(await page.locator('.chip').textContent(), /Maximum relative error: /);
  await page.locator('.th button', {hasText: 'Cosine'}).click();
  assert.equal(await page.locator('.th[aria-sort=ascending]').count(), 1);
  await accessible(page, 'dark');
  await page.screenshot({path: join(out, 'dark.png')});
  const pdf = await page.pdf({preferCSSPageSize: true, path: join(out, 'print.pdf')});
  assert.ok(pdf.length > 20000);
  await page.close();
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
  assert.equal(await page.locator('nav .tab').count(), 3);
  assert.ok(await page.locator('.scatter canvas').isVisible());
  await page.locator('.farthest .link').first().click();
  const text = await page.locator('aside.side').textContent();
  for (const wanted of ['reference', 'Maximum relative error ratio', 'document, level L0']) assert.ok(text.includes(wanted), wanted);
  await page.keyboard.press('Escape');
  await accessible(page, 'comparison');
  await page.screenshot({path: join(out, 'comparison.png')});
  await page.locator('nav .tab').nth(1).click();
  await page.waitForSelector('.run .space .tr');
  await page.close();
}

/** What stands in a cell is text, whatever it looks like. */
async function attack() {
  const csv = join(out, 'attack_details.csv');
  const evil = '</script><img src=x onerror=\'globalThis.hit=1\'>';
  writeFileSync(csv, 'API name,Bench Dtype,DEVICE Dtype,Shape,Cosine similarity,Status,Message,Strict Status,Strict Reason,Likely Cause\r\n' +
                `Torch.${evil}.0.forward.output.0,${evil},${evil},${evil},0.5,error,${evil},error,${evil},${evil}\r\n`);
  const file = join(out, 'attack.html');
  execFileSync(program, ['report', csv, '-o', file], {stdio: 'ignore'});
  const page = await open(file);
  await page.locator('.space .tr').first().click();
  await page.locator('aside.side').waitFor({state: 'visible'});
  assert.equal(await page.evaluate(() => globalThis.hit), undefined);
  assert.equal(await page.locator('img').count(), 0);
  assert.ok((await page.locator('aside.side').textContent()).includes(evil));
  await page.close();
}

try {
  await largeReport();
  await filters();
  await comparison();
  await attack();
  console.log('passed');
} finally {
  await browser.close();
}
