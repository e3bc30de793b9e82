// SPDX-License-Identifier: Apache-2.0
// What the library offers by name to whoever has loaded it.
#include <fmt/format.h>
#include <torch/library.h>

#include "core/stable_hash.h"
#include "sim/device_memory.h"
#include "sim/session.h"
#include "sim/spoil.h"

namespace msprobe::sim {
namespace {

std::string_view direction(bool backward) { return backward ? "backward" : "forward"; }

std::string digest(const at::Tensor& tensor) {
  StableHash hash;
  hash.add(static_cast<std::uint64_t>(tensor.scalar_type()));
  for (const std::int64_t extent : tensor.sizes()) hash.add(static_cast<std::uint64_t>(extent));
  hash.add(std::string_view(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()));
  return text(hash.value());
}

void note(Session& session, bool backward, std::string_view kind, const std::string& what) {
  session.note(fmt::format("{}\t{}\t{}\t{}", kind, session.call(), direction(backward), what));
}

void note_fault(Session& session, bool backward, const FaultRule& rule) {
  note(session, backward, "fault", fmt::format("{}\t{}", row_of(rule.fault).name, rule.number));
}

at::Tensor on_cpu(const at::Tensor& tensor) {
  return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous();
}

bool is_plain(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && !tensor.is_quantized() &&
         !tensor._is_zerotensor();
}

void begin(bool backward) {
  Session& session = Session::get();
  for (const FaultRule* rule : session.struck_call(backward)) {
    if (!ends_call(rule->fault)) continue;
    note_fault(session, backward, *rule);
    end_call(rule->fault);
  }
}

void end(std::vector<at::Tensor>& results, bool backward) {
  Session& session = Session::get();
  std::vector<at::Tensor> seen;
  for (const at::Tensor& result : results) {
    seen.push_back(is_plain(result) ? on_cpu(result) : at::Tensor());
  }
  const std::vector<at::Tensor> right = seen;
  const std::uint64_t key = StableHash().add(session.call()).add(session.seed()).value().low;
  for (const FaultRule* rule : session.struck_call(backward)) {
    if (spoil(*rule, seen, key)) note_fault(session, backward, *rule);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (right[i].defined() && !right[i].is_same(seen[i])) {
      results[i] = seen[i].defined() ? seen[i].to(results[i].device()) : at::Tensor();
    }
    if (seen[i].defined() && session.logs())
      note(session, backward, "result", fmt::format("{}\t{}", i, digest(seen[i])));
  }
}

// The same for scripts in plain PyTorch: torch.ops.msprobe_sim.
void begin_from_script(const std::string& call, bool backward) {
  Session::get().begin_call(call);
  begin(backward);
}

std::vector<at::Tensor> end_from_script(const c10::List<std::optional<at::Tensor>>& results,
                                        bool backward) {
  std::vector<at::Tensor> seen;
  for (const std::optional<at::Tensor>& result : results.vec()) {
    seen.push_back(result.value_or(at::Tensor()));
  }
  end(seen, backward);
  return seen;
}

}  // namespace
}  // namespace msprobe::sim

TORCH_LIBRARY(msprobe_sim, library) {
  library.def("begin_call(str call, bool backward) -> ()", &msprobe::sim::begin_from_script);
  library.def("end_call(Tensor?[] results, bool backward) -> Tensor[]",
              &msprobe::sim::end_from_script);
}

// Where a process does not say how the device is, the environment does (session.h). Gives the
// error, or null.
extern "C" __attribute__((visibility("default"))) const char* msprobe_sim_configure(
    const char* profile, const char* config, const char* log) {
  static std::string problem;
  const auto set = msprobe::sim::Session::get().configure({profile, config, log});
  problem = set ? "" : set.error().message;
  return set ? nullptr : problem.c_str();
}

// Operators without a kernel of their own are computed by the fallback, in the device's arithmetic.
extern "C" __attribute__((visibility("default"))) const bool msprobe_device_own_fallback = true;

// A call begins: one direction of it. Throws what the device throws.
extern "C" __attribute__((visibility("default"))) void msprobe_device_begin(const char* call,
                                                                            bool backward) {
  msprobe::sim::Session::get().begin_call(call);
  msprobe::sim::begin(backward);
}

// The call has ended with these results (undefined if not a tensor); they may be changed.
extern "C" __attribute__((visibility("default"))) void msprobe_device_end(
    std::vector<at::Tensor>* results, bool backward) {
  msprobe::sim::end(*results, backward);
}
