// Where the runs of a comparison part: collects the ranks of a step while their dumps are compared,
// then asks once for all of them.
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
#include "divergence/read_run.h"
#include "dump_compare/compare.h"
#include "dump_compare/inputs.h"

namespace msprobe::app {

class DivergenceSearch {
 public:
  // Begins a rank. Once a step has an answer, later ones are not looked at.
  void start(const dump_compare::DumpPair& pair, std::string target_as_given);
  // The entries of both dumps, as they are read. Of real data, what the files say decides instead
  // of recorded statistics.
  void add(std::span<const dump_compare::EntryRows> block, dump_compare::Mode mode, int threads);
  // The last step is complete.
  void finish();

  // Nothing: there was nothing to search in.
  const std::optional<divergence::DivergenceReport>& report() const { return report_; }
  std::int64_t step() const { return step_; }
  // "introduces", "inherits", "agrees", "target only"; what is doubtful, and steps that were not
  // looked at, have none: "N/A".
  std::string_view role(const dump_compare::DumpPair& pair, std::string_view entry) const;

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
    std::unordered_map<std::uint64_t, double> measured;  // by the names of both items
  };
  void keep_roles(const Rank& rank, const divergence::RankResult& result);
  static void add_files(const dump_compare::EntryRows& rows, Rank& rank);
  std::optional<double> measured(const Rank& rank, std::uint32_t target_call,
                                 const divergence::Tensor& target, std::uint32_t golden_call,
                                 const divergence::Tensor& golden) const;

  std::vector<std::unique_ptr<Rank>> ranks_;
  std::int64_t current_ = -1;
  std::int64_t step_ = 0;
  std::optional<divergence::DivergenceReport> report_;
  // Of the calls that do not agree, by step and rank.
  using Roles = std::unordered_map<std::string, std::string_view, TextHash, std::equal_to<>>;
  std::map<std::pair<std::int64_t, std::int64_t>, Roles> roles_;
};

}  // namespace msprobe::app
