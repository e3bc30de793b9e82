// SPDX-License-Identifier: Apache-2.0
#include "torchair/fx_files.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/look_up.h"
#include "dump/npy.h"
#include "torchair/digits.h"
#include "torchair/info_file.h"
#include "torchair/real_names.h"

namespace msprobe::torchair {
namespace {

// Takes the part behind the last dot off `text`.
std::string_view take_last(std::string_view& text) {
  const std::size_t dot = text.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? text : text.substr(dot + 1);
  text = dot == std::string_view::npos ? std::string_view() : text.substr(0, dot);
  return last;
}

// Where something was dumped several times, the first of each place is the first run, and so on.
std::vector<FxNode> split_runs(FxNode all) {
  std::vector<FxNode> runs;
  const auto spread = [&](std::vector<FxArray>& arrays, std::vector<FxArray> FxNode::* side) {
    std::ranges::sort(arrays, [](const FxArray& a, const FxArray& b) {
      return std::tie(a.index, a.item, a.time, a.name) < std::tie(b.index, b.item, b.time, b.name);
    });
    std::size_t run = 0;
    const FxArray* before = nullptr;
    for (FxArray& array : arrays) {
      const bool again =
          before != nullptr && before->index == array.index && before->item == array.item;
      run = again ? run + 1 : 0;
      if (runs.size() <= run) runs.resize(run + 1);
      before = &(runs[run].*side).emplace_back(std::move(array));
    }
  };
  spread(all.inputs, &FxNode::inputs);
  spread(all.outputs, &FxNode::outputs);
  return runs;
}

bool is_mostly_repeated(std::span<const std::string_view> nodes) {
  std::map<std::string_view, std::size_t> times;
  for (const std::string_view node : nodes) ++times[node];
  std::size_t repeated = 0;
  for (const auto& [node, count] : times) repeated += count > 1 ? 1 : 0;
  return 2 * repeated >= times.size();
}

}  // namespace

std::optional<FxName> parse_fx_name(std::string_view name) {
  if (!name.ends_with(".npy")) return std::nullopt;
  name.remove_suffix(4);
  FxName parsed;
  const std::string_view last = take_last(name);
  const std::size_t digits = std::min(last.find_first_not_of("0123456789"), last.size());
  if (digits == 0) return std::nullopt;
  parsed.array.time = last.substr(0, digits);
  parsed.array.is_info = digits < last.size();
  std::vector<std::int64_t> places;
  std::string_view part = take_last(name);
  for (; places.size() < 3; part = take_last(name)) {
    const auto place = number_of(part);
    if (!place) break;
    places.push_back(*place);
  }
  parsed.is_output = part == "OUTPUT";
  if ((!parsed.is_output && part != "INPUT") || places.empty() || places.size() > 2 ||
      name.empty()) {
    return std::nullopt;
  }
  parsed.key = name;
  parsed.array.index = places.back();
  if (places.size() == 2) parsed.array.item = places.front();
  return parsed;
}

std::optional<FxTensorName> parse_fx_tensor_name(std::string_view name) {
  const auto index = number_of(take_last(name));
  if (!index || take_last(name) != "OUTPUT" || name.empty()) return std::nullopt;
  return FxTensorName{std::string(name), *index};
}

FxFiles FxFiles::open(const fs::path& directory, DumpFiles& dump_files) {
  FxFiles files;
  files.files_ = &dump_files;
  std::map<std::string, FxNode> nodes;
  const RealNames real_names(directory, dump_files);
  const auto entries = list_directory(directory);
  if (!entries) dump_files.note_unread(entries.error().message);
  for (const fs::directory_entry& entry : entries.value_or(DirectoryEntries())) {
    const std::string name = real_names.of(entry.path().filename().string());
    std::optional<FxName> parsed = parse_fx_name(name);
    if (!parsed) continue;
    if (parsed->array.is_info && has_original(entry.path())) continue;
    parsed->array.path = entry.path();
    parsed->array.name = name;
    FxNode& node = nodes[parsed->key];
    (parsed->is_output ? node.outputs : node.inputs).push_back(std::move(parsed->array));
  }
  for (auto& [key, node] : nodes) {
    for (FxNode& run : split_runs(std::move(node))) files.nodes_[key].push_back({std::move(run)});
  }
  files.number_dumps();
  return files;
}

const FxNode* FxFiles::node(const std::string& key, const Execution& execution) {
  const auto found = nodes_.find(key);
  if (found == nodes_.end()) return nullptr;
  Run* const run = find_run(found->second, execution);
  if (run == nullptr) return nullptr;
  if (!std::exchange(run->is_ready, true)) make_ready(run->node);
  return &run->node;
}

FxFiles::Run* FxFiles::find_run(std::vector<Run>& runs, const Execution& execution) {
  if (execution.of < dumps_) {
    left_out_a_dump_ = true;
    const std::size_t dump = dumps_ - execution.of + execution.number;
    for (std::size_t i = runs.size(); i-- > 0;) {
      if (runs[i].dump == dump) return &runs[i];
    }
    return nullptr;
  }
  std::size_t number = runs.size() == 1 ? 0 : execution.number;
  if (runs.size() > execution.of) number += runs.size() - execution.of;
  return number < runs.size() ? &runs[number] : nullptr;
}

void FxFiles::number_dumps() {
  struct Dumped {
    std::string_view time, key;
    Run* run;
  };
  std::vector<Dumped> all;
  for (auto& [key, runs] : nodes_) {
    for (Run& run : runs) {
      const FxNode& node = run.node;
      const FxArray& first = node.inputs.empty() ? node.outputs.front() : node.inputs.front();
      all.push_back({first.time, key, &run});
    }
  }
  std::ranges::stable_sort(all, {}, &Dumped::time);
  std::vector<std::string_view> keys;
  for (const Dumped& dumped : all) keys.push_back(dumped.key);
  const std::vector<std::size_t> numbers = dump_numbers(keys);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].run->dump = numbers[i];
  if (!numbers.empty()) dumps_ = numbers.back() + 1;
}

