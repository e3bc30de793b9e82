// SPDX-License-Identifier: Apache-2.0
#include "shrink/script.h"

#include <fmt/format.h>

#include "core/call_name.h"
#include "core/cast.h"
#include "core/file.h"
#include "dump/tensor_file.h"
#include "shrink/probe.h"
#include "shrink/python_literal.h"

namespace msprobe::shrink {
namespace {

using namespace dump;

constexpr std::int64_t kWrittenOut = 512;  // elements

std::int64_t elements(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

// The lines that make the tensors, and the arguments that name them.
class Script {
 public:
  Script(const Directory& data, const std::string& full_name, const std::string& folder)
      : data_(data), full_name_(full_name), folder_(folder) {}

  // Leaves are numbered over all arguments, as their files are.
  std::string text_of(const Value& value) {
    if (const auto literal = python_literal(value)) return leaf(*literal);
    return std::visit(*this, value.data);
  }

  std::string operator()(const List& list) {
    std::string text = "[";
    for (const Value& value : list) text += (text.size() > 1 ? ", " : "") + text_of(value);
    return text + "]";
  }
  std::string operator()(const Dict& dict) {
    std::string text = "{";
    for (const auto& [key, value] : dict) {
      text +=
          fmt::format("{}{}: {}", text.size() > 1 ? ", " : "", python_text(key), text_of(value));
    }
    return text + "}";
  }
  std::string operator()(const TensorRecord& record) {
    const std::size_t place = leaf_++;
    const std::string name = fmt::format("t[{}]", tensors_++);
    add_tensor(record, fmt::format("{}.forward.input.{}.pt", full_name_, place));
    return name;
  }
  std::string operator()(const SizeValue& value) {
    return leaf(fmt::format("torch.Size([{}])", fmt::join(value.extents, ", ")));
  }
  std::string operator()(const DTypeValue& value) {
    const auto dtype = parse_dtype(value.text);
    return leaf(dtype ? std::string(msprobe::text(*dtype)) : python_text(value.text));
  }
  std::string operator()(const DeviceValue&) { return leaf("t[0].device"); }
  std::string operator()(const MemoryFormatValue& value) {
    const std::string_view name = std::string_view(value.text).substr(value.text.rfind('.') + 1);
    return leaf(is_python_name(name) ? fmt::format("torch.{}", name) : "None");
  }
  template <class Other>  // what python_literal knows is not asked for here
  std::string operator()(const Other&) {
    return leaf("None");
  }

  void add_gradient(const Value& value, std::size_t place) {
    if (const auto* record = value.as<TensorRecord>()) {
      add_tensor(*record, fmt::format("{}.backward.input.{}.pt", full_name_, place));
    } else {
      lines_ += "    None,\n";
    }
  }

  std::string take_lines() { return std::exchange(lines_, ""); }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::string leaf(std::string text) {
    ++leaf_;
    return text;
  }

  void add_tensor(const TensorRecord& record, const std::string& file) {
    const std::string gradient = record.requires_grad ? ".requires_grad_()" : "";
    if (elements(record.shape) > kWrittenOut) {
      lines_ += fmt::format("    torch.load(here / {} / {}){},\n", python_text(folder_),
                            python_text(file), gradient);
      return;
    }
    Result<Tensor> tensor = load_tensor_file(data_, file);
    if (tensor) tensor = cast(*tensor, DType::kFloat64);
    if (!tensor) {
      error_ = tensor.error();
      return;
    }
    const auto* values = reinterpret_cast<const double*>(tensor->bytes.data());
    std::string text;
    for (std::int64_t i = 0; i < elements(record.shape); ++i) {
      text += (i > 0 ? ", " : "") + python_number(values[i]);
    }
    lines_ +=
        fmt::format("    torch.tensor([{}], dtype=torch.float64).to({}).reshape({}){},\n", text,
                    record.dtype ? std::string(msprobe::text(*record.dtype)) : "torch.float32",
                    fmt::format("[{}]", fmt::join(record.shape, ", ")), gradient);
  }

  const Directory& data_;
  const std::string& full_name_;
  const std::string& folder_;
  std::size_t leaf_ = 0;
  std::size_t tensors_ = 0;
  std::string lines_;
  std::optional<Error> error_;
};

constexpr std::string_view kPlainCalls = R"(
def begin(backward):
    pass


def end(found, backward):
    return found
)";

// The device chooses its faults by the name of the call, as msprobe does.
constexpr std::string_view kSimCalls = R"(
def begin(backward):
    torch.ops.msprobe_sim.begin_call(name, backward)


def end(found, backward):
    return torch.ops.msprobe_sim.end_call(found, backward)
)";

constexpr std::string_view kRun = R"(

def leaves(value, path=''):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for i, item in enumerate(value) for leaf in leaves(item, f'{path}.{i}' if path else str(i))]
    return [(path or '0', value if isinstance(value, torch.Tensor) else None)]


