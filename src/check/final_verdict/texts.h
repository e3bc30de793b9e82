// SPDX-License-Identifier: Apache-2.0
// Texts of api_precision_compare's message cells: the public tool's words with its titles, ours in
// English otherwise.
#pragma once

#include <string>
#include <string_view>

#include "documented/standard.h"
#include "tables/column.h"

namespace msprobe::final_verdict {

struct Text {
  std::string_view english;
  std::string_view chinese;

  std::string_view in(tables::Titles titles) const {
    return titles == tables::Titles::kEnglish ? english : chinese;
  }
};

inline constexpr Text kInfNanRateOver = {"ERROR: inf/nan error rate is not 0",
                                         "ERROR: inf/nan错误率超过阈值"};
inline constexpr Text kRelativeRateOver = {"ERROR: relative error rate is not 0",
                                           "ERROR: 相对误差错误率超过阈值"};
inline constexpr Text kAbsoluteRateOver = {"ERROR: absolute error rate is not 0",
                                           "ERROR: 绝对误差错误率超过阈值"};
inline constexpr Text kBinaryOver = {"ERROR: binary consistency error rate is not 0",
                                     "ERROR: 二进制一致错误率超过阈值"};
inline constexpr Text kUlpOver = {"ERROR: ULP error does not meet the standard",
                                  "ERROR: ULP误差不满足标准"};
inline constexpr Text kDual1000Below = {"ERROR: dual-1000 metric is not above the limit",
                                        "ERROR: 双千指标不达标"};
inline constexpr Text kSameNotFinite = {" is inf or nan alike on both devices", "同为同号inf或nan"};
inline constexpr Text kNotFiniteDiffers = {" is inf or nan on one device only or of other sign",
                                           "inf或nan不一致"};
inline constexpr Text kEmptyCell = {"ERROR: Input data is an empty string",
                                    "ERROR: Input data is an empty string"};
inline constexpr Text kUnsupportedDtype = {"This data type does not support benchmark compare.",
                                           "This data type does not support benchmark compare."};
inline constexpr Text kTopkUnsorted = {
    "On the NPU, topk ignores sorted=False and returns a sorted tensor, while the CPU returns an "
    "unsorted one. If topk misses the standard, check first whether this is the cause.",
    "在npu上，topk的入参sorted=False时不生效，会返回有序tensor，而cpu上会返回无序tensor。 "
    "如果topk精度不达标，请检查是否是该原因导致的。"};
// Profile documented only.
inline constexpr Text kNotFiniteOnNpu = {
    "ERROR: NaN or Inf in the errors of the NPU only, not in those of the GPU",
    "ERROR: 仅NPU的误差含有NaN或Inf，GPU没有"};
inline constexpr Text kCheckFailed = {"ERROR: the check of the NPU failed without metrics: ",
                                      "ERROR: NPU预检失败且没有指标："};

// The "Comparison algorithm" cell.
std::string_view algorithm_title(documented::Standard standard, tables::Titles titles);

}  // namespace msprobe::final_verdict
