// SPDX-License-Identifier: Apache-2.0
#include "shrink/script.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/call_name.h"
#include "core/file.h"
#include "ops/autocast.h"
#include "ops/op.h"
#include "shrink/call_text.h"
#include "shrink/python_literal.h"

namespace msprobe::shrink {
namespace {

using namespace dump;
using protocol::LeafKind;
using protocol::MeasuredLeaf;

// What is wrong about the result, and so what is compared.
enum class Fault : std::uint8_t { kNumbers, kDType, kShape, kMissing, kOther, kRaises };

// What the dtypes of a call say: Python's autocast, and what the benchmark makes of the inputs.
struct Precision {
  std::optional<DType> autocast;
  bool rounds = false;  // float32 inputs are rounded to the dtype of autocast first
  bool raises = true;   // the benchmark runs in float64
  bool whole_numbers = false, complex = false;
};

void look_at(const Value& value, std::set<DType>& floats, bool& dtype_argument, Precision& found) {
  if (value.as<DTypeValue>() != nullptr) dtype_argument = true;
  if (const auto* tensor = value.as<TensorRecord>()) {
    const DType dtype = tensor->dtype.value_or(DType::kFloat32);
    if (dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32) {
      floats.insert(dtype);
    }
    found.whole_numbers = found.whole_numbers || is_integer_or_bool(dtype);
    found.complex = found.complex || is_complex(dtype);
  }
  if (const auto* list = value.as<List>()) {
    for (const Value& item : *list) look_at(item, floats, dtype_argument, found);
  }
  if (const auto* dict = value.as<Dict>()) {
    for (const auto& [key, item] : *dict) look_at(item, floats, dtype_argument, found);
  }
}

Precision precision_of(const CallRecord& call) {
  Precision precision;
  std::set<DType> floats;
  bool dtype_argument = false;
  for (const Value& value : call.forward.input_args) {
    look_at(value, floats, dtype_argument, precision);
  }
  for (const auto& [key, value] : call.forward.input_kwargs) {
    look_at(value, floats, dtype_argument, precision);
  }
  std::optional<DType> output;
  if (!call.forward.output.empty()) {
    const auto* tensor = call.forward.output.front().as<TensorRecord>();
    if (tensor != nullptr && tensor->dtype && is_float(*tensor->dtype)) output = tensor->dtype;
  }
  const auto name = parse_call_name(call.full_name);
  const ops::Traits traits = ops::traits_of(name ? name->bare_name : call.full_name);
  precision.autocast = ops::autocast_of(floats, output);
  precision.rounds = precision.autocast && output == precision.autocast && !dtype_argument &&
                     traits.autocast && floats.contains(DType::kFloat32);
  precision.raises = traits.raise != ops::Raise::kNever &&
                     !(traits.raise == ops::Raise::kWithoutDtype && dtype_argument);
  return precision;
}

// Whether its result may depend on random numbers.
bool may_draw(const CallRecord& call) {
  const auto name = parse_call_name(call.full_name);
  const std::string_view bare = name ? name->bare_name : std::string_view(call.full_name);
  const ops::Traits traits = ops::traits_of(bare);
  if (traits.drops != ops::Drops::kNothing || traits.chance != ops::Chance::kWholeCall) return true;
  constexpr std::string_view kDraws[] = {
      "rand",   "normal",      "uniform",    "bernoulli", "drop",       "poisson",
      "cauchy", "exponential", "geometric",  "rrelu",     "lstm",       "gru",
      "rnn",    "attention",   "fractional", "gumbel",    "multinomial"};
  return std::ranges::any_of(
      kDraws, [&](std::string_view word) { return bare.find(word) != std::string_view::npos; });
}

// Where an element of a list of the outputs is: "1.0" -> 1.
std::size_t first_place(std::string_view path) {
  std::size_t place = 0;
  for (const char c : path.substr(0, path.find('.'))) {
    place = place * 10 + static_cast<std::size_t>(c - '0');
  }
  return place;
}

// The words behind `begin`, as many on a line as fit; further lines are indented.
std::string filled(const std::string& begin, const std::vector<std::string>& words) {
  constexpr std::size_t kWidth = 110;
  std::string lines;
  std::string line = begin;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? ", " : "");
    if (line.size() + word.size() > kWidth && !line.ends_with("[")) {
      lines += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = std::string(begin.size(), ' ');
    }
    line += word;
  }
  return lines + line;
}

