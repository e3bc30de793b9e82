// SPDX-License-Identifier: Apache-2.0
// Builds dist/report.js and dist/report.css, which msprobe embeds. --check: fails where dist is not
// what the sources give.
import {readFileSync, mkdirSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {build} from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const result = await build({
  absWorkingDir: here,
  entryPoints: {report: 'src/main.ts'},
  outdir: 'dist',
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  charset: 'ascii',
  legalComments: 'inline',
  write: false,
});
mkdirSync(join(here, 'dist'), {recursive: true});
let stale = false;
for (const file of result.outputFiles) {
  if (process.argv.includes('--check')) {
    if (readFileSync(file.path, 'utf8') === file.text) continue;
    console.error(`${file.path} is not what web/src gives: run 'npm run build' in web/`);
    stale = true;
  } else {
    writeFileSync(file.path, file.text);
    console.log(`${file.path} ${file.text.length} bytes`);
  }
}
process.exit(stale ? 1 : 0);
