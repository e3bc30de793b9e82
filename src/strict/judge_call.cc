// SPDX-License-Identifier: Apache-2.0
#include "strict/judge_call.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "core/call_name.h"
#include "execute/caught.h"
#include "execute/replay_dialect.h"
#include "libtorch/dtypes.h"
#include "ops/op.h"
#include "strict/bound.h"
#include "strict/cause.h"
#include "strict/conditioning.h"
#include "strict/doubts.h"
#include "strict/error_map.h"
#include "strict/kernels.h"
#include "strict/native_error.h"
#include "strict/own_benchmark.h"
#include "strict/product.h"
#include "strict/product_bound.h"
#include "strict/random.h"
#include "strict/reduction_length.h"
#include "strict/result_type.h"
#include "strict/strict_value.h"
#include "strict/unique.h"
#include "strict/wording.h"

namespace msprobe::strict {
namespace {

using execute::CallOutcome;
using execute::LeafPair;
using execute::Variation;

// Runs after which the spread is looked at; the more, the less can a move be small by chance.
constexpr int kRuns[] = {1, 3, 12};
// The CPU's own error explains nothing beyond this many u of the largest term, nor beyond that
// term: a kernel that far off is wrong, wherever it runs.
constexpr double kNativeCapUnits = 16384;
// From this share of the largest term on it explains, but little is proven.
constexpr double kWeakNative = 1.0 / 16;
// A rounding to TF32 moves an input this much farther than one to float32: 2^(23 - 10).
constexpr double kTf32Moves = 8192;
// The bound is at least this many spreads; see spread_limits.
constexpr double kLeastSpreads = kIntermediates + kSumOfTerms;
// So many elements, and one in so many, are not a few bad ones.
constexpr std::int64_t kFewElements = 4;
constexpr std::int64_t kShareOfMany = 100;
constexpr std::string_view kAsMindSpore = ", as MindSpore's kernel computes it";
constexpr std::string_view kAsUnit = ", as a matrix unit adds that cuts its sums";
// Up to this many bounds an excess is a warning.
constexpr double kWarningExcess = 4;

StrictFinding pass(std::string reason) { return {Verdict::kPass, std::move(reason), ""}; }
StrictFinding error(std::string reason, std::string cause = "") {
  return {Verdict::kError, std::move(reason), std::move(cause)};
}

// Two tensors of one leaf, plain.
struct Pair {
  const LeafPair& leaf;
  Direction direction;
  at::Tensor bench;
  at::Tensor device;
};

double largest(const at::Tensor& tensor) {
  return real_parts(tensor).abs().nan_to_num(0, 0, 0).max().item<double>();
}

StrictFinding within(const Scan& found, std::string_view how) {
  if (found.differ == 0) return pass("equal to the rounded benchmark");
  return pass(fmt::format("{} of {} elements differ, by at most {} of the bound{}", found.differ,
                          found.count, number_text(found.worst_inside), how));
}

// One call on its way; what takes a run of the benchmark is done when it is needed, and once.
class CallJudge {
 public:
  CallJudge(const dump::CallRecord& record, const execute::ExecuteOptions& options,
            const CallOutcome& outcome, const StrictOptions& allowed)
      : record_(record),
        name_(options.dialect->torch_name(*parse_call_name(record.full_name))),
        tf32_(allowed.allow_tf32 && ops::is_product(ops::traits_of(name_.bare_name))),
        allowed_(allowed),
        outcome_(outcome),
        recorded_(options.recorded),
        wide_gradients_(options.dialect->like_mindspore),
        by_mindspore_(options.dialect->like_mindspore &&
                      (options.recorded || options.foreign != nullptr)),
        rerun_(record, options, outcome.backward_node),
        bench_(bench_tensors(outcome)) {
    if (const auto own = own_benchmark(name_, outcome, options)) {
      const auto leaves = rerun_.run(*own);
      if (leaves) {
        how_ = *own;
        bench_ = tensors_of(*leaves);
      }
    }
    const double argument =
        by_mindspore_ ? mindspore_kernel(name_.bare_name, Direction::kForward, {}).argument : 0;
    conditioning_.emplace(rerun_, record.full_name, bench_, how_, argument / kLeastSpreads);
    native_error_.emplace(rerun_, record.full_name, how_);
  }

