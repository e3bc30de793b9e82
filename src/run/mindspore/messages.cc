// SPDX-License-Identifier: Apache-2.0
#include "mindspore/messages.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/json_writer.h"
#include "libtorch/dtypes.h"

namespace msprobe::mindspore {
namespace {

constexpr std::size_t kAlignment = 64;

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

// Nothing for a dtype that this LibTorch lacks.
std::optional<at::Tensor> tensor_of(const ReplyTensor& told, std::span<const std::byte> memory) {
  const auto type = libtorch::scalar_type(told.dtype);
  if (!type) return std::nullopt;
  at::Tensor tensor = at::empty(told.shape, at::TensorOptions().dtype(*type));
  if (told.bytes > 0) std::memcpy(tensor.data_ptr(), memory.data() + told.offset, told.bytes);
  return tensor;
}

bool take(ReplyValue told, std::span<const std::byte> memory, PyValue& out) {
  return std::visit(
      [&]<class Held>(Held& held) {
        if constexpr (std::is_same_v<Held, std::monostate>) {
          out = {dump::None{}};
        } else if constexpr (std::is_same_v<Held, ReplyTensor>) {
          const std::optional<at::Tensor> tensor = tensor_of(held, memory);
          if (!tensor) return false;
          out = {*tensor};
        } else if constexpr (std::is_same_v<Held, ReplyList>) {
          PyList items;
          for (ReplyValue& item : held) {
            if (!take(std::move(item), memory, items.emplace_back())) return false;
          }
          out = {std::move(items)};
        } else {
          out = {std::move(held)};
        }
        return true;
      },
      told.data);
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
  Result<ReplyText> text = read_reply_text(message, memory.size());
  if (!text) return propagate(text);
  Reply reply{{}, std::move(text->error), text->own_nanos, text->cpu_nanos};
  if (!take(std::move(text->result), memory, reply.result)) {
    return fail(ErrorKind::kIo, "the runner sent a tensor of a type that PyTorch does not have");
  }
  return reply;
}

}  // namespace msprobe::mindspore
