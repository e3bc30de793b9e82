// DetailRow: what the details CSV says of one output or one gradient.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace msprobe::judge {

enum class Verdict : std::uint8_t { kPass, kWarning, kError, kSkip };
std::string_view name(Verdict verdict);  // "pass", "warning", "error", "SKIP"

// --profile: the documents' rules, or today's public tool's, measured and judged cell by cell.
enum class Profile : std::uint8_t { kDocumented, kReference };

// A metric cell.
struct Cell {
  enum class Kind : std::uint8_t {
    kBlank,    // not applicable: one space in the CSV
    kInteger,  // the bare 0 of an empty set
    kDouble,
    kSingle,  // computed in single or half precision by the public tool, which prints it in
              // shortest form
  };
  Kind kind = Kind::kBlank;
  double value = 0;
};

struct DetailRow {
  std::string api_name;     // "Functional.conv2d.0.forward.output.0"
  std::string bench_dtype;  // "torch.float32", "<class 'int'>"; " " where there is none
  std::string device_dtype;
  std::string shape;  // "(2, 3)"; " " where there is none
  Cell cosine;
  Cell max_abs_error;
  Cell dual_100;
  Cell dual_1000;
  Cell dual_10000;
  Cell binary_error_rate;
  Cell error_balance;
  Cell rmse;
  Cell small_value_error_ratio;
  Cell max_relative_error;
  Cell mean_relative_error;
  Cell inf_nan_error_rate;
  Cell relative_error_rate;
  Cell absolute_error_rate;
  Cell max_ulp_error;
  Cell mean_ulp_error;
  Cell ulp_error_proportion;
  Verdict status = Verdict::kSkip;
  std::string message;
  std::string rerun_command;  // profile documented only
};

}  // namespace msprobe::judge