  StrictFinding judge(const LeafPair& leaf, Direction direction) {
    if (leaf.state == LeafPair::State::kDeviceMissing) {
      return error("the device gave fewer outputs", "missing output");
    }
    if (leaf.state == LeafPair::State::kKeysDiffer) return error("dictionaries with other keys");
    // Recorded gradients list what is positional.
    if (recorded_ && leaf.of_keyword && leaf.device.is_none()) {
      return {Verdict::kSkip, "the gradient of a keyword argument was not recorded", ""};
    }
    if (leaf.bench.is_none()) return {Verdict::kSkip, "the benchmark gives None", ""};
    const auto bench = bench_.find({direction, leaf.path});
    const auto* device = leaf.device.as<at::Tensor>();
    if (bench != bench_.end() && leaf.device.is_none()) {
      return error("the device gave None, the benchmark a tensor", "missing output");
    }
    if (bench == bench_.end() || device == nullptr) return judge_value(leaf);
    const Pair pair{leaf, direction, libtorch::plain(bench->second), libtorch::plain(*device)};
    StrictFinding finding = judge_tensor(pair);
    if (finding.status == Verdict::kError && recorded_) finding = judge_last_node(pair, finding);
    if (finding.status == Verdict::kPass) finding.reason = doubts(pair.device) + finding.reason;
    return finding;
  }

 private:
  // What was recorded as the gradient of cross_entropy is that of its last node.
  StrictFinding judge_last_node(const Pair& pair, const StrictFinding& otherwise) {
    const auto call = rerun_.arguments();
    if (name_.bare_name != "cross_entropy" || pair.direction == Direction::kForward || !call ||
        (*call)->args.empty()) {
      return otherwise;
    }
    const auto* logits = (*call)->args.front().as<at::Tensor>();
    if (logits == nullptr || logits->sizes() != pair.device.sizes()) return otherwise;
    Pair at_logits = pair;
    at_logits.device = gradient_at_logits(pair.device, *logits);
    StrictFinding finding = judge_tensor(at_logits);
    if (finding.status != Verdict::kPass) return otherwise;
    finding.reason = "recorded at its last node, nll_loss: " + finding.reason;
    return finding;
  }

  StrictFinding judge_tensor(const Pair& pair) {
    if (pair.bench.sizes() != pair.device.sizes()) {
      return error(
          fmt::format("shape ({}), the benchmark's is ({})", fmt::join(pair.device.sizes(), ", "),
                      fmt::join(pair.bench.sizes(), ", ")),
          fmt::format("wrong shape: {} elements for {}", pair.device.numel(), pair.bench.numel()));
    }
    if (const auto wanted = other_type(pair)) {
      return error(fmt::format("dtype {}, recorded is {}",
                               libtorch::text(pair.device.scalar_type()), libtorch::text(*wanted)),
                   "wrong dtype");
    }
    if (pair.device.numel() == 0) return pass("nothing to compare");
    const auto type = float_type(pair.device.scalar_type());
    return type ? judge_floats(pair, *type) : judge_integers(pair);
  }

  // The dtype that was recorded (of a gradient: that of its input), where neither the device nor
  // the CPU in this PyTorch gives another one.
  std::optional<at::ScalarType> other_type(const Pair& pair) {
    const auto recorded = pair.direction == Direction::kForward
                              ? recorded_output_type(record_, pair.leaf.path)
                              : gradient_type(pair.leaf.path);
    const at::ScalarType given = pair.device.scalar_type();
    if (!recorded || *recorded == given || outcome_.arguments.float8_input) return std::nullopt;
    if (wide_gradients_ && pair.direction == Direction::kBackward) return std::nullopt;
    if (recorded_ && pair.direction == Direction::kBackward && has_type(outcome_.arriving, given)) {
      return std::nullopt;  // recorded at a node inside the call, behind what autocast converted
    }
    const at::Tensor* native = conditioning_->native(pair.direction, pair.leaf.path);
    if (native == nullptr || native->scalar_type() == given) return std::nullopt;
    return recorded;
  }

  std::optional<at::ScalarType> gradient_type(const std::string& path) {
    if (rerun_.of_node()) return std::nullopt;
    const auto call = rerun_.arguments();
    return call ? input_type(**call, path) : std::nullopt;
  }

