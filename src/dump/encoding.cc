#include "dump/encoding.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace msprobe::dump {
namespace {

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

Failure mismatch(std::string_view type, std::string_view wanted) {
  return fail(ErrorKind::kFormat, fmt::format("the value of a {} is not {}", type, wanted));
}

template <class T>
Result<Value> exactly(std::string_view type, Value payload, std::string_view wanted) {
  if (payload.as<T>() == nullptr) return mismatch(type, wanted);
  return payload;
}

Result<Value> decode_real(std::string_view type, const Value& payload) {
  if (const auto* real = payload.as<double>()) return Value{*real};
  if (const auto* integer = payload.as<std::int64_t>()) return Value{static_cast<double>(*integer)};
  return mismatch(type, "a number");
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

Result<Value> decode_complex(std::string_view type, const Value& payload) {
  constexpr std::string_view kWanted = "a complex number such as \"(1+2j)\" or [1.0, 2.0]";
  if (const auto* text = payload.as<std::string>()) {
    const auto number = parse_complex(*text);
    return number ? Result<Value>(Value{*number}) : mismatch(type, kWanted);
  }
  if (const auto* parts = payload.as<List>(); parts != nullptr && parts->size() == 2) {
    const std::optional<double> real = as_real((*parts)[0]);
    const std::optional<double> imaginary = as_real((*parts)[1]);
    if (!real || !imaginary) return mismatch(type, kWanted);
    return Value{std::complex<double>(*real, *imaginary)};
  }
  const std::optional<double> real = as_real(payload);
  return real ? Result<Value>(Value{std::complex<double>(*real, 0)}) : mismatch(type, kWanted);
}

Result<Value> decode_slice(std::string_view type, const Value& payload) {
  constexpr std::string_view kWanted = "a list of three, each an integer or null";
  const auto* bounds = payload.as<List>();
  if (bounds == nullptr || bounds->size() != 3) return mismatch(type, kWanted);
  Slice slice;
  const std::array targets{&slice.start, &slice.stop, &slice.step};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Value& bound = (*bounds)[i];
    if (bound.as<None>() != nullptr) continue;
    if (bound.as<std::int64_t>() == nullptr) return mismatch(type, kWanted);
    *targets[i] = *bound.as<std::int64_t>();
  }
  return Value{slice};
}

Result<Value> decode_size(std::string_view type, const Value& payload) {
  constexpr std::string_view kWanted = "a list of integers";
  const auto* extents = payload.as<List>();
  if (extents == nullptr) return mismatch(type, kWanted);
  SizeValue size;
  for (const Value& extent : *extents) {
    if (extent.as<std::int64_t>() == nullptr) return mismatch(type, kWanted);
    size.extents.push_back(*extent.as<std::int64_t>());
  }
  return Value{std::move(size)};
}

// What stood under the keyword `device` or `dtype` is recorded as one, whatever it was.
template <class T>
Result<Value> decode_named(std::string_view type, const Value& payload) {
  if (const auto* text = payload.as<std::string>()) {
    return *text == "None" ? Value{None{}} : Value{T{*text}};
  }
  if (const auto* number = payload.as<std::int64_t>()) return Value{T{std::to_string(*number)}};
  return mismatch(type, "a name or a number");
}

Result<Value> decode_memory_format(std::string_view type, const Value& payload) {
  const auto* text = payload.as<std::string>();
  if (text == nullptr) return mismatch(type, "a name");
  const bool full = text->starts_with("torch.");
  return Value{MemoryFormatValue{full ? *text : "torch." + *text}};
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

Result<Value> decode(std::string_view type, std::optional<Value> payload) {
  const Encoding encoding = find_encoding(type);
  if (encoding == Encoding::kNone) return Value{None{}};
  if (encoding == Encoding::kEllipsis) return Value{Ellipsis{}};
  if (encoding == Encoding::kOpaque) return Value{Opaque{std::string(type)}};
  if (!payload) {
    if (encoding == Encoding::kUnknown) return Value{Opaque{std::string(type)}};
    return fail(ErrorKind::kFormat, fmt::format("a {} without value", type));
  }
  if (payload->as<None>() != nullptr) return Value{None{}};
  switch (encoding) {
    case Encoding::kInteger:
      return exactly<std::int64_t>(type, *std::move(payload), "an integer");
    case Encoding::kReal:
      return decode_real(type, *payload);
    case Encoding::kBool:
      return exactly<bool>(type, *std::move(payload), "true or false");
    case Encoding::kText:
      return exactly<std::string>(type, *std::move(payload), "a string");
    case Encoding::kComplex:
      return decode_complex(type, *payload);
    case Encoding::kSlice:
      return decode_slice(type, *payload);
    case Encoding::kSize:
      return decode_size(type, *payload);
    case Encoding::kDType:
      return decode_named<DTypeValue>(type, *payload);
    case Encoding::kDevice:
      return decode_named<DeviceValue>(type, *payload);
    case Encoding::kMemoryFormat:
      return decode_memory_format(type, *payload);
    default:
      return *std::move(payload);
  }
}

}  // namespace msprobe::dump
