// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "dump/value_reader.h"

namespace msprobe::dump {
namespace {

using Kind = JsonScalar::Kind;

bool read_statistic(JsonReader& json, Statistic& out) {
  const char first = json.first();
  if (first == '"' || first == '[' || first == '{') {
    out.kind = Statistic::Kind::kOther;
    return json.skip();
  }
  JsonScalar scalar;
  if (!json.read_scalar(scalar)) return false;
  if (scalar.kind == Kind::kNull) {
    out.kind = Statistic::Kind::kNull;
  } else if (scalar.kind == Kind::kReal || scalar.kind == Kind::kBigInteger) {
    out = {Statistic::Kind::kReal, 0, scalar.real};
  } else {
    out = {Statistic::Kind::kInteger, scalar.integer, static_cast<double>(scalar.integer)};
  }
  return true;
}

bool read_shape(JsonReader& json, Shape& out) {
  if (json.first() != '[') return json.fail_wanted("a list of extents");
  out.reserve(4);
  return json.each_element([&] {
    JsonScalar extent;
    const bool read = json.read_scalar(extent, "an extent of at least 0", [](const auto& scalar) {
      return scalar.kind == Kind::kInteger && scalar.integer >= 0;
    });
    out.push_back(extent.integer);
    return read;
  });
}

bool read_flag(JsonReader& json, bool& out) {
  JsonScalar flag;
  const bool read = json.read_scalar(flag, "true or false", [](const auto& scalar) {
    return scalar.kind == Kind::kBool || scalar.kind == Kind::kNull;
  });
  out = flag.kind == Kind::kBool && flag.integer != 0;
  return read;
}

bool read_name(JsonReader& json, std::string& out) {
  return json.token() == "null" ? json.skip() : json.read_text(out);
}

// A checksum is a string, but the one of a single value can be that value itself.
bool read_checksum(JsonReader& json, std::string& out) {
  const std::string_view token = json.token();
  if (token.starts_with('"')) return json.read_text(out);
  JsonScalar scalar;
  if (!json.read_scalar(scalar)) return false;
  if (scalar.kind != Kind::kNull) out = token;
  return true;
}

// What the object holds until every member has been seen.
struct Draft {
  TensorRecord& record;
  std::string datapath;
  bool has_shape = false;
};

struct Member {
  std::string_view key;
  bool (*read)(JsonReader& json, Draft& draft);
};

template <Statistic TensorRecord::* kMember>
bool statistic(JsonReader& json, Draft& draft) {
  return read_statistic(json, draft.record.*kMember);
}

template <std::string TensorRecord::* kMember>
bool name(JsonReader& json, Draft& draft) {
  return read_name(json, draft.record.*kMember);
}

// In the order the recorder writes them: the next row is the key to expect. The rare ones are last.
constexpr std::array kMembers{
    Member{"type", [](JsonReader& json, Draft&) { return json.skip(); }},
    Member{"dtype", &name<&TensorRecord::dtype_text>},
    Member{"shape",
           [](JsonReader& json, Draft& draft) {
             draft.has_shape = true;
             return read_shape(json, draft.record.shape);
           }},
    Member{"Max", &statistic<&TensorRecord::max>},
    Member{"Min", &statistic<&TensorRecord::min>},
    Member{"Mean", &statistic<&TensorRecord::mean>},
    Member{"Norm", &statistic<&TensorRecord::norm>},
    Member{
        "requires_grad",
        [](JsonReader& json, Draft& draft) { return read_flag(json, draft.record.requires_grad); }},
    Member{"data_name", &name<&TensorRecord::data_name>},
    Member{"md5",
           [](JsonReader& json, Draft& draft) { return read_checksum(json, draft.record.md5); }},
    Member{"datapath",
           [](JsonReader& json, Draft& draft) { return read_name(json, draft.datapath); }},
    Member{"placements",
           [](JsonReader& json, Draft& draft) { return json.read_json(draft.record.placements); }},
    Member{"is_whole",
           [](JsonReader& json, Draft& draft) { return read_flag(json, draft.record.is_whole); }},
    Member{"Max_except_inf_nan", &statistic<&TensorRecord::max_finite>},
    Member{"Min_except_inf_nan", &statistic<&TensorRecord::min_finite>},
    Member{"stride",
           [](JsonReader& json, Draft& draft) { return read_shape(json, draft.record.strides); }},
};

const std::size_t kUnknown = kMembers.size();

std::size_t find_member(std::string_view key) {
  for (std::size_t index = 0; index < kMembers.size(); ++index) {
    if (kMembers[index].key == key) return index;
  }
  return kUnknown;
}

}  // namespace

bool TensorRecordReader::read(TensorRecord& out) {
  Draft draft{out, {}};
  std::uint32_t seen = 0;
  std::size_t next = 0;  // the member to expect
  const auto expected = [&] { return kMembers[next].key; };
  const auto on_field = [&](std::string_view key) {
    const std::size_t index = key.data() == kMembers[next].key.data() ? next : find_member(key);
    if (index == kUnknown) return json_.skip();
    if ((seen >> index & 1U) != 0) return json_.fail("duplicate key");
    seen |= 1U << index;
    next = (index + 1) % kMembers.size();
    return kMembers[index].read(json_, draft);
  };
  if (!json_.each_field(on_field, expected)) return false;
  if (!draft.datapath.empty()) out.data_name = std::move(draft.datapath);
  return finish(out, draft.has_shape);
}

bool TensorRecordReader::finish(TensorRecord& record, bool has_shape) {
  if (record.dtype_text != last_dtype_text_) {
    last_dtype_text_ = record.dtype_text;
    last_dtype_ = parse_dtype(record.dtype_text);
  }
  record.dtype = last_dtype_;
  record.has_shape = has_shape;
  if (record.data_name.empty() && record.dtype_text.empty()) {
    return json_.fail("a tensor without dtype and without file");
  }
  if (record.data_name.empty() && !has_shape) {
    return json_.fail("a tensor without shape and without file");
  }
  const auto bytes = byte_count(record.shape, record.dtype.value_or(DType::kComplex128));
  return bytes || json_.fail(bytes.error().message);
}

}  // namespace msprobe::dump
