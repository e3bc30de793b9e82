// SPDX-License-Identifier: Apache-2.0
// Frames of both directions: as a stream that is cut into frames, and the message in each. What can
// be decoded is what was encoded, byte for byte.
#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_input.h"
#include "protocol/frames.h"

namespace {

using namespace msprobe::protocol;

template <class Message>
void check(const msprobe::Result<Message>& message, const Frame& frame) {
  if (!message) return;
  const std::string again = encode(*message);
  if (std::string_view(again).substr(sizeof(std::uint64_t) + 1) != frame.payload) std::abort();
}

void check(const Frame& frame) {
  check(decode_hello(frame), frame);
  check(decode_fatal(frame), frame);
  check(decode_run_options(frame), frame);
  check(decode_call_request(frame), frame);
  check(decode_call_response(frame), frame);
  check(decode_operation_request(frame), frame);
  check(decode_operation_response(frame), frame);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // The first byte: a payload of that kind, or a stream.
  if (data[0] < 7) {
    check(Frame{static_cast<FrameKind>(data[0]), text.substr(1)});
    return 0;
  }
  static const int file = ::memfd_create("frames", MFD_CLOEXEC);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, data + 1, size - 1, 0) < 0) return 0;
  if (::lseek(file, 0, SEEK_SET) != 0) return 0;
  FrameReader reader(data[0] % 2 == 0 ? Sender::kEngine : Sender::kMsprobe);
  for (bool more = true; more;) {
    const auto read = reader.fill(file);
    more = read && *read;
    for (auto frame = reader.next(); frame && *frame; frame = reader.next()) check(**frame);
  }
  return 0;
}