class Script {
 public:
  Script(const CallRecord& call, const std::filesystem::path& data, const ScriptDevice& device,
         const ProbeAnswer& answer, ScriptForm form)
      : call_(call),
        data_(data),
        device_(device),
        answer_(answer),
        form_(form),
        precision_(precision_of(call)),
        copies_(form != ScriptForm::kShort || changes_arguments(call)),
        call_text_(call_text(call, copies_ ? "c" : "t")),
        leaf_(answer.failing ? &answer.failing->leaf(answer.call) : nullptr),
        fault_(fault()) {}

  Result<std::string> text() {
    const Result<Directory> directory = Directory::open(data_);
    if (!directory) return propagate(directory);
    const std::string tensors = tensor_lines(*directory);
    const std::string function = is_computed() ? function_lines() : "";
    const Result<std::string> comparison = comparison_lines();
    if (!comparison) return propagate(comparison);
    const std::string needed = device_lines(device_, "") + tensors + function + *comparison;
    const bool here = needed.find("here /") != std::string::npos;
    return fmt::format(
        "{}import os{}, sys, traceback{}\n{}import torch\n\n{}{}device = {}\n{}{}\n{}",
        script_head(python_name(call_.full_name), device_,
                    form_ == ScriptForm::kSavedBench ? "the result that msprobe computed"
                                                     : "float64 on the CPU",
                    answer_.text),
        here ? ", pathlib" : "", is_sim() ? ", types" : "", exception_line(),
        here ? "here = pathlib.Path(__file__).resolve().parent\n" : "", device_lines(device_, ""),
        python_text(device_.name), tensors, function, *comparison);
  }

 private:
  bool is_sim() const { return device_.name.starts_with("sim"); }
  bool is_recorded() const { return device_.name == "recorded"; }
  // The simulated device chooses its faults by the name of the call, as msprobe does.
  bool names_call() const { return device_.sim_config; }
  bool is_backward() const {
    return answer_.failing ? answer_.failing->backward : answer_.backward_raised;
  }
  // Whether the call runs in the script at all.
  bool is_computed() const { return !is_recorded() || form_ != ScriptForm::kSavedBench; }

  Fault fault() const {
    if (answer_.raised) return Fault::kRaises;
    if (leaf_ == nullptr) return Fault::kNumbers;
    if (leaf_->strict && leaf_->strict->cause.starts_with("wrong dtype")) return Fault::kDType;
    if (leaf_->kind == LeafKind::kTensor) return Fault::kNumbers;
    if (leaf_->kind == LeafKind::kShapesDiffer) return Fault::kShape;
    const bool none =
        !leaf_->device.dtype &&
        (!leaf_->device.value || std::holds_alternative<std::monostate>(*leaf_->device.value));
    return leaf_->kind == LeafKind::kDeviceMissing || none ? Fault::kMissing : Fault::kOther;
  }

  std::string tensor_lines(const Directory& directory) const {
    const std::string folder = data_.filename().string();
    std::vector<std::string> inputs;
    for (const auto& [record, place] : call_text_.tensors) {
      inputs.push_back(tensor_text(*record, directory, folder,
                                   fmt::format("{}.forward.input.{}.pt", call_.full_name, place),
                                   is_backward()));
    }
    std::string lines = filled("inputs = [", inputs) + "]\n";
    if (!is_backward() || !call_.backward) return lines;
    for (std::size_t i = 0; i < call_.backward->input.size(); ++i) {
      const auto* record = call_.backward->input[i].as<TensorRecord>();
      if (record == nullptr) continue;
      lines += fmt::format(
          "{} = {}\n", gradient_name(i),
          tensor_text(*record, directory, folder,
                      fmt::format("{}.backward.input.{}.pt", call_.full_name, i), false));
    }
    return lines;
  }

  // Of the gradient that arrives at an output.
  std::string gradient_name(std::size_t place) const {
    return call_.backward->input.size() == 1 ? "gradient" : fmt::format("gradient{}", place);
  }

