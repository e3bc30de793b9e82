// SPDX-License-Identifier: Apache-2.0
// The commands of the page, given to a real shell: each comes out as the words it was made of, whatever the name of the call holds.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';

/** `transform` is esbuild's. */
export async function commands({transform, source, out}) {
  const {code} = await transform(readFileSync(join(source, 'web/src/command.ts'), 'utf8'), {loader: 'ts'});
  const {callCommand, shellWord} = await import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`);
  const words = (text) => execFileSync('sh', ['-c', `printf '%s\\0' ${text}`], {encoding: 'utf8'}).split('\0').slice(0, -1);

  const mark = join(out, 'ran');
  const texts = [`Torch.exp.$(touch ${mark})`, `Torch.exp.\`touch ${mark}\``, `Torch.exp.0;touch\${IFS}${mark}`, `Torch.exp.0\ntouch ${mark}\n`,
                 `'; touch ${mark}; '`, `x'$(touch ${mark})'`, `"; touch ${mark}; "`, '', '-', '-rf', '--only', '=ls', '~root', '!!', '*', '{a,b}', '#', '\n\n', '精度', '\u202e'];
  for (let code = 1; code < 0x180; code++) {
    const c = String.fromCharCode(code);
    texts.push(c, `a${c}b`, `'${c}`, `${c}'`, `\\${c}`, `$(${c}`);
  }
  assert.deepEqual(words(texts.map(shellWord).join(' ')), texts);
  for (const name of texts.filter((text) => text !== '')) {
    const only = name.startsWith('-') ? [`--only=${name}`] : ['--only', name];
    assert.deepEqual(words(callCommand('msprobe acc_check', name)), ['msprobe', 'acc_check', ...only]);
  }
  assert.equal(callCommand('', 'Torch.mm.0'), '');
  assert.equal(callCommand('msprobe acc_check', ''), '');
  assert.equal(callCommand('msprobe acc_check -api_info d.json', 'Torch.mm.0'), 'msprobe acc_check -api_info d.json --only Torch.mm.0');
  assert.ok(!existsSync(mark), 'a command ran');
  console.log(`commands: ${texts.length} names came through a shell`);
}
