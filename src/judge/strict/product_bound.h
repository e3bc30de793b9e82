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
  // Terms that are added for an element.
  double added_terms() const { return static_cast<double>(terms()) * product_.filled; }
  bool one_way() const { return product_.one_way; }

  // Tries the bounds below one after another, the cheap ones first; those that some of the elements
  // show to be too small are left out. `may_cut`: the device may have a matrix unit that cuts.
  Explanation explain(const at::Tensor& device, bool may_cut);

  // Whether `device` has sums that are rounded to nearest, seen from the sizes of some terms, and
  // of all of them for few elements: nothing if that does not tell. Most results are exact
  // enough.
  std::optional<Scan> scan_some_terms(const at::Tensor& device);

  // Takes the sizes of the terms into account, up to this one: a bound then costs their share of
  // one product. With less than all of them the bounds are smaller than they need be, and hold as
  // well.
  void take_terms(std::int64_t until) { taken_ = until; }

  // For sums that are rounded to nearest, in any order. REQUIRES: terms were taken, here and
  // below.
  Limits rounded(const at::Tensor& device) const;

  // For sums of a matrix unit that cuts what does not fit, so that they drift: all by the same
  // share of what they can drift by, which is taken from `device`.
  Limits cut(const at::Tensor& device) const;

  // The same limits, with all of their terms named. If `how` is not kCut: those of rounded().
  Limits explained(const at::Tensor& device, Arithmetic how) const;

  // Looks at the partial sums in the order of the data, up to one of the parts that the terms are
  // split into: both bounds grow with them, and cost that share of one product more. With less
  // than all parts they are smaller than they need be, and hold as well.
  void walk_sums(std::int64_t parts = ProductTerms::kParts) { walked_ = parts; }

  // Whether factors that were rounded to few bits, or terms that were left out, explain the error:
  // no matrix unit may do that unasked. Looks at some of the elements.
  bool has_faulty_terms(const at::Tensor& device) const;

 private:
  // Of one element in so many, all terms are looked at apart from the others.
  static constexpr std::int64_t kElementsApart = 1024;

  // Elements of the product one after another, with what is known of them.
  struct Elements {
    at::Tensor device, bench, sums, squares, wander;
    double taken = 0;  // terms that the squares are of
  };
  // What a scan found, and the elements that are beyond their limits.
  struct Scanned {
    Scan found;
    std::vector<std::int64_t> beyond;
  };

  ProductBound(Product product, const FloatType& type, bool tf32)
      : product_(std::move(product)), type_(type), tf32_(tf32) {}

  at::ScalarType summing_type() const { return in_double_ ? at::kDouble : at::kFloat; }
  // Whether float32 lost what is small beside what is large. If so, starts again in float64.
  bool restart_in_double();

  // About so many of them, or all if there are fewer.
  Elements some_of(const at::Tensor& device, std::int64_t count) const;
  Elements elements_of(const Sample& sample, const at::Tensor& device) const;
  // The terms of an element that a sample needs for that.
  std::int64_t looked_at() const { return walked_ > 0 ? terms() : taken_; }
  // Those at these places of the product, with the sizes of all of their terms.
  Elements with_all_terms(const at::Tensor& device, const at::Tensor& places,
                          const at::Tensor& wander) const;
  // Calls take(elements, the place of the first) for all of them, some at a time, until it gives
  // false.
  void for_elements(const at::Tensor& device, const auto& take) const;
  static ProductSlice slice_of(const Elements& elements);

  // What is not known of single elements.
  Limits same_for_all() const;
  // Seen from some elements; without partial sums none are needed.
  RoundedNoise rounded_by(const Elements& some) const;
  RoundedNoise rounded_by(const at::Tensor& device) const;
  CutNoise cut_by(const Elements& some) const;
  Scanned scan_rounded(const Elements& elements, const RoundedNoise& noise) const;
  Scan scan_cut(const Elements& elements, const RoundedNoise& rounded, const CutNoise& noise) const;
  // Of all elements, with exact norms for few that need them. Nothing if that is not good.
  std::optional<Scan> scan_rounded(const at::Tensor& device) const;
  // Of all elements. Ends at the first ones that are not good.
  Scan scan_cut(const at::Tensor& device) const;
  // Which bound some elements let expect to hold.
  Arithmetic promise(const at::Tensor& device, bool may_cut) const;
  // The sums of all squared terms, of the elements at these places.
  at::Tensor squares_at(const at::Tensor& places) const;
  // Whether factors of few bits leave less than a share of the error, in some of the elements.
  bool factors_explain(const at::Tensor& device, std::int64_t elements, double left) const;

  Product product_;  // in matrices
  FloatType type_;
  bool tf32_;
  bool in_double_ = false;
  std::int64_t taken_ = 0;
  std::int64_t walked_ = 0;
  at::Tensor bench_;  // in float64, as are the others
  at::Tensor sums_;   // bench without what is added
};

}  // namespace msprobe::strict
