// SPDX-License-Identifier: Apache-2.0
#include "dump/encoding.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "dump/printable.h"

namespace msprobe::dump {
namespace {

constexpr std::size_t kShownType = 60;  // bytes of a type name in a message

struct TypeRow {
  std::string_view type;
  Encoding encoding;
};

constexpr std::array kTypes{
    TypeRow{"NoneType", Encoding::kNone},
    TypeRow{"bool", Encoding::kBool},
    TypeRow{"complex", Encoding::kComplex},
    TypeRow{"ellipsis", Encoding::kEllipsis},
    TypeRow{"float", Encoding::kReal},
    TypeRow{"int", Encoding::kInteger},
    TypeRow{"mindspore.Tensor", Encoding::kTensor},
    TypeRow{"mindspore.dtype", Encoding::kDType},
    TypeRow{"slice", Encoding::kSlice},
    TypeRow{"str", Encoding::kText},
    TypeRow{"torch.Size", Encoding::kSize},
    TypeRow{"torch.Tensor", Encoding::kTensor},
    TypeRow{"torch.device", Encoding::kDevice},
    TypeRow{"torch.distributed.tensor.DTensor", Encoding::kTensor},  // its local part
    TypeRow{"torch.dtype", Encoding::kDType},
    TypeRow{"torch.memory_format", Encoding::kMemoryFormat},
    TypeRow{"torch.nn.parameter.Parameter", Encoding::kTensor},
};
static_assert(std::ranges::is_sorted(kTypes, {}, &TypeRow::type));

// NumPy's scalars, with "numpy." in front or, as the recorder writes them, without.
constexpr std::array kNumpyTypes{
    TypeRow{"bool_", Encoding::kBool},         TypeRow{"bytes_", Encoding::kText},
    TypeRow{"complex128", Encoding::kComplex}, TypeRow{"complex256", Encoding::kComplex},
    TypeRow{"complex64", Encoding::kComplex},  TypeRow{"float128", Encoding::kReal},
    TypeRow{"float16", Encoding::kReal},       TypeRow{"float32", Encoding::kReal},
    TypeRow{"float64", Encoding::kReal},       TypeRow{"int16", Encoding::kInteger},
    TypeRow{"int32", Encoding::kInteger},      TypeRow{"int64", Encoding::kInteger},
    TypeRow{"int8", Encoding::kInteger},       TypeRow{"longdouble", Encoding::kReal},
    TypeRow{"longlong", Encoding::kInteger},   TypeRow{"str_", Encoding::kText},
    TypeRow{"string_", Encoding::kText},       TypeRow{"uint16", Encoding::kInteger},
    TypeRow{"uint32", Encoding::kInteger},     TypeRow{"uint64", Encoding::kInteger},
    TypeRow{"uint8", Encoding::kInteger},      TypeRow{"ulonglong", Encoding::kInteger},
    TypeRow{"unicode_", Encoding::kText},
};
static_assert(std::ranges::is_sorted(kNumpyTypes, {}, &TypeRow::type));

template <std::size_t kSize>
std::optional<Encoding> look_up(const std::array<TypeRow, kSize>& rows, std::string_view type) {
  const auto row = std::ranges::lower_bound(rows, type, {}, &TypeRow::type);
  if (row == rows.end() || row->type != type) return std::nullopt;
  return row->encoding;
}

std::optional<double> as_real(const Value& value) {
  if (const auto* real = value.as<double>()) return *real;
  if (const auto* integer = value.as<std::int64_t>()) return static_cast<double>(*integer);
  return std::nullopt;
}

// Reads a number at the front of `text` and takes it off; "inf" and "nan" included, a leading '+'
// too.
std::optional<double> take_real(std::string_view& text) {
  const bool plus = text.starts_with('+');
  const char* const first = text.data() + (plus ? 1 : 0);
  double value = 0;
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), value);
  if (error != std::errc() || (plus && *first == '-')) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

// As Python prints it: "(1+2j)", "2j", "-0.5-infj".
std::optional<std::complex<double>> parse_complex(std::string_view text) {
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  const std::optional<double> first = take_real(text);
  if (!first) return std::nullopt;
  if (text.empty()) return std::complex<double>(*first, 0);
  if (text == "j") return std::complex<double>(0, *first);
  const std::optional<double> second = take_real(text);
  if (!second || text != "j") return std::nullopt;
  return std::complex<double>(*first, *second);
}

std::optional<std::complex<double>> as_complex(const Value& payload) {
  if (const auto* text = payload.as<std::string>()) return parse_complex(*text);
  if (const auto* parts = payload.as<List>()) {
    if (parts->size() != 2) return std::nullopt;
    const std::optional<double> real = as_real((*parts)[0]);
    const std::optional<double> imaginary = as_real((*parts)[1]);
    if (!real || !imaginary) return std::nullopt;
    return std::complex<double>(*real, *imaginary);
  }
  const std::optional<double> real = as_real(payload);
  return real ? std::optional(std::complex<double>(*real, 0)) : std::nullopt;
}

std::optional<Slice> as_slice(const Value& payload) {
  const auto* bounds = payload.as<List>();
  if (bounds == nullptr || bounds->size() != 3) return std::nullopt;
  Slice slice;
  const std::array targets{&slice.start, &slice.stop, &slice.step};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Value& bound = (*bounds)[i];
    if (bound.as<None>() != nullptr) continue;
    if (bound.as<std::int64_t>() == nullptr) return std::nullopt;
    *targets[i] = *bound.as<std::int64_t>();
  }
  return slice;
}