  // The entries that the call returns, before what it changed in place.
  std::size_t returned() const {
    std::size_t all = 0;
    for (const MeasuredLeaf& leaf : answer_.call.forward) {
      all = std::max(all, first_place(leaf.path) + 1);
    }
    const std::size_t mutated = call_.forward.mutated.size();
    return all > mutated ? all - mutated : call_.forward.output.size();
  }

  bool is_list() const { return form_ != ScriptForm::kShort || returned() > 1; }

  // An output by its place among all leaves.
  std::string output(std::size_t place, const std::string& path) const {
    if (form_ != ScriptForm::kShort) return fmt::format("out[{}]", place);
    if (!is_list() && path.find('.') == std::string::npos) return "out";
    std::string text = "out";
    for (std::size_t at = 0; at < path.size();) {
      const std::size_t end = std::min(path.find('.', at), path.size());
      text += fmt::format("[{}]", path.substr(at, end - at));
      at = end + 1;
    }
    return text;
  }

  std::vector<std::string> mutated() const {
    std::vector<std::string> all;
    for (const auto& [place, value] : call_.forward.mutated) {
      const std::string found = tensor_at(call_, place, "c");
      all.push_back(found.empty() ? "None" : found);
    }
    return all;
  }

  // The forward result that is wrong.
  std::string wanted_output() const {
    const std::size_t count = returned();
    const std::string path = leaf_ == nullptr ? "0" : leaf_->path;
    const std::size_t place = first_place(path);
    if (place >= count && place - count < mutated().size()) return mutated()[place - count];
    return output(answer_.failing ? answer_.failing->place : 0, path);
  }

  std::string forward_lines() const {
    std::string lines;
    if (copies_) lines += "    c = [x.clone() for x in t]\n";
    if (form_ != ScriptForm::kShort || may_draw(call_)) {
      lines += fmt::format("    torch.{}manual_seed({})\n", is_sim() ? "default_generator." : "",
                           device_.seed);
    }
    std::string call = call_text_.expression;
    if (form_ != ScriptForm::kShort)
      call = fmt::format("torch.utils._pytree.tree_leaves({})", call);
    if (precision_.autocast && !is_recorded()) {
      const std::string_view kind =
          std::string_view(device_.name).substr(0, device_.name.find(':'));
      lines += fmt::format("    with torch.autocast('{}', dtype={}):\n        out = {}\n", kind,
                           msprobe::text(*precision_.autocast), call);
    } else {
      lines += fmt::format("    out = {}\n", call);
    }
    return lines;
  }

  // Everything that comes out, as a list for the simulated device.
  std::string all_outputs() const {
    std::vector<std::string> all{is_list() ? "*out" : "out"};
    for (const std::string& changed : mutated()) all.push_back(changed);
    return fmt::format("[{}]", fmt::join(all, ", "));
  }

  std::string function_lines() const {
    std::string lines = "\ndef result(t, device):\n";
    if (names_call()) {
      lines += fmt::format(
          "    on_sim, name = device != 'cpu', {}\n"
          "    if on_sim: torch.ops.msprobe_sim.begin_call(name, False)\n",
          python_text(call_.full_name));
    }
    lines += forward_lines();
    if (is_backward()) return lines + backward_lines();
    if (names_call()) {
      const std::size_t place = answer_.failing ? answer_.failing->place : 0;
      lines += fmt::format("    if on_sim: return torch.ops.msprobe_sim.end_call({}, False)[{}]\n",
                           all_outputs(), place);
    }
    return lines + fmt::format("    return {}\n", wanted_output());
  }

