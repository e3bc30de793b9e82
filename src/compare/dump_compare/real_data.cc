// SPDX-License-Identifier: Apache-2.0
#include "dump_compare/real_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "comparison/schedule.h"
#include "comparison/tensor_pass.h"
#include "core/cast.h"
#include "core/crc32.h"
#include "core/shrunken_file.h"
#include "dump/dump_json.h"
#include "dump/tensor_file.h"
#include "ge/elements.h"
#include "measure/similarity.h"
#include "measure/tally.h"
#include "measure/widen.h"

namespace msprobe::dump_compare {
namespace {

namespace fs = std::filesystem;
using dump::Item;
using dump::ItemKind;
using measure::SimilarityTally;

// A tensor of a dump, in the dtype it had when it was recorded.
struct Loaded {
  FileBytes file;
  Tensor tensor;
  dump::LateChecksum checksum;  // of the tensor's bytes; no bytes: verified already

  bool waits_for_checksum() const { return !checksum.bytes.empty(); }
};

// Whether the elements are the bytes of the file, all of them and as they are.
bool is_whole_member(const Tensor& tensor, const dump::LateChecksum& checksum) {
  return tensor.bytes.data() == checksum.bytes.data() &&
         tensor.bytes.size() == checksum.bytes.size();
}

Result<void> verify(dump::LateChecksum& checksum) {
  if (crc32(0, checksum.bytes) != checksum.crc) {
    return fail(ErrorKind::kFormat, checksum.damaged);
  }
  checksum = {};
  return {};
}

// Files may hold a wider type than was recorded; the record is right.
Result<Tensor> in_recorded_dtype(Tensor tensor, const Item& item) {
  const std::optional<DType> recorded = parse_dtype(item.dtype);
  const bool is_wider = recorded && is_float(*recorded) && is_float(tensor.dtype) &&
                        size_bytes(tensor.dtype) > size_bytes(*recorded);
  if (!is_wider) return tensor;
  return cast(tensor, *recorded);
}

Result<Loaded> load(const Directory& directory, const Item& item) {
  Loaded loaded;
  const std::string name(item.data_name);
  Result<FileBytes> file = directory.load(name);
  if (!file) return propagate(file);
  Result<Tensor> tensor = dump::parse_tensor_file(*file, name, loaded.checksum);
  if (!tensor) return propagate(tensor);
  tensor = in_recorded_dtype(*std::move(tensor), item);
  if (!tensor) return propagate(tensor);
  // A file that shrank meanwhile reads as zeros.
  if (has_shrunk(directory.path() / name, *file)) {
    return fail(ErrorKind::kIo, fmt::format("{}: the file shrank while it was read", name));
  }
  loaded.file = *std::move(file);
  loaded.tensor = *std::move(tensor);
  if (!is_whole_member(loaded.tensor, loaded.checksum)) {
    if (const auto verified = verify(loaded.checksum); !verified) return propagate(verified);
  }
  return loaded;
}

// --config: what is compared is the product.
Result<void> multiply(Loaded& loaded, const MatrixProducts& products, ComparedSide side,
                      const Item& item) {
  const std::byte* const before = loaded.tensor.bytes.data();
  Result<Tensor> product = products.apply(side, item.data_name, loaded.tensor);
  if (!product) return propagate(product);
  if (product->bytes.data() == before) return {};
  if (const auto verified = verify(loaded.checksum); !verified) return propagate(verified);
  loaded.tensor = *std::move(product);
  return {};
}

Shape squeezed(const Shape& shape) {
  Shape out = shape;
  std::erase(out, 1);
  return out;
}

ge::Elements elements_of(const Loaded& loaded) {
  ge::Elements elements;
  elements.dtype = loaded.tensor.dtype;
  elements.count = loaded.tensor.view().numel();
  elements.bytes = loaded.tensor.bytes;
  const std::span<const std::byte> file = loaded.file.bytes;
  // What was cast or unpacked is not in the file.
  const bool is_in_file =
      elements.bytes.data() >= file.data() && elements.bytes.data() < file.data() + file.size();
  if (is_in_file) elements.file = loaded.file;
  return elements;
}

// The checksum of the bytes of a part, where it is wanted.
struct PartChecksum {
  std::uint32_t crc = 0;
  std::uint64_t size = 0;

