// SPDX-License-Identifier: Apache-2.0
#include "torchair/convert_info.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "comparison/tensor_pass.h"
#include "core/file.h"
#include "core/float_formats.h"
#include "core/look_up.h"
#include "core/new_file.h"
#include "core/shrunken_file.h"
#include "ge/elements.h"
#include "ge/file_name.h"
#include "measure/chunks.h"
#include "measure/similarity.h"
#include "measure/widen.h"
#include "torchair/fx_files.h"
#include "torchair/info_file.h"

namespace msprobe::torchair {
namespace {

constexpr std::string_view kSuffix = "_min_max";

// Minimum and maximum as numpy has them: NaN once an element is NaN. Nothing is found of tensors
// that have none, which numpy refuses.
struct Range {
  DType dtype = DType::kFloat64;
  double low = kNoMinimum;
  double high = kNoMaximum;
  std::int64_t low_integer = 0;  // of integers, exact
  std::int64_t high_integer = 0;
};

bool is_exact_integer(DType dtype) { return is_integer_or_bool(dtype) && dtype != DType::kUInt64; }

Range range_of(const ge::Elements& elements) {
  Range range;
  if (elements.count == 0 || elements.opaque() || is_complex(elements.dtype)) return range;
  range.dtype = numpy_dtype(elements.dtype);
  measure::SideTally side;
  if (is_exact_integer(elements.dtype)) {
    range.low_integer = std::numeric_limits<std::int64_t>::max();
    range.high_integer = std::numeric_limits<std::int64_t>::min();
    std::vector<std::int64_t> values;
    comparison::for_each_chunk(elements, [&](const TensorView& view, std::uint64_t) {
      values.resize(view.numel());
      measure::widen(view, 0, std::span<std::int64_t>(values));
      const auto [low, high] = std::ranges::minmax(values);
      range.low_integer = std::min(range.low_integer, low);
      range.high_integer = std::max(range.high_integer, high);
    });
    range.low = static_cast<double>(range.low_integer);
    range.high = static_cast<double>(range.high_integer);
    return range;
  }
  comparison::for_each_chunk(elements, [&](const TensorView& view, std::uint64_t) {
    merge(side, measure::tally_side(view));
  });
  range.low = side.nans == 0 ? side.min : std::nan("");
  range.high = side.nans == 0 ? side.max : std::nan("");
  return range;
}

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void append_value(std::string& out, DType dtype, double value, std::int64_t integer) {
  switch (dtype) {
    case DType::kBool:
      return append(out, static_cast<std::uint8_t>(integer != 0));
    case DType::kUInt8:
    case DType::kInt8:
      return append(out, static_cast<std::uint8_t>(integer));
    case DType::kUInt16:
    case DType::kInt16:
      return append(out, static_cast<std::uint16_t>(integer));
    case DType::kUInt32:
    case DType::kInt32:
      return append(out, static_cast<std::uint32_t>(integer));
    case DType::kInt64:
      return append(out, integer);
    case DType::kFloat16:
      return append(out, double_to_float16(value));
    case DType::kFloat32:
      return append(out, static_cast<float>(value));
    default:
      return append(out, value);
  }
}

// uint64 is kept as double: its range has no exact integer here.
DType stored_dtype(DType dtype) { return dtype == DType::kUInt64 ? DType::kFloat64 : dtype; }

void append_range(std::string& out, DType dtype, const Range& range) {
  append_value(out, dtype, range.low, range.low_integer);
  append_value(out, dtype, range.high, range.high_integer);
}

// One common dtype, as an array has: that of the tensors where they agree, else double.
std::string array_of(const std::vector<Range>& ranges) {
  if (ranges.empty()) {
    const std::int64_t none = 0;
    return npy_header(DType::kFloat64, std::span(&none, 1));
  }
  const bool agree = std::ranges::all_of(
      ranges, [&](const Range& range) { return range.dtype == ranges.front().dtype; });
  const DType dtype = agree ? stored_dtype(ranges.front().dtype) : DType::kFloat64;
  const std::int64_t shape[] = {static_cast<std::int64_t>(ranges.size()), 2};
  std::string array = npy_header(dtype, shape);
  for (const Range& range : ranges) append_range(array, dtype, range);
  return array;
}

Result<std::vector<Range>> ranges_of(const std::vector<ge::DumpTensor>& tensors,
                                     const FileBytes& file) {
  std::vector<Range> ranges;
  for (const ge::DumpTensor& tensor : tensors) {
    if (tensor.absent) {
      ranges.emplace_back();
      continue;
    }
    const Result<ge::Elements> elements = ge::elements_of(tensor, file);
    if (!elements) return propagate(elements);
    ranges.push_back(range_of(*elements));
  }
  return ranges;
}

struct Converted {
  std::filesystem::path path;
  std::string content;
};

Result<Converted> convert_ge(const std::filesystem::path& path, const FileBytes& file) {
  const Result<ge::DumpFile> dump = ge::read_dump_file(file);
  if (!dump) return propagate(dump);
  const Result<std::vector<Range>> inputs = ranges_of(dump->inputs, file);
  if (!inputs) return propagate(inputs);
  const Result<std::vector<Range>> outputs = ranges_of(dump->outputs, file);
  if (!outputs) return propagate(outputs);
  return Converted{path.string() + std::string(kSuffix) + ".npz",
                   make_npz({{"inputs", array_of(*inputs)}, {"outputs", array_of(*outputs)}})};
}

Result<Converted> convert_fx(const std::filesystem::path& path, const FileBytes& file) {
  const Result<ge::Elements> elements = ge::elements_of_npy(file, path.filename().string());
  if (!elements) return propagate(elements);
  const Range range = range_of(*elements);
  const std::int64_t two = 2;
  const DType dtype = stored_dtype(range.dtype);
  std::string content = npy_header(dtype, std::span(&two, 1));
  append_range(content, dtype, range);
  std::string name = path.string();
  name.resize(name.size() - 4);
  return Converted{name + std::string(kSuffix) + ".npy", std::move(content)};
}

enum class Kind : std::uint8_t { kForeign, kGe, kFx, kInfo };
Kind kind_of_file(const std::string& name) {
  if (name.ends_with(".npy")) {
    const auto parsed = parse_fx_name(name);
    if (!parsed) return Kind::kForeign;
    return parsed->array.is_info ? Kind::kInfo : Kind::kFx;
  }
  if (ge::is_hashed_name(name)) return name.ends_with(".npz") ? Kind::kInfo : Kind::kGe;
  const auto parsed = ge::parse_file_name(name);
  if (!parsed) return Kind::kForeign;
  if (parsed->kind == ge::FileKind::kInfo) return Kind::kInfo;
  return parsed->kind == ge::FileKind::kBinary ? Kind::kGe : Kind::kForeign;
}

// Sorted by path. No link is followed.
struct FilesUnder {
  std::vector<std::filesystem::path> files;
  std::vector<std::pair<std::filesystem::path, std::string>> unread;  // directories, and why

