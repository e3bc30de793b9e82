// SPDX-License-Identifier: Apache-2.0
#include "arguments/build.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "arguments/hf32.h"
#include "arguments/packed_sequence.h"
#include "arguments/random_tensor.h"
#include "arguments/recorded_strides.h"
#include "core/cast.h"
#include "dump/tensor_file.h"
#include "libtorch/dtypes.h"
#include "ops/op.h"

namespace msprobe::arguments {
namespace {

using dump::TensorRecord;

// What an API does to tensors before it sees them.
struct Adjustment {
  ops::InputRule inputs = ops::InputRule::kAsRecorded;
  std::optional<DType> from, to;
};

Adjustment adjustment_of(std::string_view bare_name) {
  const ops::InputRule inputs = ops::traits_of(bare_name).inputs;
  if (inputs == ops::InputRule::kClassTargets) return {inputs, DType::kInt32, DType::kInt64};
  if (inputs == ops::InputRule::kHistogram) return {inputs, DType::kInt64, DType::kFloat32};
  return {inputs, {}, {}};
}

bool is_compressed_mask(const dump::Value& mask, const dump::Dict& kwargs) {
  const auto* tensor = mask.as<TensorRecord>();
  if (tensor == nullptr || !tensor->data_name.empty()) return false;
  const auto mode = std::ranges::find(kwargs, "sparse_mode", &dump::Dict::value_type::first);
  const auto* number = mode == kwargs.end() ? nullptr : mode->second.as<std::int64_t>();
  return number != nullptr && *number >= 2 && *number <= 4;
}

SkipReason reason_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kIo:
      return SkipReason::kMissingData;
    case ErrorKind::kHostile:
      return SkipReason::kHostile;
    case ErrorKind::kUnsupported:
      return SkipReason::kUnknownDType;
    default:
      return SkipReason::kBrokenData;
  }
}

// Results of one dump are the same wherever it lies: files are named inside the data directory.
std::unexpected<Skip> skip_of(const Error& error, const Directory& data) {
  std::string message = error.message;
  const std::string place = data.path().string() + "/";
  for (std::size_t at = 0; (at = message.find(place, at)) != std::string::npos;) {
    message.erase(at, place.size());
  }
  return skip(reason_of(error), std::move(message));
}

// 0 if the record does not say, or nonsense.
std::size_t expected_bytes(const TensorRecord& record) {
  if (!record.has_shape || !record.dtype) return 0;
  return byte_count(record.shape, *record.dtype).value_or(0);
}

OrSkip<at::Tensor> stored_tensor(const TensorRecord& record, const BuildOptions& options) {
  if (options.data == nullptr) {
    return skip(SkipReason::kMissingData,
                fmt::format("{}: the dump has no data directory", record.data_name));
  }
  const std::size_t size_bytes = expected_bytes(record);
  Result<Tensor> tensor =
      options.replay.find_moved_files
          ? dump::load_moved_tensor_file(*options.data, record.data_name, size_bytes)
          : dump::load_tensor_file(*options.data, record.data_name, size_bytes);
  if (!tensor) return skip_of(tensor.error(), *options.data);
  if (record.has_shape && tensor->shape != record.shape) {
    return skip(SkipReason::kBrokenData,
                fmt::format("{}: shape ({}), recorded as ({})", record.data_name,
                            fmt::join(tensor->shape, ", "), fmt::join(record.shape, ", ")));
  }
  // Collectors widen what their file format cannot hold: the record is right.
  if (record.dtype && tensor->dtype != *record.dtype) {
    tensor = cast(*tensor, *record.dtype);
    if (!tensor) {
      return skip(SkipReason::kBrokenData,
                  fmt::format("{}: {}", record.data_name, tensor.error().message));
    }
  }
  if (!libtorch::scalar_type(tensor->dtype)) {
    return skip(SkipReason::kUnknownDType,
                fmt::format("the linked PyTorch has no dtype {}", text(tensor->dtype)));
  }
  return libtorch::tensor_of(*std::move(tensor));
}