def results(move, begin=lambda backward: None, end=lambda found, backward: found):
    begin(False)
    t = [move(x) for x in tensors]
    torch.default_generator.manual_seed(seed)
    outputs = leaves(call(t))
    given = [x for _, x in outputs]
    found = {('forward', path): x for (path, _), x in zip(outputs, end(given, False))}
    if not gradients:
        return found
    begin(True)
    ends = given if len(given) == len(gradients) else [x for x in given if x is not None]
    pairs = [(o, move(g).detach().to(o.dtype)) for o, g in zip(ends, gradients)
             if o is not None and g is not None and o.requires_grad]
    wanted = [i for i, x in enumerate(t) if x.requires_grad]
    leaving = [None] * len(t)
    for i, x in zip(wanted, torch.autograd.grad([o for o, _ in pairs], [t[i] for i in wanted], [g for _, g in pairs],
                                                allow_unused=True)):
        leaving[i] = x
    found.update({('backward', str(i)): x for i, x in enumerate(end(leaving, True))})
    return found


def raised(x):
    return x.detach().to(torch.float64 if x.is_floating_point() else x.dtype).requires_grad_(x.requires_grad)


on_device = results(lambda x: x.detach().to(device).requires_grad_(x.requires_grad), begin, end)
benches = results(raised)
try:
    dtypes = {key: x.dtype for key, x in results(lambda x: x.detach().clone().requires_grad_(x.requires_grad)).items() if x is not None}
except RuntimeError:  # the CPU has no such kernel
    dtypes = {}
)";

// The recorded results cannot be computed again: they are compared as they were saved.
constexpr std::string_view kRecordedRun = R"(
on_device, benches, dtypes = {}, {}, {}
for direction in ('forward', 'backward'):
    for file in sorted((here / 'tensors').glob(f'{name}.{direction}.output.*.pt')):
        side, place = file.name.split('.')[-3:-1]
        (benches if side == 'bench' else on_device)[direction, place] = torch.load(file)
)";

constexpr std::string_view kScriptEnding = R"(
failed = False
for key, bench in benches.items():
    found, place = on_device.get(key), ' '.join(key)
    if bench is None or key not in on_device:
        continue
    if found is None:
        failed = True
        print(f'{place}: the device gives nothing')
        continue
    bench, found = bench.detach().cpu(), found.detach().cpu()
    if bench.shape != found.shape or found.dtype != dtypes.get(key, found.dtype):
        failed = True
        print(f'{place}: {found.dtype} {tuple(found.shape)}, should be {dtypes.get(key, found.dtype)} {tuple(bench.shape)}')
        continue
    wide = torch.complex128 if found.is_complex() else torch.float64 if found.is_floating_point() else torch.int64
    room = 0
    if found.is_floating_point() and found.numel():
        room = 16 * torch.finfo(found.dtype).eps * bench.abs().nan_to_num(0, 0, 0).max().item()
    room = min(room, worst.get(key, room) / 2)
    found, bench = found.to(wide), bench.to(wide)
    same = (found == bench) | ((found != found) & (bench != bench))
    bad = (~((found - bench).abs() <= room) & ~same).nonzero()
    failed = failed or len(bad) > 0
    print(f'{place}: {len(bad)} of {found.numel()} elements are wrong')
    for at in bad[:5].tolist():
        print(f'  at {at}: {device} {found[tuple(at)].item()}, float64 on the CPU {bench[tuple(at)].item()}')
if not failed:
    print(f'Nothing is wrong here. msprobe found: {finding}')
)";

// The largest errors of the results that msprobe called wrong.
std::string worst_errors(const protocol::MeasuredCall& measured) {
  std::string text;
  const auto add = [&](std::string_view direction, const std::vector<protocol::MeasuredLeaf>& all) {
    for (const protocol::MeasuredLeaf& leaf : all) {
      const double error = leaf.metrics.max_abs_error;
      if (!is_alarm(leaf) || leaf.kind != protocol::LeafKind::kTensor || !(error > 0)) continue;
      text +=
          fmt::format("('{}', {}): {}, ", direction, python_text(leaf.path), python_number(error));
    }
  };
  add("forward", measured.forward);
  add("backward", measured.backward);
  return text;
}

}  // namespace