  void add(const Loaded& loaded, const TensorView& part) {
    if (!loaded.waits_for_checksum()) return;
    crc = crc32(crc, part.bytes);
    size += part.bytes.size();
  }
  void add(const PartChecksum& next) {
    crc = crc32_of_both(crc, next.crc, next.size);
    size += next.size;
  }
};

struct PairTally {
  SimilarityTally similarity;
  PartChecksum target, golden;
};

void merge(PairTally& total, const PairTally& next) {
  measure::merge(total.similarity, next.similarity);
  total.target.add(next.target);
  total.golden.add(next.golden);
}

// One pass: the elements, and the checksums that are still to be verified.
PairTally tally_pair(const Loaded& target, const Loaded& golden, std::uint64_t count, int threads) {
  const measure::RelativeRule rule =
      measure::epsilon_rule(target.tensor.dtype, golden.tensor.dtype);
  return comparison::pass<PairTally>(
      elements_of(target), elements_of(golden), count, threads,
      [&](PairTally& part, const TensorView& t, const TensorView& g, std::uint64_t at) {
        part.target.add(target, t);
        part.golden.add(golden, g);
        measure::merge(part.similarity, measure::tally_similarity_by(rule, t, g, at));
      });
}

double relative_distance(const SimilarityTally& tally) {
  if (tally.error_squares == 0) return 0;
  return std::sqrt(tally.error_squares / tally.bench_squares);
}

RealNumbers numbers_of(const SimilarityTally& tally, std::uint64_t count, bool is_complex) {
  // Norms up to here count as zero.
  constexpr double kZeroNorm = 0x1p-52;
  RealNumbers numbers;
  numbers.state = RealNumbers::State::kAll;
  const measure::Similarity found = measure::finish(tally, is_complex);
  const bool target_zero = std::sqrt(tally.device_squares) <= kZeroNorm;
  const bool golden_zero = std::sqrt(tally.bench_squares) <= kZeroNorm;
  numbers.cosine = target_zero && golden_zero   ? 1
                   : target_zero || golden_zero ? std::numeric_limits<double>::quiet_NaN()
                                                : found.cosine;
  numbers.cosine_distance = target_zero || golden_zero ? 1 - numbers.cosine : found.cosine_distance;
  numbers.euclidean_distance = found.euclidean_distance;
  numbers.max_abs_error = found.max_abs_error;
  numbers.max_relative_error = found.max_relative_error;
  numbers.relative_distance = relative_distance(tally);
  // Elements that are NaN or infinite on both sides count as equal.
  const auto all = static_cast<double>(count);
  numbers.within_1000 = (all - static_cast<double>(tally.beyond_1000)) / all;
  numbers.within_200 = (all - static_cast<double>(tally.beyond_200)) / all;
  return numbers;
}

RealNumbers measure_one(const Loaded& target, const Loaded& golden) {
  RealNumbers numbers;
  numbers.state = RealNumbers::State::kOneElement;
  const SimilarityTally tally = tally_pair(target, golden, 1, 1).similarity;
  numbers.relative_distance = relative_distance(tally);
  if (tally.finite == 0) {
    if (tally.mismatches > 0) {
      numbers.relative_distance = std::numeric_limits<double>::infinity();
    }
    numbers.max_abs_error = std::numeric_limits<double>::quiet_NaN();
    numbers.max_relative_error = numbers.max_abs_error;
    return numbers;
  }
  numbers.max_abs_error = tally.max_abs_error;
  numbers.max_relative_error = tally.max_relative_error;
  return numbers;
}

void skip(ItemRow& row, std::string_view side, std::string_view reason) {
  row.outcome = Outcome::kSkipped;
  row.messages.push_back(fmt::format("skipped: {}: {}", side, reason));
}

std::uint64_t elements_of(const Item& item) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : item.shape) {
    if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(extent), &count)) {
      return std::numeric_limits<std::uint64_t>::max() / 16;
    }
  }
  return count;
}

// Operators whose result has valid rows first and anything behind them; the keyword that counts
// them.
struct ValidRows {
  std::string_view api;
  std::string_view place;
};
constexpr std::array kValidRows{ValidRows{"npu_grouped_matmul", "input.group_list"},
                                ValidRows{"npu_dequant_swiglu_quant", "input.group_index"}};

