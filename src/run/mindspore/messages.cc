// SPDX-License-Identifier: Apache-2.0
#include "mindspore/messages.h"

#include <cmath>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <simdjson.h>

#include "core/json_writer.h"
#include "libtorch/dtypes.h"

namespace msprobe::mindspore {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kAlignment = 64;
constexpr int kMaxDepth = 64;

std::size_t aligned(std::size_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

std::size_t bytes_of_value(const PyValue& value) {
  if (const auto* tensor = value.as<at::Tensor>()) return aligned(tensor->nbytes());
  std::size_t bytes = 0;
  if (const auto* list = value.as<PyList>()) {
    for (const PyValue& item : *list) bytes += bytes_of_value(item);
  } else if (const auto* dict = value.as<arguments::PyDict>()) {
    for (const auto& [key, item] : *dict) bytes += bytes_of_value(item);
  }
  return bytes;
}

class Writer {
 public:
  explicit Writer(std::span<std::byte> memory) : memory_(memory) { json_.begin_object(); }

  void value(const PyValue& value) {
    std::visit([&](const auto& held) { write(held); }, value.data);
  }
  void list(const PyList& values) {
    json_.begin_array();
    for (const PyValue& item : values) value(item);
    json_.end_array();
  }
  void dict(const arguments::PyDict& values) {
    json_.begin_object();
    for (const auto& [key, item] : values) {
      json_.key(key);
      value(item);
    }
    json_.end_object();
  }
  JsonWriter& key(std::string_view name) { return json_.key(name); }
  std::string finish() {
    json_.key("size").value(memory_.size());
    json_.key("used").value(used_);
    json_.end_object();
    return json_.text();
  }

 private:
  // What JSON has no form for is an object of one key.
  JsonWriter& begin(std::string_view kind) { return json_.begin_object().key(kind); }

  void write(const dump::None& /*none*/) { json_.null(); }
  void write(bool value) { json_.value(value); }
  void write(std::int64_t value) { json_.value(value); }
  void write(double value) {
    if (std::isfinite(value)) {
      // A whole number stays a float.
      begin("f").value(value).end_object();
    } else {
      begin("f").value(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf").end_object();
    }
  }
  void write(const std::complex<double>& value) {
    begin("c").begin_array().value(value.real()).value(value.imag()).end_array().end_object();
  }
  void write(const std::string& value) { json_.value(value); }
  void write(const dump::Ellipsis& /*ellipsis*/) { begin("e").value(0).end_object(); }
  void write(const dump::Slice& slice) {
    begin("s").begin_array();
    for (const auto& bound : {slice.start, slice.stop, slice.step}) {
      bound ? json_.value(*bound) : json_.null();
    }
    json_.end_array().end_object();
  }
  void write(const dump::SizeValue& size) {
    json_.begin_array();
    for (const std::int64_t extent : size.extents) json_.value(extent);
    json_.end_array();
  }
  void write(const at::ScalarType& type) {
    const std::optional<DType> dtype = libtorch::dtype_of(type);
    begin("d").value(dtype ? name(*dtype) : "float32").end_object();
  }
  void write(const at::Device& /*device*/) { json_.null(); }
  void write(const at::MemoryFormat& /*format*/) { json_.null(); }
  void write(const at::Layout& /*layout*/) { json_.null(); }
  void write(const at::Tensor& tensor) {
    const at::Tensor plain = libtorch::plain(tensor);
    const std::optional<DType> dtype = libtorch::dtype_of(plain.scalar_type());
    begin("t").begin_array().value(dtype ? name(*dtype) : "unknown").begin_array();
    for (const std::int64_t extent : plain.sizes()) json_.value(extent);
    json_.end_array().value(used_).end_array().end_object();
    const std::size_t size = plain.nbytes();
    if (size > 0) std::memcpy(memory_.data() + used_, plain.data_ptr(), size);
    used_ += aligned(size);
  }
  void write(const PyList& values) { list(values); }
  void write(const arguments::PyDict& values) {
    begin("m");
    dict(values);
    json_.end_object();
  }

  std::span<std::byte> memory_;
  std::size_t used_ = 0;
  JsonWriter json_;
};

std::optional<at::Tensor> read_tensor(const dom::array& parts, std::span<const std::byte> memory) {
  std::string_view type;
  dom::array extents;
  std::uint64_t offset = 0;
  if (parts.size() != 3 || parts.at(0).get(type) || parts.at(1).get(extents) ||
      parts.at(2).get(offset)) {
    return std::nullopt;
  }
  const std::optional<DType> dtype = parse_dtype(type);
  const auto scalar_type = dtype ? libtorch::scalar_type(*dtype) : std::nullopt;
  if (!scalar_type) return std::nullopt;
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = size_bytes(*dtype);
  for (const dom::element extent : extents) {
    std::int64_t size = 0;
    if (extent.get(size) || size < 0) return std::nullopt;
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) {
      return std::nullopt;
    }
    shape.push_back(size);
  }
  if (offset > memory.size() || bytes > memory.size() - offset) return std::nullopt;
  at::Tensor tensor = at::empty(shape, at::TensorOptions().dtype(*scalar_type));
  if (bytes > 0) std::memcpy(tensor.data_ptr(), memory.data() + offset, bytes);
  return tensor;
}

// False where the message is not of the agreed form.
bool read_value(const dom::element& element, std::span<const std::byte> memory, int depth,
                PyValue& out) {
  if (depth > kMaxDepth) return false;
  switch (element.type()) {
    case dom::element_type::NULL_VALUE:
      out = {dump::None{}};
      return true;
    case dom::element_type::BOOL:
      out = {bool(element)};
      return true;
    case dom::element_type::INT64:
      out = {std::int64_t(element)};
      return true;
    case dom::element_type::DOUBLE:
      out = {double(element)};
      return true;
    case dom::element_type::STRING:
      out = {std::string(std::string_view(element))};
      return true;
    case dom::element_type::ARRAY: {
      PyList items;
      for (const dom::element item : dom::array(element)) {
        if (!read_value(item, memory, depth + 1, items.emplace_back())) return false;
      }
      out = {std::move(items)};
      return true;
    }
    case dom::element_type::OBJECT:
      break;
    default:
      return false;
  }
  dom::array parts;
  std::string_view text;
  double real = 0, imaginary = 0;
  if (!element["t"].get(parts)) {
    const std::optional<at::Tensor> tensor = read_tensor(parts, memory);
    if (tensor) out = {*tensor};
    return tensor.has_value();
  }
  if (!element["f"].get(text)) {
    out = {text == "inf" ? HUGE_VAL : text == "-inf" ? -HUGE_VAL : std::nan("")};
    return true;
  }
  if (!element["c"].get(parts) && parts.size() == 2 && !parts.at(0).get(real) &&
      !parts.at(1).get(imaginary)) {
    out = {std::complex<double>(real, imaginary)};
    return true;
  }
  return false;
}

std::string text_at(const dom::element& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) ? std::string() : std::string(text);
}

}  // namespace

