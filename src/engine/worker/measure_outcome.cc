// SPDX-License-Identifier: Apache-2.0
#include "worker/measure_outcome.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "arguments/py_value.h"
#include "core/call_name.h"
#include "libtorch/dtypes.h"
#include "low_precision/codes.h"
#include "measure/mindspore_metrics.h"
#include "ops/op.h"

namespace msprobe::worker {
namespace {

using arguments::PyCall;
using arguments::PyValue;
using execute::LeafPair;
using protocol::CallRequest;
using protocol::LeafKind;
using protocol::MeasuredLeaf;

std::string_view class_name(const PyValue& value) {
  constexpr std::array kNames = std::to_array<std::string_view>(
      {"NoneType", "bool", "int", "float", "complex", "str", "ellipsis", "slice", "torch.Size",
       "torch.dtype", "torch.device", "torch.memory_format", "torch.layout", "torch.Tensor", "list",
       "dict"});
  static_assert(kNames.size() == std::variant_size_v<PyValue::Variant>);
  return kNames[value.data.index()];
}

PythonValue python_value(const PyValue& value) {
  if (value.is_none()) return std::monostate();
  if (const auto* flag = value.as<bool>()) return *flag;
  if (const auto* integer = value.as<std::int64_t>()) return *integer;
  if (const auto* real = value.as<double>()) return *real;
  if (const auto* pair = value.as<std::complex<double>>()) return *pair;
  if (const auto* text = value.as<std::string>()) return *text;
  return OtherValue{fmt::format("<class '{}'>", class_name(value))};
}

protocol::LeafSide side_of(const at::Tensor& tensor) {
  protocol::LeafSide side{libtorch::dtype_of(tensor.scalar_type()), tensor.sizes().vec(), {}};
  if (!side.dtype) side.value = OtherValue{libtorch::text(tensor.scalar_type())};
  return side;
}

std::uint64_t zeros_of(const at::Tensor& tensor) {
  return static_cast<std::uint64_t>(tensor.numel()) -
         static_cast<std::uint64_t>(tensor.count_nonzero().item<std::int64_t>());
}

// In which way the leaves of a call are measured.
struct How {
  const CallRequest& request;
  measure::Arithmetic arithmetic;
  bool dropout;
  bool like_mindspore;
  bool gradients;  // None says that the benchmark does not differentiate for this input
};

// Between floating types only: an integer result is never made of a floating one.
at::Tensor rounded(const at::Tensor& bench, const at::Tensor& device) {
  const bool both = at::isFloatingType(bench.scalar_type()) &&
                    at::isFloatingType(device.scalar_type()) &&
                    bench.scalar_type() != device.scalar_type();
  return both ? bench.to(device.scalar_type()) : bench;
}

// Unpacks each number.
at::Tensor one_by_one(const at::Tensor& tensor) {
  if (!low_precision::is_packed(tensor.scalar_type())) return tensor;
  return low_precision::numbers_of(tensor).to(at::kFloat);
}

void measure_tensors(MeasuredLeaf& leaf, const at::Tensor& bench_tensor,
                     const at::Tensor& device_tensor, const How& how) {
  const at::Tensor bench = one_by_one(libtorch::plain(bench_tensor));
  const at::Tensor device = one_by_one(libtorch::plain(device_tensor));
  leaf.bench = side_of(bench);
  leaf.device = side_of(device);
  if (leaf.bench.shape != leaf.device.shape) {
    leaf.kind = LeafKind::kShapesDiffer;
  } else if (!leaf.device.dtype || !leaf.bench.dtype) {
    leaf.kind = LeafKind::kTypesDiffer;
  } else {
    leaf.kind = LeafKind::kTensor;
    const measure::MeasureOptions options{
        how.request.thresholds[std::to_underlying(*leaf.device.dtype)], how.arithmetic,
        at::get_num_threads()};
    if (how.like_mindspore) {
      const at::Tensor seen = rounded(bench, device);
      leaf.metrics = measure::mindspore_metrics(libtorch::view_of(device), libtorch::view_of(seen),
                                                how.arithmetic);
    } else {
      leaf.metrics = measure::measure(libtorch::view_of(device), libtorch::view_of(bench), options);
    }
    if (how.dropout) leaf.dropout = {zeros_of(bench), zeros_of(device), {}};
  }
}

MeasuredLeaf measure_leaf(const LeafPair& pair, const How& how) {
  MeasuredLeaf leaf;
  leaf.path = pair.path;
  leaf.of_keyword = pair.of_keyword;
  const auto* bench = pair.bench.as<at::Tensor>();
  const auto* device = pair.device.as<at::Tensor>();
  if (pair.state == LeafPair::State::kDeviceMissing) {
    leaf.kind = LeafKind::kDeviceMissing;
  } else if (pair.state == LeafPair::State::kKeysDiffer) {
    leaf.kind = LeafKind::kKeysDiffer;
  } else if (pair.bench.is_none() && (pair.device.is_none() || how.gradients)) {
    leaf.kind = LeafKind::kNone;
  } else if (bench != nullptr && device != nullptr) {
    measure_tensors(leaf, *bench, *device, how);
  } else {
    leaf.kind = pair.bench.data.index() == pair.device.data.index() ? LeafKind::kValue
                                                                    : LeafKind::kTypesDiffer;
    leaf.bench.value = python_value(pair.bench);
    leaf.device.value = python_value(pair.device);
  }
  return leaf;
}

// dropout(input, p=0.5, training=True, ...), torch.dropout(input, p, train).
std::optional<double> dropout_probability(const PyCall& call) {
  const PyValue* training = call.find(2, "training");
  if (training == nullptr) training = call.find(2, "train");
  if (training != nullptr && training->as<bool>() != nullptr && !*training->as<bool>()) return 0;
  const PyValue* p = call.find(1, "p");
  if (p == nullptr) return 0.5;
  const auto* real = p->as<double>();
  if (real != nullptr) return *real;
  const auto* integer = p->as<std::int64_t>();
  return integer == nullptr ? std::nullopt : std::optional(static_cast<double>(*integer));
}

}  // namespace

protocol::MeasuredCall measure_outcome(const CallRequest& request,
                                       const execute::CallOutcome& outcome,
                                       measure::Arithmetic arithmetic, bool like_mindspore) {
  protocol::MeasuredCall call;
  call.full_name = request.full_name;
  call.float8_input = outcome.arguments.float8_input;
  call.backward_skip = outcome.backward_skip;
  call.note = outcome.note;
  call.backward_note = outcome.backward_note;
  const auto name = parse_call_name(request.full_name);
  const bool dropout = name && ops::is_dropout(ops::traits_of(name->bare_name));
  const auto probability =
      dropout ? dropout_probability(outcome.arguments.call) : std::optional<double>();
  const auto measure_all = [&](const std::vector<LeafPair>& pairs, bool gradients) {
    const How how{request, arithmetic, dropout, like_mindspore, gradients};
    std::vector<MeasuredLeaf> leaves;
    leaves.reserve(pairs.size());
    for (const LeafPair& pair : pairs) {
      leaves.push_back(measure_leaf(pair, how));
      if (leaves.back().dropout) leaves.back().dropout->probability = probability;
    }
    return leaves;
  };
  call.forward = measure_all(outcome.forward, false);
  call.backward = measure_all(outcome.backward, true);
  return call;
}

void mark_identical(const protocol::MeasuredCall& call, execute::CallOutcome& outcome) {
  const auto mark = [](const std::vector<MeasuredLeaf>& leaves, std::vector<LeafPair>& pairs) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      pairs[i].identical = leaves[i].kind == LeafKind::kTensor && leaves[i].metrics.identical;
    }
  };
  mark(call.forward, outcome.forward);
  mark(call.backward, outcome.backward);
}

void add_findings(strict::Findings findings, protocol::MeasuredCall& call) {
  const auto add = [](std::vector<StrictFinding>& found, std::vector<MeasuredLeaf>& leaves) {
    for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i].strict = std::move(found[i]);
  };
  add(findings.forward, call.forward);
  add(findings.backward, call.backward);
}

protocol::MeasuredCall skipped_call(const std::string& full_name, Skip why) {
  protocol::MeasuredCall call;
  call.full_name = full_name;
  call.skip = std::move(why);
  return call;
}

}  // namespace msprobe::worker
