// SPDX-License-Identifier: Apache-2.0
#include "report/describe_calls.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include <fmt/format.h>
#include <simdjson.h>

#include "core/file.h"
#include "dump/call_sites.h"
#include "dump/dump_json.h"
#include "dump/legacy_json.h"
#include "dump/stack_json.h"
#include "judge/judge.h"
#include "tables/number_text.h"

namespace msprobe::report {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestValue = 120;  // a value beyond it is cut
constexpr std::size_t kMostItems = 8;       // of a list that is shown

std::string statistic(const dump::Statistic& number) {
  if (!number.is_number()) return "?";
  if (number.kind == dump::Statistic::Kind::kInteger) return std::to_string(number.integer);
  return fmt::format("{:.4g}", number.real);
}

std::string tensor_text(const dump::TensorRecord& tensor) {
  const std::string_view prefix = "torch.";
  std::string_view dtype = tensor.dtype_text;
  if (dtype.starts_with(prefix)) dtype.remove_prefix(prefix.size());
  std::string text = fmt::format("{} {}", dtype, judge::shape_text(tensor.shape));
  if (tensor.min.is_number() || tensor.max.is_number()) {
    text += fmt::format("  {} .. {}", statistic(tensor.min), statistic(tensor.max));
  }
  if (tensor.requires_grad) text += "  requires grad";
  return text;
}

std::string value_text(const dump::Value& value);

std::string list_text(const dump::List& list) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size() && i < kMostItems; ++i) {
    text += (i > 0 ? ", " : "") + value_text(list[i]);
  }
  return text + (list.size() > kMostItems ? fmt::format(", ... {} in all]", list.size()) : "]");
}

std::string slice_text(const dump::Slice& slice) {
  const auto end = [](const std::optional<std::int64_t>& at) {
    return at ? std::to_string(*at) : std::string();
  };
  const std::string step = slice.step ? ":" + std::to_string(*slice.step) : std::string();
  return end(slice.start) + ":" + end(slice.stop) + step;
}

struct ValueText {
  std::string operator()(const dump::None&) const { return "None"; }
  std::string operator()(bool flag) const { return flag ? "True" : "False"; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return fmt::format("{}", number); }
  std::string operator()(const std::complex<double>& number) const {
    return fmt::format("{}{:+}j", number.real(), number.imag());
  }
  std::string operator()(const std::string& text) const { return "'" + text + "'"; }
  std::string operator()(const dump::Ellipsis&) const { return "..."; }
  std::string operator()(const dump::Slice& slice) const { return slice_text(slice); }
  std::string operator()(const dump::SizeValue& size) const {
    return "Size" + judge::shape_text(size.extents);
  }
  std::string operator()(const dump::DTypeValue& dtype) const { return dtype.text; }
  std::string operator()(const dump::DeviceValue& device) const { return device.text; }
  std::string operator()(const dump::MemoryFormatValue& format) const { return format.text; }
  std::string operator()(const dump::Opaque& opaque) const { return "<" + opaque.type + ">"; }
  std::string operator()(const dump::TensorRecord& tensor) const { return tensor_text(tensor); }
  std::string operator()(const dump::List& list) const { return list_text(list); }
  std::string operator()(const dump::Dict& dict) const {
    std::string text = "{";
    for (const dump::DictItem& item : dict) {
      if (text.size() > kLongestValue) return text + ", ...}";
      text += (text.size() > 1 ? ", " : "") + item.first + ": " + value_text(item.second);
    }
    return text + "}";
  }
};

std::string value_text(const dump::Value& value) { return std::visit(ValueText{}, value.data); }

void append_argument(std::string& out, std::string_view name, const dump::Value& value) {
  std::string text = value_text(value);
  if (text.size() > kLongestValue) {
    text.resize(kLongestValue);
    text += " ...";
  }
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  if (!out.empty()) out += '\n';
  out += fmt::format("{}\t{}", name, text);
}

