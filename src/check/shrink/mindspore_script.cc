// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <fmt/format.h>

#include "core/call_name.h"
#include "shrink/python_literal.h"
#include "shrink/script.h"

namespace msprobe::shrink {
namespace {

// "float32", as NumPy, MindSpore and PyTorch all name it.
std::string dtype_word(std::optional<DType> dtype) {
  const std::string_view name = dtype ? text(*dtype) : "torch.float32";
  return std::string(name.substr(name.rfind('.') + 1));
}

// `path`: of the tensor's file. Tuples, as MindSpore needs them.
std::string argument_text(const dump::Value& value, const std::string& path) {
  if (const auto literal = python_literal(value)) return *literal;
  if (const auto* tensor = value.as<dump::TensorRecord>()) {
    return fmt::format("tensor({}, '{}')", python_text(path), dtype_word(tensor->dtype));
  }
  if (const auto* list = value.as<dump::List>()) {
    std::string items;
    for (std::size_t i = 0; i < list->size(); ++i) {
      items += argument_text((*list)[i], fmt::format("{}.{}", path, i)) + ", ";
    }
    return fmt::format("({})", items);
  }
  if (const auto* dtype = value.as<dump::DTypeValue>()) {
    return fmt::format("DType('{}')", dtype_word(parse_dtype(dtype->text)));
  }
  return "None";
}

std::string wrong_results(const protocol::MeasuredCall& measured) {
  std::string names;
  const auto add = [&](std::string_view direction, const std::vector<protocol::MeasuredLeaf>& all) {
    for (const protocol::MeasuredLeaf& leaf : all) {
      const bool wrong = leaf.strict && (leaf.strict->status == Verdict::kError ||
                                         leaf.strict->status == Verdict::kWarning);
      if (wrong) names += fmt::format("('{}', {}), ", direction, python_text(leaf.path));
    }
  };
  add("forward", measured.forward);
  add("backward", measured.backward);
  return names;
}

constexpr std::string_view kBeginning = R"(import numpy

here = pathlib.Path(__file__).resolve().parent
Tensor = collections.namedtuple('Tensor', 'array dtype')
DType = collections.namedtuple('DType', 'name')
nan, inf = float('nan'), float('inf')


def load(path):
    file = data / f'{name}.{path}.npy'
    return numpy.load(file) if file.exists() else None


def tensor(path, dtype):
    return Tensor(load(path), dtype)


)";

constexpr std::string_view kMindSporeEnding = R"(

def mapped(value, change):
    if isinstance(value, (Tensor, DType)):
        return change(value)
    if isinstance(value, tuple):
        return tuple(mapped(item, change) for item in value)
    return value


def leaves(value, kind):
    if isinstance(value, kind):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [leaf for item in items for leaf in leaves(item, kind)]


def find(roots, path):
    for root in roots:
        for part in path:
            root = getattr(root, part, None)
        if callable(root):
            return root
    raise AttributeError(f'nothing there is called {".".join(path)}')


def with_mindspore():
    """{(direction, place): array} as MindSpore computes it here."""
    import mindspore
    mint = mindspore.mint
    roots = {'Mint': [mint, mint.nn.functional], 'MintFunctional': [mint.nn.functional, mint], 'Tensor': [mindspore.Tensor],
             'Functional': [mindspore.ops], 'Torch': [mint]}[group]
    function = find(roots, api)
    dtype_of = lambda word: mindspore.bool_ if word == 'bool' else getattr(mindspore, word)
    change = lambda x: dtype_of(x.name) if isinstance(x, DType) else mindspore.Tensor(x.array).to(dtype_of(x.dtype))
    args_, kwargs_ = mapped(args, change), {key: mapped(value, change) for key, value in kwargs.items()}
    as_list = lambda result: list(result) if isinstance(result, tuple) else [result]
    array = lambda x: x.to(mindspore.float32).asnumpy() if x.dtype == mindspore.bfloat16 else x.asnumpy()
    outputs = as_list(function(*args_, **kwargs_))
    results = {('forward', str(i)): array(x) for i, x in enumerate(outputs) if isinstance(x, mindspore.Tensor)}
    if not gradients:
        return results
    every = leaves(args_, mindspore.Tensor) + leaves(kwargs_, mindspore.Tensor)
    places = [i for i, x in enumerate(every) if x.is_floating_point()]
    chosen = [i for i, g in enumerate(gradients) if g is not None and i < len(outputs) and outputs[i].is_floating_point()]

    def forward(*given):
        ids = {id(every[i]): x for i, x in zip(places, given)}
        swap = lambda value: ids.get(id(value), value) if isinstance(value, mindspore.Tensor) else \
            tuple(map(swap, value)) if isinstance(value, tuple) else value
        found = as_list(function(*swap(args_), **{key: swap(value) for key, value in kwargs_.items()}))
        return tuple(found[i] for i in chosen)

    weights = tuple(change(gradients[i]).to(outputs[i].dtype) for i in chosen)
    found = mindspore.ops.GradOperation(get_all=True, sens_param=True)(forward)(*(every[i] for i in places), weights)
    return {**results, **{('backward', str(i)): array(x) for i, x in zip(places, found)}}


def with_pytorch():
    import torch
)";

