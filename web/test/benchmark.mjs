// SPDX-License-Identifier: Apache-2.0
// How long the page takes for 100,000 calls: first paint, everything unpacked, filters. Prints medians; judges nothing.
//   node benchmark.mjs MSPROBE OUT_DIR [CALLS] [ROUNDS]
// CPU time of the page's main thread (Chromium's TaskDuration) is shown beside the clock: on a busy machine only the former means something.
import {execFileSync} from 'node:child_process';
import {existsSync, statSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {makeLargeResult} from './large_result.mjs';

const [program, out, calls = '100000', rounds = '5'] = process.argv.slice(2);
const {chromium} = createRequire(import.meta.url)('playwright-core');
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
const words = ['conv2d', 'block12', 'matmul.12', 'bad tile', 'nothing has this', 'a', ''];

const made = await makeLargeResult(join(out, 'large'), Number(calls));
const file = join(out, 'large_benchmark.html');
execFileSync(program, ['report', made.result, '--dump', made.dump, '-o', file], {stdio: ['ignore', 'ignore', 'inherit']});
const seen = {paint: [], ready: [], filter: [], filterCpu: []};
for (let round = 0; round < Number(rounds); round++) {
  const browser = await chromium.launch({executablePath, args: ['--no-sandbox'], timeout: 600000});
  const page = await browser.newPage({viewport: {width: 1440, height: 1000}});
  page.setDefaultTimeout(600000);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', {timeDomain: 'threadTicks'});
  const cpu = async () => (await session.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value * 1000;
  await page.goto(`file://${file}`);
  await page.waitForFunction(() => globalThis.msprobeTiming?.ready > 0, null, {timeout: 600000});
  seen.paint.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
  seen.ready.push(await page.evaluate(() => globalThis.msprobeTiming.ready));
  for (const text of words) {
    const before = await cpu();
    await page.fill('input[type=search]', text);
    seen.filter.push(await page.evaluate(() => globalThis.msprobeTiming.filter));
    seen.filterCpu.push(await cpu() - before);
  }
  await browser.close();
}
console.log(`${calls} calls, ${made.rows} rows, ${(statSync(file).size / 1e6).toFixed(1)} MB; medians of ${rounds} rounds:`);
for (const [what, times] of Object.entries(seen)) console.log(`  ${what.padEnd(10)} ${median(times).toFixed(0)} ms (${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)})`);
