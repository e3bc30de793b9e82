// Where the runs of a comparison part: collects the ranks of a step while their dumps are compared,
// then asks once for all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "divergence/first_divergence.h"
#include "divergence/read_run.h"
#include "dump_compare/compare.h"
#include "dump_compare/inputs.h"

namespace msprobe::app {

class DivergenceSearch {
 public:
  // Begins a rank. The dumps stay open until the step is done. Once a step has an answer, later
  // ones are not looked at.
  void start(const dump_compare::DumpPair& pair, std::string target_as_given,
             std::shared_ptr<const dump_compare::OpenDumps> dumps, int threads);
  // Rows of real data: what their files say decides instead of recorded statistics.
  void add(const dump_compare::EntryRows& rows);
  // The last step is complete.
  void finish();

  // Nothing: there was nothing to search in.
  const std::optional<divergence::DivergenceReport>& report() const { return report_; }
  std::int64_t step() const { return step_; }

 private:
  struct Rank {
    std::shared_ptr<const dump_compare::OpenDumps> dumps;
    divergence::RecordedRun target;
    divergence::RecordedRun golden;
    int number = 0;
    std::string target_dump;
    std::unordered_map<std::uint64_t, double> measured;  // by the names of both items
  };
  std::optional<double> measured(const Rank& rank, std::uint32_t target_call,
                                 const divergence::Tensor& target, std::uint32_t golden_call,
                                 const divergence::Tensor& golden) const;

  std::vector<std::unique_ptr<Rank>> ranks_;
  std::int64_t current_ = -1;
  std::int64_t step_ = 0;
  std::optional<divergence::DivergenceReport> report_;
};

}  // namespace msprobe::app
