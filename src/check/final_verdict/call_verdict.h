// SPDX-License-Identifier: Apache-2.0
// Gathers the rows of one call into its line of the result CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/verdict.h"
#include "documented/detail_row.h"
#include "final_verdict/details_name.h"
#include "final_verdict/row_compare.h"
#include "final_verdict/row_verdict.h"
#include "final_verdict/strict_verdict.h"

namespace msprobe::final_verdict {

class CallVerdict {
 public:
  explicit CallVerdict(const DetailsName& name) : call_(name.call), api_(name.api) {}

  std::string_view call() const { return call_; }
  void add(const ComparedRow& row, bool forward);
  documented::ResultRow conclude(const CompareRules& rules) const;

 private:
  struct Direction {
    std::uint64_t rows = 0;
    std::size_t failed = 0;
    bool error = false;
    bool warning = false;
    bool pass = false;
    bool all_unsupported = true;
    std::string last_message;
    std::string failures;  // "forward output 0: ..."

    std::optional<Verdict> verdict() const;
  };

  std::string call_;
  std::string api_;
  Direction forward_;
  Direction backward_;
  bool last_unsupported_ = false;              // what the public tool looks at
  StrictVerdict skip_ = StrictVerdict::kNone;  // of a direction: it does not run, or was lost
  std::optional<Verdict> strict_device_;
  std::optional<Verdict> strict_reference_;
};

}  // namespace msprobe::final_verdict