std::string device_lines(const ScriptDevice& device, const std::string& indent) {
  std::string lines;
  const auto add = [&](const std::string& line) { lines += indent + line + "\n"; };
  if (device.name.starts_with("npu")) add("import torch_npu");
  if (device.sim_config) add("os.environ['MSPROBE_SIM_CONFIG'] = str(here / 'sim.yaml')");
  if (!device.sim_profile.empty()) {
    add(fmt::format("os.environ['MSPROBE_SIM_PROFILE'] = {}", python_text(device.sim_profile)));
  }
  if (!device.library.empty()) {
    add(fmt::format("torch.ops.load_library({})", python_text(device.library)));
  }
  if (device.name.starts_with("sim")) {
    add("torch._register_device_module('sim', types.ModuleType('torch.sim'))");
  }
  return lines;
}

std::string_view exit_lines() {
  return R"(
# PyTorch starts a thread for each device when gradients are computed. One that has not begun when the
# interpreter shuts down aborts the process. So there is no shutdown: the status is this one.
sys.stdout.flush()
os._exit(1 if failed else 0)
)";
}

std::string python_name(const std::string& full_name) {
  const std::size_t dot = full_name.find('.');
  const std::string type = full_name.substr(0, dot);
  const std::string bare(api_of(full_name).substr(dot + 1));
  if (type == "Functional" || type == "MintFunctional") return "torch.nn.functional." + bare;
  if (type == "Tensor") return "torch.Tensor." + bare;
  if (type == "VF") return "torch._VF." + bare;
  if (type == "Aten") return "torch.ops.aten." + bare;
  return (type == "NPU" ? "torch_npu." : "torch.") + bare;
}

Result<std::string> python_script(const CallRecord& call, const std::filesystem::path& data,
                                  const ScriptDevice& device,
                                  const protocol::MeasuredCall& measured,
                                  const std::string& finding) {
  const Result<Directory> directory = Directory::open(data);
  if (!directory) return propagate(directory);
  const std::string folder = data.filename().string();
  Script script(*directory, call.full_name, folder);
  std::string arguments;
  for (const Value& value : call.forward.input_args) {
    arguments += (arguments.empty() ? "" : ", ") + script.text_of(value);
  }
  for (const auto& [key, value] : call.forward.input_kwargs) {
    const std::string before = arguments.empty() ? "" : ", ";
    const std::string text = script.text_of(value);
    arguments += is_python_name(key)
                     ? fmt::format("{}{}={}", before, key, text)
                     : fmt::format("{}**{{{}: {}}}", before, python_text(key), text);
  }
  const std::string tensors = script.take_lines();
  std::size_t place = 0;
  if (call.backward) {
    for (const Value& value : call.backward->input) script.add_gradient(value, place++);
  }
  const std::string gradients = script.take_lines();
  if (script.error()) return Failure(*script.error());
  const bool recorded = device.name == "recorded";
  const bool tells = device.name.starts_with("sim");
  const std::string run = recorded ? std::string(kRecordedRun)
                                   : fmt::format("{}{}", tells ? kSimCalls : kPlainCalls, kRun);
  return fmt::format(
      "#!/usr/bin/env python3\n"
      "\"\"\"{} on {}, against float64 on the CPU; exits with 1 if they disagree.\n\n"
      "Made by msprobe shrink, which found: {}\n\"\"\"\n"
      "import os\nimport pathlib\nimport sys\nimport types\n\nimport torch\n\n"
      "here = pathlib.Path(__file__).resolve().parent\n{}"
      "nan, inf = float('nan'), float('inf')\nname, device, seed = {}, '{}', {}\n"
      "finding = {}\nworst = {{{}}}  # the largest error of each result that is wrong\n"
      "tensors = [\n{}]\n"
      "gradients = [\n{}]\n\n\n"
      "def call(t):\n    return {}({})\n\n{}{}{}",
      python_name(call.full_name), device.name, python_comment(finding), device_lines(device, ""),
      python_text(call.full_name), device.name, device.seed, python_text(finding),
      worst_errors(measured), tensors, gradients, python_name(call.full_name), arguments, run,
      kScriptEnding, exit_lines());
}

}  // namespace msprobe::shrink