std::optional<SizeValue> as_size(const Value& payload) {
  const auto* extents = payload.as<List>();
  if (extents == nullptr) return std::nullopt;
  SizeValue size;
  for (const Value& extent : *extents) {
    if (extent.as<std::int64_t>() == nullptr) return std::nullopt;
    size.extents.push_back(*extent.as<std::int64_t>());
  }
  return size;
}

// What stood under the keyword `device` or `dtype` is recorded as one, whatever it was.
std::optional<std::string> as_name(const Value& payload) {
  if (const auto* text = payload.as<std::string>()) return *text;
  if (const auto* number = payload.as<std::int64_t>()) return std::to_string(*number);
  return std::nullopt;
}

template <class T>
Value named(std::string text) {
  if (text == "None") return Value{None{}};
  return Value{T{std::move(text)}};
}

std::string mismatch(std::string_view type, std::string_view wanted) {
  return fmt::format("the value of a {} is not {}", printable(type, kShownType), wanted);
}

// Puts what was read out of the payload in its place; nothing read is a mismatch.
template <class T>
std::string replace(Value& value, std::optional<T> read, std::string_view type,
                    std::string_view wanted) {
  if (!read) return mismatch(type, wanted);
  value.data = *std::move(read);
  return {};
}

template <class T>
std::string expect(const Value& value, std::string_view type, std::string_view wanted) {
  return value.as<T>() != nullptr ? std::string() : mismatch(type, wanted);
}

std::string decode_name(Encoding encoding, std::string_view type, Value& value) {
  std::optional<std::string> name = as_name(value);
  if (!name) return mismatch(type, "a name or a number");
  if (encoding == Encoding::kDType) value = named<DTypeValue>(*std::move(name));
  if (encoding == Encoding::kDevice) value = named<DeviceValue>(*std::move(name));
  if (encoding == Encoding::kMemoryFormat) {
    value.data = MemoryFormatValue{name->starts_with("torch.") ? *name : "torch." + *name};
  }
  return {};
}

}  // namespace

Encoding find_encoding(std::string_view type) {
  if (type == "torch.Tensor") return Encoding::kTensor;  // nine of ten
  if (const auto encoding = look_up(kTypes, type)) return *encoding;
  constexpr std::string_view kNumpy = "numpy.";
  const bool numpy = type.starts_with(kNumpy);
  const std::string_view bare = numpy ? type.substr(kNumpy.size()) : type;
  return look_up(kNumpyTypes, bare).value_or(numpy ? Encoding::kOpaque : Encoding::kUnknown);
}

std::string decode(std::string_view type, Encoding encoding, bool has_payload, Value& value) {
  switch (encoding) {
    case Encoding::kNone:
      value.data = None{};
      return {};
    case Encoding::kEllipsis:
      value.data = Ellipsis{};
      return {};
    case Encoding::kOpaque:
      value.data = Opaque{std::string(type)};
      return {};
    case Encoding::kUnknown:
      if (!has_payload) value.data = Opaque{std::string(type)};
      return {};
    default:
      break;
  }
  if (!has_payload) return fmt::format("a {} without value", printable(type, kShownType));
  if (value.as<None>() != nullptr) return {};
  switch (encoding) {
    case Encoding::kInteger:
      return expect<std::int64_t>(value, type, "an integer");
    case Encoding::kReal:
      return replace(value, as_real(value), type, "a number");
    case Encoding::kBool:
      return expect<bool>(value, type, "true or false");
    case Encoding::kText:
      return expect<std::string>(value, type, "a string");
    case Encoding::kComplex:
      return replace(value, as_complex(value), type, "a complex number, \"(1+2j)\" or [1.0, 2.0]");
    case Encoding::kSlice:
      return replace(value, as_slice(value), type, "a list of three, each an integer or null");
    case Encoding::kSize:
      return replace(value, as_size(value), type, "a list of integers");
    default:
      return decode_name(encoding, type, value);
  }
}

}  // namespace msprobe::dump
