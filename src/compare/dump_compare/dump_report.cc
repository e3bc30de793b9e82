// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/dump_report.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "documented/judge.h"

namespace msprobe::dump_compare {
namespace {

constexpr report::Metric kDumpMetrics[] = {
    {"1 - cosine", ""},
    {"Maximum relative error", ""},
    {"Maximum absolute error", ""},
    {"Euclidean distance", ""},
    {"Share within 0.001", ""},
    {"Relative difference of max", ""},
    {"Relative difference of min", ""},
    {"Relative difference of mean", ""},
    {"Relative difference of l2 norm", ""},
};
constexpr std::size_t kDumpRealNumbers = 5;

std::vector<double> numbers_of_row(const ItemRow& row, DataMode mode) {
  std::vector<double> numbers(std::size(kDumpMetrics), report::kNoNumber);
  if (!row.is_matched() || mode == DataMode::kMd5) return numbers;
  const RealNumbers& real = row.real;
  if (real.state == RealNumbers::State::kAll) {
    numbers[0] = real.cosine_distance;
    numbers[3] = real.euclidean_distance;
    numbers[4] = real.within_1000;
  }
  if (real.state == RealNumbers::State::kAll || real.state == RealNumbers::State::kOneElement) {
    numbers[1] = real.max_relative_error;
    numbers[2] = real.max_abs_error;
  }
  for (std::size_t i = 0; i < kStatisticCount; ++i) {
    const double relative = row.differences[i].relative_or_none();
    if (relative >= 0) numbers[kDumpRealNumbers + i] = relative;
  }
  return numbers;
}

// "int" of "<class 'int'>": a number that is not a tensor.
std::string plain_type(std::string text) {
  constexpr std::string_view kStart = "<class '";
  constexpr std::string_view kEnd = "'>";
  std::size_t at = 0;
  while ((at = text.find(kStart, at)) != std::string::npos) {
    const std::size_t end = text.find(kEnd, at);
    if (end == std::string::npos) break;
    text.erase(end, kEnd.size());
    text.erase(at, kStart.size());
  }
  return text;
}

// "argument is 0.5, in the reference 1e-05" of "argument 0.5 against 1e-05": what the table says
// briefly, for a page that has room.
std::string plain_message(const std::string& message) {
  constexpr std::string_view kAgainst = " against ";
  std::string text = plain_type(message);
  for (const std::string_view what : {"requires_grad", "argument", "dtype", "shape", "checksum"}) {
    const std::string start = fmt::format("{} ", what);
    const std::size_t at = text.find(start);
    const std::size_t against = text.find(kAgainst, at);
    if (at == std::string::npos || against == std::string::npos) continue;
    if (at != 0 && !text.substr(0, at).ends_with(": ")) continue;
    text.replace(against, kAgainst.size(), ", in the reference ");
    text.insert(at + what.size(), " is");
    break;
  }
  return text;
}

// "step 1/rank 0": a row and a column of the page's grid. Empty: two files were named.
std::string place_of(const DumpPair& pair) {
  std::string place = pair.shown;
  if (const std::size_t comma = place.find(", "); comma != std::string::npos) {
    place.replace(comma, 2, "/");
  }
  return place;
}

report::ReportRow row_of(const ItemRow& row, DataMode mode) {
  report::ReportRow out;
  const dump::Item& item = row.target != nullptr ? *row.target : *row.golden;
  out.part = item.place;
  out.status = comparison::verdict_of(row.outcome);
  if (row.target != nullptr) out.device_dtype = plain_type(std::string(dtype_text(*row.target)));
  if (row.golden != nullptr) out.bench_dtype = plain_type(std::string(dtype_text(*row.golden)));
  out.shape = shape_text(item);
  if (row.is_matched()) {
    out.algorithm =
        fmt::format("{}: {}", name(row.match), dump::item_name(*row.golden_entry, *row.golden));
  }
  std::vector<std::string> said;
  for (const std::string& message : row.messages) said.push_back(plain_message(message));
  out.message = fmt::format("{}", fmt::join(said, "; "));
  out.numbers = numbers_of_row(row, mode);
  return out;
}

report::Spread spread_of(std::string_view role) {
  if (role == "agrees") return report::Spread::kAgrees;
  if (role == "introduces") return report::Spread::kIntroduces;
  if (role == "inherits") return report::Spread::kInherits;
  return role == "target only" ? report::Spread::kOneSided : report::Spread::kUnknown;
}

// "Module.blocks.0.Block.forward.0": "Module.blocks.0.Block". What is not a call of a module, such
// as "optimizer", stays as it is.
std::string module_of(std::string_view call) {
  const std::optional<dump::EntryName> parts = dump::parse_entry_name(call);
  return std::string(parts && parts->is_module ? parts->owner : call);
}

using Parents = std::map<std::string, std::string, std::less<>>;

// Whether `module` is `other`, or a part of it.
bool is_within(const Parents& parents, const std::string& module, const std::string& other) {
  for (auto at = parents.find(module); at != parents.end(); at = parents.find(at->second)) {
    if (at->first == other || at->second == other) return true;
  }
  return module == other;
}

}  // namespace

DumpCompareReport::DumpCompareReport(const DumpPair& pair, const CompareStart& start,
                                     const std::string& target_as_given)
    : modules_(start.open.modules), pair_(pair), mode_(start.mode) {
  sites_ = dump::call_sites_of(pair.target);
  run_.kind = "dumps";
  run_.title = pair.shown.empty() ? "two dumps" : pair.shown;
  run_.place = place_of(pair);
  run_.directions = {"input", "output"};
  run_.group_title = "module";
  run_.origin = {{"compared dump", pair.target.string()},
                 {"reference dump", pair.golden.string()},
                 {"compared", std::string(name(mode_))}};
  run_.rerun = CallCommand("acc_check").add("-api_info", target_as_given);
  run_.dump = target_as_given;
  run_.metrics.assign(std::begin(kDumpMetrics), std::end(kDumpMetrics));
}

void DumpCompareReport::add(const EntryRows& rows) {
  if (rows.rows.empty()) return;
  const dump::Entry& entry = rows.target ? *rows.target : *rows.golden.front();
  report::ReportCall& call = run_.calls.emplace_back();
  call.name = entry.name;
  call.api = entry.parts.owner;
  if (sites_ && rows.target != nullptr) {
    call.site = sites_->where(fmt::format("{}.{}", entry.parts.owner, entry.parts.number));
  }
  call.group = entry.parts.is_module       ? std::string(entry.parts.owner)
               : !rows.module.empty()      ? module_of(rows.module)
               : !call.site.module.empty() ? call.site.module
               : rows.target == nullptr    ? "only in the reference dump"
                                           : "no module";
  if (entry.parts.is_module && entry.parts.kind != dump::EntryKind::kParametersGrad) {
    module_calls_.try_emplace(call.group, entry.name);
  } else if (!entry.parts.is_module && !rows.module.empty()) {
    module_calls_.try_emplace(call.group, rows.module);
  }
  call.first_row = run_.rows.size();
  call.row_count = rows.rows.size();
  if (!rows.stack.empty()) {
    call.stack = static_cast<std::uint32_t>(run_.stacks.size());
    run_.stacks.push_back({{.file = {}, .line = 0, .function = {}, .code = rows.stack}});
  }
  for (const ItemRow& row : rows.rows) {
    std::optional<Verdict>& folded = row.is_output() ? call.backward : call.forward;
    const Verdict verdict = comparison::verdict_of(row.outcome);
    folded = folded ? worse(*folded, verdict) : verdict;
    run_.rows.push_back(row_of(row, mode_));
  }
}

void DumpCompareReport::complete(const DivergenceSearch& search) {
  set_roles(search);
  if (const auto* flow = search.flow(pair_.step, pair_.rank)) set_edges(*flow);
  set_group_parents();
}

void DumpCompareReport::set_roles(const DivergenceSearch& search) {
  for (report::ReportCall& call : run_.calls) {
    const std::string_view role = search.role(pair_, call.name);
    call.spread = spread_of(role);
    if (call.spread == report::Spread::kIntroduces) {
      call.message = "introduces a difference: its inputs agree";
    }
    if (call.spread == report::Spread::kInherits) {
      call.message = "inherits a difference: its inputs differ already";
    }
  }
}

void DumpCompareReport::set_edges(const DivergenceSearch::Flow& flow) {
  std::unordered_map<std::string_view, std::uint32_t> places;
  for (std::uint32_t i = 0; i < run_.calls.size(); ++i) places.try_emplace(run_.calls[i].name, i);
  std::vector<std::optional<std::uint32_t>> call_of;
  for (const std::string& entry : flow.entries) {
    const auto found = places.find(entry);
    call_of.push_back(found == places.end() ? std::nullopt : std::optional(found->second));
  }
  for (const divergence::FlowEdge& edge : flow.edges) {
    if (call_of[edge.from] && call_of[edge.to]) {
      run_.edges.push_back({*call_of[edge.from], *call_of[edge.to]});
    }
  }
}

// A module is part of the one that its first call ran in; calls that are recomputed run elsewhere.
void DumpCompareReport::set_group_parents() {
  if (!modules_) return;
  Parents parents;
  for (const auto& [module, first_call] : module_calls_) {
    std::string name = module;
    std::string_view call = first_call;
    while (!name.empty() && !parents.contains(name)) {
      call = modules_->parent(call);
      std::string parent = call.empty() ? std::string() : module_of(call);
      if (is_within(parents, parent, name)) parent.clear();
      parents.emplace(name, parent);
      name = std::move(parent);
    }
  }
  run_.group_parents.assign(parents.begin(), parents.end());
}

void DumpCompareReport::set_first_divergence(const std::string& entry, std::string text) {
  const auto found = std::ranges::find(run_.calls, entry, &report::ReportCall::name);
  if (found == run_.calls.end()) return;
  run_.first_difference = report::FirstDifference{
      .call = static_cast<std::size_t>(found - run_.calls.begin()), .text = std::move(text)};
}

}  // namespace msprobe::dump_compare
