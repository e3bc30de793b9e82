// SPDX-License-Identifier: Apache-2.0
// Searches for the first divergence of a comparison: collects the ranks of a step while their dumps
// are compared, then asks once for all of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "divergence/first_divergence.h"
#include "divergence/flow.h"
#include "divergence/read_run.h"
#include "dump_compare/compare_dumps.h"
#include "dump_compare/inputs.h"

namespace msprobe::dump_compare {

class DivergenceSearch {
 public:
  // Begins a rank. Once a step has an answer, later ones are not looked at.
  void start(const DumpPair& pair, std::string target_as_given, const CompareStart& start);
  // The entries of both dumps, as they are read. Of real data, what the files say decides instead
  // of recorded statistics.
  void add(std::span<const EntryRows> block, DataMode mode, int threads);
  // The last step is complete.
  void finish();

  // Nothing: there was nothing to search in.
  const std::optional<divergence::DivergenceReport>& report() const { return report_; }
  std::int64_t step() const { return step_; }
  // "introduces", "inherits", "agrees", "target only"; what is doubtful, and steps that were not
  // looked at, have none: "N/A".
  std::string_view role(const DumpPair& pair, std::string_view entry) const;

  // Calls of the target, and which of them reads from which.
  struct Flow {
    std::vector<std::string> entries;
    std::vector<divergence::FlowEdge> edges;  // indices of entries
  };
  // For ranks that are looked at from now on.
  void keep_flow() { keeps_flow_ = true; }
  // Null: it was not kept, or the step was not looked at.
  const Flow* flow(std::int64_t step, std::int64_t rank) const;

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  struct Rank {
    divergence::Trace target;
    divergence::Trace golden;
    int number = 0;
    std::string target_dump;
    divergence::Companions open;
    std::unordered_map<std::uint64_t, double> measured;  // by the names of both items
  };
  void keep_flow_of(const Rank& rank);
  void keep_roles(const Rank& rank, const divergence::RankResult& result);
  static void add_files(const EntryRows& rows, Rank& rank);
  std::optional<double> measured(const Rank& rank, std::uint32_t target_call,
                                 const divergence::RunTensor& target, std::uint32_t golden_call,
                                 const divergence::RunTensor& golden) const;

  std::vector<std::unique_ptr<Rank>> ranks_;
  std::int64_t current_ = -1;
  std::int64_t step_ = 0;
  std::optional<divergence::DivergenceReport> report_;
  // Roles of the calls that do not agree, by step and rank.
  using Roles = std::unordered_map<std::string, std::string_view, TextHash, std::equal_to<>>;
  std::map<std::pair<std::int64_t, std::int64_t>, Roles> roles_;
  bool keeps_flow_ = false;
  std::map<std::pair<std::int64_t, std::int64_t>, Flow> flows_;
};

}  // namespace msprobe::dump_compare
