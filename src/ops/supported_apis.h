// The API names the collector records, by group. They bound what white and black lists may name;
// replay itself runs any name the linked framework has.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace msprobe::ops {

enum class ApiGroup : std::uint8_t {
  kFunctional,
  kTensor,
  kTorch,
  kVf,
  kTorchNpu,
  kAten,
  kDistributed,
  kNpuDistributed,
  kMindSpeed,
};

// Sorted bare names: "conv2d", "linalg.norm".
std::span<const std::string_view> supported_apis(ApiGroup group);

// Whether a white or black list may name it: the union of functional, tensor, torch and torch_npu.
bool may_be_listed(std::string_view bare_name);

}  // namespace msprobe::ops
