#include "dump/tensor_record_reader.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace msprobe::dump {
namespace {

using Kind = JsonScalar::Kind;

bool read_statistic(JsonReader& reader, JsonValue json, Statistic& out, int depth) {
  const char first = JsonReader::token(json).front();
  if (first == '"' || first == '[' || first == '{') {
    out.kind = Statistic::Kind::kOther;
    return reader.skip(json, depth);
  }
  JsonScalar scalar;
  if (!reader.read_scalar(json, scalar)) return false;
  if (scalar.kind == Kind::kNull) {
    out.kind = Statistic::Kind::kNull;
  } else if (scalar.kind == Kind::kReal || scalar.kind == Kind::kBigInteger) {
    out = {Statistic::Kind::kReal, 0, scalar.real};
  } else {
    out = {Statistic::Kind::kInteger, scalar.integer, static_cast<double>(scalar.integer)};
  }
  return true;
}

bool read_shape(JsonReader& reader, JsonValue json, Shape& out) {
  if (JsonReader::token(json) != "[") return reader.fail_wanted("a list of extents", json);
  return reader.each_element(json, [&](JsonValue element) {
    const JsonScalar extent = read_json_scalar(JsonReader::token(element));
    if (extent.kind != Kind::kInteger || extent.integer < 0) {
      return reader.fail_wanted("an extent of at least 0", element);
    }
    out.push_back(extent.integer);
    return true;
  });
}

bool read_flag(JsonReader& reader, JsonValue json, bool& out) {
  const JsonScalar scalar = read_json_scalar(JsonReader::token(json));
  if (scalar.kind != Kind::kBool && scalar.kind != Kind::kNull) {
    return reader.fail_wanted("true or false", json);
  }
  out = scalar.kind == Kind::kBool && scalar.integer != 0;
  return true;
}

bool read_name(JsonReader& reader, JsonValue json, std::string& out) {
  return JsonReader::token(json) == "null" || reader.read_text(json, out);
}

// A checksum is a string, but the one of a single value can be that value itself.
bool read_checksum(JsonReader& reader, JsonValue json, std::string& out) {
  const std::string_view token = JsonReader::token(json);
  if (token == "null") return true;
  if (token.starts_with('"')) return reader.read_text(json, out);
  JsonScalar scalar;
  if (!reader.read_scalar(json, scalar)) return false;
  out = token;
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
  bool (*read)(JsonReader& reader, JsonValue json, Draft& draft, int depth);
};

bool ignore(JsonReader& reader, JsonValue json, Draft&, int depth) {
  return reader.skip(json, depth);
}

template <Statistic TensorRecord::* kMember>
bool statistic(JsonReader& reader, JsonValue json, Draft& draft, int depth) {
  return read_statistic(reader, json, draft.record.*kMember, depth);
}

// In the order the recorder writes them, so that a search that goes on where the last one ended
// finds the next key at once.
constexpr std::array kMembers{
    Member{"type", &ignore},
    Member{"dtype", [](JsonReader& r, JsonValue json, Draft& d,
                       int) { return read_name(r, json, d.record.dtype_text); }},
    Member{"shape",
           [](JsonReader& r, JsonValue json, Draft& d, int) {
             d.has_shape = true;
             return read_shape(r, json, d.record.shape);
           }},
    Member{"Max", &statistic<&TensorRecord::max>},
    Member{"Max_except_inf_nan", &statistic<&TensorRecord::max_finite>},
    Member{"Min", &statistic<&TensorRecord::min>},
    Member{"Min_except_inf_nan", &statistic<&TensorRecord::min_finite>},
    Member{"Mean", &statistic<&TensorRecord::mean>},
    Member{"Norm", &statistic<&TensorRecord::norm>},
    Member{"requires_grad", [](JsonReader& r, JsonValue json, Draft& d,
                               int) { return read_flag(r, json, d.record.requires_grad); }},
    Member{"data_name", [](JsonReader& r, JsonValue json, Draft& d,
                           int) { return read_name(r, json, d.record.data_name); }},
    Member{"datapath", [](JsonReader& r, JsonValue json, Draft& d,
                          int) { return read_name(r, json, d.datapath); }},
    Member{"md5", [](JsonReader& r, JsonValue json, Draft& d,
                     int) { return read_checksum(r, json, d.record.md5); }},
};

const std::size_t kUnknown = kMembers.size();

std::size_t find_member(std::string_view key, std::size_t expected) {
  for (std::size_t step = 0; step < kMembers.size(); ++step) {
    const std::size_t index = (expected + step) % kMembers.size();
    if (kMembers[index].key == key) return index;
  }
  return kUnknown;
}

bool finish(JsonReader& reader, Draft& draft) {
  TensorRecord& record = draft.record;
  if (!draft.datapath.empty()) record.data_name = std::move(draft.datapath);
  record.dtype = parse_dtype(record.dtype_text);
  // The oldest recordings of real data name the file and nothing else.
  if (record.data_name.empty() && record.dtype_text.empty()) {
    return reader.fail("a tensor without dtype and without file");
  }
  if (record.data_name.empty() && !draft.has_shape) {
    return reader.fail("a tensor without shape and without file");
  }
  const auto bytes = byte_count(record.shape, record.dtype.value_or(DType::kComplex128));
  return bytes || reader.fail(bytes.error().message);
}

}  // namespace

bool read_tensor_record(JsonReader& reader, JsonObject& object, TensorRecord& out, int depth) {
  Draft draft{out, {}};
  std::uint32_t seen = 0;
  std::size_t expected = 0;
  const bool done = reader.each_field(object, [&](std::string_view key, JsonValue json) {
    const std::size_t index = find_member(key, expected);
    if (index == kUnknown) return reader.skip(json, depth + 1) || reader.fail_in(key);
    if ((seen >> index & 1U) != 0) return reader.fail(fmt::format("{} stands there twice", key));
    seen |= 1U << index;
    expected = index + 1;
    return kMembers[index].read(reader, json, draft, depth + 1) ||
           reader.fail_in(kMembers[index].key);
  });
  return done && finish(reader, draft);
}

}  // namespace msprobe::dump
