// SPDX-License-Identifier: Apache-2.0
#include "protocol/frames.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <unistd.h>

namespace msprobe::protocol {
namespace {

constexpr std::size_t kHeaderBytes = sizeof(std::uint64_t) + 1;
constexpr std::size_t kReadBytes = std::size_t{1} << 16;

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;

struct FrameRow {
  Sender sender;
  std::uint64_t most_bytes;
};
// In the order of FrameKind. A response has some hundred bytes for each output; a request has the
// entry of the call.
constexpr std::array kFrames = std::to_array<FrameRow>({
    {Sender::kEngine, kMegabyte},          // kHello
    {Sender::kEngine, kMegabyte},          // kFatal
    {Sender::kMsprobe, 16 * kMegabyte},    // kRunOptions
    {Sender::kMsprobe, 1024 * kMegabyte},  // kCallRequest
    {Sender::kEngine, 64 * kMegabyte},     // kCallResponse
    {Sender::kMsprobe, 64 * kMegabyte},    // kOperationRequest
    {Sender::kEngine, 64 * kMegabyte},     // kOperationResponse
});
static_assert(kFrames.size() == std::to_underlying(FrameKind::kOperationResponse) + 1U);

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;

// Any bytes are a value of it, but for the truth value in Metrics.
template <class T>
concept Plain = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_enum_v<T> &&
                !std::same_as<T, bool> && !kIsOptional<T> && !std::same_as<T, DropoutFacts> &&
                !std::same_as<T, units::Unit>;

// The last of each enumeration that is sent.
template <class E>
constexpr E kLast = E{};  // none is sent
template <>
constexpr DType kLast<DType> = static_cast<DType>(kDTypeCount - 1);
template <>
constexpr Verdict kLast<Verdict> = static_cast<Verdict>(kVerdicts - 1);
template <>
constexpr SkipReason kLast<SkipReason> = SkipReason::kTimedOut;
template <>
constexpr LeafKind kLast<LeafKind> = LeafKind::kKeysDiffer;
template <>
constexpr measure::Arithmetic kLast<measure::Arithmetic> = measure::Arithmetic::kReference;
template <>
constexpr units::Cut kLast<units::Cut> = units::Cut::kNearest;
template <>
constexpr units::Inputs kLast<units::Inputs> = units::Inputs::kFloat16;
template <>
constexpr units::Order kLast<units::Order> = units::Order::kHalves;
template <>
constexpr units::Accumulator kLast<units::Accumulator> = units::Accumulator::kFloat16;
template <>
constexpr FrameKind kLast<FrameKind> = FrameKind::kOperationResponse;

// Appends, or takes in the same order. One function per message serves both ways (`fields` below),
// so that the two can not drift apart.
class Writer {
 public:
  template <Plain T>
  void operator()(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void operator()(bool value) { (*this)(static_cast<std::uint8_t>(value)); }
  template <class E>
    requires std::is_enum_v<E>
  void operator()(E value) {
    (*this)(std::to_underlying(value));
  }
  void operator()(const std::string& text) {
    (*this)(std::uint64_t{text.size()});
    bytes_ += text;
  }
  template <class T>
  void operator()(const std::vector<T>& items) {
    (*this)(std::uint64_t{items.size()});
    for (const T& item : items) field(*this, item);
  }
  template <class T>
  void operator()(const std::optional<T>& item) {
    (*this)(item.has_value());
    if (item) field(*this, *item);
  }
  template <class... T>
  void operator()(const std::variant<T...>& item) {
    (*this)(static_cast<std::uint8_t>(item.index()));
    std::visit([&](const auto& held) { field(*this, held); }, item);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <class T>
  static void field(Writer& writer, const T& item);
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <Plain T>
  void operator()(T& value) {
    const char* from = take(sizeof value);
    if (from == nullptr) return;
    if constexpr (std::same_as<T, measure::Metrics>) {
      if (static_cast<unsigned char>(from[offsetof(measure::Metrics, identical)]) > 1) {
        good_ = false;
        return;
      }
    }
    std::memcpy(static_cast<void*>(&value), from, sizeof value);
  }
  void operator()(bool& value) {
    std::uint8_t byte = 0;
    (*this)(byte);
    if (byte > 1) good_ = false;
    value = byte == 1;
  }
  template <class E>
    requires std::is_enum_v<E>
  void operator()(E& value) {
    std::underlying_type_t<E> number = 0;
    (*this)(number);
    if (number > std::to_underlying(kLast<E>)) good_ = false;
    if (good_) value = static_cast<E>(number);
  }
  void operator()(std::string& text) {
    const std::uint64_t size = count();
    if (const char* from = take(size)) text.assign(from, size);
  }
  template <class T>
  void operator()(std::vector<T>& items) {
    const std::uint64_t size = count();  // at most the bytes left, so no message asks for more
    for (std::uint64_t i = 0; i < size && good_; ++i) field(*this, items.emplace_back());
  }
  template <class T>
  void operator()(std::optional<T>& item) {
    bool there = false;
    (*this)(there);
    if (there) field(*this, item.emplace());
  }
  template <class... T>
  void operator()(std::variant<T...>& item) {
    std::uint8_t index = 0;
    (*this)(index);
    if (index >= sizeof...(T)) good_ = false;
    if (!good_) return;
    std::uint8_t at = 0;
    ((at++ == index ? field(*this, item.template emplace<T>()) : void()), ...);
  }
  bool done() const { return good_ && bytes_.empty(); }

 private:
  std::uint64_t count() {
    std::uint64_t size = 0;
    (*this)(size);
    if (size > bytes_.size()) good_ = false;
    return good_ ? size : 0;
  }
  const char* take(std::uint64_t size) {
    if (size > bytes_.size()) good_ = false;
    if (!good_) return nullptr;
    const char* from = bytes_.data();
    bytes_.remove_prefix(size);
    return from;
  }
  template <class T>
  static void field(Reader& reader, T& item);

  std::string_view bytes_;
  bool good_ = true;
};

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <class Io, Is<Hello> T>
void fields(Io& io, T& m) {
  io(m.wire_version), io(m.metrics_bytes), io(m.torch_version), io(m.device), io(m.devices);
  io(m.jit_compile_has_effect), io(m.kernels);
}

template <class Io, Is<Fatal> T>
void fields(Io& io, T& m) {
  io(m.message);
}

template <class Io, Is<units::Unit> T>
void fields(Io& io, T& m) {
  io(m.block), io(m.bits), io(m.cut), io(m.sum), io(m.joined), io(m.normalized), io(m.inputs);
  io(m.order), io(m.accumulator), io(m.promote);
}

template <class Io, Is<units::KnownProducts> T>
void fields(Io& io, T& m) {
  io(m.dtype), io(m.units), io(m.certain), io(m.flushes_inputs), io(m.flushes_results);
  io(m.saturates);
}

template <class Io, Is<RunOptions> T>
void fields(Io& io, T& m) {
  replay_fields(io, m.replay);
  io(m.arithmetic), io(m.products);
}

template <class Io, Is<CallRequest> T>
void fields(Io& io, T& m) {
  io(m.id), io(m.full_name), io(m.forward_json), io(m.backward_json), io(m.save_directory),
      io(m.thresholds);
}

template <class Io, Is<Skip> T>
void fields(Io& io, T& m) {
  io(m.reason), io(m.text);
}

template <class Io, Is<StrictFinding> T>
void fields(Io& io, T& m) {
  io(m.status), io(m.reason), io(m.cause), io(m.map), io(m.error_over_bound), io(m.explanation);
}

template <class Io, Is<DropoutFacts> T>
void fields(Io& io, T& m) {
  io(m.bench_zeros), io(m.device_zeros), io(m.probability);
}

template <class Io, Is<OtherValue> T>
void fields(Io& io, T& m) {
  io(m.type);
}

template <class Io, Is<LeafSide> T>
void fields(Io& io, T& m) {
  io(m.dtype), io(m.shape), io(m.value);
}

template <class Io, Is<MeasuredLeaf> T>
void fields(Io& io, T& m) {
  io(m.path), io(m.kind), fields(io, m.bench), fields(io, m.device), io(m.metrics);
  io(m.of_keyword), io(m.dropout), io(m.strict);
}

template <class Io, Is<MeasuredCall> T>
void fields(Io& io, T& m) {
  io(m.full_name), io(m.skip), io(m.forward), io(m.backward), io(m.backward_skip), io(m.note),
      io(m.backward_note);
  io(m.float8_input);
}

template <class Io, Is<CallResponse> T>
void fields(Io& io, T& m) {
  io(m.id), fields(io, m.call);
}

template <class Io, Is<Numbers> T>
void fields(Io& io, T& m) {
  io(m.dtype), io(m.shape), io(m.bytes);
}

// What a message promises beyond its form.
bool holds(const Numbers& numbers) {
  return byte_count(numbers.shape, numbers.dtype) == numbers.bytes.size();
}
bool holds(const RunOptions& options) {
  return std::ranges::all_of(options.products, [](const units::KnownProducts& known) {
    return !known.units.empty() && std::ranges::all_of(known.units, &units::is_valid);
  });
}
bool holds(const OperationRequest& request) {
  return std::ranges::all_of(request.operation.inputs,
                             [](const Numbers& numbers) { return holds(numbers); });
}
bool holds(const OperationResponse& response) {
  return !response.error.empty() || holds(response.result);
}
template <class T>
bool holds(const T& /*message*/) {
  return true;
}

template <class Io, Is<OperationRequest> T>
void fields(Io& io, T& m) {
  io(m.id), io(m.operation.name), io(m.operation.inputs), io(m.operation.result);
}

template <class Io, Is<OperationResponse> T>
void fields(Io& io, T& m) {
  io(m.id), io(m.error), fields(io, m.result);
}

template <class T>
concept Message = requires(Writer& io, const T& message) { fields(io, message); };

template <class T>
void Writer::field(Writer& writer, const T& item) {
  if constexpr (Message<T>) {
    fields(writer, item);
  } else {
    writer(item);
  }
}

template <class T>
void Reader::field(Reader& reader, T& item) {
  if constexpr (Message<T>) {
    fields(reader, item);
  } else {
    reader(item);
  }
}

template <class T>
std::string frame_of(FrameKind kind, const T& message) {
  Writer payload;
  fields(payload, message);
  const std::string bytes = payload.take();
  Writer frame;
  frame(std::uint64_t{bytes.size()}), frame(kind);
  return frame.take() + bytes;
}

template <class T>
Result<T> message_of(FrameKind kind, const Frame& frame) {
  if (frame.kind != kind) {
    return fail(ErrorKind::kFormat,
                fmt::format("engine stream: frame of kind {}, expected {}",
                            std::to_underlying(frame.kind), std::to_underlying(kind)));
  }
  T message;
  Reader reader(frame.payload);
  fields(reader, message);
  if (!reader.done() || !holds(message)) {
    return fail(ErrorKind::kFormat,
                fmt::format("engine stream: malformed frame of kind {} with {} bytes",
                            std::to_underlying(kind), frame.payload.size()));
  }
  return message;
}

}  // namespace

std::string encode(const Hello& hello) { return frame_of(FrameKind::kHello, hello); }
std::string encode(const Fatal& fatal) { return frame_of(FrameKind::kFatal, fatal); }
std::string encode(const RunOptions& options) { return frame_of(FrameKind::kRunOptions, options); }
std::string encode(const CallRequest& request) {
  return frame_of(FrameKind::kCallRequest, request);
}
std::string encode(const CallResponse& response) {
  return frame_of(FrameKind::kCallResponse, response);
}
std::string encode(const OperationRequest& request) {
  return frame_of(FrameKind::kOperationRequest, request);
}
std::string encode(const OperationResponse& response) {
  return frame_of(FrameKind::kOperationResponse, response);
}

Result<Hello> decode_hello(const Frame& frame) {
  return message_of<Hello>(FrameKind::kHello, frame);
}
Result<Fatal> decode_fatal(const Frame& frame) {
  return message_of<Fatal>(FrameKind::kFatal, frame);
}
Result<RunOptions> decode_run_options(const Frame& frame) {
  return message_of<RunOptions>(FrameKind::kRunOptions, frame);
}
Result<CallRequest> decode_call_request(const Frame& frame) {
  return message_of<CallRequest>(FrameKind::kCallRequest, frame);
}
Result<CallResponse> decode_call_response(const Frame& frame) {
  return message_of<CallResponse>(FrameKind::kCallResponse, frame);
}
Result<OperationRequest> decode_operation_request(const Frame& frame) {
  return message_of<OperationRequest>(FrameKind::kOperationRequest, frame);
}
Result<OperationResponse> decode_operation_response(const Frame& frame) {
  return message_of<OperationResponse>(FrameKind::kOperationResponse, frame);
}

std::uint64_t most_bytes(FrameKind kind) { return kFrames[std::to_underlying(kind)].most_bytes; }

Result<bool> FrameReader::fill(int descriptor) {
  bytes_.erase(0, taken_);
  taken_ = 0;
  const std::size_t old = bytes_.size();
  bytes_.resize(old + kReadBytes);
  ssize_t got = 0;
  do {
    got = ::read(descriptor, bytes_.data() + old, kReadBytes);
  } while (got < 0 && errno == EINTR);
  bytes_.resize(old + (got > 0 ? static_cast<std::size_t>(got) : 0));
  if (got < 0) {
    return fail(ErrorKind::kIo, fmt::format("engine stream: {}", std::strerror(errno)));
  }
  return got > 0;
}

Result<std::optional<Frame>> FrameReader::next() {
  const std::string_view left = std::string_view(bytes_).substr(taken_);
  if (left.size() < kHeaderBytes) return std::nullopt;
  std::uint64_t size = 0;
  std::memcpy(&size, left.data(), sizeof size);
  const auto kind = static_cast<std::uint8_t>(left[sizeof size]);
  if (kind >= kFrames.size() || kFrames[kind].sender != sender_ ||
      size > kFrames[kind].most_bytes) {
    return fail(ErrorKind::kFormat,
                fmt::format("engine stream: no frame: kind {}, {} bytes", kind, size));
  }
  if (left.size() - kHeaderBytes < size) return std::nullopt;
  taken_ += kHeaderBytes + size;
  return Frame{static_cast<FrameKind>(kind), left.substr(kHeaderBytes, size)};
}

Result<void> write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return fail(ErrorKind::kIo, fmt::format("engine stream: {}", std::strerror(errno)));
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace msprobe::protocol