  std::string backward_lines() const {
    std::vector<std::string> outputs;
    std::vector<std::string> weights;
    const List none;
    const List& arriving = call_.backward ? call_.backward->input : none;
    for (std::size_t i = 0; i < arriving.size(); ++i) {
      if (arriving[i].as<TensorRecord>() == nullptr) continue;
      const bool several = is_list() || arriving.size() > 1;
      outputs.push_back(several ? fmt::format("out[{}]", i) : "out");
      weights.push_back(fmt::format("{}.to({})", gradient_name(i), outputs.back()));
    }
    const auto listed = [](const std::vector<std::string>& words) {
      return words.size() == 1 ? words.front() : fmt::format("[{}]", fmt::join(words, ", "));
    };
    std::vector<std::string> inputs;  // that are differentiated
    std::vector<std::string> places;  // what the device's library sees
    for (std::size_t i = 0; i < call_text_.tensors.size(); ++i) {
      const bool gradient = call_text_.tensors[i].first->requires_grad;
      places.push_back(gradient ? fmt::format("found[{}]", inputs.size()) : "None");
      if (gradient) inputs.push_back(fmt::format("t[{}]", i));
    }
    const std::string place = leaf_ == nullptr ? first_differentiated() : leaf_->path;
    if (names_call()) {
      return fmt::format(
          "    if on_sim: torch.ops.msprobe_sim.begin_call(name, True)\n"
          "    found = torch.autograd.grad({}, [{}], {}, allow_unused=True)\n"
          "    found = [{}]\n"
          "    return (torch.ops.msprobe_sim.end_call(found, True) if on_sim else found)[{}]\n",
          listed(outputs), fmt::join(inputs, ", "), listed(weights), fmt::join(places, ", "),
          place);
    }
    return fmt::format("    return torch.autograd.grad({}, t[{}], {}{})[0]\n", listed(outputs),
                       place, listed(weights),
                       fault_ == Fault::kMissing ? ", allow_unused=True" : "");
  }

  std::string first_differentiated() const {
    for (std::size_t i = 0; i < call_text_.tensors.size(); ++i) {
      if (call_text_.tensors[i].first->requires_grad) return fmt::format("{}", i);
    }
    return "0";
  }

  // An input as the benchmark takes it.
  std::string raised_input() const {
    if (!precision_.raises) return "x";
    std::string wide = precision_.rounds
                           ? fmt::format("x.to({}).double()", msprobe::text(*precision_.autocast))
                           : "x.double()";
    if (precision_.whole_numbers || precision_.complex) {
      wide += " if x.is_floating_point() else x";
    }
    return precision_.complex ? "x.to(torch.complex128) if x.is_complex() else " + wide : wide;
  }

  std::string saved(std::string_view side) const {
    return fmt::format("{}.{}.output.{}.{}.pt", call_.full_name,
                       is_backward() ? "backward" : "forward", side,
                       answer_.failing ? answer_.failing->place : 0);
  }
  std::string load(std::string_view side) const {
    return fmt::format("torch.load(here / {} / {})", python_text(data_.filename().string()),
                       python_text(saved(side)));
  }

  std::string right() const {
    if (form_ == ScriptForm::kSavedBench) return load("bench");
    return fmt::format("result([{} for x in inputs], 'cpu')", raised_input());
  }
  std::string found() const {
    return is_recorded() ? load("device") : "result([x.to(device) for x in inputs], device)";
  }

  // From the two results to the status.
  Result<std::string> comparison_lines() const {
    const std::string found_line = fmt::format("found = {}\n", found());
    switch (fault_) {
      case Fault::kDType:
        return found_line +
               fmt::format("print(f'{{found.dtype}}, should be {0}')\n", wanted_dtype()) +
               exit_lines(fmt::format("found.dtype != {}", wanted_dtype()));
      case Fault::kShape:
        return fmt::format("right = {}\n{}", right(), found_line) +
               "print(f'shape {tuple(found.shape)}, should be {tuple(right.shape)}')\n" +
               exit_lines("found.shape != right.shape");
      case Fault::kMissing:
        return found_line +
               "print('the device returned', 'nothing' if found is None else 'a result')\n" +
               exit_lines("found is None");
      case Fault::kOther:
        return fmt::format("right = {}\n{}", right(), found_line) +
               "print(f'{device}: {found}, the CPU: {right}')\n" + exit_lines("found != right");
      case Fault::kRaises:
        return fmt::format(
                   "{}  # the CPU computes it\nerror = None\ntry:\n    {}\n"
                   "except Exception as raised:\n    error = raised\n"
                   "print(f'{{device}} raises {{type(error).__name__}}: ' + "
                   "str(error).split('\\n')[0] "
                   "if error else 'Nothing is wrong here.')\n",
                   right(), found()) +
               exit_lines("error is not None");
      case Fault::kNumbers:
        break;
    }
    Tolerance room{0, 0};
    if (leaf_ != nullptr && answer_.kind != ProbeAnswer::Kind::kLost) {
      const Result<Tolerance> known = tolerance_of(data_ / saved("device"), data_ / saved("bench"));
      if (!known) return propagate(known);
      room = *known;
    }
    return fmt::format(
               "right = {}.detach()\nfound = {}.detach().cpu().to(right.dtype)\n"
               "wrong = ~torch.isclose(found, right, rtol={:.3g}, atol={:.3g}, equal_nan=True)\n",
               right(), found(), room.relative, room.absolute) +
           "print(f'{int(wrong.sum())} of {wrong.numel()} elements are wrong')\n"
           "for at in wrong.nonzero()[:5].tolist():\n"
           "    print(f'  at {at}: {device} {found[tuple(at)].item()}, the CPU "
           "{right[tuple(at)].item()}')\n"
           "wrong.any() or print('Nothing is wrong here.', __doc__)\n" +
           exit_lines("wrong.any()");
  }