  // An element may differ where a rounding of the inputs changes it.
  StrictFinding judge_integers(const Pair& pair) {
    if (same_bytes(pair.bench, pair.device)) return pass("equal");
    at::Tensor differ = pair.bench.ne(pair.device);
    if (!differ.any().item<bool>()) return pass("equal");
    if (auto finding = judge_otherwise(pair)) return *finding;
    for (const int runs : kRuns) {
      if (ops::traits_of(name_.bare_name).exact && pair.device.scalar_type() != at::kLong) break;
      conditioning_->measure(runs);
      const at::Tensor spread = conditioning_->spread(pair.direction, pair.leaf.path);
      if (!spread.defined()) break;
      const at::Tensor off = (pair.bench.to(at::kDouble) - pair.device.to(at::kDouble)).abs();
      differ = off.gt(spread);
      if (!differ.any().item<bool>()) {
        return pass("differs only where a rounding of the inputs changes the result");
      }
    }
    const auto first = differ.flatten().to(at::kByte).argmax().item<std::int64_t>();
    StrictFinding finding = error(
        fmt::format("{} of {} elements differ, first at {}", differ.sum().item<std::int64_t>(),
                    differ.numel(), place_text(pair.device.sizes(), first)),
        whole_number_cause(pair.device, pair.bench, pair.direction));
    const at::Tensor over = differ.to(at::kDouble) * std::numeric_limits<double>::max();
    finding.map = error_map(pair.device, pair.bench, over);
    return finding;
  }

  // Random and not unique results, which need not be the benchmark's element by element.
  std::optional<StrictFinding> judge_otherwise(const Pair& pair) {
    const auto call = rerun_.arguments();
    if (!call) return std::nullopt;
    conditioning_->measure(kRuns[0]);
    if (conditioning_->random()) {
      const auto* forward =
          outcome_.forward.empty() ? nullptr : outcome_.forward.front().device.as<at::Tensor>();
      auto finding = judge_random(draws_, name_.bare_name, pair.direction, pair.leaf.path,
                                  pair.device, forward == nullptr ? at::Tensor() : *forward,
                                  conditioning_->spread(pair.direction, pair.leaf.path));
      if (finding) return finding;
    }
    if (pair.direction == Direction::kBackward) return std::nullopt;
    Outputs outputs;
    std::size_t place = 0;
    for (std::size_t i = 0; i < outcome_.forward.size(); ++i) {
      const auto* bench = outcome_.forward[i].bench.as<at::Tensor>();
      const auto* device = outcome_.forward[i].device.as<at::Tensor>();
      outputs.bench.push_back(bench == nullptr ? at::Tensor() : libtorch::plain(*bench));
      outputs.device.push_back(device == nullptr ? at::Tensor() : libtorch::plain(*device));
      if (&outcome_.forward[i] == &pair.leaf) place = i;
    }
    return judge_unique(name_.bare_name, **call, outputs, place);
  }

  // The size of what a result is made of: a gradient can be the small rest of large ones.
  double terms_of(const Pair& pair) {
    double size = largest(pair.bench);
    const auto arriving = rerun_.arriving();
    if (pair.direction == Direction::kForward || !arriving) return size;
    for (const auto& value : **arriving) {
      const auto* gradient = value.as<at::Tensor>();
      if (gradient != nullptr && gradient->numel() > 0) size = std::max(size, largest(*gradient));
    }
    return size;
  }

  double length_of(const Pair& pair) {
    const auto call = rerun_.arguments();
    if (!call) return 1;
    const auto* first =
        outcome_.forward.empty() ? nullptr : outcome_.forward.front().bench.as<at::Tensor>();
    return reduction_length(name_.bare_name, **call, first == nullptr ? 1 : first->numel(),
                            pair.device.numel(), pair.direction == Direction::kBackward);
  }

  // Terms of the longest sum that a matrix unit adds: of what is made of several products, those
  // along the longest extents.
  double unit_length_of(const Pair& pair) {
    const auto call = rerun_.arguments();
    const bool composed = ops::traits_of(name_.bare_name).sums == ops::Sums::kAll;
    return call && composed ? 2 * longest_extent_of(**call) : length_of(pair);
  }

