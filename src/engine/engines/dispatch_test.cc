// SPDX-License-Identifier: Apache-2.0
#include "engines/dispatch.h"

#include <csignal>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch_directory_for_test.h"

namespace msprobe::engines {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string text_of(const Skip& skip) {
  return fmt::format("{}: {}", name(skip.reason), skip.text);
}

// Calls by name; what came back, in the order of the commits.
class TestWork : public Work {
 public:
  explicit TestWork(std::vector<std::string> names) : names_(std::move(names)) {
    answers_.resize(names_.size());
  }

  std::optional<double> cost(std::size_t position) override {
    if (names_[position].empty()) return std::nullopt;
    return 1e4;
  }
  protocol::CallRequest request(std::size_t position, bool save) override {
    protocol::CallRequest request;
    request.id = position;
    request.full_name = names_[position];
    request.forward_json = std::string(2000, 'x');
    request.save_directory = save ? "saved" : "";
    return request;
  }
  bool answered(std::size_t position, const protocol::MeasuredCall& call,
                std::size_t device) override {
    EXPECT_TRUE(answers_[position].empty()) << "answered twice: " << names_[position];
    const auto given = [&] { return std::get<std::int64_t>(*call.forward.at(0).device.value); };
    answers_[position] = call.skip ? text_of(*call.skip) : std::to_string(given());
    devices_.insert(device);
    return call.skip ? false : given() != 1;
  }
  void commit(std::size_t position) override {
    EXPECT_EQ(position, committed_.size());
    committed_.push_back(answers_[position]);
    if (committed_.size() == 5 && interrupt_ >= 0) (void)!::write(interrupt_, "x", 1);
  }
  Result<void> flush() override {
    flushed_ = committed_.size();
    return {};
  }
  void say(const std::string& text) override { said_ += text + "\n"; }
  void show_progress(std::size_t) override {}

  const std::vector<std::string> names_;
  std::vector<std::string> answers_;
  std::vector<std::string> committed_;
  std::set<std::size_t> devices_;
  std::size_t flushed_ = 0;
  std::string said_;
  int interrupt_ = -1;  // the fifth commit writes to it
};

class DispatchTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("MSPROBE_FAKE_DIRECTORY", scratch_.path().c_str(), 1); }

  EngineCommand command(const std::string& device = "cpu") const {
    return {MSPROBE_FAKE_ENGINE, {"--device", device}};
  }
  Result<DispatchEnd> run(TestWork& work, std::size_t workers, const DispatchOptions& options = {},
                          const protocol::RunOptions& run_options = {}) {
    std::vector<Worker> places;
    for (std::size_t i = 0; i < workers; ++i)
      places.push_back({[this] { return EngineProcess::start(command()); }, i});
    auto ready = greet(*EngineProcess::start(command()), -1);
    EXPECT_TRUE(ready && *ready);
    return dispatch(work, 0, work.names_.size(), places, std::move(**ready), run_options, options);
  }
  std::size_t computed() const {
    const std::string log = read_text(scratch_.path() / "calls.log");
    return static_cast<std::size_t>(std::ranges::count(log, '\n'));
  }

  ScratchDirectory scratch_;
};

TEST_F(DispatchTest, AnswersComeInDumpOrderWithAnyNumberOfEngines) {
  for (const std::size_t workers : {1U, 3U}) {
    std::vector<std::string> names;
    for (int i = 0; i < 1000; ++i) names.push_back(i % 7 == 3 ? "" : fmt::format("Torch.a.{}", i));
    TestWork work(names);
    const auto end = run(work, workers);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(*end, DispatchEnd::kDone);
    ASSERT_EQ(work.committed_.size(), names.size());
    EXPECT_EQ(work.flushed_, names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(work.committed_[i], names[i].empty() ? "" : "1");
    }
  }
}

TEST_F(DispatchTest, CrashesCostTheirOwnRows) {
  TestWork work({"Torch.a.0", "Torch.crash.0", "Torch.b.0", "Torch.c.0", "Torch.exit.0",
                 "Torch.nonsense.0", "Torch.d.0"});
  const auto end = run(work, 2);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_THAT(
      work.committed_,
      ElementsAre("1", "crashed: the engine ended with signal SIGSEGV (Segmentation fault)", "1",
                  "1", "crashed: the engine ended with exit status 3",
                  HasSubstr("crashed: the engine ended with engine stream: no frame"), "1"));
  EXPECT_THAT(work.said_, HasSubstr("Torch.crash.0 ended with signal SIGSEGV"));
}

TEST_F(DispatchTest, AHangCostsItsOwnRow) {
  TestWork work({"Torch.a.0", "Torch.hang.0", "Torch.b.0"});
  // An hour passes when the first call has its answer: the second one is at work then.
  const auto start = std::chrono::steady_clock::now();
  const auto clock = [&] { return start + std::chrono::hours(work.answers_[0].empty() ? 0 : 1); };
  const auto end = run(work, 1, {.timeout_seconds = 6, .clock = clock});
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_THAT(work.committed_, ElementsAre("1", "timed_out: no answer within 6 s", "1"));
}

TEST_F(DispatchTest, ACallThatCrashesOnceIsTriedAgain) {
  TestWork work({"Torch.a.0", "Torch.crash_once.0", "Torch.crash_once.1", "Torch.b.0"});
  ASSERT_TRUE(run(work, 1));
  EXPECT_THAT(work.committed_, ElementsAre("1", "1", "1", "1"));
}

