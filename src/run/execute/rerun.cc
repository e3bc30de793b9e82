// SPDX-License-Identifier: Apache-2.0
#include "execute/rerun.h"

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include "execute/caught.h"
#include "execute/mutated.h"
#include "execute/replay_dialect.h"
#include "execute/scaled_operators.h"
#include "execute/user_functions.h"
#include "execute/value_tree.h"
#include "libtorch/autograd.h"
#include "ops/op.h"

namespace msprobe::execute {
namespace {

std::vector<Leaf> leaves_of(const PyValue& output, std::string_view bare_name) {
  const auto* list = output.as<PyList>();
  const bool first_only =
      ops::traits_of(bare_name).first_output_only && list != nullptr && !list->empty();
  const PyValue& seen = first_only ? list->front() : output;
  std::vector<Leaf> leaves;
  for (LeafPair& pair : pair_leaves(seen, seen)) {
    leaves.push_back({std::move(pair.path), std::move(pair.bench)});
  }
  return leaves;
}

// Whether numbers were drawn since the generator got its seed: a fresh engine is at its start.
bool has_drawn() {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  const std::lock_guard lock(generator.mutex());
  const at::mt19937_data_pod state =
      at::check_generator<at::CPUGeneratorImpl>(generator)->engine().data();
  return state.left_ != 1 || state.next_ != 0;
}

PyList changed(const PyList& arriving, const TensorChange& change) {
  if (!change) return arriving;
  PyList list;
  for (const PyValue& value : arriving) {
    const auto* tensor = value.as<at::Tensor>();
    const bool floats = tensor != nullptr && (tensor->is_floating_point() || tensor->is_complex());
    if (!floats) {
      list.push_back(value);
      continue;
    }
    const at::ScalarType wide = tensor->is_complex() ? at::kComplexDouble : at::kDouble;
    list.push_back({change(tensor->detach().to(wide, false, true), tensor->scalar_type())});
  }
  return list;
}

void watch_only(const std::string& path, CallSide& side) {
  for (std::size_t i = 0; i < side.inputs.size(); ++i) {
    if (fmt::format("{}", i) != path) side.inputs[i].edge = {};
  }
}

}  // namespace

Rerun::Rerun(const dump::CallRecord& record, const ExecuteOptions& options,
             std::optional<NodePlace> node)
    : record_(record),
      options_(options),
      recorded_name_(*parse_call_name(record.full_name)),
      name_(options.dialect->torch_name(recorded_name_)),
      node_(std::move(node)) {
  if (options.user != nullptr) reference_ = options.user->reference(api_of(record.full_name));
}

OrSkip<PyCall> Rerun::built(bool adjust) const {
  arguments::BuildOptions how = options_.arguments;
  how.adjust = how.adjust && adjust;
  const auto caught_call = caught(SkipReason::kBenchFailed, [&] {
    return arguments::build_arguments(record_, name_.bare_name, how);
  });
  if (!caught_call) return std::unexpected(caught_call.error());
  if (!*caught_call) return std::unexpected(caught_call->error());
  return (*caught_call)->call;
}

OrSkip<const PyCall*> Rerun::arguments() {
  if (!call_) call_ = built(true);
  if (!*call_) return std::unexpected(call_->error());
  return &**call_;
}

OrSkip<const PyList*> Rerun::arriving() {
  if (!arriving_) {
    arriving_ = record_.backward ? arguments::build_gradients(record_, options_.arguments)
                                 : OrSkip<PyList>(PyList{});
  }
  if (!*arriving_) return std::unexpected(arriving_->error());
  return &**arriving_;
}

const Precision& Rerun::precision() {
  if (!precision_) {
    const auto call = arguments();
    precision_ = call ? precision_of(**call, record_, name_, options_.replay().hf32) : Precision{};
    precision_->raise = precision_->raise && options_.raise;
    if (reference_ != nullptr) precision_->target = at::kDouble;
  }
  return *precision_;
}

at::ScalarType Rerun::recorded_type(const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  return precision().round_inputs && type == at::kFloat ? *precision().autocast : type;
}

Precision Rerun::precision_for(const Variation& variation) {
  Precision how = precision();
  how.raise = how.raise && variation.raise;
  if (variation.target) how.target = *variation.target;
  if (!variation.raise) how.round_inputs = false;
  return how;
}

at::ScalarType Rerun::raised_type(at::ScalarType type, const Variation& variation) {
  return precision_for(variation).raised(type);
}

PyValue Rerun::compared(const PyValue& output) const {
  if (options_.user == nullptr || !call_ || !*call_) return output;
  return options_.user->compared(api_of(record_.full_name), output, **call_);
}

OrSkip<Leaves> Rerun::run(const Variation& variation) {
  // Of random results, the statistics take as many runs as they take.
  if (reference_ != nullptr && !drawn_ && runs_ >= options_.replay().reference_runs) {
    return skip(SkipReason::kReferenceFailed, "the reference has run as often as it may");
  }
  ++runs_;
  const OrSkip<const PyCall*> given = arguments();
  if (!given) return std::unexpected(given.error());
  OrSkip<PyCall> edited = variation.adjust ? OrSkip<PyCall>(**given) : built(false);
  if (!edited) return std::unexpected(edited.error());
  if (variation.edit) variation.edit(*edited);

  const Precision how = precision_for(variation);
  const OrSkip<const PyList*> gradients = arriving();
  const bool backward = record_.backward.has_value() && gradients && !(*gradients)->empty();
  SideOptions run{variation.seed.value_or(options_.replay().seed), {}, at::kCPU};
  if (!variation.raise) run.autocast = how.autocast;

  OrSkip<CallSide> side = caught(SkipReason::kBenchFailed, [&] {
    return bench_side(*edited, how, backward, in_layout(variation.change));
  });
  if (!side) return std::unexpected(side.error());
  const TensorChange& change_arriving =
      variation.change_arriving ? variation.change_arriving : variation.change;
  const Api* api = variation.raise ? find_benchmark(name_.bare_name) : nullptr;
  if (reference_ != nullptr) api = reference_;
  if (api == nullptr) api = options_.dialect->find(recorded_name_.type, recorded_name_.bare_name);
  if (api == nullptr) return skip(SkipReason::kNoBench, "there is no benchmark");
  const OrSkip<PyValue> output = run_forward(*api, *side, run, SkipReason::kBenchFailed);
  if (!output) return std::unexpected(output.error());
  const bool drawn = has_drawn();
  drawn_ = drawn_ || drawn;
  const auto all = caught(SkipReason::kBenchFailed, [&] {
    return compared(with_mutated(*output, mutated_arguments(side->call, record_.forward.mutated)));
  });
  if (!all) return std::unexpected(all.error());
  Leaves leaves{leaves_of(*all, name_.bare_name), {}, drawn};
  if (!backward || variation.forward_only) return leaves;
  if (variation.only_gradient) watch_only(*variation.only_gradient, *side);
  const PyList weights = changed(**gradients, change_arriving);
  const std::vector<at::Tensor> found = this->gradients(*side, *output, weights);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].defined()) leaves.backward.push_back({fmt::format("{}", i), {found[i]}});
  }
  return leaves;
}

TensorChange Rerun::in_layout(const TensorChange& change) const {
  if (!node_ || node_->layout == Layout::kContiguous) return change;
  return [&change, layout = node_->layout](const at::Tensor& raised, at::ScalarType recorded) {
    return laid_out(change ? change(raised, recorded) : raised, layout);
  };
}

// None if there are none; those of another node than the one compared say nothing.
std::vector<at::Tensor> Rerun::gradients(const CallSide& side, const PyValue& output,
                                         const PyList& arriving) const {
  libtorch::LastNode last;
  const auto found =
      run_backward(side, output, arriving, SkipReason::kBenchFailed, node_ ? &last : nullptr);
  if (!found) return {};
  if (!node_) return *found;
  return last.name == node_->name ? last.gradients : std::vector<at::Tensor>();
}

}  // namespace msprobe::execute