  StrictFinding judge_floats(const Pair& given, const FloatType& type) {
    Pair pair = given;
    if (!float_type(pair.bench.scalar_type())) pair.bench = pair.bench.to(at::kDouble);
    if (pair.bench.is_complex() != pair.device.is_complex()) return error("real against complex");
    const bool exact =
        pair.direction == Direction::kForward && ops::traits_of(name_.bare_name).exact;
    Limits limits = exact ? Limits{} : first_limits(type);
    Scan found = scan(pair.device, pair.bench, limits);
    if (found.good()) return within(found, "");
    if (add_kernel(pair, type, limits)) {
      found = scan(pair.device, pair.bench, limits);
      if (found.good()) return within(found, kAsMindSpore);
    }
    if (auto bound = exact || found.not_finite > 0 ? std::nullopt : product_bound(pair, type)) {
      if (auto finding = judge_product(pair, type, *bound, limits, found)) return *finding;
      if (!is_convolution()) return failed(pair, type, limits, found);
    }
    if (auto finding = judge_otherwise(pair)) return *finding;
    if (!exact) {
      if (auto finding = judge_conditioned(pair, type, limits, found)) return *finding;
    }
    return failed(pair, type, limits, found);
  }

  // Kernels may compute it otherwise than as one product: Winograd's.
  bool is_convolution() const {
    return ops::traits_of(name_.bare_name).form == ops::Form::kConvolution2d;
  }

  // Nothing where the result is not one product, or its benchmark is no better than itself.
  std::optional<ProductBound> product_bound(const Pair& pair, const FloatType& type) {
    if (pair.device.is_complex() || type.eps < kFloatEps) return std::nullopt;
    if (pair.direction == Direction::kBackward && rerun_.of_node()) return std::nullopt;
    const auto call = rerun_.arguments();
    const auto arriving = rerun_.arriving();
    if (!call || !arriving) return std::nullopt;
    auto product = pair.direction == Direction::kForward
                       ? forward_product(name_.bare_name, **call)
                       : gradient_product(name_.bare_name, **call, **arriving, pair.leaf.path);
    if (!product || ops::traits_of(name_.bare_name).form == ops::Form::kSum) return std::nullopt;
    return ProductBound::of(*std::move(product), pair.bench, type,
                            tf32_ && pair.device.scalar_type() == at::kFloat);
  }

  // Leaves in `limits` and `found` what was compared last.
  std::optional<StrictFinding> judge_product(const Pair& pair, const FloatType& type,
                                             ProductBound& bound, Limits& limits, Scan& found) {
    const bool may_cut = device_sums() != probe::DeviceSums::kRounded;
    for (const bool walked : {false, true}) {
      if (walked) bound.walk_sums();
      limits = bound.rounded(pair.device);
      found = scan(pair.device, pair.bench, limits);
      if (found.good()) return within(found, ", from the sizes of its terms");
      if (!may_cut) continue;
      const Scan cut = scan(pair.device, pair.bench, bound.cut(pair.device));
      if (!cut.good()) continue;
      if (bound.has_faulty_terms(pair.device)) return std::nullopt;
      return within(cut, kAsUnit);
    }
    if (is_half(type) && rounds_once(pair)) return std::nullopt;
    if (!add_native(pair, type, limits)) return std::nullopt;
    found = scan(pair.device, pair.bench, limits);
    if (found.good()) return within_spread(pair, limits, found, true);
    return std::nullopt;
  }

  // Of results that contain products, with the spreads measured: whether a unit gives them.
  std::optional<StrictFinding> judge_cut(const Pair& pair, const FloatType& type,
                                         const Limits& limits, const Scan& found) {
    if (!ops::is_product(ops::traits_of(name_.bare_name)) || type.eps < kFloatEps) {
      return std::nullopt;
    }
    if (pair.device.is_complex() || !limits.spreads.defined() || found.not_finite > 0 ||
        device_sums() == probe::DeviceSums::kRounded) {
      return std::nullopt;
    }
    const double terms = unit_length_of(pair);
    const Scan cut =
        scan(pair.device, pair.bench, cut_limits(type, terms, limits, pair.device, pair.bench));
    return cut.good() ? std::optional(within(cut, kAsUnit)) : std::nullopt;
  }

