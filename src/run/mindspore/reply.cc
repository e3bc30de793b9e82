// SPDX-License-Identifier: Apache-2.0
#include "mindspore/reply.h"

#include <cmath>
#include <optional>
#include <utility>

#include <simdjson.h>

namespace msprobe::mindspore {
namespace {

namespace dom = simdjson::dom;

constexpr int kMaxDepth = 64;

Failure malformed() {
  return fail(ErrorKind::kIo, "the runner sent a message that cannot be read");
}

class ReplyReader {
 public:
  explicit ReplyReader(std::uint64_t memory_bytes)
      : memory_bytes_(memory_bytes), bytes_left_(memory_bytes) {}

  // False where the message is not of the agreed form.
  bool read(const dom::element& element, int depth, ReplyValue& out) {
    if (depth > kMaxDepth) return false;
    switch (element.type()) {
      case dom::element_type::NULL_VALUE:
        out.data = std::monostate{};
        return true;
      case dom::element_type::BOOL:
        out.data = bool(element);
        return true;
      case dom::element_type::INT64:
        out.data = std::int64_t(element);
        return true;
      case dom::element_type::DOUBLE:
        out.data = double(element);
        return true;
      case dom::element_type::STRING:
        out.data = std::string(std::string_view(element));
        return true;
      case dom::element_type::ARRAY:
        return read_list(dom::array(element), depth, out);
      case dom::element_type::OBJECT:
        return read_object(element, out);
      default:
        return false;
    }
  }

 private:
  bool read_list(const dom::array& elements, int depth, ReplyValue& out) {
    ReplyList items;
    for (const dom::element item : elements) {
      if (!read(item, depth + 1, items.emplace_back())) return false;
    }
    out.data = std::move(items);
    return true;
  }

  // What JSON has no form for is an object of one key.
  bool read_object(const dom::element& element, ReplyValue& out) {
    dom::array parts;
    std::string_view text;
    double real = 0, imaginary = 0;
    if (!element["t"].get(parts)) return read_tensor(parts, out);
    if (!element["f"].get(text)) {
      out.data = text == "inf" ? HUGE_VAL : text == "-inf" ? -HUGE_VAL : std::nan("");
      return true;
    }
    if (!element["c"].get(parts) && parts.size() == 2 && !parts.at(0).get(real) &&
        !parts.at(1).get(imaginary)) {
      out.data = std::complex<double>(real, imaginary);
      return true;
    }
    return false;
  }

  bool read_tensor(const dom::array& parts, ReplyValue& out) {
    std::string_view type;
    dom::array extents;
    ReplyTensor tensor;
    if (parts.size() != 3 || parts.at(0).get(type) || parts.at(1).get(extents) ||
        parts.at(2).get(tensor.offset)) {
      return false;
    }
    const std::optional<DType> dtype = parse_dtype(type);
    if (!dtype) return false;
    tensor.dtype = *dtype;
    for (const dom::element extent : extents) {
      std::int64_t size = 0;
      if (extent.get(size) || size < 0) return false;
      tensor.shape.push_back(size);
    }
    const Result<std::size_t> bytes = byte_count(tensor.shape, tensor.dtype);
    if (!bytes) return false;
    tensor.bytes = *bytes;
    if (tensor.offset > memory_bytes_ || tensor.bytes > memory_bytes_ - tensor.offset) return false;
    // Every result has its own place: many that share one would become more memory than there is.
    if (tensor.bytes > bytes_left_) return false;
    bytes_left_ -= tensor.bytes;
    out.data = std::move(tensor);
    return true;
  }

  std::uint64_t memory_bytes_;
  std::uint64_t bytes_left_;
};

std::string text_at(const dom::element& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) ? std::string() : std::string(text);
}

}  // namespace

Result<ReplyText> read_reply_text(std::string_view message, std::uint64_t memory_bytes) {
  dom::parser parser;
  dom::element found;
  if (parser.parse(simdjson::padded_string(message)).get(found) || !found.is_object()) {
    return malformed();
  }
  ReplyText reply;
  reply.error = text_at(found, "error");
  if (!reply.error.empty()) return reply;
  dom::element result;
  ReplyReader reader(memory_bytes);
  if (found["result"].get(result) || !reader.read(result, 0, reply.result)) return malformed();
  std::uint64_t nanos = 0;
  if (!found["own_ns"].get(nanos)) reply.own_nanos = nanos;
  if (!found["cpu_ns"].get(nanos)) reply.cpu_nanos = nanos;
  return reply;
}

Result<Greeting> read_greeting(std::string_view message) {
  dom::parser parser;
  dom::element found;
  if (parser.parse(simdjson::padded_string(message)).get(found) || !found.is_object()) {
    return malformed();
  }
  return Greeting{text_at(found, "ready"), text_at(found, "target"), text_at(found, "python"),
                  text_at(found, "error")};
}

}  // namespace msprobe::mindspore
