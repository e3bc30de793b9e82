// SPDX-License-Identifier: Apache-2.0
// The bound of a result that is one matrix product. The sizes of its terms and of its partial sums
// are computed from the factors, so that no run with changed inputs is needed. docs/verdicts.md
// derives it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "strict/float_type.h"
#include "strict/product.h"
#include "strict/product_noise.h"
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

  // Tries the bounds below one after another, the cheap ones first; those that some of the elements
  // show to be too small are left out. `may_cut`: the device may have a matrix unit that cuts.
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

  // The same, up to one of the 16 parts that the terms are split into: the bounds are smaller than
  // they need be, and hold as well. REQUIRES: not less than before.
  void walk_sums(std::int64_t parts);

  // Whether factors that were rounded to few bits, or terms that were left out, explain the error:
  // no matrix unit may do that unasked. Looks at some of the elements.
  bool has_faulty_terms(const at::Tensor& device) const;

 private:
  // Of one element in so many, all terms are looked at apart from the others.
  static constexpr std::int64_t kElementsApart = 1024;
  // Into so many parts the terms are split to see where their sum wanders.
  static constexpr std::int64_t kParts = 16;

  // Elements of the product one after another, with what is known of them.
  struct Elements {
    at::Tensor device, bench, sums, squares, wander;
    double taken = 0;  // terms that the squares are of
  };

  ProductBound(Product product, const FloatType& type, bool tf32)
      : product_(std::move(product)), type_(type), tf32_(tf32) {}

  // Gives the factors of the terms from `start` to `end`, as `type` and some terms at a time: what
  // is converted at once stays in the cache.
  void for_parts(std::int64_t start, std::int64_t end, at::ScalarType type,
                 const std::function<void(const Product&)>& take) const;

  at::ScalarType summing_type() const { return in_double_ ? at::kDouble : at::kFloat; }
  // Whether float32 lost what is small beside what is large. If so, starts again in float64.
  bool restart_in_double();

  Elements all_of(const at::Tensor& device) const;
  // One in so many.
  static Elements some_of(const Elements& all, std::int64_t step);
  // So many that they show what most need.
  static Elements some_of(const Elements& all);
  static ProductSlice slice_of(const Elements& elements, std::int64_t start, std::int64_t length);

  // What is not known of single elements.
  Limits same_for_all() const;
  RoundedNoise rounded_by(const Elements& some) const;
  CutNoise cut_by(const Elements& some) const;
  // Both end at the first slice with which more than `most` are beyond. `places`: null, or where
  // they are.
  Scan scan_rounded(const Elements& elements, const Elements& some, std::int64_t most,
                    std::vector<at::Tensor>* places = nullptr) const;
  Scan scan_cut(const Elements& elements, const Elements& some) const;
  // With exact norms for few elements that need them. Nothing if that is not good.
  std::optional<Scan> scan_rounded(const at::Tensor& device) const;
  // Which bound some elements let expect to hold, once so many terms are taken.
  Arithmetic promise(const at::Tensor& device, std::int64_t until, bool may_cut) const;
  // The roots of the sums of all squared terms, of the elements at these places.
  at::Tensor norms_at(const at::Tensor& places) const;
  // Whether factors of few bits leave less than a share of the error, in some of the elements.
  bool factors_explain(const at::Tensor& device, std::int64_t elements, double left) const;

  Product product_;
  FloatType type_;
  bool tf32_;
  bool in_double_ = false;
  std::int64_t taken_ = 0;
  std::int64_t walked_ = 0;
  at::Tensor bench_;    // in float64, as are the others
  at::Tensor sums_;     // bench without what is added
  at::Tensor squares_;  // sum of the squares of the terms taken
  at::Tensor reached_;  // the sum of the parts walked
  at::Tensor wander_;   // how far the partial sums leave the straight line from 0 to the sum
};

}  // namespace msprobe::strict