  void add(const std::filesystem::path& directory) {
    const auto entries = list_directory(directory);
    if (!entries) unread.emplace_back(directory, entries.error().message);
    for (const std::filesystem::directory_entry& entry : entries.value_or(DirectoryEntries())) {
      std::error_code ignored;
      if (entry.is_symlink(ignored)) continue;
      if (entry.is_directory(ignored)) add(entry.path());
      if (entry.is_regular_file(ignored)) files.push_back(entry.path());
    }
  }
};

}  // namespace

ConvertTotals Converter::pass(bool only_settled) {
  ConvertTotals totals;
  FilesUnder under;
  under.add(root_);
  for (const auto& [directory, reason] : under.unread) {
    ++totals.refused;
    if (events_.on_problem) events_.on_problem(directory, reason);
  }
  std::ranges::sort(under.files);
  for (const std::filesystem::path& path : under.files) {
    const Kind kind = kind_of_file(path.filename().string());
    if (kind == Kind::kInfo) ++totals.already;
    if (kind != Kind::kGe && kind != Kind::kFx) continue;
    if (only_settled && !is_settled(path)) continue;
    convert(path, totals);
  }
  return totals;
}

bool Converter::is_settled(const std::filesystem::path& path) {
  std::error_code error;
  const Seen now{std::filesystem::file_size(path, error),
                 std::filesystem::last_write_time(path, error), false};
  if (error) return false;
  const auto [known, is_new] = seen_.try_emplace(path, now);
  if (is_new || known->second != now) {
    known->second = now;
    return false;
  }
  const auto age = std::filesystem::file_time_type::clock::now() - now.time;
  return !known->second.done && age >= std::chrono::seconds(1);
}

void Converter::convert(const std::filesystem::path& path, ConvertTotals& totals) {
  const auto leave_alone = [&] {
    if (const auto known = seen_.find(path); known != seen_.end()) known->second.done = true;
  };
  const auto refuse = [&](const std::string& reason) {
    ++totals.refused;
    leave_alone();
    if (events_.on_problem) events_.on_problem(path, reason);
  };
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error);
  const Result<FileBytes> file = load_file(path);
  if (!file) return refuse(file.error().message);
  const bool is_fx = kind_of_file(path.filename().string()) == Kind::kFx;
  const Result<Converted> converted = is_fx ? convert_fx(path, *file) : convert_ge(path, *file);
  if (!converted) {
    // Arguments that are not tensors stay: there is nothing to convert.
    if (is_fx && (converted.error().kind == ErrorKind::kHostile ||
                  converted.error().kind == ErrorKind::kUnsupported)) {
      return leave_alone();
    }
    return refuse(converted.error().message);
  }
  const Result<void> written = write_durable_file(converted->path, converted->content);
  if (!written) return refuse(written.error().message);
  // A file that changed meanwhile was not the one that was converted.
  if (std::filesystem::file_size(path, error) != file->bytes.size() || error ||
      std::filesystem::last_write_time(path, error) != time || error) {
    std::filesystem::remove(converted->path, error);
    return refuse("it changed while it was read");
  }
  if (options_.keep_originals) {
    leave_alone();
  } else if (std::filesystem::remove(path, error)) {
    seen_.erase(path);
  } else {
    return refuse(error.message());
  }
  ++totals.converted;
  if (events_.on_converted) events_.on_converted(path, converted->path);
}