void round_to_hf32(at::Tensor& tensor) {
  if (tensor.scalar_type() != at::kFloat) return;
  float* data = tensor.data_ptr<float>();
  std::transform(data, data + tensor.numel(), data, to_hf32);
}

// "npu", "cuda:1". No other text that an operator takes has this form.
bool names_a_device(std::string_view text) {
  constexpr auto kKinds =
      std::to_array<std::string_view>({"cpu", "cuda", "hpu", "ipu", "mlu", "mps", "mtia", "musa",
                                       "npu", "privateuseone", "xla", "xpu"});
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  if (colon == std::string_view::npos) return std::ranges::find(kKinds, kind) != kKinds.end();
  const std::string_view index = text.substr(colon + 1);
  const auto is_lower = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !kind.empty() && !index.empty() && std::ranges::all_of(kind, is_lower) &&
         std::ranges::all_of(index, is_digit);
}

struct MemoryFormatRow {
  std::string_view text;
  at::MemoryFormat format;
};
constexpr MemoryFormatRow kMemoryFormats[] = {
    {"torch.contiguous_format", at::MemoryFormat::Contiguous},
    {"torch.preserve_format", at::MemoryFormat::Preserve},
    {"torch.channels_last", at::MemoryFormat::ChannelsLast},
    {"torch.channels_last_3d", at::MemoryFormat::ChannelsLast3d},
};

struct QuantisedTypeRow {
  std::string_view text;
  at::ScalarType type;
};
constexpr QuantisedTypeRow kQuantisedTypes[] = {
    {"torch.qint8", at::kQInt8},
    {"torch.quint8", at::kQUInt8},
    {"torch.qint32", at::kQInt32},
    {"torch.quint4x2", at::ScalarType::QUInt4x2},
};

// Types that no tensor of a dump has, but that an argument names: the codes that are asked for.
std::optional<at::ScalarType> quantised_type(std::string_view text) {
  const auto* found = std::ranges::find(kQuantisedTypes, text, &QuantisedTypeRow::text);
  if (found == std::end(kQuantisedTypes)) return std::nullopt;
  return found->type;
}

// Builds values one after another; the first that cannot be built ends it.
class Builder {
 public:
  // Without a name nothing is drawn: only stored tensors count.
  Builder(std::string_view call_name, const Adjustment& adjustment, const BuildOptions& options)
      : call_name_(call_name), adjustment_(adjustment), options_(options) {}

  OrSkip<PyValue> value(const dump::Value& value, const std::string& path) {
    return std::visit([&](const auto& data) { return build(data, path); }, value.data);
  }

