// SPDX-License-Identifier: Apache-2.0
// Faults put into recorded runs, whose structure is then disturbed: which call is named?
#include <algorithm>
#include <random>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <gtest/gtest.h>

#include "divergence/classify.h"
#include "divergence/read_run.h"

namespace msprobe::divergence {
namespace {

Trace recorded(const std::string& name) {
  const std::string path = std::string(MSPROBE_SOURCE_DIR) + "/tests/data/dumps/" + name;
  const auto index = dump::open_entries(path + "/dump.json");
  EXPECT_TRUE(index) << index.error().message;
  return read_run(*index, name).run;
}

class Planter {
 public:
  Planter(const Trace& golden, unsigned seed) : golden_(golden), random_(seed) {
    target_.calls = golden.calls;
    target_.tensors = golden.tensors;
  }

  // Puts in a fault and returns the call that has it.
  std::string_view plant() {
    const std::vector<std::uint32_t> choices = fresh_calls();
    const std::uint32_t at = choices[random_() % choices.size()];
    std::unordered_set<std::uint64_t> before, bad;
    for (std::uint32_t i = 0; i <= at; ++i) add(before, golden_.inputs(golden_.calls[i]));
    for (std::uint32_t i = 0; i < at; ++i) add(before, golden_.outputs(golden_.calls[i]));
    spread(golden_.calls[at], before, bad);
    for (std::uint32_t i = at + 1; i < golden_.calls.size(); ++i) {
      const auto inputs = golden_.inputs(golden_.calls[i]);
      if (std::ranges::any_of(inputs,
                              [&](const RunTensor& t) { return bad.contains(t.identity); })) {
        spread(golden_.calls[i], before, bad);
      }
    }
    change(bad);
    return golden_.calls[at].entry;
  }

  void change(const std::unordered_set<std::uint64_t>& bad) {
    std::unordered_map<std::uint64_t, std::array<double, 4>> factors;
    for (RunTensor& tensor : target_.tensors) {
      if (tensor.values != Values::kReal || !tensor.has_norm || !std::isfinite(tensor.norm)) {
        continue;
      }
      const auto [known, is_new] = factors.try_emplace(tensor.identity);
      if (is_new) {
        for (double& factor : known->second) factor = draw(bad.contains(tensor.identity));
      }
      tensor.max *= known->second[0];
      tensor.min *= known->second[1];
      tensor.mean *= known->second[2];
      tensor.norm *= known->second[3];
      tensor.identity = mix(tensor.identity, 99);
    }
  }

  // A fifth of the other calls is removed, doubled, renamed or computed again much later.
  void disturb(std::string_view spared) {
    std::vector<Call> calls, later;
    for (const Call& call : target_.calls) {
      const bool hit = call.entry != spared && random_() % 5 == 0;
      const unsigned kind = hit ? random_() % 4 : 4;
      if (kind == 0) continue;
      calls.push_back(call);
      if (kind == 1) calls.push_back(call);
      if (kind == 2) calls.back().name = mix(call.name, 5);
      if (kind == 3) later.push_back(call);
      if (later.size() == 20) {
        calls.insert(calls.end(), later.begin(), later.end());
        later.clear();
      }
    }
    target_.calls = std::move(calls);
  }

  std::string_view answer() const {
    const Alignment alignment = align(target_, golden_, false);
    const Classified classified = classify(target_, golden_, alignment, false);
    const Event* const first = first_event(classified);
    return first == nullptr ? std::string_view() : target_.calls[first->call].entry;
  }

 private:
  static bool can_be_wrong(const RunTensor& tensor) {
    return tensor.values == Values::kReal && tensor.has_norm && tensor.norm > 1e-30;
  }

  static void add(std::unordered_set<std::uint64_t>& set, std::span<const RunTensor> tensors) {
    for (const RunTensor& tensor : tensors) set.insert(tensor.identity);
  }

  void spread(const Call& call, const std::unordered_set<std::uint64_t>& before,
              std::unordered_set<std::uint64_t>& bad) const {
    for (const RunTensor& tensor : golden_.outputs(call)) {
      if (can_be_wrong(tensor) && !before.contains(tensor.identity)) bad.insert(tensor.identity);
    }
  }

  // Calls whose output is seen there for the first time.
  std::vector<std::uint32_t> fresh_calls() const {
    std::vector<std::uint32_t> fresh;
    std::unordered_set<std::uint64_t> seen;
    for (std::uint32_t i = 0; i < golden_.calls.size(); ++i) {
      add(seen, golden_.inputs(golden_.calls[i]));
      const auto outputs = golden_.outputs(golden_.calls[i]);
      if (std::ranges::any_of(outputs, [&](const RunTensor& tensor) {
            return can_be_wrong(tensor) && !seen.contains(tensor.identity);
          })) {
        fresh.push_back(i);
      }
      add(seen, outputs);
    }
    return fresh;
  }

  double draw(bool wrong) {
    if (!wrong) return 1 + std::normal_distribution<double>(0, 1e-6)(random_);
    const double share = std::uniform_real_distribution<double>(0.1, 0.6)(random_);
    return random_() % 2 == 0 ? 1 + share : 1 - share;
  }

  const Trace& golden_;
  Trace target_;
  std::mt19937 random_;
};

class EveryRecording : public testing::TestWithParam<std::string> {};

TEST_P(EveryRecording, NamesThePlantedCall) {
  const Trace golden = recorded(GetParam());
  for (unsigned seed = 0; seed < 150; ++seed) {
    Planter planter(golden, seed);
    const std::string_view planted = planter.plant();
    planter.disturb(planted);
    EXPECT_EQ(planter.answer(), planted) << "seed " << seed;
  }
}

TEST_P(EveryRecording, NamesNoneWithoutAFault) {
  const Trace golden = recorded(GetParam());
  for (unsigned seed = 0; seed < 20; ++seed) {
    Planter planter(golden, seed);
    planter.change({});
    planter.disturb({});
    EXPECT_EQ(planter.answer(), "") << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Planted, EveryRecording,
                         testing::Values("convnet_statistics", "gpt_fp32_statistics",
                                         "gpt2_fp32_statistics_v8.3.3"));

}  // namespace
}  // namespace msprobe::divergence
