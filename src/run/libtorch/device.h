// SPDX-License-Identifier: Apache-2.0
// Devices by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "libtorch/aten.h"

namespace msprobe::libtorch {

// "cpu", then what the loaded back ends offer: "cuda:0", "npu:1".
std::vector<std::string> available_devices();

// Which devices a bare id counts: those of the first kind there is (npu, else cuda, else cpu), or
// only those of a back end that was loaded for this run.
enum class BareIds : std::uint8_t { kFirstKind, kLoadedBackEnd };

// "cpu", "cpu:3" (ids 0 to 7 are all the same CPU), "cuda:1", "npu:0", or a bare id: "0". An error
// lists what there is.
Result<at::Device> open_device(std::string_view name, BareIds bare = BareIds::kFirstKind);
bool is_bare_id(std::string_view name);

// The default generator of a device. Some back ends (torch_xla) have none of PyTorch's, and draw as
// they like.
void seed_generator(at::Device device, std::uint64_t seed);

// A back end that lives outside of PyTorch registers itself when its library is loaded.
Result<void> load_back_end(const std::string& library);

}  // namespace msprobe::libtorch