  probe::DeviceSums device_sums() const {
    return allowed_.device_sums ? allowed_.device_sums() : probe::DeviceSums::kUnknown;
  }

  // Whether the CPU's result in this dtype is the benchmark's but for one unit: it computes in a
  // wider type and rounds once, and so should the device.
  bool rounds_once(const Pair& pair) {
    const at::Tensor* native = conditioning_->native(pair.direction, pair.leaf.path);
    if (native == nullptr || native->sizes() != pair.bench.sizes()) return false;
    if (native->scalar_type() != pair.device.scalar_type()) return false;
    return scan(libtorch::plain(*native), pair.bench, {.units = 1}).good();
  }

  // Whether a kernel that rounds its intermediate results to this dtype could have left this: then
  // many elements are off by a unit or more, and not one alone.
  bool has_rounded_steps(const Pair& pair, Limits limits) const {
    limits.units = 1;
    const Scan found = scan(pair.device, pair.bench, limits);
    return found.beyond >= std::max(kFewElements, found.count / kShareOfMany);
  }

  // The bound with what the inputs' rounding does; then with what the CPU does in this dtype, which
  // costs one run; then with more runs. Leaves in `limits` and `found` what was compared last.
  std::optional<StrictFinding> judge_conditioned(const Pair& pair, const FloatType& type,
                                                 Limits& limits, Scan& found) {
    const double length = length_of(pair);
    const bool once = is_half(type) && found.not_finite == 0 && rounds_once(pair);
    for (const int runs : kRuns) {
      conditioning_->measure(runs);
      if (once) {
        limits = wide_limits(type, length, conditioning_->spread(pair.direction, pair.leaf.path));
        add_kernel(pair, type, limits);
        found = scan(pair.device, pair.bench, limits);
        if (found.good()) return within_spread(pair, limits, found, false);
        if (auto finding = judge_cut(pair, type, limits, found)) return finding;
        if (!has_rounded_steps(pair, limits)) continue;
      }
      limits = spread_limits(type, length, conditioning_->spread(pair.direction, pair.leaf.path));
      if (tf32_ && pair.device.scalar_type() == at::kFloat) {
        limits.spread += 2 * kIntermediates * kTf32Moves;
      }
      add_kernel(pair, type, limits);
      found = scan(pair.device, pair.bench, limits);
      if (found.good()) return within_spread(pair, limits, found, false);
      if (auto finding = judge_cut(pair, type, limits, found)) return finding;
      if (!add_native(pair, type, limits)) continue;
      const bool hopeless = found.not_finite > 0;  // no further run makes a NaN right
      found = scan(pair.device, pair.bench, limits);
      if (found.good()) return within_spread(pair, limits, found, true);
      if (hopeless) return std::nullopt;
      // Many runs, where few are likely to be enough.
      if (runs == kRuns[0] || !add_neighbours(pair, limits)) continue;
      found = scan(pair.device, pair.bench, limits);
      if (found.good()) return within_spread(pair, limits, found, true);
    }
    return std::nullopt;
  }

  StrictFinding within_spread(const Pair& pair, const Limits& limits, const Scan& found,
                              bool native) {
    if (!native) {
      return within(found, fmt::format(", from the conditioning of this call ({} runs)",
                                       conditioning_->runs()));
    }
    StrictFinding finding = within(found, ", as the CPU computes in this dtype");
    if (largest(limits.natives) > kWeakNative * 2 * terms_of(pair)) {
      finding.reason = "proves little: the CPU errs as much in this dtype; " + finding.reason;
    }
    return finding;
  }

  // What MindSpore's kernel adds. False where it adds nothing.
  bool add_kernel(const Pair& pair, const FloatType& type, Limits& limits) const {
    if (!by_mindspore_) return false;
    const KernelError error = mindspore_kernel(name_.bare_name, pair.direction, type);
    limits.relative += error.relative;
    limits.absolute += error.absolute;
    return error.any();
  }

  // False where the CPU cannot run this call in its recorded dtype.
  bool add_native(const Pair& pair, const FloatType& type, Limits& limits) {
    const at::Tensor* native = conditioning_->native(pair.direction, pair.leaf.path);
    if (native == nullptr || native->sizes() != pair.bench.sizes()) return false;
    limits.natives = native_errors(*native, pair.bench, type);
    limits.native = kNative;
    // Two results of this size can be twice as far apart.
    limits.native_cap = std::min(kNativeCapUnits * type.eps / 2, 1.0) * 2 * terms_of(pair);
    return true;
  }