  OrSkip<PyList> list(const dump::List& values, const std::string& path) {
    PyList list;
    list.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      OrSkip<PyValue> item = value(values[i], fmt::format("{}.{}", path, i));
      if (!item) return std::unexpected(item.error());
      list.push_back(*std::move(item));
    }
    return list;
  }

  OrSkip<PyDict> dict(const dump::Dict& values, const std::string& path) {
    PyDict dict;
    dict.reserve(values.size());
    for (const auto& [key, item] : values) {
      // A generator's state is not recorded; the default one is seeded before each run.
      if (key == "generator") continue;
      if (adjustment_.inputs == ops::InputRule::kCausalMask && key == "atten_mask" &&
          is_compressed_mask(item, values)) {
        dict.emplace_back(key, PyValue{at::ones({2048, 2048}, at::kBool).triu(1)});
        continue;
      }
      if (key == "device" && item.as<std::int64_t>() != nullptr) {
        dict.emplace_back(key, PyValue{at::Device(at::kCPU)});
        continue;
      }
      OrSkip<PyValue> built = value(item, fmt::format("{}.{}", path, key));
      if (!built) return std::unexpected(built.error());
      dict.emplace_back(key, *std::move(built));
    }
    return dict;
  }

  bool saw_float8() const { return saw_float8_; }

 private:
  // `torch.ones(4, device="npu:0")` and `device=0` name a device as torch.device(...) does.
  OrSkip<PyValue> build(const std::string& text, const std::string& /*path*/) {
    if (names_a_device(text)) return PyValue{at::Device(at::kCPU)};
    return PyValue{text};
  }

  // None, bool, numbers, ellipsis, slice and torch.Size stay as they are.
  template <class T>
  OrSkip<PyValue> build(const T& plain, const std::string& /*path*/) {
    return PyValue{plain};
  }

  OrSkip<PyValue> build(const TensorRecord& record, const std::string& path) {
    TensorRecord wanted = record;
    if (adjustment_.from && record.dtype == adjustment_.from) {
      wanted.dtype = adjustment_.to;
      wanted.dtype_text = text(*adjustment_.to);
    }
    saw_float8_ = saw_float8_ || (record.dtype && is_float8(*record.dtype));
    // A tensor without elements has no file, and nothing in it that could be missing.
    const bool is_empty = std::ranges::find(record.shape, 0) != record.shape.end();
    if (record.data_name.empty() && call_name_.empty() && !is_empty) {
      return skip(SkipReason::kNothingRecorded, "the dump has no values of its outputs");
    }
    OrSkip<at::Tensor> tensor =
        record.data_name.empty()
            ? random_tensor(wanted, Philox(options_.replay.seed, call_name_, path))
            : stored_tensor(wanted, options_);
    if (!tensor) return std::unexpected(tensor.error());
    if (adjustment_.inputs == ops::InputRule::kHf32 && options_.replay.hf32) round_to_hf32(*tensor);
    if (!record.strides.empty()) *tensor = laid_out(*tensor, record.strides);
    const at::ScalarType type = tensor->scalar_type();
    if (record.requires_grad && (at::isFloatingType(type) || at::isComplexType(type))) {
      tensor->set_requires_grad(true);
    }
    return PyValue{*std::move(tensor)};
  }

  OrSkip<PyValue> build(const dump::DTypeValue& dtype, const std::string& path) {
    if (dtype.text.empty() || dtype.text == "None") return PyValue{dump::None{}};
    const std::optional<DType> known = parse_dtype(dtype.text);
    auto type = known ? libtorch::scalar_type(*known) : std::nullopt;
    if (!type) type = quantised_type(dtype.text);
    if (!type) {
      return skip(SkipReason::kUnknownDType,
                  fmt::format("{}: the linked PyTorch has no dtype {}", path, dtype.text));
    }
    return PyValue{*type};
  }

  // Whatever device it was: each side puts its own there.
  OrSkip<PyValue> build(const dump::DeviceValue& device, const std::string& /*path*/) {
    if (device.text.empty() || device.text == "None") return PyValue{dump::None{}};
    return PyValue{at::Device(at::kCPU)};
  }

  OrSkip<PyValue> build(const dump::MemoryFormatValue& format, const std::string& path) {
    const auto found = std::ranges::find(kMemoryFormats, format.text, &MemoryFormatRow::text);
    if (found == std::end(kMemoryFormats)) {
      return skip(SkipReason::kArgument, fmt::format("{}: memory format {}", path, format.text));
    }
    return PyValue{found->format};
  }

  OrSkip<PyValue> build(const dump::Opaque& opaque, const std::string& path) {
    return skip(SkipReason::kArgument,
                fmt::format("{}: {} is not supported now", path, opaque.type));
  }

  OrSkip<PyValue> build(const dump::List& values, const std::string& path) {
    OrSkip<PyList> built = list(values, path);
    if (!built) return std::unexpected(built.error());
    return PyValue{*std::move(built)};
  }

  OrSkip<PyValue> build(const dump::Dict& values, const std::string& path) {
    OrSkip<PyDict> built = dict(values, path);
    if (!built) return std::unexpected(built.error());
    return PyValue{*std::move(built)};
  }

  std::string_view call_name_;
  Adjustment adjustment_;
  const BuildOptions& options_;
  bool saw_float8_ = false;
};

