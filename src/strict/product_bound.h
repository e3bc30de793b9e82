// SPDX-License-Identifier: Apache-2.0
// The bound of a result that is one matrix product. The sizes of its terms and of its partial sums
// are computed from the factors, so that no run with changed inputs is needed. docs/verdicts.md
// derives it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "strict/float_type.h"
#include "strict/product.h"
#include "strict/scan.h"

namespace msprobe::strict {

// How a device may have added the terms of a product.
enum class Arithmetic : std::uint8_t { kUnexplained, kRounded, kCut };

// What was found of a device's product. If it is unexplained: by the bound of rounded sums.
struct Explanation {
  Arithmetic arithmetic = Arithmetic::kUnexplained;
  Limits limits = {};
  Scan found = {};
};

class ProductBound {
 public:
  // Nothing if the product does not have the shape of `bench`. `tf32`: the factors may have
  // been rounded to TF32.
  static std::optional<ProductBound> of(Product product, const at::Tensor& bench,
                                        const FloatType& type, bool tf32);

  std::int64_t terms() const { return product_.left.size(-1); }

  // Tries the bounds below one after another, the cheap ones first. `may_cut`: the device may have
  // a matrix unit that cuts.
  Explanation explain(const at::Tensor& device, bool may_cut);

  // Whether `device` has sums that are rounded to nearest, seen from the sizes of some terms, and
  // of all of them for few elements: nothing if that does not tell. Most results are exact
  // enough.
  std::optional<Scan> scan_some_terms(const at::Tensor& device);

  // Takes the sizes of the terms into account, up to this one; costs their share of one product.
  // With less than all of them the bounds are smaller than they need be, and hold as well.
  // REQUIRES: not less than before.
  void take_terms(std::int64_t until);

  // For sums that are rounded to nearest, in any order. REQUIRES: terms were taken, here and
  // below.
  Limits rounded(const at::Tensor& device) const;

  // For sums of a matrix unit that cuts what does not fit, so that they drift: all by the same
  // share of what they can drift by, which is taken from `device`.
  Limits cut(const at::Tensor& device) const;

  // Looks at the partial sums in the order of the data: both bounds grow with them. Costs one
  // product.
  void walk_sums();

  // Whether factors that were rounded to few bits, or terms that were left out, explain the error:
  // no matrix unit may do that unasked. Looks at some of the elements.
  bool has_faulty_terms(const at::Tensor& device) const;

 private:
  ProductBound(Product product, const FloatType& type, bool tf32)
      : product_(std::move(product)), type_(type), tf32_(tf32) {}

  // Gives the factors of the terms from `start` to `end`, as `type` and some terms at a time: what
  // is converted at once stays in the cache.
  void for_parts(std::int64_t start, std::int64_t end, at::ScalarType type,
                 const std::function<void(const Product&)>& take) const;

  // float32 where that holds the terms and their squares.
  at::ScalarType summing_type();
  at::Tensor error_of(const at::Tensor& device) const;
  // The limits of elements with these norms, whose benchmark is `bench`; `sums` of it is product.
  Limits limits_of(const at::Tensor& norms, const at::Tensor& sums, const at::Tensor& bench) const;
  // The roots of the sums of all squared terms, of the elements at these places.
  at::Tensor norms_at(const at::Tensor& places) const;
  bool has_rounded_factors(const at::Tensor& error) const;

  Product product_;
  FloatType type_;
  bool tf32_;
  std::int64_t taken_ = 0;
  std::optional<bool> fits_float_;
  at::Tensor bench_;    // in float64, as are the others
  at::Tensor sums_;     // bench without what is added
  at::Tensor squares_;  // sum of the squares of the terms taken
  at::Tensor norms_;    // its root
  at::Tensor wander_;   // how far the partial sums leave the straight line from 0 to the sum
};

}  // namespace msprobe::strict
