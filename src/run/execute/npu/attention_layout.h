// SPDX-License-Identifier: Apache-2.0
// The layouts of npu_fusion_attention, as (batch, head, sequence, head size) and back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libtorch/aten.h"

namespace msprobe::execute::npu {

enum class AttentionLayout : std::uint8_t { kBsh, kSbh, kBsnd, kBnsd, kTnd };

// Throws c10::Error for a name that is none of the five.
AttentionLayout layout_named(const std::string& name);

// How many heads query and key have. Throws where they do not fit each other.
struct Heads {
  std::int64_t query = 0;
  std::int64_t key = 0;
};
Heads heads_of(const at::Tensor& query, const at::Tensor& key, AttentionLayout layout,
               std::int64_t head_num);

// The lengths of the sequences of a TND tensor of `rows` rows, from where each ends. Zeros at the
// end of `ends` stand for sequences that take no part.
std::vector<std::int64_t> sequence_lengths(const std::vector<std::int64_t>& ends,
                                           std::int64_t rows);

// The tensor as (batch, head, sequence, head size): one part, or, for TND, one for each sequence.
// Rows of no sequence are left out.
std::vector<at::Tensor> split_parts(const at::Tensor& tensor, AttentionLayout layout,
                                    std::int64_t heads, const std::vector<std::int64_t>& lengths);

// The way back; for TND `rows` in all, those of no sequence filled with `fill`.
at::Tensor join_parts(const std::vector<at::Tensor>& parts, AttentionLayout layout,
                      std::int64_t rows, double fill);

}  // namespace msprobe::execute::npu