const FxArray* FxFiles::output(const FxTensorName& name, const Execution& execution) {
  const FxNode* of = node(name.key, execution);
  if (of == nullptr) return nullptr;
  const auto found = std::ranges::find(of->outputs, name.index, &FxArray::index);
  return found == of->outputs.end() ? nullptr : &*found;
}

std::vector<std::string> FxFiles::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, runs] : nodes_) {
    if (!left_out_a_dump_ || runs.back().dump + 1 == dumps_) keys.push_back(key);
  }
  return keys;
}

std::vector<std::string> FxFiles::only_older() const {
  std::vector<std::string> keys;
  for (const auto& [key, runs] : nodes_) {
    if (runs.back().dump + 1 < dumps_) keys.push_back(key);
  }
  return keys;
}

std::vector<std::string> FxFiles::repeated() const {
  std::vector<std::string> keys;
  for (const auto& [key, runs] : nodes_) {
    if (runs.size() > 1) keys.push_back(key);
  }
  return keys;
}

// The header alone; a large array is not touched.
void FxFiles::read_header(FxArray& array) {
  constexpr std::size_t kStart = 4096;
  const Result<FileBytes> file = files_->load(array.path);
  if (!file) {
    array.problem = file.error().message;
    return files_->note_unread(file.error().message);
  }
  const Result<dump::NpyHeader> header =
      dump::read_npy_header(file->text().substr(0, kStart), array.name);
  file->forget(kStart);
  if (header) {
    array.dtype = header->dtype;
    array.shape = header->shape;
    return;
  }
  // Objects and texts are valid arguments but not tensors; any other error is damage.
  array.is_numeric =
      header.error().kind != ErrorKind::kHostile && header.error().kind != ErrorKind::kUnsupported;
  array.problem = header.error().message;
}

void FxFiles::make_ready(FxNode& node) {
  for (auto* arrays : {&node.inputs, &node.outputs}) {
    for (FxArray& array : *arrays) read_header(array);
  }
  const auto others = std::ranges::stable_partition(node.inputs, &FxArray::is_numeric);
  node.others.assign(others.begin(), others.end());
  node.inputs.erase(others.begin(), others.end());
}

bool FxFiles::same_content(const FxArray& a, const FxArray& b) {
  constexpr std::size_t kWhole = 1 << 20;
  constexpr std::size_t kBlocks = 32;
  constexpr std::size_t kBlock = 4096;
  if (a.dtype != b.dtype || a.shape != b.shape || !a.dtype || a.is_info != b.is_info) return false;
  const Result<FileBytes> first = files_->load(a.path);
  const Result<FileBytes> second = files_->load(b.path);
  for (const auto* file : {&first, &second}) {
    if (!*file) files_->note_unread(file->error().message);
  }
  if (!first || !second) return false;
  const std::string_view bytes = first->text();
  const std::string_view others = second->text();
  if (bytes.size() != others.size()) return false;
  if (bytes.size() <= kWhole) return bytes == others;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const std::size_t at = (bytes.size() - kBlock) / (kBlocks - 1) * i;
    if (bytes.substr(at, kBlock) != others.substr(at, kBlock)) return false;
  }
  return true;
}

std::vector<std::size_t> dump_numbers(std::span<const std::string_view> nodes) {
  std::vector<std::size_t> numbers;
  std::size_t restarts = 0;
  for (const std::string_view node : nodes) {
    if (!numbers.empty() && node == nodes.front()) ++restarts;
    numbers.push_back(restarts);
  }
  if (restarts > 0 || !is_mostly_repeated(nodes)) return numbers;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!seen.insert(nodes[i]).second) {
      ++restarts;
      seen = {nodes[i]};
    }
    numbers[i] = restarts;
  }
  return numbers;
}

}  // namespace msprobe::torchair
