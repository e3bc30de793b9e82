// SPDX-License-Identifier: Apache-2.0
#include "shrink/script.h"

#include <fmt/format.h>

#include "core/call_name.h"
#include "core/cast.h"
#include "core/file.h"
#include "dump/tensor_file.h"
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

constexpr std::string_view kScriptEnding = R"(

def raised(x):
    return x.detach().to(torch.float64 if x.is_floating_point() else x.dtype).requires_grad_(x.requires_grad)


def results(move):
    t = [move(x) for x in tensors]
    outputs = call(t)
    outputs = [x for x in (outputs if isinstance(outputs, (list, tuple)) else [outputs]) if isinstance(x, torch.Tensor)]
    if not gradients:
        return outputs
    pairs = [(o, move(g).detach().to(o.dtype)) for o, g in zip(outputs, gradients) if g is not None and o.requires_grad]
    wanted = [x for x in t if x.requires_grad]
    return outputs + list(torch.autograd.grad([o for o, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True))


failed = False
on_device = results(lambda x: x.detach().to(device).requires_grad_(x.requires_grad))
for i, (bench, found) in enumerate(zip(results(raised), on_device)):
    if bench is None or found is None:
        continue
    dtype, bench, found = found.dtype, bench.detach().cpu(), found.detach().cpu()
    if bench.shape != found.shape:
        failed = True
        print(f'result {i}: shape {tuple(found.shape)}, should be {tuple(bench.shape)}')
        continue
    wide = torch.float64 if found.is_floating_point() else found.dtype
    off = (found.to(wide) - bench.to(wide)).abs()
    room = 16 * torch.finfo(dtype).eps * bench.abs().max() if dtype.is_floating_point else 0
    bad = (~(off <= room)).nonzero()
    failed = failed or len(bad) > 0
    print(f'result {i}: {len(bad)} of {found.numel()} elements are wrong')
    for place in bad[:5].tolist():
        print(f'  at {place}: {device} {found[tuple(place)].item()}, float64 on the CPU {bench[tuple(place)].item()}')
sys.exit(1 if failed else 0)
)";

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
                                  const ScriptDevice& device, const std::string& finding) {
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
  return fmt::format(
      "#!/usr/bin/env python3\n"
      "\"\"\"{} on {}, against float64 on the CPU; exits with 1 where they disagree.\n\n"
      "Made by msprobe shrink, which found: {}\n\"\"\"\n"
      "import os\nimport pathlib\nimport sys\nimport types\n\nimport torch\n\n"
      "here = pathlib.Path(__file__).resolve().parent\n{}"
      "nan, inf = float('nan'), float('inf')\ndevice = '{}'\n"
      "tensors = [\n{}]\n"
      "gradients = [\n{}]\n\n\n"
      "def call(t):\n    return {}({})\n{}",
      python_name(call.full_name), device.name, python_comment(finding), device_lines(device, ""),
      device.name, tensors, gradients, python_name(call.full_name), arguments, kScriptEnding);
}

}  // namespace msprobe::shrink