// The calls behind one that cost an engine its device are not to blame, and lose nothing.
TEST_F(DispatchTest, AnEngineWhoseDeviceFailedIsReplaced) {
  for (const std::size_t workers : {1U, 3U}) {
    std::vector<std::string> names;
    for (int i = 0; i < 40; ++i) {
      names.push_back(fmt::format("Torch.{}.{}", i % 4 == 1 ? "gone" : "a", i));
    }
    TestWork work(names);
    const auto end = run(work, workers);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(*end, DispatchEnd::kDone);
    EXPECT_EQ(work.committed_, std::vector<std::string>(names.size(), "1"));
    EXPECT_EQ(work.said_, "");
  }
}

TEST_F(DispatchTest, FailingCallsRunOnceMoreToSaveTheirData) {
  TestWork work({"Torch.a.0", "Torch.error.0", "Torch.b.0"});
  ASSERT_TRUE(run(work, 1));
  EXPECT_THAT(work.committed_, ElementsAre("1", "2", "1"));
  const std::string log = read_text(scratch_.path() / "calls.log");
  EXPECT_THAT(log, HasSubstr("saved\n"));
  EXPECT_EQ(computed(), 4U);
}

TEST_F(DispatchTest, AnEngineThatGrowsIsReplaced) {
  TestWork work({"Torch.swell.0", "Torch.slow.0", "Torch.slow.1", "Torch.slow.2", "Torch.slow.3",
                 "Torch.slow.4", "Torch.slow.5", "Torch.slow.6", "Torch.slow.7", "Torch.slow.8",
                 "Torch.slow.9", "Torch.slow.10", "Torch.slow.11", "Torch.slow.12", "Torch.slow.13",
                 "Torch.slow.14", "Torch.slow.15", "Torch.slow.16", "Torch.slow.17"});
  const auto end = run(work, 1, {.worker_memory_bytes = std::uint64_t{100} << 20});
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(work.said_, "") << "nothing went wrong";
  std::set<std::string> processes;
  std::istringstream log(read_text(scratch_.path() / "calls.log"));
  for (std::string name, process; log >> name >> process;) processes.insert(process);
  EXPECT_EQ(processes.size(), 2U);
}

TEST_F(DispatchTest, ACrashInEveryCallCostsEveryRow) {
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) names.push_back(fmt::format("Torch.crash.{}", i));
  TestWork work(names);
  const auto end = run(work, 1);
  ASSERT_TRUE(end) << "a call that is blamed is progress";
  EXPECT_EQ(work.committed_.size(), names.size());
}

TEST_F(DispatchTest, NoSuchDeviceIsTheEnginesOwnMessage) {
  const auto ready = greet(*EngineProcess::start(command("none:0")), -1);
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().message, "no device none:0; there are: cpu");
}

TEST_F(DispatchTest, ARunThatNoEngineCanDoEnds) {
  TestWork work({"Torch.a.0"});
  protocol::RunOptions run_options;
  run_options.replay.data_directory = "/no/such/data";
  const auto end = run(work, 1, {}, run_options);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "/no/such/data is not there");
}

TEST_F(DispatchTest, AnEngineThatCannotStartIsNamed) {
  const auto missing = greet(*EngineProcess::start({"/no/such/engine", {}}), -1);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("exit status 127"));
  EXPECT_FALSE(find_engine("/no/such/engine", ""));
  EXPECT_FALSE(find_engine(std::nullopt, "/no/such/bin/msprobe"));
  EXPECT_TRUE(find_engine(MSPROBE_FAKE_ENGINE, ""));
}

TEST_F(DispatchTest, AnInterruptKeepsWhatIsAnswered) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::vector<std::string> names(50, "Torch.slow.0");
  names.push_back("Torch.hang.0");
  TestWork work(names);
  work.interrupt_ = ends[1];
  const auto end = run(work, 1, {.interrupt = ends[0]});
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, DispatchEnd::kInterrupted);
  EXPECT_GE(work.flushed_, 5U);
  EXPECT_LT(work.flushed_, names.size());
  EXPECT_EQ(work.flushed_, work.committed_.size());
  ::close(ends[0]), ::close(ends[1]);
}

TEST_F(DispatchTest, NoOrphanSurvivesItsParent) {
  const pid_t parent = ::fork();
  if (parent == 0) {
    const auto engine = greet(*EngineProcess::start(command()), -1);  // it writes its pid first
    ::raise(SIGKILL);
  }
  ::waitpid(parent, nullptr, 0);
  const pid_t engine = std::stoi(read_text(scratch_.path() / "pid"));
  // In a container without an init that reaps, it may stay as a zombie.
  const auto is_gone = [engine] {
    const std::string status = read_text(fmt::format("/proc/{}/stat", engine));
    return status.empty() || status.find(") Z ") != std::string::npos;
  };
  for (int turn = 0; turn < 12'000 && !is_gone(); ++turn) ::usleep(10'000);
  EXPECT_TRUE(is_gone());
}

TEST(TimeLimit, GrowsWithTheCost) {
  EXPECT_DOUBLE_EQ(time_limit_seconds(0, 300), 300);
  EXPECT_DOUBLE_EQ(time_limit_seconds(1e8, 300), 600);
}

}  // namespace
}  // namespace msprobe::engines
