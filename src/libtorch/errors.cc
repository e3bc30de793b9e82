#include "libtorch/errors.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>

namespace msprobe::libtorch {
namespace {

class NoWarnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& /*warning*/) override {}
};

}  // namespace

void make_errors_short() {
  c10::SetStackTraceFetcher([] { return std::string(); });
  static NoWarnings handler;
  c10::WarningUtils::set_warning_handler(&handler);
}

}  // namespace msprobe::libtorch
