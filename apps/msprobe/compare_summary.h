// What a person sees at the end of a comparison.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "torchair/compare.h"
#include "torchair/row.h"

namespace msprobe::app {

// Keeps the first difference and the worst rows while rows go by.
class CompareSummary {
 public:
  void add(const torchair::Row& row);
  const std::optional<torchair::Row>& first_difference() const { return first_; }

  std::string text(const torchair::CompareTotals& totals, torchair::Mode mode, bool colour) const;

 private:
  std::optional<torchair::Row> first_;
  std::vector<torchair::Row> worst_;  // worst first
};

}  // namespace msprobe::app
