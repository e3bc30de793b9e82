// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>

#include "dump/dump_json.h"
#include "dump/json_reader.h"
#include "dump/value_reader.h"

namespace msprobe::dump {
class CallParser::Implementation {
 public:
  Result<CallRecord> parse(const CallSlice& slice, std::string_view place) {
    CallRecord record;
    record.full_name = slice.full_name;
    if (!read_entry(slice.forward_json, [&] { return read_forward(record.forward); })) {
      return failure(slice, ".forward", slice.forward_at, place);
    }
    if (slice.backward_json.empty()) return record;
    record.backward.emplace();
    if (!read_entry(slice.backward_json, [&] { return read_backward(*record.backward); })) {
      return failure(slice, ".backward", slice.backward_at, place);
    }
    return record;
  }

 private:
  template <class Read>
  bool read_entry(std::string_view text, Read read) {
    return json_.start(text) && read() && (json_.at_end() || json_.fail_wanted("the end"));
  }

  bool read_forward(ForwardRecord& out) {
    unsigned seen = 0;
    const bool done = json_.each_field([&](std::string_view key) {
      // The older recorder wrote "args" and "kwargs".
      if (key == "input_args" || key == "args") {
        return once(seen, 1U) && values_.read_list(out.input_args);
      }
      if (key == "input_kwargs" || key == "kwargs") {
        return once(seen, 2U) && values_.read_dict(out.input_kwargs);
      }
      if (key == "output") return once(seen, 4U) && values_.read_list(out.output);
      if (key == "mutated") return once(seen, 8U) && values_.read_dict(out.mutated);
      return json_.skip();
    });
    if (!done) return false;
    return (seen & 3U) != 0 || json_.fail("neither input_args nor input_kwargs were recorded");
  }

  // The older recorder writes the arriving gradients alone.
  bool read_backward(BackwardRecord& out) {
    if (json_.first() == '[') return values_.read_list(out.input);
    unsigned seen = 0;
    return json_.each_field([&](std::string_view key) {
      if (key == "input") return once(seen, 1U) && values_.read_list(out.input);
      if (key == "output") return once(seen, 2U) && values_.read_list(out.output);
      return json_.skip();
    });
  }

  bool once(unsigned& seen, unsigned bit) {
    if ((seen & bit) != 0) return json_.fail("duplicate key");
    seen |= bit;
    return true;
  }

  Failure failure(const CallSlice& slice, std::string_view direction, std::uint64_t at,
                  std::string_view place) const {
    return fail(ErrorKind::kFormat, fmt::format("{}: {}{}: byte {}: {}", place, slice.full_name,
                                                direction, at + json_.fault_at(), json_.fault()));
  }

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
