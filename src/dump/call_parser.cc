#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <simdjson.h>

#include "dump/dump_json.h"
#include "dump/json_reader.h"
#include "dump/value_reader.h"

namespace msprobe::dump {
namespace {

// simdjson needs five times as much memory; a recorded call has some kilobytes.
constexpr std::size_t kMaxEntryBytes = std::size_t{256} << 20;

// A copy of one entry with the padding simdjson wants behind it.
class PaddedCopy {
 public:
  simdjson::padded_string_view copy(std::string_view text) {
    const std::size_t wanted = text.size() + simdjson::SIMDJSON_PADDING;
    if (wanted > capacity_) {
      capacity_ = wanted + wanted / 2;
      memory_ = std::make_unique_for_overwrite<char[]>(capacity_);
    }
    std::memcpy(memory_.get(), text.data(), text.size());
    std::memset(memory_.get() + text.size(), ' ', simdjson::SIMDJSON_PADDING);
    return simdjson::padded_string_view(memory_.get(), text.size(), capacity_);
  }

 private:
  std::unique_ptr<char[]> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace

class CallParser::Implementation {
 public:
  Result<CallRecord> parse(const CallSlice& slice, std::string_view place) {
    CallRecord record;
    record.full_name = slice.full_name;
    Entry forward{slice.forward_json, slice.forward_at, ".forward"};
    if (!read_entry(forward,
                    [&](JsonObject& json) { return read_forward(json, record.forward); })) {
      return failure(slice, forward, place);
    }
    if (slice.backward_json.empty()) return record;
    Entry backward{slice.backward_json, slice.backward_at, ".backward"};
    record.backward.emplace();
    if (!read_entry(backward,
                    [&](JsonObject& json) { return read_backward(json, *record.backward); })) {
      return failure(slice, backward, place);
    }
    return record;
  }

 private:
  struct Entry {
    std::string_view text;
    std::uint64_t at;  // in the file
    std::string_view direction;
    std::size_t fault_at = 0;  // in `text`
  };

  template <class Read>
  bool read_entry(Entry& entry, Read read) {
    json_.reset();
    if (entry.text.size() > kMaxEntryBytes) {
      return json_.fail(
          fmt::format("{} bytes, more than the limit of {}", entry.text.size(), kMaxEntryBytes));
    }
    const simdjson::padded_string_view text = buffer_.copy(entry.text);
    simdjson::ondemand::document document;
    if (const auto code = parser_.iterate(text).get(document)) return json_.fail(code);
    JsonObject object;
    const auto code = document.get_object().get(object);
    const bool done = code == simdjson::SUCCESS ? read(object) && at_end(document)
                                                : json_.fail("an entry must be an object");
    if (done) return true;
    const char* location = json_.location();
    if (location == nullptr) std::ignore = document.current_location().get(location);
    if (location != nullptr) entry.fault_at = static_cast<std::size_t>(location - text.data());
    return false;
  }

  bool at_end(simdjson::ondemand::document& document) {
    return document.current_location().error() == simdjson::OUT_OF_BOUNDS ||
           json_.fail("something follows the entry");
  }

  bool read_forward(JsonObject& object, ForwardRecord& out) {
    unsigned seen = 0;
    const bool done = json_.each_field(object, [&](std::string_view key, JsonValue value) {
      if (key == "input_args")
        return once(seen, 1U, key) && in(key, values_.read_list(value, out.input_args));
      if (key == "input_kwargs")
        return once(seen, 2U, key) && in(key, values_.read_dict(value, out.input_kwargs));
      if (key == "output")
        return once(seen, 4U, key) && in(key, values_.read_list(value, out.output));
      return in(key, json_.skip(value, 1));
    });
    if (!done) return false;
    return (seen & 3U) != 0 || json_.fail("neither input_args nor input_kwargs were recorded");
  }

  bool read_backward(JsonObject& object, BackwardRecord& out) {
    unsigned seen = 0;
    return json_.each_field(object, [&](std::string_view key, JsonValue value) {
      if (key == "input")
        return once(seen, 1U, key) && in(key, values_.read_list(value, out.input));
      if (key == "output")
        return once(seen, 2U, key) && in(key, values_.read_list(value, out.output));
      return in(key, json_.skip(value, 1));
    });
  }

  bool once(unsigned& seen, unsigned bit, std::string_view key) {
    if ((seen & bit) != 0) return json_.fail(fmt::format("{} stands there twice", key));
    seen |= bit;
    return true;
  }

  bool in(std::string_view key, bool done) { return done || json_.fail_in(key); }

  Failure failure(const CallSlice& slice, const Entry& entry, std::string_view place) const {
    return fail(ErrorKind::kFormat,
                fmt::format("{}: {}{}: byte {}: {}", place, slice.full_name, entry.direction,
                            entry.at + entry.fault_at, json_.fault()));
  }

  simdjson::ondemand::parser parser_;
  PaddedCopy buffer_;
  JsonReader json_;
  ValueReader values_{json_};
};

CallParser::CallParser() : implementation_(std::make_unique<Implementation>()) {}
CallParser::CallParser(CallParser&&) noexcept = default;
CallParser& CallParser::operator=(CallParser&&) noexcept = default;
CallParser::~CallParser() = default;

Result<CallRecord> CallParser::parse(const CallSlice& slice, std::string_view place) {
  return implementation_->parse(slice, place);
}

Result<CallRecord> parse_call(const CallSlice& slice, std::string_view place) {
  return CallParser().parse(slice, place);
}

}  // namespace msprobe::dump
