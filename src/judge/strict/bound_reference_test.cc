// SPDX-License-Identifier: Apache-2.0
// The judge against the definition of its bound: what it passes is within the bound of the page,
// and what is beyond four times that bound it does not pass.
#include "strict/bound_reference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arguments/build.h"
#include "dump/dump_json.h"
#include "libtorch/dtypes.h"
#include "strict/bound.h"
#include "strict/calls_for_test.h"
#include "strict/finding.h"
#include "strict/judge_conditioned.h"
#include "strict/judge_product.h"

namespace msprobe::strict {
namespace {

namespace fs = std::filesystem;

// Calls with larger results take too long in plain loops and 12 runs.
constexpr std::int64_t kMostElements = 1 << 12;
constexpr std::int64_t kMostTerms = 1 << 19;
// The judge sums squares in float32.
constexpr double kNearly = 1 + 1e-5;

std::vector<double> numbers(const at::Tensor& tensor) {
  const at::Tensor wide = libtorch::plain(tensor).to(at::kDouble).contiguous();
  return {wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel()};
}

std::optional<reference::Product> plain_product(CallContext& context, const Pair& pair,
                                                const FloatType& type) {
  const auto found = product_of(context, pair, type);
  if (!found) return std::nullopt;
  const std::vector<std::int64_t> shape = shape_of(*found);
  if (c10::multiply_integers(shape) != pair.bench.numel()) return std::nullopt;
  const Product product = in_matrices(*found);
  const at::Tensor right = product.right.all();
  const std::int64_t matrices = right.dim() == 2 ? 1 : right.size(0);
  const auto each = [&](const at::Tensor& factor) {
    return factor.dim() == 2 ? factor.unsqueeze(0).expand({matrices, -1, -1}) : factor;
  };
  const auto count = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  reference::Product plain{count(matrices),
                           count(product.left.size(-2)),
                           count(right.size(-2)),
                           count(right.size(-1)),
                           numbers(each(product.left)),
                           numbers(each(right)),
                           {},
                           product.filled,
                           product.one_way};
  if (product.added.defined()) plain.added = numbers(product.added.expand(shape));
  return plain;
}

// What the page needs to know of one result, measured as the judge measures it.
reference::Result measured(CallContext& context, const Pair& pair, const FloatType& type,
                           bool may_drift) {
  reference::Result result{.type = type, .bench = numbers(pair.bench)};
  result.exact = pair.direction == Direction::kForward && context.traits().exact;
  if (result.exact) return result;
  result.n = context.length_of(pair);
  result.product = plain_product(context, pair, type);
  result.made_of_products = ops::is_product(context.traits()) && type.eps >= kFloatEps;
  result.longest_sum = context.unit_length_of(pair);
  result.may_drift = may_drift;
  result.tf32 = context.allows_tf32(pair);
  if (!result.product || !result.product->one_way) {
    context.conditioning.measure(kRuns[2], pair.direction, pair.leaf.path);
    const at::Tensor spread = context.conditioning.spread(pair.direction, pair.leaf.path);
    if (spread.defined()) result.spread = numbers(spread);
  }
  Limits single;
  context.add_single(pair, type, single);
  result.single = single.absolute;
  result.rounds_once = is_half(type) && context.rounds_once(pair);
  Limits native;
  if (context.add_native(pair, type, native)) {
    if (!result.product || !result.product->one_way) context.add_neighbours(pair, native);
    result.native_error = numbers(native.natives);
    result.native_cap = native.native_cap;
  }
  return result;
}

// The results of one call, each with its bound.
class CheckedCall {
 public:
  explicit CheckedCall(RunCall run) : run_(std::move(run)) {
    const StrictOptions nothing_more;
    CallContext context(run_.record, run_.options, run_.outcome, nothing_more);
    const auto look = [&](const std::vector<execute::LeafPair>& leaves, Direction direction) {
      for (std::size_t i = 0; i < leaves.size(); ++i) add(context, leaves[i], direction, i);
    };
    if (!is_small(run_.outcome.forward) || !is_small(run_.outcome.backward)) return;
    look(run_.outcome.forward, Direction::kForward);
    look(run_.outcome.backward, Direction::kBackward);
  }

  // Judges the results as they are, and returns how many of them were compared with a bound.
  int check(const StrictOptions& options) const {
    const Findings findings = judge_call(run_.record, run_.options, run_.outcome, options);
    int compared = 0;
    for (const Known& known : known_) {
      const bool forward = known.direction == Direction::kForward;
      const StrictFinding& finding = (forward ? findings.forward : findings.backward)[known.place];
      // Random results, and those that are not unique, are compared otherwise.
      if (!is_right(finding) || !finding.error_over_bound) continue;
      ++compared;
      expect_within(known, finding);
    }
    return compared;
  }

  // Every element is off by a random share of `times` its bound; or one of them by all of it.
  void spoil(double times, bool one_element) {
    for (const Known& known : known_) {
      const at::Tensor bound = at::tensor(known.bounds, at::kDouble).view(known.bench.sizes());
      at::Tensor share = at::rand(known.bench.sizes(), at::kDouble) * 2 - 1;
      if (one_element) {
        share.zero_();
        share.view({-1})[share.numel() / 2] = 1;
      }
      leaf_of(known).device = {(known.bench + bound * share * times).to(known.type)};
    }
  }
  bool empty() const { return known_.empty(); }

