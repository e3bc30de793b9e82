// SPDX-License-Identifier: Apache-2.0
// A product that leaves out some of its terms, anywhere among them.
#pragma once

#include "strict/lost_terms.h"

namespace msprobe::cause {

// Without any of them, found by how much of each term is in the error: that takes more elements
// than lost terms. Costs up to two products.
strict::LostTerms scattered_lost_terms(const strict::Product& product, const at::Tensor& error);

}  // namespace msprobe::cause
