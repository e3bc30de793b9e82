// SPDX-License-Identifier: Apache-2.0
#include "strict/call_context.h"

#include <algorithm>
#include <cmath>

#include "execute/replay_dialect.h"
#include "execute/user_functions.h"
#include "execute/value_tree.h"
#include "libtorch/dtypes.h"
#include "strict/bound.h"
#include "strict/explain.h"
#include "strict/mindspore_kernel.h"
#include "strict/reduction_length.h"
#include "strict/result_type.h"

namespace msprobe::strict {
namespace {

// The CPU's own error explains nothing beyond this many u of the largest term, nor beyond that
// term: a kernel that far off is wrong, wherever it runs.
constexpr double kNativeCapUnits = 16384;
// The bound is at least this many spreads; see spread_limits.
constexpr double kLeastSpreads = kIntermediates + kSumOfTerms;

double largest_of(const at::Tensor& tensor) {
  return real_parts(tensor).abs().nan_to_num_(0, 0, 0).max().item<double>();
}

// Of a gradient and its result, element by element.
double largest_product_of(const at::Tensor& gradient, const at::Tensor& result) {
  const auto sizes = [](const at::Tensor& all) {
    return libtorch::plain(all).abs().to(at::kDouble);
  };
  return largest_of(sizes(gradient) * sizes(result));
}

// What a normalisation adds to the variance: `eps`, the only fractional number among the arguments
// of the norms that add_single() is for.
double added_variance(const arguments::PyCall& call) {
  constexpr double kUsual = 1e-5;
  double found = kUsual;
  const auto look = [&](const arguments::PyValue& value) {
    if (const auto* number = value.as<double>(); number != nullptr && *number > 0) found = *number;
  };
  for (const auto& value : call.args) look(value);
  for (const auto& [key, value] : call.kwargs) look(value);
  return found;
}

// By how much every argument moves besides, as MindSpore's kernel does.
double argument_move(const CallContext& context) {
  if (!context.by_mindspore) return 0;
  return mindspore_kernel(context.name.bare_name, Direction::kForward, {}).argument / kLeastSpreads;
}

}  // namespace

CallContext::CallContext(const dump::CallRecord& the_record,
                         const execute::ExecuteOptions& the_options,
                         const execute::CallOutcome& the_outcome, const StrictOptions& the_allowed)
    : record(the_record),
      name(the_options.dialect->torch_name(*parse_call_name(the_record.full_name))),
      allowed(the_allowed),
      options(the_options),
      outcome(the_outcome),
      recorded(options.recorded),
      wide_gradients(options.dialect->like_mindspore),
      by_mindspore(options.dialect->like_mindspore &&
                   (options.recorded || options.foreign != nullptr)),
      rerun(the_record, options, the_outcome.backward_node),
      benchmark(benchmark_of(name, the_outcome, options, rerun)),
      conditioning(rerun, the_record.full_name, benchmark.tensors, benchmark.how,
                   argument_move(*this), traits().form != ops::Form::kOther && !rerun.of_node()),
      native_error(rerun, the_record.full_name, benchmark.how) {
  if (!outcome.arriving.empty()) rerun.take_arriving(outcome.arriving);
  const bool as_built = !outcome.arguments.float8_input && outcome.note.empty();
  if (allowed.device_is_cpu && as_built && !benchmark.how.target) {
    conditioning.set_native(tensors_of(outcome, Side::kDevice));
  }
  conditioning.set_derived([this](Direction direction, const std::string& path) {
    return derived_spread(direction, path);
  });
}

const std::vector<LeafTensors>& CallContext::in_hf32() {
  if (!in_hf32_) in_hf32_ = benchmarks_in_hf32(name, outcome, options, rerun);
  return *in_hf32_;
}

const NormSpread* CallContext::norm_spread(Direction direction, const std::string& path) {
  const bool is_norm = name.type == "Functional" && traits().sums == ops::Sums::kPerChannel;
  if (!is_norm || wide_gradients) return nullptr;
  const auto bench = benchmark.tensors.find({direction, path});
  if (bench == benchmark.tensors.end() || bench->second.scalar_type() != at::kDouble) {
    return nullptr;
  }
  if (direction == Direction::kForward ? path != "0" : rerun.of_node()) return nullptr;
  if (!norm_spread_) {
    const auto* arriving =
        outcome.arriving.empty() ? nullptr : outcome.arriving.front().as<at::Tensor>();
    norm_spread_ =
        NormSpread::of(outcome.arguments.call, arriving == nullptr ? at::Tensor() : *arriving);
  }
  return *norm_spread_ ? &**norm_spread_ : nullptr;
}

at::Tensor CallContext::derived_spread(Direction direction, const std::string& path) {
  const NormSpread* norm = norm_spread(direction, path);
  if (norm == nullptr) return {};
  return direction == Direction::kForward
             ? norm->of_result()
             : norm->of_gradient(input_at(outcome.arguments.call, path));
}

bool CallContext::for_derived_spreads(const Pair& pair, const NormSpread::TakeSpreads& take) {
  const NormSpread* norm = norm_spread(pair.direction, pair.leaf.path);
  if (norm == nullptr) return false;
  if (pair.direction == Direction::kForward) {
    norm->for_result(take);
    return true;
  }
  if (!norm->is_input(input_at(outcome.arguments.call, pair.leaf.path))) return false;
  norm->for_gradient_of_input(take);
  return true;
}

ops::Traits CallContext::traits() const { return ops::traits_of(name.bare_name); }

bool CallContext::is_identical(const Pair& pair) const {
  const auto* measured = pair.leaf.bench.as<at::Tensor>();
  if (!pair.leaf.identical || measured == nullptr) return false;
  const auto bench = benchmark.tensors.find({pair.direction, pair.leaf.path});
  return bench != benchmark.tensors.end() && bench->second.is_same(*measured);
}

bool CallContext::is_convolution() const { return traits().form == ops::Form::kConvolution2d; }

bool CallContext::has_even_sums(const Pair& pair) const {
  if (pair.device.scalar_type() != at::kFloat || by_mindspore) return false;
  switch (traits().sums) {
    case ops::Sums::kLastExtent:
    case ops::Sums::kPerChannel:
    case ops::Sums::kPerInstance:
    case ops::Sums::kPerGroup:
    case ops::Sums::kNormalizedShape:
      return true;
    default:
      return traits().form == ops::Form::kSum;
  }
}

at::Tensor CallContext::terms_in(const Pair& pair) {
  if (traits().form != ops::Form::kSum || pair.direction == Direction::kBackward) return {};
  execute::Variation ones = benchmark.how;
  ones.forward_only = true;
  ones.change = [](const at::Tensor& tensor, at::ScalarType) {
    return tensor.ne(0).to(tensor.scalar_type());
  };
  const auto leaves = rerun.run(ones);
  const LeafTensors counts = leaves ? tensors_of(*leaves) : LeafTensors{};
  const auto found = counts.find({pair.direction, pair.leaf.path});
  const bool fits = found != counts.end() && found->second.sizes() == pair.bench.sizes();
  return fits ? found->second.to(at::kDouble) : at::Tensor();
}

probe::DeviceSums CallContext::device_sums(const Pair& pair) const {
  return allowed.device_sums ? allowed.device_sums(pair.device.scalar_type())
                             : probe::DeviceSums::kUnknown;
}

bool CallContext::allows_tf32(const Pair& pair) const {
  const bool wanted = options.replay().allow_tf32 || rounds_to_tf32(allowed.card);
  return wanted && ops::is_product(traits()) && pair.device.scalar_type() == at::kFloat;
}

double CallContext::length_of(const Pair& pair) const {
  const auto* first =
      outcome.forward.empty() ? nullptr : outcome.forward.front().bench.as<at::Tensor>();
  const double length = reduction_length(name.bare_name, outcome.arguments.call,
                                         first == nullptr ? 1 : first->numel(), pair.device.numel(),
                                         pair.direction == Direction::kBackward);
  // What a function of the user's sums, nobody knows: along one extent at least.
  const bool unknown = ops::find(name.bare_name) == nullptr && options.user != nullptr &&
                       options.user->reference(api_of(record.full_name)) != nullptr;
  return unknown ? std::max(length, longest_extent_of(outcome.arguments.call)) : length;
}

double CallContext::unit_length_of(const Pair& pair) {
  const auto call = rerun.arguments();
  const bool composed = traits().sums == ops::Sums::kAll;
  return call && composed ? 2 * longest_extent_of(**call) : length_of(pair);
}

double CallContext::terms_of(const Pair& pair) {
  double size = largest_of(pair.bench);
  const auto arriving = rerun.arriving();
  if (pair.direction == Direction::kForward || !arriving) return size;
  double of_results = 0;
  for (std::size_t i = 0; i < (*arriving)->size(); ++i) {
    const auto* gradient = (**arriving)[i].as<at::Tensor>();
    if (gradient == nullptr || gradient->numel() == 0) continue;
    size = std::max(size, largest_of(*gradient));
    const auto* result =
        i < outcome.forward.size() ? outcome.forward[i].bench.as<at::Tensor>() : nullptr;
    if (result == nullptr || result->sizes() != gradient->sizes()) continue;
    of_results = std::max(of_results, largest_product_of(*gradient, *result));
  }
  const auto call = rerun.arguments();
  if (!call || rerun.of_node()) return size;
  // Where the result is in proportion to an input, their quotient is the gradient: of that size are
  // the terms, even if they cancel, as where a weight is divided by the sum of all weights.
  const at::Tensor input = input_at(**call, pair.leaf.path);
  const double largest = input.defined() && input.numel() > 0 ? largest_of(input) : 0;
  return largest > 0 ? std::max(size, of_results / largest) : size;
}

double CallContext::coarsest_eps(const FloatType& type) {
  double coarsest = type.eps;
  const auto look = [&](const at::Tensor& tensor) {
    if (const auto other = float_type(rerun.recorded_type(tensor))) {  // what autocast makes of it
      coarsest = std::max(coarsest, other->eps);
    }
  };
  if (const auto call = rerun.arguments()) {
    for (const auto& value : (*call)->args) execute::for_each_tensor(value, look);
    for (const auto& [key, value] : (*call)->kwargs) execute::for_each_tensor(value, look);
  }
  return coarsest;
}

const at::Tensor* CallContext::native(const Pair& pair) {
  const at::Tensor* native = conditioning.native(pair.direction, pair.leaf.path);
  return native == nullptr || native->sizes() != pair.bench.sizes() ? nullptr : native;
}

bool CallContext::rounds_once(const Pair& pair) {
  const at::Tensor* given = native(pair);
  if (given == nullptr || given->scalar_type() != pair.device.scalar_type()) return false;
  return scan(libtorch::plain(*given), pair.bench, {.units = 1}).good();
}

bool CallContext::add_native(const Pair& pair, const FloatType& type, Limits& limits) {
  const at::Tensor* given = native(pair);
  if (given == nullptr) return false;
  limits.natives = native_errors(*given, pair.bench, type);
  limits.add(Of::kNative, kNative, "min(4 e, c)");
  // Two results of this size can be twice as far apart.
  limits.native_cap = std::min(kNativeCapUnits * coarsest_eps(type) / 2, 1.0) * 2 * terms_of(pair);
  return true;
}

bool CallContext::add_neighbours(const Pair& pair, Limits& limits) {
  const at::Tensor errors = native_error.of(pair.direction, pair.leaf.path);
  if (!errors.defined() || errors.numel() != limits.natives.numel()) return false;
  limits.natives = at::maximum(limits.natives, errors);
  return true;
}

void CallContext::add_single(const Pair& pair, const FloatType& type, Limits& limits) {
  const ops::Sums sums = traits().sums;
  if (sums != ops::Sums::kNormalizedShape && sums != ops::Sums::kPerGroup) return;
  const auto call = rerun.arguments();
  const auto arriving = rerun.arriving();
  const auto* input =
      !call || (*call)->args.empty() ? nullptr : (*call)->args.front().as<at::Tensor>();
  if (input == nullptr || input->numel() == 0 || !arriving ||
      reduction_length(name.bare_name, **call, 1, input->numel(), false) > 1) {
    return;
  }
  double size = kResultEps * type.accumulator_eps / std::sqrt(added_variance(**call));
  const auto times = [&](const arguments::PyValue* value) {
    const auto* tensor = value == nullptr ? nullptr : value->as<at::Tensor>();
    if (tensor != nullptr && tensor->numel() > 0) size *= std::max(1.0, largest_of(*tensor));
  };
  constexpr std::size_t kWeight = 2;  // input, shape or number of groups, weight
  times(&(*call)->args.front());
  times((*call)->find(kWeight, "weight"));
  if (pair.direction == Direction::kBackward) {
    for (const auto& value : **arriving) times(&value);
    size *= static_cast<double>(input->numel()) / static_cast<double>(pair.device.numel());
  }
  limits.add(Of::kOne, size, "4 eps_a |x| |weight| / sqrt(added variance)");
}

bool CallContext::add_kernel(const Pair& pair, const FloatType& type, Limits& limits) const {
  if (!by_mindspore) return false;
  const KernelError error = mindspore_kernel(name.bare_name, pair.direction, type);
  if (error.relative > 0) limits.add(Of::kBench, error.relative, "D |b|");
  if (error.absolute > 0) limits.add(Of::kOne, error.absolute, "2 eps");
  return error.any();
}

StrictFinding within_native(CallContext& context, const Pair& pair, const Tried& tried) {
  // From this share of the largest term on it explains, but little is proven.
  constexpr double kWeakNative = 1.0 / 16;
  StrictFinding finding = within(tried.found, ", as the CPU computes in this dtype");
  if (largest_of(tried.limits.natives) > kWeakNative * 2 * context.terms_of(pair)) {
    doubt(finding, "the CPU errs as much in this dtype");
  }
  add_explanation(context, pair, tried.limits, "the CPU's own error", context.length_of(pair),
                  finding);
  return finding;
}

}  // namespace msprobe::strict
