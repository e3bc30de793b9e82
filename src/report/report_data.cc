#include "report/report_data.h"

#include <algorithm>

#include "core/skip.h"

namespace msprobe::report {

judge::Verdict ReportCall::worst() const {
  return judge::worse(forward.value_or(judge::Verdict::kSkip),
                      backward.value_or(judge::Verdict::kSkip));
}

const Frame* own_frame(const Stack& stack) {
  const auto own = std::ranges::find(stack, false, &Frame::library);
  return own == stack.end() ? nullptr : &*own;
}

std::string_view api_of(std::string_view call) { return call.substr(0, call.rfind('.')); }

std::string_view bare_api(std::string_view call) {
  const std::string_view api = api_of(call);
  const std::size_t dot = api.find('.');
  return dot == std::string_view::npos ? api : api.substr(dot + 1);
}

bool lost(std::string_view message) {
  const std::string_view reason = message.substr(0, message.find(':'));
  const auto found = std::ranges::find(kSkipReasonNames, reason);
  return found != kSkipReasonNames.end() &&
         is_lost(static_cast<SkipReason>(found - kSkipReasonNames.begin()));
}

}  // namespace msprobe::report
