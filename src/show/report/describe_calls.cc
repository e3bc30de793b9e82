// SPDX-License-Identifier: Apache-2.0
#include "report/describe_calls.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include <fmt/format.h>

#include "core/file.h"
#include "core/look_up.h"
#include "documented/judge.h"
#include "dump/call_sites.h"
#include "dump/dump_json.h"
#include "dump/legacy_json.h"
#include "dump/stack_json.h"
#include "ops/parameter_names.h"
#include "report/call_groups.h"
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
  std::string text = fmt::format("{} {}", dtype, documented::shape_text(tensor.shape));
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
    return "Size" + documented::shape_text(size.extents);
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
    call.arguments =
        record ? arguments_text(call.api, record->forward) : "\t" + record.error().message;
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

Result<std::string> read_sites(ReportRun& run, const fs::path& path) {
  const Result<dump::CallSites> sites = dump::open_call_sites(path);
  if (!sites) return propagate(sites);
  for (ReportCall& call : run.calls) call.site = sites->where(call.name);
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

std::string arguments_text(std::string_view api, const dump::ForwardRecord& call) {
  std::string out;
  const std::vector<std::string> names = ops::parameter_names(api, call.input_args.size());
  for (std::size_t i = 0; i < call.input_args.size(); ++i) {
    append_argument(out, names[i], call.input_args[i]);
  }
  for (const dump::DictItem& item : call.input_kwargs) {
    append_argument(out, item.first, item.second);
  }
  return out;
}

Result<std::string> describe_calls(ReportRun& run, const fs::path& dump) {
  if (const Result<void> found = describe_arguments(run, dump); !found) return propagate(found);
  std::string warning;
  // Without a file, the report lacks only what comes from it.
  const auto is_missing = [](const fs::path& path) {
    const Result<bool> there = is_there(path);
    return there && !*there;
  };
  const auto read = [&](const fs::path& path,
                        Result<std::string> (*reader)(ReportRun&, const fs::path&)) {
    if (is_missing(path)) return;
    const Result<std::string> note = reader(run, path);
    if (warning.empty()) warning = note ? *note : note.error().message;
  };
  read(stack_file_of(dump), &read_stacks);
  read(dump::call_sites_file(dump), &read_sites);
  ModuleNames modules;
  if (const fs::path construct = dump.parent_path() / "construct.json"; !is_missing(construct)) {
    Result<ModuleNames> names = read_construct(construct);
    if (!names && warning.empty()) warning = names.error().message;
    if (names) modules = *std::move(names);
  }
  group_calls(run, modules);
  return warning;
}

}  // namespace msprobe::report
