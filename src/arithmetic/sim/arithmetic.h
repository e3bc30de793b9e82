// SPDX-License-Identifier: Apache-2.0
// How the device computes: what a profile makes of the inputs, the sums and the results of an
// operator.
#pragma once

#include <string_view>

#include <ATen/core/stack.h>

#include "libtorch/aten.h"
#include "sim/faults.h"

namespace msprobe::sim {

// float32 kept to `bits` bits of mantissa, to nearest even.
at::Tensor kept_bits(const at::Tensor& tensor, int bits);

// Terms that are summed before a sum is rounded, as a matrix unit takes them.
inline constexpr std::int64_t kBlock = 16;

// A sum of `count` terms that is rounded after every `block` of them. `partial(start, length)`
// gives the sum of some of them.
at::Tensor summed_in_blocks(std::int64_t count, std::int64_t block, at::ScalarType kept,
                            const std::function<at::Tensor(std::int64_t, std::int64_t)>& partial);

// What the sums of this profile are kept in; empty: as the CPU keeps them.
std::optional<at::ScalarType> sum_type(SimProfile profile);
// Bits of float32 factors; 0: all.
int factor_bits(SimProfile profile);
// Whether products and their sums are the CPU's.
bool keeps_products(const ProfileRow& arithmetic);
// An order of summation that is another one in every run.
at::Tensor any_order(std::int64_t count);

// What is wrong with the sums of a product.
struct ProductFaults {
  bool lost_block = false;      // the last terms are left out
  bool lost_terms = false;      // one term in kBlock is left out
  bool coarse_sums = false;     // sums of kManyTerms and more are kept in bfloat16
  std::vector<Fault> of_codes;  // what is wrong with products of codes
};
inline constexpr std::int64_t kManyTerms = 4096;

// Whether a fault of products changes what this operator sums.
bool strikes_product(Fault fault, const c10::OperatorHandle& op, torch::jit::Stack& stack);

// The arguments of an operator, changed as the profile or a fault has it. Nothing that the operator
// writes to is touched. REQUIRES: they are on the CPU or the CPU's view of them.
void change_arguments(const ProfileRow& arithmetic, const c10::OperatorHandle& op,
                      torch::jit::Stack& stack, const ProductFaults& faults);

// Computes products whose sums are kept otherwise; false where this is not one.
bool compute_product(SimProfile profile, const c10::OperatorHandle& op, torch::jit::Stack& stack,
                     const ProductFaults& faults);

// What becomes of a result.
at::Tensor changed_result(const ProfileRow& arithmetic, const at::Tensor& result);

}  // namespace msprobe::sim
