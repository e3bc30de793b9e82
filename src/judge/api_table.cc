#include <algorithm>
#include <array>

#include "judge/standard.h"

namespace msprobe::judge {
namespace {

struct StandardRow {
  std::string_view api;
  Standard standard;
};

// The names are the public tool's lists; that each API has a standard of its own, and that conv1d
// and conv2d take the dual-1000 metric, is said by the document of the offline pre-check. What is
// not listed takes the benchmark comparison.
constexpr StandardRow kStandards[] = {
    {"__add__", Standard::kAbsoluteThreshold},
    {"__div__", Standard::kAbsoluteThreshold},
    {"__iadd__", Standard::kAbsoluteThreshold},
    {"__idiv__", Standard::kAbsoluteThreshold},
    {"__imul__", Standard::kAbsoluteThreshold},
    {"__isub__", Standard::kAbsoluteThreshold},
    {"__matmul__", Standard::kUlp},
    {"__mul__", Standard::kAbsoluteThreshold},
    {"__radd__", Standard::kAbsoluteThreshold},
    {"__rmul__", Standard::kAbsoluteThreshold},
    {"__sub__", Standard::kAbsoluteThreshold},
    {"abs", Standard::kBinaryConsistency},
    {"abs_", Standard::kBinaryConsistency},
    {"absolute", Standard::kBinaryConsistency},
    {"absolute_", Standard::kBinaryConsistency},
    {"add", Standard::kAbsoluteThreshold},
    {"add_", Standard::kAbsoluteThreshold},
    {"addbmm", Standard::kUlp},
    {"addbmm_", Standard::kUlp},
    {"addmm", Standard::kUlp},
    {"addmm_", Standard::kUlp},
    {"argmin", Standard::kBinaryConsistency},
    {"baddbmm", Standard::kUlp},
    {"baddbmm_", Standard::kUlp},
    {"bilinear", Standard::kUlp},
    {"bitwise_and", Standard::kBinaryConsistency},
    {"bitwise_and_", Standard::kBinaryConsistency},
    {"bmm", Standard::kUlp},
    {"broadcast_to", Standard::kBinaryConsistency},
    {"ceil", Standard::kBinaryConsistency},
    {"ceil_", Standard::kBinaryConsistency},
    {"chain_matmul", Standard::kUlp},
    {"conv1d", Standard::kDual1000},
    {"conv2d", Standard::kDual1000},
    {"div", Standard::kAbsoluteThreshold},
    {"div_", Standard::kAbsoluteThreshold},
    {"divide", Standard::kAbsoluteThreshold},
    {"divide_", Standard::kAbsoluteThreshold},
    {"equal", Standard::kBinaryConsistency},
    {"fill_", Standard::kBinaryConsistency},
    {"flatten", Standard::kBinaryConsistency},
    {"floor", Standard::kBinaryConsistency},
    {"floor_", Standard::kBinaryConsistency},
    {"gather", Standard::kBinaryConsistency},
    {"greater", Standard::kBinaryConsistency},
    {"greater_", Standard::kBinaryConsistency},
    {"greater_equal", Standard::kBinaryConsistency},
    {"greater_equal_", Standard::kBinaryConsistency},
    {"histc", Standard::kBinaryConsistency},
    {"hspmm", Standard::kUlp},
    {"isfinite", Standard::kBinaryConsistency},
    {"isnan", Standard::kBinaryConsistency},
    {"leaky_relu", Standard::kAbsoluteThreshold},
    {"leaky_relu_", Standard::kAbsoluteThreshold},
    {"less", Standard::kBinaryConsistency},
    {"less_", Standard::kBinaryConsistency},
    {"less_equal", Standard::kBinaryConsistency},
    {"less_equal_", Standard::kBinaryConsistency},
    {"linear", Standard::kUlp},
    {"logical_and", Standard::kBinaryConsistency},
    {"logical_and_", Standard::kBinaryConsistency},
    {"logical_not", Standard::kBinaryConsistency},
    {"logical_not_", Standard::kBinaryConsistency},
    {"logical_or", Standard::kBinaryConsistency},
    {"logical_or_", Standard::kBinaryConsistency},
    {"masked_fill", Standard::kBinaryConsistency},
    {"masked_fill_", Standard::kBinaryConsistency},
    {"matmul", Standard::kUlp},
    {"max_pool3d", Standard::kBinaryConsistency},
    {"maximum", Standard::kBinaryConsistency},
    {"minimum", Standard::kBinaryConsistency},
    {"mm", Standard::kUlp},
    {"mul", Standard::kAbsoluteThreshold},
    {"mul_", Standard::kAbsoluteThreshold},
    {"mv", Standard::kUlp},
    {"neg", Standard::kBinaryConsistency},
    {"neg_", Standard::kBinaryConsistency},
    {"nonzero", Standard::kBinaryConsistency},
    {"not_equal", Standard::kBinaryConsistency},
    {"not_equal_", Standard::kBinaryConsistency},
    {"one_hot", Standard::kBinaryConsistency},
    {"pad", Standard::kBinaryConsistency},
    {"prelu", Standard::kAbsoluteThreshold},
    {"reciprocal", Standard::kAbsoluteThreshold},
    {"reciprocal_", Standard::kAbsoluteThreshold},
    {"relu", Standard::kBinaryConsistency},
    {"reshape", Standard::kBinaryConsistency},
    {"round", Standard::kBinaryConsistency},
    {"round_", Standard::kBinaryConsistency},
    {"rsqrt", Standard::kAbsoluteThreshold},
    {"rsqrt_", Standard::kAbsoluteThreshold},
    {"rsub", Standard::kAbsoluteThreshold},
    {"select", Standard::kBinaryConsistency},
    {"sign", Standard::kBinaryConsistency},
    {"sign_", Standard::kBinaryConsistency},
    {"smm", Standard::kUlp},
    {"sort", Standard::kBinaryConsistency},
    {"square", Standard::kAbsoluteThreshold},
    {"square_", Standard::kAbsoluteThreshold},
    {"sspaddmm", Standard::kUlp},
    {"sub", Standard::kAbsoluteThreshold},
    {"sub_", Standard::kAbsoluteThreshold},
    {"tile", Standard::kBinaryConsistency},
    {"topk", Standard::kBinaryConsistency},
    {"transpose", Standard::kBinaryConsistency},
    {"transpose_", Standard::kBinaryConsistency},
    {"tril", Standard::kBinaryConsistency},
    {"tril_", Standard::kBinaryConsistency},
    {"triu", Standard::kBinaryConsistency},
    {"triu_", Standard::kBinaryConsistency},
    {"type_as", Standard::kBinaryConsistency},
};
static_assert(std::ranges::is_sorted(kStandards, {}, &StandardRow::api),
              "keep kStandards in api order");

struct LevelRow {
  std::string_view api;
  Level level;
};

// "Operator Monitoring Levels" of the document of the offline pre-check; what is not listed is L0.
constexpr LevelRow kLevels[] = {
    {"GELU", Level::kL2},
    {"addmm", Level::kL2},
    {"embedding", Level::kL1},
    {"index", Level::kL2},
    {"layer_norm", Level::kL2},
    {"matmul", Level::kL2},
    {"mm", Level::kL2},
    {"nonzero", Level::kL2},
    {"npu_cross_entropy_loss", Level::kL2},
    {"npu_cross_entropy_loss_backward", Level::kL2},
    {"npu_fusion_attention", Level::kL1},
    {"npu_fusion_attention_grad", Level::kL1},
    {"npu_rms_norm", Level::kL2},
    {"npu_rms_norm_backward", Level::kL2},
    {"one_hot", Level::kL2},
    {"scatter_", Level::kL1},
    {"scatter_add_", Level::kL1},
    {"sum", Level::kL2},
};
static_assert(std::ranges::is_sorted(kLevels, {}, &LevelRow::api), "keep kLevels in api order");

template <class Row>
const Row* find_row(std::span<const Row> rows, std::string_view api) {
  const auto found = std::ranges::lower_bound(rows, api, {}, &Row::api);
  return found != rows.end() && found->api == api ? &*found : nullptr;
}

}  // namespace

Standard listed_standard(std::string_view api) {
  // Document 003 calls them the same; Python records / as the former.
  if (api == "__truediv__") api = "__div__";
  const StandardRow* const row = find_row<StandardRow>(kStandards, api);
  return row == nullptr ? Standard::kBenchmark : row->standard;
}

Level listed_level(std::string_view api, Profile profile) {
  // The document lists the module GELU; dumps hold the function gelu, which the public tool
  // therefore never finds.
  if (profile == Profile::kDocumented && api == "gelu") api = "GELU";
  const LevelRow* const row = find_row<LevelRow>(kLevels, api);
  return row == nullptr ? Level::kL0 : row->level;
}

}  // namespace msprobe::judge
