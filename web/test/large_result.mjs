// SPDX-License-Identifier: Apache-2.0
// A made result of many calls, with a dump and stacks beside it: what the page must bear.
//   node large_result.mjs DIRECTORY [CALLS]
import {createWriteStream, mkdirSync} from 'node:fs';
import {once} from 'node:events';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';

const apis = ['Functional.linear', 'Torch.matmul', 'Functional.conv2d', 'Tensor.__add__', 'Functional.layer_norm', 'Functional.softmax',
              'Tensor.transpose', 'Functional.gelu', 'Torch.cat', 'Tensor.__mul__', 'Functional.dropout', 'Tensor.view',
              'Torch.sum', 'Functional.embedding', 'Functional.cross_entropy', 'Tensor.to', 'Torch.baddbmm', 'NPU.npu_swiglu'];
const ulp = new Set(['Functional.linear', 'Torch.matmul', 'Torch.baddbmm']);
const causes = ['wrong scale: 2 times the benchmark', 'low-precision accumulation: summed in bfloat16', 'bad tile: (0..15, 32..47)'];
const titles = 'API name,Bench Dtype,DEVICE Dtype,Shape,Cosine similarity,Maximum absolute error,Dual-100 metric,Dual-1000 metric,' +
    'Dual-10000 metric,Binary consistency error rate,Error balance,Root-mean-square error (RMSE),Error ratio in small value range,' +
    'Maximum relative error,Mean relative error,inf/nan error rate,Relative error rate,Absolute error rate,Maximum ULP error,' +
    'Mean ULP error,Proportion of ULP errors greater than the threshold,Status,Message,Strict Status,Strict Reason,Likely Cause,Rerun Command,Error Over Bound\r\n';

/** The same numbers in every run. */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const lines = (path) => {
  const file = createWriteStream(path);
  return {
    async put(text) { if (!file.write(text)) await once(file, 'drain'); },
    async end() { file.end(); await once(file, 'finish'); },
  };
};

/** A tile of 16 rows and 96 columns that is wrong, in an output that is equal elsewhere. */
function mapLine(row, shape) {
  const rows = Math.min(64, shape[1]), wrongRows = shape[1] <= 64 ? 16 : Math.ceil((16 * 64) / shape[1]);
  const wrong = '0'.repeat(8) + 'f'.repeat(8) + '0'.repeat(48), elements = shape[0] * shape[1] * shape[2];
  const worst = [0, 1, 2].map((i) => [96 + i, 2, 1.000001, 3.1e4 - i]);
  return JSON.stringify({row, shape, plane: true, rows, columns: 64, cells: wrong.repeat(wrongRows) + '0'.repeat(64 * (rows - wrongRows)),
                         counts: [elements - 1536, 0, 0, 0, 0, 0, 0, 0, 0, 1536], worst}) + '\n';
}

export async function makeLargeResult(directory, calls) {
  mkdirSync(directory, {recursive: true});
  const random = generator(1);
  const error = () => (10 ** (-9 + 8 * random())).toFixed(14);
  const details = lines(join(directory, 'accuracy_checking_details_1.csv'));
  const result = lines(join(directory, 'accuracy_checking_result_1.csv'));
  const dump = lines(join(directory, 'dump.json'));
  const stacks = lines(join(directory, 'stack.json'));
  const maps = lines(join(directory, 'accuracy_checking_maps_1.jsonl'));
  await details.put('\ufeff' + titles);
  await result.put('\ufeffAPI name,Forward Test Success,Backward Test Success,Message\r\n');
  await dump.put('{"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {');
  await stacks.put('{');
  let rows = 0;
  for (let i = 0; i < calls; i++) {
    const api = apis[i % apis.length], name = `${api}.${Math.floor(i / apis.length)}`;
    const shape = [1 + (i % 8), 16 * (1 + (i % 64)), 768];
    const bad = random() < 0.01, cosine = bad ? (0.5 + 0.48 * random()).toFixed(14) : (1 - 1e-6 * random()).toFixed(14);
    const status = bad ? 'error' : random() < 0.02 ? 'warning' : 'pass';
    const row = (part, verdict) => {
      rows++;
      const numbers = ulp.has(api)
          ? `${cosine},${error()},${random().toFixed(14)},${random().toFixed(14)}, , , , , , , , , , ,${Math.floor(100 * random())}.00000000000000,${error()},${error()}`
          : `${cosine},${error()},${random().toFixed(14)},${random().toFixed(14)}, , ,${error()},${error()},${error()},${error()},${error()}, , , , , , `;
      const strict = verdict === 'error' ? 'error' : 'pass';
      const elements = shape[0] * shape[1] * 768, some = Math.floor(1000 * random());
      const over = strict === 'error' ? (10 ** (1 + 6 * random())).toPrecision(3) : random().toFixed(3);
      const reason = strict === 'error'
          ? `"${some} of ${elements} elements are beyond the bound (first (0, 0, 1), last (0, 3, 7)), worst at (0, 3, 7): device 2, bench 1, ${over} times its bound"`
          : `"${some} of ${elements} elements differ, by at most ${over} of the bound"`;
      const rerun = verdict === 'pass' ? '' : `msprobe acc_check -api_info dump.json -d npu:0 --only ${name}`;
      return `${name}.${part},torch.float32,torch.bfloat16,"(${shape.join(', ')})",${numbers},${verdict},"Relative error is less than 0.001, consider as pass, skip other check and set to SPACE.",` +
          `${strict},${reason},${verdict === 'error' ? `"${causes[i % 3]}"` : ''},${rerun},${Number(over)}\r\n`;
    };
    let text = row('forward.output.0', status);
    const backward = i % 3 === 0;
    if (backward) text += row('backward.output.0', 'pass');
    if (bad) await maps.put(mapLine(`${name}.forward.output.0`, shape));
    await details.put(text);
    await result.put(`${name},${status},${backward ? 'pass' : ' '},\r\n`);
    const tensor = () => `{"type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": [${shape.join(', ')}], "Max": ${(4 * random()).toFixed(6)}, "Min": ${(-4 * random()).toFixed(6)}, "Mean": 0.0, "Norm": 1.0, "requires_grad": false}`;
    await dump.put(`${i > 0 ? ',' : ''}\n"${name}.forward": {"input_args": [${tensor()}, ${tensor()}], "input_kwargs": {"dim": {"type": "int", "value": ${i % 3}}}, "output": []}`);
    const line = 10 + (i % 900);
    await stacks.put(`${i > 0 ? ',' : ''}\n"${i}": [["${name}.forward"], ["File /site-packages/torch/nn/modules/module.py, line 1789, in _call_impl, \\n return forward_call(*args, **kwargs)", "File /home/me/model/block${line % 30}.py, line ${line}, in forward, \\n x = self.layer${line}(x)"]]`);
  }
  await dump.put('}}\n');
  await stacks.put('\n}\n');
  await Promise.all([details.end(), result.end(), dump.end(), stacks.end(), maps.end()]);
  return {result: join(directory, 'accuracy_checking_result_1.csv'), dump: join(directory, 'dump.json'), rows};
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(await makeLargeResult(process.argv[2], Number(process.argv[3] ?? 100000)));
}
