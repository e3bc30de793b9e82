#include "torchair/fx_files.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <tuple>

#include "dump/npy.h"
#include "ge/file_name.h"

namespace msprobe::torchair {
namespace {

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  if (!all_digits(text)) return std::nullopt;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() ? std::optional(value) : std::nullopt;
}

// Takes the part behind the last dot off `text`.
std::string_view take_last(std::string_view& text) {
  const std::size_t dot = text.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? text : text.substr(dot + 1);
  text = dot == std::string_view::npos ? std::string_view() : text.substr(0, dot);
  return last;
}

std::map<std::string, std::string> read_mapping_of(const fs::path& directory) {
  std::map<std::string, std::string> real_names;
  std::ifstream file(directory / "mapping.csv", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (ge::Mapping& row : ge::read_mapping(text)) real_names.emplace(row.written, row.real);
  return real_names;
}

// The header alone; a large array is not touched.
void read_header(FxArray& array) {
  constexpr std::size_t kStart = 4096;
  std::string start(kStart, '\0');
  std::ifstream file(array.path, std::ios::binary);
  if (!file) {
    array.problem = "cannot be opened";
    return;
  }
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(file.gcount()));
  const Result<dump::NpyHeader> header = dump::read_npy_header(start, array.name);
  if (header) {
    array.dtype = header->dtype;
    array.shape = header->shape;
    return;
  }
  // Objects and texts are honest arguments that are no tensors; everything else is damage.
  array.is_numeric =
      header.error().kind != ErrorKind::kHostile && header.error().kind != ErrorKind::kUnsupported;
  array.problem = header.error().message;
}

void make_ready(FxNode& node) {
  const auto order = [](const FxArray& a, const FxArray& b) {
    return std::tie(a.index, a.item, a.time) < std::tie(b.index, b.item, b.time);
  };
  for (auto* arrays : {&node.inputs, &node.outputs}) {
    std::ranges::sort(*arrays, order);
    for (FxArray& array : *arrays) read_header(array);
  }
  // A node that ran again in the same step: the first run counts, as in the compared dump.
  const auto same_place = [](const FxArray& a, const FxArray& b) {
    return a.index == b.index && a.item == b.item;
  };
  for (auto* arrays : {&node.inputs, &node.outputs}) {
    const auto rest = std::ranges::unique(*arrays, same_place);
    arrays->erase(rest.begin(), rest.end());
  }
  const auto others = std::ranges::stable_partition(node.inputs, &FxArray::is_numeric);
  node.others.assign(others.begin(), others.end());
  node.inputs.erase(others.begin(), others.end());
}

bool same_blocks(std::ifstream& a, std::ifstream& b, std::uint64_t at, std::size_t size) {
  std::string first(size, '\0');
  std::string second(size, '\0');
  a.clear();
  b.clear();
  a.seekg(static_cast<std::streamoff>(at));
  b.seekg(static_cast<std::streamoff>(at));
  a.read(first.data(), static_cast<std::streamsize>(size));
  b.read(second.data(), static_cast<std::streamsize>(size));
  return a.gcount() == b.gcount() && first == second;
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
    const auto place = number(part);
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
  const auto index = number(take_last(name));
  if (!index || take_last(name) != "OUTPUT" || name.empty()) return std::nullopt;
  return FxTensorName{std::string(name), *index};
}

FxFiles FxFiles::open(const fs::path& directory) {
  FxFiles files;
  const std::map<std::string, std::string> real_names = read_mapping_of(directory);
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string written = entry->path().filename().string();
    const auto real = real_names.find(written);
    const std::string& name = real == real_names.end() ? written : real->second;
    std::optional<FxName> parsed = parse_fx_name(name);
    if (!parsed) continue;
    parsed->array.path = entry->path();
    parsed->array.name = name;
    files.any_info_ = files.any_info_ || parsed->array.is_info;
    FxNode& node = files.nodes_[parsed->key].node;
    (parsed->is_output ? node.outputs : node.inputs).push_back(std::move(parsed->array));
  }
  return files;
}

const FxNode* FxFiles::node(const std::string& key) {
  const auto found = nodes_.find(key);
  if (found == nodes_.end()) return nullptr;
  if (!found->second.is_ready) make_ready(found->second.node);
  found->second.is_ready = true;
  return &found->second.node;
}

const FxArray* FxFiles::output(const FxTensorName& name) {
  const FxNode* of = node(name.key);
  if (of == nullptr) return nullptr;
  const auto found = std::ranges::find(of->outputs, name.index, &FxArray::index);
  return found == of->outputs.end() ? nullptr : &*found;
}

std::vector<std::string> FxFiles::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, entry] : nodes_) keys.push_back(key);
  return keys;
}

bool same_content(const FxArray& a, const FxArray& b) {
  constexpr std::uint64_t kWhole = 1 << 20;
  constexpr std::uint64_t kBlocks = 32;
  constexpr std::size_t kBlock = 4096;
  if (a.dtype != b.dtype || a.shape != b.shape || !a.dtype || a.is_info != b.is_info) return false;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(a.path, error);
  if (error || size != fs::file_size(b.path, error) || error) return false;
  std::ifstream first(a.path, std::ios::binary);
  std::ifstream second(b.path, std::ios::binary);
  if (!first || !second) return false;
  if (size <= kWhole) return same_blocks(first, second, 0, size);
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    if (!same_blocks(first, second, (size - kBlock) / (kBlocks - 1) * i, kBlock)) return false;
  }
  return true;
}

}  // namespace msprobe::torchair