  std::string wanted_dtype() const {
    const TensorRecord* record = nullptr;
    const std::size_t place = leaf_ == nullptr ? 0 : first_place(leaf_->path);
    if (is_backward()) {
      if (place < call_text_.tensors.size()) record = call_text_.tensors[place].first;
    } else if (place < call_.forward.output.size()) {
      record = call_.forward.output[place].as<TensorRecord>();
    } else if (place - call_.forward.output.size() < call_.forward.mutated.size()) {
      const auto& changed = call_.forward.mutated[place - call_.forward.output.size()];
      record = changed.second.as<TensorRecord>();
    }
    const bool known = record != nullptr && record->dtype;
    return known ? std::string(msprobe::text(*record->dtype)) : "torch.float32";
  }

  const CallRecord& call_;
  const std::filesystem::path& data_;
  const ScriptDevice& device_;
  const ProbeAnswer& answer_;
  ScriptForm form_;
  Precision precision_;
  bool copies_;  // the call gets copies of its tensors
  CallText call_text_;
  const MeasuredLeaf* leaf_;  // the result that is wrong; null: there is none
  Fault fault_;
};

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
    add("torch._register_device_module('sim', "
        "types.SimpleNamespace(get_amp_supported_dtype=lambda: "
        "[torch.bfloat16, torch.float16]))");
  }
  return lines;
}

namespace {

// As lines of a docstring.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kWidth = 118;
  std::string lines;
  while (text.size() > kWidth) {
    std::size_t end = text.rfind(' ', kWidth);
    if (end == std::string_view::npos || end == 0) end = text.find(' ');
    if (end == std::string_view::npos) break;
    lines += std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(end + 1);
  }
  return lines + std::string(text);
}

}  // namespace

std::string script_head(const std::string& what, const ScriptDevice& device,
                        const std::string& against, const std::string& finding) {
  return fmt::format(
      "#!/usr/bin/env python3\n"
      "\"\"\"{} {}, against {}. Made by msprobe shrink, which found:\n{}\n"
      "Ends with 1 if the two disagree, 0 if they agree, 2 if it cannot run.\"\"\"\n",
      python_comment(what),
      device.name == "recorded" ? std::string("as recorded") : "on " + python_comment(device.name),
      against, wrapped(python_comment(finding)));
}

std::string_view exception_line() {
  return "sys.excepthook = lambda *error: (traceback.print_exception(*error), sys.stdout.flush(), "
         "os._exit(2))\n";
}

std::string exit_lines(std::string_view failed) {
  return fmt::format(
      "sys.stdout.flush(); os._exit(int({}))  # a thread of PyTorch's that has not begun would "
      "abort a normal exit\n",
      failed);
}

Result<std::string> python_script(const CallRecord& call, const std::filesystem::path& data,
                                  const ScriptDevice& device, const ProbeAnswer& answer,
                                  ScriptForm form) {
  return Script(call, data, device, answer, form).text();
}

}  // namespace msprobe::shrink
