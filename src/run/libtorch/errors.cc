// SPDX-License-Identifier: Apache-2.0
#include "libtorch/errors.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>

#include "libtorch/since.h"

namespace msprobe::libtorch {
namespace {

#if MSPROBE_TORCH_SINCE(2, 0)

class NoWarnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& /*warning*/) override {}
};

void set_warning_handler(c10::WarningHandler* handler) {
  c10::WarningUtils::set_warning_handler(handler);
}

#else

class NoWarnings : public c10::WarningHandler {
 public:
  void process(const c10::SourceLocation& /*where*/, const std::string& /*message*/,
               bool /*verbatim*/) override {}
};

void set_warning_handler(c10::WarningHandler* handler) {
  c10::Warning::set_warning_handler(handler);
}

#endif

}  // namespace

void make_errors_short() {
  c10::SetStackTraceFetcher([] { return std::string(); });
  static NoWarnings handler;
  set_warning_handler(&handler);
}

}  // namespace msprobe::libtorch