Result<void> describe_arguments(ReportRun& run, const fs::path& path) {
  const Result<dump::DumpIndex> index = dump::open_any(path);
  if (!index) return propagate(index);
  std::unordered_map<std::string_view, const dump::CallSlice*> slices;
  for (const dump::CallSlice& slice : index->calls) slices.emplace(slice.full_name, &slice);
  dump::CallParser parser;
  for (ReportCall& call : run.calls) {
    const auto found = slices.find(call.name);
    if (found == slices.end()) continue;
    const Result<dump::CallRecord> record = parser.parse(*found->second, path.string());
    call.arguments = record ? arguments_text(record->forward) : "\t" + record.error().message;
  }
  return {};
}

bool is_library(std::string_view file) {
  for (const std::string_view part :
       {"site-packages", "dist-packages", "/lib/python3", "<frozen"}) {
    if (file.find(part) != std::string_view::npos) return true;
  }
  return false;
}

// "Functional*relu*0" of "Functional.relu.0".
std::string older_name(std::string name) {
  if (const std::size_t first = name.find('.'); first != std::string::npos) {
    name[name.rfind('.')] = '*';
    name[first] = '*';
  }
  return name;
}

// Returns what is to be said about the file; usually nothing.
Result<std::string> read_stacks(ReportRun& run, const fs::path& path) {
  const Result<dump::StackIndex> index = dump::open_stacks(path);
  if (!index) return propagate(index);
  std::unordered_map<std::string, std::uint32_t> known;
  for (ReportCall& call : run.calls) {
    const std::vector<std::string> frames = frames_of(*index, call.name);
    if (frames.empty()) continue;
    const auto [place, fresh] = known.emplace(fmt::format("{}", fmt::join(frames, "\x1f")),
                                              static_cast<std::uint32_t>(run.stacks.size()));
    if (fresh) {
      Stack& stack = run.stacks.emplace_back();
      for (const std::string& frame : frames) stack.push_back(parse_frame(frame));
    }
    call.stack = place->second;
  }
  return index->note();
}

// Groups the calls by the line of the user's program that made them.
void group_by_line(ReportRun& run) {
  bool any = false;
  for (ReportCall& call : run.calls) {
    const StackFrame* frame = call.stack ? own_frame(run.stacks[*call.stack]) : nullptr;
    if (frame == nullptr) {
      call.group = "no recorded stack";
      continue;
    }
    any = true;
    call.group = fmt::format("{}:{}  {}", fs::path(frame->file).filename().string(), frame->line,
                             frame->code);
  }
  if (any) {
    run.group_title = "source line";
    return;
  }
  for (ReportCall& call : run.calls) call.group = call.name.substr(0, call.name.find('.'));
}

// "Module.layers.0.attn.Attention" of "Module.layers.0.attn.Attention.forward.0".
std::string module_name(std::string_view entry) {
  for (const std::string_view direction : {".forward", ".backward"}) {
    if (const std::size_t at = entry.rfind(direction); at != std::string_view::npos) {
      return std::string(entry.substr(0, at));
    }
  }
  return std::string(entry);
}

// {"Functional.conv2d.0.forward": "Module.conv1.Conv2d.forward.0", ...}: empty at level L1. A
// parent may also be a list whose first element is its name.
Result<std::string> group_by_module(ReportRun& run, const fs::path& path) {
  simdjson::dom::parser parser;
  simdjson::dom::object parents;
  if (parser.load(path.string()).get_object().get(parents) != simdjson::SUCCESS) {
    return fail(ErrorKind::kFormat, fmt::format("{}: not a JSON object", path.string()));
  }
  std::unordered_map<std::string_view, std::string> modules;
  for (const auto& [entry, parent] : parents) {
    std::string_view text;
    simdjson::dom::array list;
    if (parent.get(list) == simdjson::SUCCESS && list.at(0).get(text) != simdjson::SUCCESS)
      continue;
    if (text.empty() && parent.get(text) != simdjson::SUCCESS) continue;
    modules.emplace(entry, module_name(text));
  }
  if (modules.empty()) return std::string();
  bool any = false;
  for (ReportCall& call : run.calls) {
    const auto found = modules.find(call.name + ".forward");
    if (found == modules.end() || found->second.empty()) continue;
    any = true;
    call.group = found->second;
  }
  if (any) run.group_title = "module";
  return std::string();
}