  // The CPU's error at inputs next to these: at one input it may be small by chance.
  bool add_neighbours(const Pair& pair, Limits& limits) {
    const at::Tensor errors = native_error_->of(pair.direction, pair.leaf.path);
    if (!errors.defined() || errors.numel() != limits.natives.numel()) return false;
    limits.natives = at::maximum(limits.natives, errors);
    return true;
  }

  // Whether all that is wrong are elements that are NaN or infinite just as the CPU's in the same
  // dtype are: a weakness of the formula in this dtype, which says nothing of the device.
  bool formula_fails(const Pair& pair, const Scan& found) {
    if (found.not_finite == 0 || found.beyond != found.not_finite) return false;
    const at::Tensor* native = conditioning_->native(pair.direction, pair.leaf.path);
    if (native == nullptr || native->sizes() != pair.device.sizes()) return false;
    return same_specials(pair.device, *native);
  }

  StrictFinding failed(const Pair& pair, const FloatType& type, const Limits& limits,
                       const Scan& found) {
    if (formula_fails(pair, found)) {
      return {Verdict::kSkip,
              "the formula is not finite in this dtype, on the CPU neither: " +
                  excess_text(found, pair.device, pair.bench),
              ""};
    }
    Failure failure{pair.device,    pair.bench,      limits, type, pair.direction,
                    pair.leaf.path, name_.bare_name, {},     how_};
    for (const auto& [key, tensor] : bench_) {
      const bool other = key.first == pair.direction && key.second != pair.leaf.path;
      if (other && tensor.sizes() == pair.device.sizes() &&
          tensor.scalar_type() == pair.bench.scalar_type()) {
        failure.other_benches.push_back(libtorch::plain(tensor));
      }
    }
    const bool slight = found.not_finite == 0 && found.worst <= kWarningExcess;
    return {slight ? Verdict::kWarning : Verdict::kError,
            excess_text(found, pair.device, pair.bench), likely_cause(failure, rerun_),
            error_map(pair.device, pair.bench, over_bound(pair.device, pair.bench, limits))};
  }

  const dump::CallRecord& record_;
  CallName name_;
  bool tf32_;
  const StrictOptions& allowed_;
  const CallOutcome& outcome_;
  bool recorded_;
  bool wide_gradients_;  // a gradient may be wider than its input
  bool by_mindspore_;    // its kernels computed what is judged
  execute::Rerun rerun_;
  Variation how_;  // in which way the benchmark ran
  LeafTensors bench_;
  std::optional<Conditioning> conditioning_;
  std::optional<NativeError> native_error_;
  Draws draws_{rerun_};
};

bool is_alarm(const StrictFinding& finding) {
  return finding.status == Verdict::kError || finding.status == Verdict::kWarning;
}

// A wrong gradient of a right output points at the backward kernel.
void say_gradient_only(Findings& findings) {
  if (std::ranges::any_of(findings.forward, is_alarm)) return;
  for (StrictFinding& finding : findings.backward) {
    if (!is_alarm(finding)) continue;
    finding.cause += finding.cause.empty() ? "gradient only" : "; gradient only";
  }
}

}  // namespace

Findings judge_call(const dump::CallRecord& record, const execute::ExecuteOptions& options,
                    const CallOutcome& outcome, const StrictOptions& allowed) {
  CallJudge judge(record, options, outcome, allowed);
  const auto judge_all = [&](const std::vector<LeafPair>& pairs, Direction direction) {
    std::vector<StrictFinding> findings;
    findings.reserve(pairs.size());
    for (const LeafPair& pair : pairs) {
      const auto finding =
          execute::caught(SkipReason::kDeviceFailed, [&] { return judge.judge(pair, direction); });
      findings.push_back(finding ? *finding
                                 : StrictFinding{Verdict::kSkip, finding.error().text, ""});
    }
    return findings;
  };
  Findings findings{judge_all(outcome.forward, Direction::kForward),
                    judge_all(outcome.backward, Direction::kBackward)};
  say_gradient_only(findings);
  return findings;
}

}  // namespace msprobe::strict
