// SPDX-License-Identifier: Apache-2.0
// Makes docs/report.png: the report of the quick start's simulated accelerator, with one call open.
//   bash tools/quickstart.sh && node tools/make_report_picture.mjs REPORT.html
import {existsSync} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const {chromium} = createRequire(join(root, 'web/package.json'))('playwright-core');
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const browser = await chromium.launch({executablePath, args: ['--no-sandbox']});
const page = await browser.newPage({viewport: {width: 1280, height: 860}, colorScheme: 'light'});
await page.goto(`file://${resolve(process.argv[2])}#call=Functional.conv2d.0`);
await page.waitForSelector('aside.side svg.map');
await page.screenshot({path: process.argv[3] ?? join(root, 'docs/report.png')});
await browser.close();
