// SPDX-License-Identifier: Apache-2.0
// The bound of a result that is one matrix product ("Products" in docs/verdicts.md):
//
//     |d - b| <= step 3 + n 2^-149 + sqrt(n) u_a (2 |S| + 4 N + 4 W) + eps |added|
//
// and for sums of a matrix unit that cuts, what their drift adds. The sizes S, N and W are computed
// from the factors, so that no run with changed inputs is needed.
#pragma once

#include <cstdint>
#include <optional>

#include "strict/float_type.h"
#include "strict/product.h"
#include "strict/product_noise.h"
#include "strict/product_terms.h"
#include "strict/sample.h"
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
  static std::optional<ProductBound> of(const Product& product, const at::Tensor& bench,
                                        const FloatType& type, bool tf32);

  std::int64_t terms() const { return product_.left.size(-1); }
  // Terms that are added for an element: n.
  double added_terms() const { return static_cast<double>(terms()) * product_.filled; }
  bool one_way() const { return product_.one_way; }

  // Tries the bounds with some terms, with all of them, and with the partial sums. `may_cut`: the
  // device may have a matrix unit that cuts.
  Explanation explain(const at::Tensor& device, bool may_cut);

  // From here on, N is of the first terms only: a bound then costs their share of one product. With
  // less than all of them the bounds are smaller than they need be, and hold as well.
  void take_terms(std::int64_t until) { taken_ = until; }
  // From here on, W counts, which costs one more product.
  void walk_sums(bool walks = true) { walks_ = walks; }

  // For sums that are rounded to nearest, in any order. REQUIRES: terms were taken, here and below.
  Limits rounded(const at::Tensor& device) const { return limits(device, Arithmetic::kRounded); }
  // For sums of a matrix unit that cuts what does not fit, so that they drift: all by the same
  // share of what they can drift by, which is taken from `device`.
  Limits cut(const at::Tensor& device) const { return limits(device, Arithmetic::kCut); }
  // One of both, with all of its terms named. If `how` is not kCut: that of rounded().
  Limits explained(const at::Tensor& device, Arithmetic how) const;

  // Whether factors that were rounded to few bits, or terms that were left out, explain the error:
  // no matrix unit may do that unasked. Looks at some of the elements.
  bool has_faulty_terms(const at::Tensor& device) const;

 private:
  // How much of the sizes of an element a bound takes.
  struct Noise {
    RoundedNoise rounded;
    std::optional<CutNoise> cut;
  };

  ProductBound(Product product, const FloatType& type, bool tf32)
      : product_(std::move(product)), type_(type), tf32_(tf32) {}

  at::ScalarType summing_type() const { return in_double_ ? at::kDouble : at::kFloat; }
  // Whether float32 lost what is small beside what is large. If so, starts again in float64.
  bool restart_in_double();
  // sqrt(n) u_a.
  double sum_unit() const;

  // As many elements as show what most of them need.
  ProductElements sample(const at::Tensor& device) const;
  // Calls take(elements, the place of the first) for all of them, some at a time, until it gives
  // false.
  void for_elements(const at::Tensor& device, const auto& take) const;

  Noise noise_of(const at::Tensor& device, Arithmetic how) const;
  RoundedNoise rounded_by(const ProductElements& some) const;
  CutNoise cut_by(const ProductElements& some) const;
  // What is not known of single elements.
  Limits same_for_all() const;
  Limits limits_of(const ProductElements& elements, const Noise& noise) const;
  // Of all elements at once.
  Limits limits(const at::Tensor& device, Arithmetic how) const;
  // The elements at these places, with the norms of all of their terms.
  ProductElements with_all_terms(const at::Tensor& device, const at::Tensor& places) const;
  // Of some elements at a time. Ends soon if that cannot become good.
  Scan scan_all(const at::Tensor& device, Arithmetic how) const;
  // Whether factors of few bits leave less than a share of the error, in some of the elements.
  bool factors_explain(const at::Tensor& device, std::int64_t elements, double left) const;

  Product product_;  // in matrices
  FloatType type_;
  bool tf32_;
  bool in_double_ = false;
  std::int64_t taken_ = 0;
  bool walks_ = false;
  at::Tensor bench_;  // in float64, as are the others
  at::Tensor sums_;   // bench without what is added
};

}  // namespace msprobe::strict
