// SPDX-License-Identifier: Apache-2.0
// What is known of one call while its outputs are judged. What takes a run of the benchmark is done
// when it is needed, and once.
#pragma once

#include "core/call_name.h"
#include "execute/execute_call.h"
#include "execute/rerun.h"
#include "ops/op.h"
#include "strict/conditioning.h"
#include "strict/finding.h"
#include "strict/float_type.h"
#include "strict/native_error.h"
#include "strict/norm_spread.h"
#include "strict/own_benchmark.h"
#include "strict/random.h"
#include "strict/scan.h"
#include "strict/strict_options.h"

namespace msprobe::strict {

// Two tensors of one leaf, plain.
struct Pair {
  const execute::LeafPair& leaf;
  Direction direction;
  at::Tensor bench;
  at::Tensor device;
};

struct CallContext {
  // REQUIRES: all of them outlive this; `outcome` is what execute_call(record, options) gave.
  CallContext(const dump::CallRecord& record, const execute::ExecuteOptions& options,
              const execute::CallOutcome& outcome, const StrictOptions& allowed);
  CallContext(const CallContext&) = delete;
  CallContext& operator=(const CallContext&) = delete;

  ops::Traits traits() const;
  // Whether a forward result must be the rounded benchmark: the operator computes nothing.
  bool is_exact(const Pair& pair) const {
    return pair.direction == Direction::kForward && traits().exact;
  }
  // Whether the metrics pass found the result identical to the benchmark that counts here.
  bool is_identical(const Pair& pair) const;
  // Of images. A kernel may compute it otherwise than as one product: Winograd's.
  bool is_convolution() const;
  // Whether every element is made of equally many terms, by one kernel of PyTorch's: sums and
  // norms.
  bool has_even_sums(const Pair& pair) const;
  // Of a sum, how many terms of each element are not zero; undefined if that is not known. Costs
  // one run.
  at::Tensor terms_in(const Pair& pair);
  // How the device adds the terms of products of this type.
  probe::DeviceSums device_sums(const Pair& pair) const;
  // Whether the factors of this product may have been rounded to TF32.
  bool allows_tf32(const Pair& pair) const;

  // Terms that are summed for an element.
  double length_of(const Pair& pair) const;
  // Terms of the longest sum that a matrix unit adds: of what is made of several products, those
  // along the longest extents.
  double unit_length_of(const Pair& pair);
  // The size of what a result is made of: a gradient can be the small rest of large ones.
  double terms_of(const Pair& pair);
  // Of `type` and the arguments: intermediate results of a result may have another type than it.
  double coarsest_eps(const FloatType& type);

  // How far roundings of the inputs move a result, where that is known without a run: some elements
  // at a time, until `take` gives false. False where it is not known.
  bool for_derived_spreads(const Pair& pair, const NormSpread::TakeSpreads& take);

  // What the CPU gives in the recorded dtype; null if it cannot run the call so, or where the
  // shape is another one.
  const at::Tensor* native(const Pair& pair);
  // Whether that is the benchmark's but for one unit: the CPU computes in a wider type and rounds
  // once, and so should the device.
  bool rounds_once(const Pair& pair);
  // Adds what the CPU errs in this dtype. False where it cannot run the call so.
  bool add_native(const Pair& pair, const FloatType& type, Limits& limits);
  // Adds what the CPU errs at inputs next to these: at one input it may be small by chance.
  bool add_neighbours(const Pair& pair, Limits& limits);
  // Adds the rounding error of a normalisation over single elements: it computes x - x from two
  // roundings of x, which no move of x shows.
  void add_single(const Pair& pair, const FloatType& type, Limits& limits);
  // Adds what MindSpore's kernel errs. False where it adds nothing.
  bool add_kernel(const Pair& pair, const FloatType& type, Limits& limits) const;

  // What a device with HF32 may give besides the benchmark's. Costs up to two runs, once.
  const std::vector<LeafTensors>& in_hf32();

  const dump::CallRecord& record;
  const CallName name;  // PyTorch's
  const StrictOptions& allowed;
  const execute::ExecuteOptions& options;
  const execute::CallOutcome& outcome;
  const bool recorded;        // results were recorded, not computed now
  const bool wide_gradients;  // a gradient may be wider than its input
  const bool by_mindspore;    // its kernels computed what is judged
  execute::Rerun rerun;
  const Benchmark benchmark;
  Conditioning conditioning;
  NativeError native_error;
  Draws draws{rerun, benchmark.tensors, name.bare_name};

 private:
  // Null if nothing is known of this leaf without a run.
  const NormSpread* norm_spread(Direction direction, const std::string& path);
  // How far roundings of the inputs move a result, where that needs no run; undefined elsewhere.
  at::Tensor derived_spread(Direction direction, const std::string& path);

  std::optional<std::optional<NormSpread>> norm_spread_;
  std::optional<std::vector<LeafTensors>> in_hf32_;
};

// All elements are within a bound that includes what the CPU errs.
StrictFinding within_native(CallContext& context, const Pair& pair, const Tried& tried);

}  // namespace msprobe::strict