// At level L1 the tree of modules is not recorded, but each call's module is.
Result<std::string> read_sites(ReportRun& run, const fs::path& path) {
  const Result<dump::CallSites> sites = dump::open_call_sites(path);
  if (!sites) return propagate(sites);
  for (ReportCall& call : run.calls) {
    call.site = sites->where(call.name);
    if (run.group_title == "module" || call.site.module.empty()) continue;
    call.group = call.site.module;
  }
  const auto has_module = [](const ReportCall& call) { return !call.site.module.empty(); };
  if (std::ranges::any_of(run.calls, has_module)) run.group_title = "module";
  return std::string();
}

}  // namespace

// The older recorder numbers its three files alike.
fs::path stack_file_of(const fs::path& dump) {
  constexpr std::string_view kForward = "forward_info";
  std::string name = dump.filename().string();
  if (!name.starts_with(kForward)) return dump.parent_path() / "stack.json";
  return dump.parent_path() / name.replace(0, kForward.size(), "stack_info");
}

std::vector<std::string> frames_of(const dump::StackIndex& stacks, const std::string& call) {
  Result<std::vector<std::string>> frames = stacks.frames(call + ".forward");
  if (frames && frames->empty()) frames = stacks.frames(older_name(call));
  return frames ? *std::move(frames) : std::vector<std::string>();
}

StackFrame parse_frame(std::string_view text) {
  constexpr std::string_view kFile = "File ";
  constexpr std::string_view kLine = ", line ";
  constexpr std::string_view kIn = ", in ";
  constexpr std::string_view kCode = ", \n";
  const std::size_t line_at = text.find(kLine);
  const std::size_t in_at = text.find(kIn, line_at);
  if (!text.starts_with(kFile) || line_at == std::string_view::npos ||
      in_at == std::string_view::npos) {
    return {.file = {},
            .line = 0,
            .function = {},
            .code = std::string(tables::trim(text)),
            .library = true};
  }
  StackFrame frame;
  frame.file = text.substr(kFile.size(), line_at - kFile.size());
  const std::string_view line = text.substr(line_at + kLine.size(), in_at - line_at - kLine.size());
  std::from_chars(line.data(), line.data() + line.size(), frame.line);
  const std::string_view rest = text.substr(in_at + kIn.size());
  const std::size_t code_at = rest.find(kCode);
  frame.function = rest.substr(0, code_at);
  if (code_at != std::string_view::npos) {
    std::string_view code = rest.substr(code_at + kCode.size());
    if (code.ends_with('\n')) code.remove_suffix(1);
    frame.code = tables::trim(code);
  }
  frame.library = is_library(frame.file);
  return frame;
}

std::string arguments_text(const dump::ForwardRecord& call) {
  std::string out;
  for (std::size_t i = 0; i < call.input_args.size(); ++i) {
    append_argument(out, std::to_string(i), call.input_args[i]);
  }
  for (const dump::DictItem& item : call.input_kwargs) {
    append_argument(out, item.first, item.second);
  }
  return out;
}

Result<std::string> describe_calls(ReportRun& run, const fs::path& dump) {
  if (const Result<void> read = describe_arguments(run, dump); !read) return propagate(read);
  std::string warning;
  const auto beside = [&](const fs::path& path,
                          Result<std::string> (*read)(ReportRun&, const fs::path&)) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return;
    const Result<std::string> note = read(run, path);
    if (warning.empty()) warning = note ? *note : note.error().message;
  };
  beside(stack_file_of(dump), &read_stacks);
  group_by_line(run);
  beside(dump.parent_path() / "construct.json", &group_by_module);
  beside(dump.parent_path() / "call_sites.json", &read_sites);
  return warning;
}

}  // namespace msprobe::report