// Targets of cross_entropy are drawn from the classes: an ignored index is not one of them.
void raise_minimum(dump::List& args) {
  if (args.size() < 2) return;
  auto* target = std::get_if<TensorRecord>(&args[1].data);
  if (target != nullptr && target->min.is_number() && target->min.real <= 0) {
    target->min = {dump::Statistic::Kind::kInteger, 0, 0};
  }
}

void make_float(dump::List& args) {
  auto* input = args.empty() ? nullptr : std::get_if<TensorRecord>(&args[0].data);
  if (input == nullptr || !input->dtype || !is_integer_or_bool(*input->dtype)) return;
  constexpr std::array kFrom{DType::kInt8, DType::kInt32, DType::kInt64};
  if (std::ranges::find(kFrom, *input->dtype) == kFrom.end()) return;
  input->dtype = DType::kFloat32;
  input->dtype_text = text(DType::kFloat32);
}

std::optional<Shape> output_shape(const dump::CallRecord& record) {
  if (record.forward.output.empty()) return std::nullopt;
  const auto* tensor = record.forward.output.front().as<TensorRecord>();
  if (tensor == nullptr) return std::nullopt;
  return tensor->shape;
}

// Each side and each run has its own copy.
PyValue copied(const PyValue& value) {
  if (const auto* tensor = value.as<at::Tensor>()) {
    return {tensor->detach().clone().set_requires_grad(tensor->requires_grad())};
  }
  if (const auto* list = value.as<PyList>()) {
    PyList items;
    for (const PyValue& item : *list) items.push_back(copied(item));
    return {std::move(items)};
  }
  if (const auto* dict = value.as<PyDict>()) {
    PyDict items;
    for (const auto& [key, item] : *dict) items.emplace_back(key, copied(item));
    return {std::move(items)};
  }
  return value;
}

Arguments copied(const PyCall& call) {
  Arguments arguments;
  for (const PyValue& value : call.args) arguments.call.args.push_back(copied(value));
  for (const auto& [key, value] : call.kwargs) {
    arguments.call.kwargs.emplace_back(key, copied(value));
  }
  return arguments;
}

}  // namespace

OrSkip<Arguments> build_arguments(const dump::CallRecord& record, std::string_view bare_name,
                                  const BuildOptions& options) {
  if (options.given != nullptr) return copied(*options.given);
  const Adjustment adjustment = options.adjust ? adjustment_of(bare_name) : Adjustment{};
  Builder builder(record.full_name, adjustment, options);
  const dump::List* args = &record.forward.input_args;
  dump::List adjusted;
  const bool histogram = adjustment.inputs == ops::InputRule::kHistogram;
  if (histogram || adjustment.inputs == ops::InputRule::kClassTargets) {
    adjusted = *args;
    histogram ? make_float(adjusted) : raise_minimum(adjusted);
    args = &adjusted;
  }
  Arguments arguments;
  OrSkip<PyDict> kwargs = builder.dict(record.forward.input_kwargs, "forward.kwargs");
  if (!kwargs) return std::unexpected(kwargs.error());
  OrSkip<PyList> built = builder.list(*args, "forward.input");
  if (!built) return std::unexpected(built.error());
  fit_packed_sequence(bare_name, record, *built);
  sort_group_ends(bare_name, record, *built, *kwargs);
  arguments.call = {*std::move(built), *std::move(kwargs), output_shape(record)};
  arguments.float8_input = builder.saw_float8();
  return arguments;
}

OrSkip<PyList> build_gradients(const dump::CallRecord& record, const BuildOptions& options) {
  return Builder(record.full_name, Adjustment{}, options)
      .list(record.backward->input, "backward.input");
}

OrSkip<PyList> stored_values(const dump::List& values, const BuildOptions& options) {
  return Builder({}, Adjustment{}, options).list(values, "");
}

}  // namespace msprobe::arguments