Result<bool> write_arrays(const std::filesystem::path& path,
                          const std::filesystem::path& directory) {
  const Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  if (path.extension() == ".npz") return write_archive_arrays(*file, path, directory);
  const Result<ge::DumpFile> dump = ge::read_dump_file(*file);
  if (!dump) return propagate(dump, path.string());
  const auto write_side = [&](const std::vector<ge::DumpTensor>& tensors,
                              std::string_view side) -> Result<bool> {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::string shown = fmt::format("{}: {} {}", path.string(), side, i);
      if (tensors[i].absent) return fail(ErrorKind::kFormat, shown + " has no bytes in the file");
      const Result<ge::Elements> elements = ge::elements_of(tensors[i], *file);
      if (!elements) return propagate(elements, shown);
      const DType dtype = numpy_dtype(elements->dtype);
      Result<NewFile> out = NewFile::create(directory / fmt::format("{}.{}.npy", side, i));
      if (!out) return propagate(out);
      Result<void> written = out->write(npy_header(dtype, elements->shape));
      const auto write = [&](std::string_view text) {
        if (written) written = out->write(text);
      };
      std::string widened;
      comparison::for_each_chunk(*elements, [&](const TensorView& view, std::uint64_t) {
        const std::span<const std::byte> bytes = view.bytes;
        if (dtype == view.dtype) {
          write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
          return;
        }
        widened.clear();
        std::vector<double> values(view.numel() * (is_complex(dtype) ? 2 : 1));
        if (is_complex(dtype)) {
          measure::widen(
              view, 0,
              std::span(reinterpret_cast<std::complex<double>*>(values.data()), view.numel()));
        } else {
          measure::widen(view, 0, std::span<double>(values));
        }
        for (const double value : values) append(widened, static_cast<float>(value));
        write(widened);
      });
      if (written) written = out->commit();
      if (!written) return propagate(written);
    }
    return true;
  };
  if (const Result<bool> done = write_side(dump->inputs, "input"); !done) return done;
  if (const Result<bool> done = write_side(dump->outputs, "output"); !done) return done;
  if (has_shrunk(path, *file)) {
    return fail(ErrorKind::kIo, path.string() + ": it shrank while it was read");
  }
  return true;
}

}  // namespace msprobe::torchair
