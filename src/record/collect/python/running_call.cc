// SPDX-License-Identifier: Apache-2.0
#include "collect/python/running_call.h"

namespace msprobe::collect {

RunningCall::RunningCall(Collector& collector, const RecordedName& call)
    : collector_(collector),
      step_(collector.step),
      name_(call.forward()),
      key_(entry_key(collector.settings.style, call)),
      legacy_(collector.settings.style == RecordStyle::kLegacy),
      json_(legacy_ ? JsonText::Layout::kOneLine : JsonText::Layout::kIndented, 2),
      describer_(collector, key_, json_) {}

void RunningCall::begin(const Origin& origin) {
  json_.begin_object();
  if (legacy_ || collector_.filter.input) describe_inputs(origin);
  dirty_inputs_ = describer_.take_overflow();
  if (origin.caller) {
    stack_ = collector_.frames.stack(collector_.callbacks, origin.caller.get(), legacy_ ? 1 : 2);
  }
  if (collector_.settings.keeps_back() || collector_.step != step_) return;
  number_ = collector_.recorder->begin(text(true));
  add_stack();
}

void RunningCall::end(PyObject* result, PyObject* mutated) {
  describer_.take_elements();
  if (!legacy_ && result != nullptr && collector_.filter.output) {
    json_.key("output");
    describer_.result(result);
  }
  if (!legacy_ && mutated != nullptr) {
    json_.key("mutated");
    describer_.named(mutated, "mutated");
  }
  collector_.seen_elements += describer_.take_elements();
  json_.end_object();
  const bool overflow = describer_.take_overflow();
  if (collector_.settings.keeps_back()) {
    const bool is_kept =
        collector_.settings.only_raised ? result == nullptr : !dirty_inputs_ && overflow;
    if (!is_kept || collector_.step != step_) return;
    number_ = collector_.recorder->begin("");
    add_stack();
    describer_.save_files();
  }
  if (!number_) return;
  collector_.recorder->finish(*number_, text(false));
  ++collector_.recorded_calls;
}

void RunningCall::describe_inputs(const Origin& origin) {
  json_.key(legacy_ ? "args" : "input_args");
  describer_.sequence(origin.args.get(), "input");
  json_.key(legacy_ ? "kwargs" : "input_kwargs");
  describer_.keywords(origin.kwargs.get());
}

std::string RunningCall::text(bool unfinished) {
  std::string entry = legacy_ ? ",\n\"" + key_ + "\": " : ",\n  \"" + key_ + "\": ";
  entry += json_.text();
  if (unfinished) entry += legacy_ ? "}" : "\n  }";
  return entry;
}

void RunningCall::add_stack() {
  if (stack_.frames == nullptr) return;
  if (!legacy_) return collector_.recorder->add_stack(name_, *stack_.frames, stack_.site);
  if (!collector_.stack_recorder) return;
  const std::uint64_t number = collector_.stack_recorder->begin("");
  collector_.stack_recorder->finish(number, ",\n\"" + key_ + "\": " + *stack_.frames);
}

}  // namespace msprobe::collect
