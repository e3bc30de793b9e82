// SPDX-License-Identifier: Apache-2.0
// Dumps of MindSpore's dynamic graph and of MSAdapter (MindTorch); docs/documents.md lists the page
// that describes their check.
#include <algorithm>

#include <fmt/format.h>

#include "check/dialect.h"
#include "core/call_name.h"
#include "documented/mindspore.h"
#include "ops/op.h"
#include "tables/detail_columns.h"

namespace msprobe::check {
namespace {

using documented::DetailRow;
using protocol::LeafKind;
using protocol::MeasuredLeaf;

constexpr std::string_view kMintGroups[] = {"Mint", "MintFunctional", "Tensor"};
constexpr std::string_view kAdapterGroups[] = {"Functional", "Tensor", "Torch"};
// Of mindspore.ops only this one has a benchmark.
constexpr std::string_view kFusedApi = "Functional.flash_attention_score";
// What the entries of a static graph are called.
constexpr std::string_view kGraphGroups[] = {"Jit", "Primitive"};

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

std::string_view group_of(std::string_view full_name) {
  return full_name.substr(0, full_name.find('.'));
}

std::string_view left_out_of_mint(std::string_view full_name) {
  const std::string_view group = group_of(full_name);
  const bool checked = is_one_of(kMintGroups, group) || api_of(full_name) == kFusedApi;
  return checked ? std::string_view() : group;
}

std::string_view left_out_of_adapter(std::string_view full_name) {
  const std::string_view group = group_of(full_name);
  return is_one_of(kAdapterGroups, group) ? std::string_view() : group;
}

SkipReason mindspore_reason_to_skip(const ops::NamedCall& call) {
  if (!call.name) return SkipReason::kNotSupported;
  return call.traits.never_checked == ops::NeverChecked::kEverywhere ? SkipReason::kFiltered
                                                                     : SkipReason::kNone;
}

// The collector puts what a compiled graph computed below a directory of this name.
bool lies_below_graph(const std::filesystem::path& path) {
  return std::ranges::any_of(path.parent_path(),
                             [](const auto& part) { return part.string() == "graph"; });
}

bool is_static_graph(const dump::DumpIndex& dump, const std::filesystem::path& path) {
  const bool all_graph =
      !dump.calls.empty() && std::ranges::all_of(dump.calls, [](const dump::CallSlice& call) {
        return is_one_of(kGraphGroups, group_of(call.full_name));
      });
  return all_graph || (dump.calls.empty() && lies_below_graph(path));
}

bool has_real_data(const dump::DumpIndex& dump) { return dump.task == "tensor"; }

Result<std::vector<std::string>> look_at_mindspore(const dump::DumpIndex& dump,
                                                   const std::filesystem::path& path) {
  if (is_static_graph(dump, path)) {
    return fail(
        ErrorKind::kUnsupported,
        fmt::format("{} is a dump of a MindSpore static graph; the pre-check needs a dynamic "
                    "graph (PYNATIVE_MODE), recorded at level L1 or mix",
                    path.string()));
  }
  if (dump.task != "statistics" && dump.task != "tensor") {
    return fail(
        ErrorKind::kFormat,
        fmt::format("{}: task is '{}'; the pre-check of MindSpore dumps needs statistics or "
                    "tensor",
                    path.string(), dump.task));
  }
  if (has_real_data(dump) && dump.dump_data_dir.empty()) {
    return fail(ErrorKind::kFormat,
                fmt::format("{}: task is tensor, but dump_data_dir is not there", path.string()));
  }
  std::vector<std::string> warnings = warnings_about(dump);
  if (dump.module_entries > 0) {
    warnings.push_back(
        fmt::format("{} entries of cells (Cell, Module) are not checked: only API "
                    "calls are",
                    dump.module_entries));
  }
  return warnings;
}

bool is_bare_number(std::string_view named) {
  return !named.empty() && std::ranges::all_of(named, [](char c) { return c >= '0' && c <= '9'; });
}

// A number alone: what was recorded, where it was; else the best there is.
std::string mindspore_device(std::string_view named, const dump::DumpIndex& dump) {
  if (!is_bare_number(named)) return std::string(named);
  if (has_real_data(dump)) return "recorded";
  return fmt::format("npu:{0},mindspore:{0},cuda:{0},cpu:{0}", named);
}

DetailRow judge_mindspore_leaf(const MeasuredLeaf& leaf, const documented::Context& context) {
  const protocol::LeafSide& bench = leaf.bench;
  const protocol::LeafSide& device = leaf.device;
  if (leaf.kind == LeafKind::kTensor && bench.dtype && device.dtype) {
    return documented::judge_mindspore_tensor(
        {*bench.dtype, bench.shape, *device.dtype, device.shape}, leaf.metrics, context);
  }
  if (leaf.kind == LeafKind::kValue && bench.value && device.value) {
    return documented::judge_mindspore_value(*bench.value, *device.value, context);
  }
  const bool shapes = leaf.kind == LeafKind::kShapesDiffer;
  return documented::mindspore_mismatch(bench.type(), device.type(),
                                        shapes ? documented::shape_text(bench.shape) : "", context);
}

// Real data are in the dump already.
std::filesystem::path mindspore_error_data(const Config& /*config*/, const journal::CsvPaths& paths,
                                           const dump::DumpIndex& dump) {
  return has_real_data(dump) ? std::filesystem::path() : paths.result.parent_path() / "error_data";
}

Dialect made(std::string_view name, std::string_view (*left_out)(std::string_view)) {
  return {
      .name = name,
      .engine_name = name,
      .reason_to_skip = &mindspore_reason_to_skip,
      .left_out = left_out,
      .look_at = &look_at_mindspore,
      .engine_device = &mindspore_device,
      .judge_leaf = &judge_mindspore_leaf,
      .conclude = &documented::conclude_mindspore,
      .has_no_details = [](const ops::NamedCall&, documented::Profile) { return false; },
      .detail_columns = &tables::mindspore_detail_columns,
      .result_columns = &tables::mindspore_result_columns,
      .style = {.shortest = true, .blank = "", .no_verdict = ""},
      .names = {},
      .saves_npy = true,
      .error_data = &mindspore_error_data,
  };
}

}  // namespace

const Dialect& mindspore_dialect() {
  static const Dialect dialect = made("mindspore", &left_out_of_mint);
  return dialect;
}

const Dialect& mindtorch_dialect() {
  static const Dialect dialect = made("mindtorch", &left_out_of_adapter);
  return dialect;
}

}  // namespace msprobe::check
