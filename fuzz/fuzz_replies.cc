// SPDX-License-Identifier: Apache-2.0
// Replies of the runner of MindSpore: every tensor lies in the shared memory, and all of them
// together are no more than it.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>

#include "mindspore/reply.h"

namespace {

using namespace msprobe::mindspore;

constexpr std::uint64_t kMemory = 4096;

std::uint64_t bytes_of(const ReplyValue& value) {
  std::uint64_t bytes = 0;
  if (const auto* tensor = std::get_if<ReplyTensor>(&value.data)) {
    const auto wanted = msprobe::byte_count(tensor->shape, tensor->dtype);
    if (!wanted || *wanted != tensor->bytes) std::abort();
    if (tensor->offset > kMemory || tensor->bytes > kMemory - tensor->offset) std::abort();
    bytes = tensor->bytes;
  } else if (const auto* list = std::get_if<ReplyList>(&value.data)) {
    for (const ReplyValue& item : *list) bytes += bytes_of(item);
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto reply = read_reply_text(text, kMemory);
  if (reply && bytes_of(reply->result) > kMemory) std::abort();
  static_cast<void>(read_greeting(text));
  return 0;
}
