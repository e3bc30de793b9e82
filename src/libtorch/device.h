// Devices by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "libtorch/aten.h"

namespace msprobe::libtorch {

// "cpu", then what the loaded back ends offer: "cuda:0", "npu:1".
std::vector<std::string> available_devices();

// "cpu", "cpu:3" (ids of a machine that has only a CPU), "cuda:1", "npu:0". An error lists what
// there is.
Result<at::Device> open_device(std::string_view name);

// A back end that lives outside of PyTorch registers itself when its library is loaded.
Result<void> load_back_end(const std::string& library);

}  // namespace msprobe::libtorch