std::size_t bytes_of(const PyList& values) {
  std::size_t bytes = 0;
  for (const PyValue& value : values) bytes += bytes_of_value(value);
  return bytes;
}

std::size_t bytes_of(const PyCall& call) {
  std::size_t bytes = bytes_of(call.args);
  for (const auto& [key, value] : call.kwargs) bytes += bytes_of_value(value);
  return bytes;
}

std::string call_message(std::string_view name, const PyCall& call, std::span<std::byte> memory) {
  Writer writer(memory);
  writer.key("call").value(name);
  writer.key("args");
  writer.list(call.args);
  writer.key("kwargs");
  writer.dict(call.kwargs);
  return writer.finish();
}

std::string gradients_message(const PyList& arriving, std::span<std::byte> memory) {
  Writer writer(memory);
  writer.key("gradients");
  writer.list(arriving);
  return writer.finish();
}

Result<Reply> read_reply(std::string_view message, std::span<const std::byte> memory) {
  dom::parser parser;
  dom::element found;
  Reply reply;
  const Failure malformed = fail(ErrorKind::kIo, "the runner sent a message that cannot be read");
  if (parser.parse(simdjson::padded_string(message)).get(found) || !found.is_object()) {
    return malformed;
  }
  reply.error = text_at(found, "error");
  if (!reply.error.empty()) return reply;
  dom::element result;
  if (found["result"].get(result) || !read_value(result, memory, 0, reply.result)) return malformed;
  std::uint64_t nanos = 0;
  if (!found["own_ns"].get(nanos)) reply.own_nanos = nanos;
  if (!found["cpu_ns"].get(nanos)) reply.cpu_nanos = nanos;
  return reply;
}

Result<Greeting> read_greeting(std::string_view message) {
  dom::parser parser;
  dom::element found;
  if (parser.parse(simdjson::padded_string(message)).get(found) || !found.is_object()) {
    return fail(ErrorKind::kIo, "the runner sent a message that cannot be read");
  }
  return Greeting{text_at(found, "ready"), text_at(found, "target"), text_at(found, "python"),
                  text_at(found, "error")};
}

}  // namespace msprobe::mindspore