constexpr std::string_view kPyTorchEnding =
    R"(    roots = [torch, torch.nn.functional, torch.Tensor]
    function = find([torch.Tensor] if group == 'Tensor' else roots[1::-1] + roots[2:] if 'Functional' in group else roots, api)
    change = lambda x: getattr(torch, x.name) if isinstance(x, DType) else \
        torch.from_numpy(x.array.copy()).to(getattr(torch, x.dtype)).to(device)
    args_, kwargs_ = mapped(args, change), {key: mapped(value, change) for key, value in kwargs.items()}
    every = leaves(args_, torch.Tensor) + leaves(kwargs_, torch.Tensor)
    for x in every:
        x.requires_grad_(bool(gradients) and x.is_floating_point())
    result = function(*args_, **kwargs_)
    outputs = list(result) if isinstance(result, (tuple, list)) else [result]
    array = lambda x: x.detach().cpu().to(torch.float32 if x.dtype == torch.bfloat16 else x.dtype).numpy()
    results = {('forward', str(i)): array(x) for i, x in enumerate(outputs) if isinstance(x, torch.Tensor)}
    pairs = [(o, change(g).to(o.dtype)) for o, g in zip(outputs, gradients) if g is not None and o.requires_grad]
    wanted = [(i, x) for i, x in enumerate(every) if x.requires_grad]
    if not pairs:
        return results
    found = torch.autograd.grad([o for o, _ in pairs], [x for _, x in wanted], [g for _, g in pairs], allow_unused=True)
    return {**results, **{('backward', str(i)): array(g) for (i, _), g in zip(wanted, found) if g is not None}}


def distances(found, bench):
    found, bench = numpy.asarray(found), numpy.asarray(bench)
    if found.shape != bench.shape:
        return numpy.full(bench.shape, inf)
    wide = numpy.complex128 if 'c' in found.dtype.kind + bench.dtype.kind else numpy.float64
    found, bench = found.astype(wide), bench.astype(wide)
    same = (found == bench) | (numpy.isnan(found) & numpy.isnan(bench))
    with numpy.errstate(invalid='ignore'):
        off = numpy.where(same, 0, abs(found - bench))
    return numpy.where(numpy.isnan(off), inf, off)


def judge(whose, results):
    """Whether a result is as far off as the one that msprobe saw."""
    failed = False
    for direction, place in wrong:
        bench, seen, found = load(f'{direction}.bench.{place}'), load(f'{direction}.output.{place}'), results.get((direction, place))
        if bench is None or found is None:
            print(f'{whose}: no {direction} result {place}')
            failed = failed or (found is None and seen is not None)
            continue
        off = distances(found, bench)
        limit = distances(seen, bench).max() / 2 if seen is not None and seen.size else 0
        bad = numpy.argwhere((off >= limit) & (off > 0))
        failed = failed or len(bad) > 0
        print(f'{whose}: {direction} result {place}: {len(bad)} of {off.size} elements are off by {limit:.3g} or more')
        if numpy.shape(found) != bench.shape:
            print(f'  shape {numpy.shape(found)}, should be {bench.shape}')
            continue
        for index in map(tuple, bad[:5].tolist()):
            print(f'  at {index}: {found[index]}, the benchmark is {bench[index]}')
    return failed


def main():
    saved = {key: load(f'{key[0]}.output.{key[1]}') for key in wrong}
    recorded = device == 'recorded'
    by_mindspore = recorded or device.startswith('mindspore')
    failed = judge('recorded', saved) if recorded else False
    try:
        results = (with_mindspore if by_mindspore else with_pytorch)()
    except ImportError as error:
        print(f'{error}: ' + ('it cannot be run here' if recorded else 'the results that msprobe saved are judged'))
        return failed if recorded else judge('saved', saved)
    except Exception as error:
        print(f'{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ""}')
        if by_mindspore or not wrong:
            return failed if recorded else True
        print('PyTorch does not take the arguments as MindSpore does; the results that msprobe saved are judged')
        return judge('saved', saved)
    here_failed = judge('MindSpore here' if by_mindspore else device, results)
    return failed if recorded else here_failed


failed = main()
)";

}  // namespace

std::string mindspore_script(const dump::CallRecord& call, const std::filesystem::path& data,
                             const ScriptDevice& device, const protocol::MeasuredCall& measured,
                             const std::string& finding) {
  std::string args;
  for (std::size_t i = 0; i < call.forward.input_args.size(); ++i) {
    args += fmt::format(
        "    {},\n", argument_text(call.forward.input_args[i], fmt::format("forward.input.{}", i)));
  }
  std::string kwargs;
  for (const auto& [key, value] : call.forward.input_kwargs) {
    kwargs += fmt::format("    {}: {},\n", python_text(key),
                          argument_text(value, "forward.kwargs." + key));
  }
  std::string gradients;
  if (call.backward) {
    for (std::size_t i = 0; i < call.backward->input.size(); ++i) {
      gradients += fmt::format(
          "    {},\n", argument_text(call.backward->input[i], fmt::format("backward.input.{}", i)));
    }
  }
  const std::string_view api = api_of(call.full_name);
  const std::size_t dot = api.find('.');
  return fmt::format(
      "{}import collections\nimport os\nimport pathlib\nimport sys\nimport traceback\nimport "
      "types\n\n"
      "{}{}"
      "name, device = {}, {}\n"
      "data = here / {}\n"
      "group, api = {}, {}.split('.')\n"
      "args = (\n{})\nkwargs = {{\n{}}}\ngradients = (\n{})\n"
      "wrong = [{}]  # what msprobe found wrong\n"
      "{}{}{}{}",
      script_head(std::string(api), device, "the benchmark that msprobe computed", finding),
      exception_line(), kBeginning, python_text(call.full_name), python_text(device.name),
      python_text(data.filename().string()), python_text(api.substr(0, dot)),
      python_text(api.substr(dot + 1)), args, kwargs, gradients, wrong_results(measured),
      kMindSporeEnding, device_lines(device, "    "), kPyTorchEnding, exit_lines("failed"));
}

}  // namespace msprobe::shrink