// Counts the valid elements of an output: all of them unless the call says otherwise.
std::uint64_t valid_elements(const ItemRow& row, const Directory& directory, const Tensor& output,
                             std::uint64_t count) {
  if (!row.is_output() || output.shape.empty() || output.shape.front() == 0) return count;
  for (const ValidRows& rule : kValidRows) {
    if (row.target_entry->name.find(rule.api) == std::string_view::npos) continue;
    const auto& items = row.target_entry->items;
    const auto found = std::ranges::find(items, rule.place, &Item::place);
    if (found == items.end() || found->data_name.empty()) return count;
    Result<Loaded> groups = load(directory, *found);
    if (!groups || !verify(groups->checksum) || is_complex(groups->tensor.dtype)) return count;
    const measure::SideTally side = measure::tally_side(groups->tensor.view());
    const auto rows = static_cast<double>(output.shape.front());
    if (!(side.sum >= 0) || side.sum >= rows) return count;
    return static_cast<std::uint64_t>(side.sum) *
           (count / static_cast<std::uint64_t>(output.shape.front()));
  }
  return count;
}

}  // namespace

bool is_large(const ItemRow& row) {
  if (row.target == nullptr || row.target->kind != ItemKind::kTensor) return false;
  const std::optional<DType> dtype = parse_dtype(row.target->dtype);
  return elements_of(*row.target) * (dtype ? size_bytes(*dtype) : 1) >= comparison::kLargeFile;
}

Result<void> RealData::open(const fs::path& target_json, const fs::path& golden_json,
                            std::shared_ptr<const MatrixProducts> products) {
  products_ = std::move(products);
  for (const auto& [directory, json] :
       {std::pair(&target_, &target_json), std::pair(&golden_, &golden_json)}) {
    const fs::path path = json->parent_path() / dump::kDataDirectory;
    Result<Directory> opened = Directory::open(path);
    if (!opened) return propagate(opened, json->string() + ": its tensor files cannot be read");
    directory->emplace(*std::move(opened));
  }
  return {};
}

void RealData::measure(ItemRow& row, int threads) const {
  const bool has_target = !row.target->data_name.empty();
  const bool has_golden = !row.golden->data_name.empty();
  if (has_target != has_golden && row.target->kind == ItemKind::kTensor &&
      row.golden->kind == ItemKind::kTensor) {
    return skip(row, has_target ? "golden" : "target", "no tensor file was recorded");
  }
  if (!has_target || !has_golden) return;
  Result<Loaded> target = load(*target_, *row.target);
  if (!target) return skip(row, "target", target.error().message);
  Result<Loaded> golden = load(*golden_, *row.golden);
  if (!golden) return skip(row, "golden", golden.error().message);
  if (products_) {
    if (const auto done = multiply(*target, *products_, ComparedSide::kTarget, *row.target);
        !done) {
      return skip(row, "target", done.error().message);
    }
    if (const auto done = multiply(*golden, *products_, ComparedSide::kGolden, *row.golden);
        !done) {
      return skip(row, "golden", done.error().message);
    }
  }
  const std::uint64_t count = target->tensor.view().numel();
  const bool same_shape = squeezed(target->tensor.shape) == squeezed(golden->tensor.shape);
  const std::uint64_t valid =
      same_shape && count > 1 ? valid_elements(row, *target_, target->tensor, count) : 0;
  if (valid < count || count <= 1) {  // not every element is read below
    if (const auto done = verify(target->checksum); !done) {
      return skip(row, "target", done.error().message);
    }
    if (const auto done = verify(golden->checksum); !done) {
      return skip(row, "golden", done.error().message);
    }
  }
  if (count == 0) return;
  if (!same_shape) {
    row.real.state = RealNumbers::State::kShapes;
    return;
  }
  if (count == 1) {
    row.real = measure_one(*target, *golden);
    return;
  }
  const PairTally pair = tally_pair(*target, *golden, valid, threads);
  if (target->waits_for_checksum() && pair.target.crc != target->checksum.crc) {
    return skip(row, "target", target->checksum.damaged);
  }
  if (golden->waits_for_checksum() && pair.golden.crc != golden->checksum.crc) {
    return skip(row, "golden", golden->checksum.damaged);
  }
  const SimilarityTally& tally = pair.similarity;
  if (tally.mismatches > 0) {
    row.real.state = RealNumbers::State::kClasses;
    return;
  }
  row.real = numbers_of(tally, count,
                        is_complex(target->tensor.dtype) || is_complex(golden->tensor.dtype));
}

}  // namespace msprobe::dump_compare