 private:
  struct Known {
    Direction direction;
    std::size_t place;
    at::ScalarType type;
    at::Tensor bench;
    reference::Result result;
    std::vector<double> bounds;
  };

  static bool is_small(const std::vector<execute::LeafPair>& leaves) {
    return std::ranges::all_of(leaves, [](const execute::LeafPair& leaf) {
      const auto* bench = leaf.bench.as<at::Tensor>();
      return bench == nullptr || bench->numel() <= kMostElements;
    });
  }

  void add(CallContext& context, const execute::LeafPair& leaf, Direction direction,
           std::size_t place) {
    const auto* bench = leaf.bench.as<at::Tensor>();
    const auto* device = leaf.device.as<at::Tensor>();
    if (bench == nullptr || device == nullptr || bench->sizes() != device->sizes()) return;
    const auto type = float_type(device->scalar_type());
    if (!type || device->is_complex() || bench->is_complex() || bench->numel() == 0) return;
    const Pair pair{leaf, direction, libtorch::plain(*bench), libtorch::plain(*device)};
    Known known{direction, place, device->scalar_type(), pair.bench.to(at::kDouble), {}, {}};
    const auto product = product_of(context, pair, *type);
    if (product && product->left.size(-1) * bench->numel() > kMostTerms) return;
    known.result = measured(context, pair, *type, /*may_drift=*/true);
    known.bounds = reference::bounds(known.result);
    known_.push_back(std::move(known));
  }

  execute::LeafPair& leaf_of(const Known& known) {
    const bool forward = known.direction == Direction::kForward;
    return (forward ? run_.outcome.forward : run_.outcome.backward)[known.place];
  }

  void expect_within(const Known& known, const StrictFinding& finding) const {
    const auto& leaf = const_cast<CheckedCall*>(this)->leaf_of(known);
    const std::vector<double> device = numbers(*leaf.device.as<at::Tensor>());
    for (std::size_t i = 0; i < device.size(); ++i) {
      const double native = known.result.native_error.empty() ? 0 : known.result.native_error[i];
      if (reference::allows(known.result.type, device[i], known.result.bench[i], known.bounds[i],
                            native, kNearly)) {
        continue;
      }
      ADD_FAILURE() << fmt::format(
          "{} {} {}: element {}: device {}, bench {}, bound {}; the judge: {}",
          run_.record.full_name, known.direction == Direction::kForward ? "forward" : "backward",
          known.place, i, device[i], known.result.bench[i], known.bounds[i], finding.reason);
      return;
    }
  }

  RunCall run_;
  std::vector<Known> known_;
};

// How many results were compared, in one call of `step` of a dump.
int check_dump(const fs::path& file, std::size_t step = 1) {
  const auto index = dump::open_dump(file);
  if (!index) {
    ADD_FAILURE() << index.error().message;
    return 0;
  }
  const auto data = Directory::open(file.parent_path() / dump::kDataDirectory);
  int compared = 0;
  at::manual_seed(46);
  StrictOptions rounded;
  rounded.device_sums = [](at::ScalarType) { return probe::DeviceSums::kRounded; };
  for (std::size_t i = 0; i < index->calls.size(); i += step) {
    auto record = dump::parse_call(index->calls[i], file.filename().string());
    if (!record) continue;
    execute::ExecuteOptions options;
    if (data) options.arguments.data = &*data;
    const auto ran = execute::execute_call(*record, options);
    if (!ran) continue;
    CheckedCall call(RunCall(*std::move(record), options, *ran));
    if (call.empty()) continue;
    compared += call.check(rounded);
    for (const double times : {0.5, 1.2}) {
      call.spoil(times, /*one_element=*/false);
      compared += call.check({});
    }
    call.spoil(4.5, /*one_element=*/true);
    compared += call.check({});
  }
  return compared;
}

fs::path in_project(const char* path) { return fs::path(MSPROBE_SOURCE_DIR) / path; }

TEST(BoundReference, JudgeAllowsNoMoreOnATrainingStep) {
  EXPECT_GT(check_dump(in_project("tests/data/dumps/gpt_fp32_statistics/dump.json"), 7), 50);
  EXPECT_GT(check_dump(in_project("tests/data/dumps/convnet_statistics/dump.json"), 5), 20);
}

TEST(BoundReference, JudgeAllowsNoMoreInEveryDtype) {
  EXPECT_GT(check_dump(in_project("share/msprobe/self_check/dump.json"), 3), 100);
}

// Other dumps, such as one of PyTorch's operator samples.
TEST(BoundReference, JudgeAllowsNoMoreOnAGivenDump) {
  const char* file = std::getenv("MSPROBE_STRICT_DUMP");
  if (file == nullptr) GTEST_SKIP() << "MSPROBE_STRICT_DUMP names no dump.json";
  EXPECT_GT(check_dump(file), 0);
}

}  // namespace
}  // namespace msprobe::strict
