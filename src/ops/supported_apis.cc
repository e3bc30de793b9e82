#include "ops/supported_apis.h"

#include <algorithm>

namespace msprobe::ops {
namespace {

#include "ops/supported_apis.inc"

static_assert(std::ranges::is_sorted(kFunctional));
static_assert(std::ranges::is_sorted(kTensor));
static_assert(std::ranges::is_sorted(kTorch));
static_assert(std::ranges::is_sorted(kTorchNpu));
static_assert(std::ranges::is_sorted(kAten));
static_assert(std::ranges::is_sorted(kDistributed));
static_assert(std::ranges::is_sorted(kMindspeed));

constexpr ApiGroup kListedGroups[] = {ApiGroup::kFunctional, ApiGroup::kTensor, ApiGroup::kTorch,
                                      ApiGroup::kTorchNpu};

}  // namespace

std::span<const std::string_view> supported_apis(ApiGroup group) {
  switch (group) {
    case ApiGroup::kFunctional:
      return kFunctional;
    case ApiGroup::kTensor:
      return kTensor;
    case ApiGroup::kTorch:
      return kTorch;
    case ApiGroup::kVf:
      return kVf;
    case ApiGroup::kTorchNpu:
      return kTorchNpu;
    case ApiGroup::kAten:
      return kAten;
    case ApiGroup::kDistributed:
      return kDistributed;
    case ApiGroup::kNpuDistributed:
      return kNpuDistributed;
    case ApiGroup::kMindSpeed:
      return kMindspeed;
  }
  return {};
}

bool may_be_listed(std::string_view bare_name) {
  return std::ranges::any_of(kListedGroups, [&](ApiGroup group) {
    return std::ranges::binary_search(supported_apis(group), bare_name);
  });
}

}  // namespace msprobe::ops
