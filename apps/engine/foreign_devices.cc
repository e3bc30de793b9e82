#include "foreign_devices.h"

#include <fmt/format.h>

namespace msprobe::engine {

bool is_foreign(std::string_view name) { return name.substr(0, name.find(':')) == "mindspore"; }

Result<std::shared_ptr<execute::ForeignDevice>> open_foreign_device(std::string_view name) {
  return fail(
      ErrorKind::kUsage,
      fmt::format("device {}: this build cannot run MindSpore; use recorded, or a device of "
                  "PyTorch",
                  name));
}

}  // namespace msprobe::engine
