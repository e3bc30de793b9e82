// SPDX-License-Identifier: Apache-2.0
#include "check/known_errors.h"

#include <fmt/format.h>

namespace msprobe::check {
namespace {

struct KnownError {
  std::string_view text;  // what the error holds
  std::string_view advice;
};

constexpr KnownError kKnownErrors[] = {
    {"EI0006", "HCCL reports EI0006 when the CANN software is too old: upgrade CANN"},
    {"107002",
     "error 107002: no device is set. Name it: -d npu:0 here, torch.npu.set_device('npu:0') in a "
     "training script; with several cards, the number of its rank"},
    {"name 'torch_npu' is not defined",
     "install torch_npu; data of kernels can only be dumped on an NPU"},
};

}  // namespace

std::string_view advice_on(std::string_view error) {
  for (const KnownError& known : kKnownErrors) {
    if (error.find(known.text) != std::string_view::npos) return known.advice;
  }
  return {};
}

std::string with_advice(std::string_view error) {
  const std::string_view advice = advice_on(error);
  return advice.empty() ? std::string(error) : fmt::format("{} ({})", error, advice);
}

}  // namespace msprobe::check
