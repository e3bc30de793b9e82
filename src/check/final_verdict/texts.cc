// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/texts.h"

namespace msprobe::final_verdict {
namespace {

constexpr Text kAlgorithms[] = {
    // in the order of documented::Standard
    {" ", " "},
    {"benchmark comparison", "标杆比对法"},
    {"absolute threshold", "绝对阈值法"},
    {"binary consistency", "二进制一致法"},
    {"ULP error comparison", "ULP误差比对法"},
    {"dual-1000 metric", "双千指标法"},
};

}  // namespace

std::string_view algorithm_title(documented::Standard standard, tables::Titles titles) {
  return kAlgorithms[static_cast<std::size_t>(standard)].in(titles);
}

}  // namespace msprobe::final_verdict
