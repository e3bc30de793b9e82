// SPDX-License-Identifier: Apache-2.0
#include "check/run_check.h"

#include <csignal>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch_directory_for_test.h"

namespace msprobe::check {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class RunCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(scratch_.path() / "marks");
    ::setenv("MSPROBE_FAKE_DIRECTORY", (scratch_.path() / "marks").c_str(), 1);
  }

  fs::path write_dump(const std::vector<std::string>& names,
                      const std::string& task = "statistics") {
    std::string data;
    for (const std::string& name : names) {
      data += fmt::format(
          "{}\"{}.forward\": {{\"input_args\": [], \"input_kwargs\": {{}}, "
          "\"output\": []}}",
          data.empty() ? "" : ", ", name);
    }
    return scratch_.write("dump.json",
                          fmt::format("{{\"task\": \"{}\", \"level\": \"L1\", \"framework\": "
                                      "\"pytorch\", \"dump_data_dir\": null, \"data\": {{{}}}}}",
                                      task, data));
  }
  CheckOptions options(const fs::path& dump, const std::string& out) {
    CheckOptions options;
    options.dump = dump;
    options.out_directory = scratch_.path() / out;
    fs::create_directories(options.out_directory);
    options.request.engine.program = MSPROBE_FAKE_ENGINE;
    options.request.devices = {"cpu"};
    options.rerun = CallCommand("acc_check").add("-api_info", "dump.json");
    options.dispatch.window = 16;
    options.timestamp = [] { return "20260101000000"; };
    options.say = [this](log::Severity, const std::string& text) { said_ += text + "\n"; };
    return options;
  }
  struct Bytes {
    std::string result;
    std::string details;
    bool operator==(const Bytes&) const = default;
  };
  static Bytes bytes(const journal::CsvPaths& paths) {
    return {read_text(paths.result), read_text(paths.details)};
  }
  Result<CheckOutcome> check(const CheckOptions& options) { return run_check(options); }

  ScratchDirectory scratch_;
  std::string said_;
};

std::vector<std::string> mixed_calls(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    const char* api = i % 17 == 5    ? "Torch.error"
                      : i % 23 == 7  ? "Tensor.to"
                      : i % 29 == 11 ? "Torch.lost"
                                     : "Torch.a";
    names.push_back(fmt::format("{}.{}", api, i));
  }
  return names;
}

TEST_F(RunCheckTest, WritesBothFilesInDumpOrder) {
  const fs::path dump = write_dump({"Torch.a.0", "Distributed.all_reduce.0", "Torch.error.0",
                                    "Tensor.to.0", "=x.y.0", "Torch.lost.0"});
  const auto outcome = check(options(dump, "out"));
  ASSERT_TRUE(outcome) << outcome.error().message;
  const std::string bom = "\xEF\xBB\xBF";
  EXPECT_EQ(read_text(outcome->paths.result),
            bom +
                "API name,Forward Test Success,Backward Test Success,Message\r\n"
                "Torch.a.0,pass, ,\r\n"
                "Distributed.all_reduce.0,SKIP,SKIP,API Distributed.all_reduce.0 not support for "
                "acc_check. SKIP.\r\n"
                "Torch.error.0,error, ,\"forward output 0: The values differ, consider as "
                "error.\"\r\n"
                "Tensor.to.0,SKIP,SKIP,API to in black list or not in white list. SKIP.\r\n"
                "'=x.y.0,SKIP,SKIP,\"api name contains special characters, please check!\"\r\n"
                "Torch.lost.0,SKIP,SKIP,missing_data: x.pt is not there\r\n");
  const std::string details = read_text(outcome->paths.details);
  EXPECT_THAT(details, HasSubstr("Torch.error.0.forward.output.0,<class 'int'>,<class 'int'>"));
  EXPECT_THAT(details, HasSubstr(",error,\"The values differ, consider as error.\", ,,,msprobe "
                                 "acc_check -api_info dump.json --only Torch.error.0,\r\n"));
  EXPECT_EQ(coverage_line(outcome->coverage),
            "recorded 6, checked 2 (passed 1, warned 0, failed 1), skipped 4: filtered 1, hostile "
            "1, missing_data 1, not_supported 1");
  EXPECT_THAT(said_, HasSubstr("start acc_check test\n"));
  EXPECT_THAT(said_, HasSubstr("acc_check task result will be saved in "));
  EXPECT_THAT(said_, HasSubstr("Run Torch.lost.0 acc_check Error: missing_data"));
}

TEST_F(RunCheckTest, BytesDoNotDependOnTheNumberOfEngines) {
  const fs::path dump = write_dump(mixed_calls(300));
  const auto one = check(options(dump, "one"));
  ASSERT_TRUE(one) << one.error().message;
  CheckOptions four = options(dump, "four");
  four.request.workers = 4;
  four.request.devices = {"cpu", "cpu:1"};
  four.request.pair_per_device = true;
  const auto many = check(four);
  ASSERT_TRUE(many) << many.error().message;
  EXPECT_EQ(bytes(one->paths), bytes(many->paths));
  EXPECT_EQ(coverage_line(one->coverage), coverage_line(many->coverage));
  std::size_t rows = 0;
  for (const char* device : {"devicecpu_20260101000000", "devicecpu_1_20260101000000"}) {
    const std::string text = read_text(scratch_.path() / "four" / device /
                                       "accuracy_checking_result_20260101000000.csv");
    rows += static_cast<std::size_t>(std::ranges::count(text, '\n')) - 1;
  }
  EXPECT_EQ(rows, 300U);
}

TEST_F(RunCheckTest, AResumedRunEndsAsIfNothingHadHappened) {
  const fs::path dump = write_dump(mixed_calls(100));
  const auto whole = check(options(dump, "out"));
  ASSERT_TRUE(whole);
  const Bytes wanted = bytes(whole->paths);
  const std::string line = coverage_line(whole->coverage);
  for (const std::size_t cut : {0U, 1U, 50U, 700U, 2000U}) {
    scratch_.write("out/accuracy_checking_result_20260101000000.csv", wanted.result.substr(0, cut));
    CheckOptions again = options(dump, "elsewhere");
    again.request.resume_csv = whole->paths.result;
    again.rerun = CallCommand("acc_check").add("-api_info", "spelled/otherwise.json");
    const auto resumed = check(again);
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(bytes(resumed->paths), wanted);
    EXPECT_EQ(coverage_line(resumed->coverage), line);
  }
  said_.clear();
  CheckOptions finished = options(dump, "elsewhere");
  finished.request.resume_csv = whole->paths.result;
  ASSERT_TRUE(check(finished));
  EXPECT_THAT(said_, HasSubstr("continuing after 100 of 100 calls"));
}

TEST_F(RunCheckTest, AnotherDumpOrOtherOptionsCannotContinue) {
  const fs::path dump = write_dump({"Torch.a.0", "Torch.b.0"});
  const auto first = check(options(dump, "out"));
  ASSERT_TRUE(first);
  CheckOptions again = options(dump, "out");
  again.request.resume_csv = first->paths.result;
  again.request.engine.replay.seed = 7;
  EXPECT_THAT(check(again).error().message, HasSubstr("made with seed '1234', not '7'"));
  again.request.engine.replay.seed = 1234;
  write_dump({"Torch.a.0", "Torch.c.0"});
  EXPECT_THAT(check(again).error().message, HasSubstr("belong to another dump"));
}

// Document 000, "Resumable Check": the two CSVs are all that its user knows of.
TEST_F(RunCheckTest, TheTwoDocumentedCsvsAreEnoughToContinue) {
  const fs::path dump = write_dump(mixed_calls(100));
  const auto whole = check(options(dump, "out"));
  ASSERT_TRUE(whole);
  const Bytes wanted = bytes(whole->paths);
  const fs::path run_file = scratch_.path() / "out/accuracy_checking_run_20260101000000.txt";
  for (const std::size_t cut : {1U, 50U, 700U, 2000U, 100000U}) {
    ASSERT_TRUE(fs::remove(run_file));
    scratch_.write("out/accuracy_checking_result_20260101000000.csv", wanted.result.substr(0, cut));
    CheckOptions again = options(dump, "elsewhere");
    again.request.resume_csv = whole->paths.result;
    said_.clear();
    const auto resumed = check(again);
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(bytes(resumed->paths), wanted);
    EXPECT_THAT(said_, HasSubstr("accuracy_checking_run_20260101000000.txt is missing"));
    EXPECT_TRUE(fs::exists(run_file));
  }
}

TEST_F(RunCheckTest, WithoutTheRunFileRowsThatComeOutDifferentlyAreNotMixed) {
  const fs::path dump = write_dump({"Torch.error.0", "Torch.error.1"});
  const auto first = check(options(dump, "out"));
  ASSERT_TRUE(first);
  const Bytes wanted = bytes(first->paths);
  const fs::path run_file = scratch_.path() / "out/accuracy_checking_run_20260101000000.txt";
  fs::remove(run_file);
  CheckOptions again = options(dump, "out");
  again.request.resume_csv = first->paths.result;
  again.rerun = CallCommand("acc_check").add("-api_info", "another.json");
  const auto refused = check(again);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(refused.error().message, HasSubstr("the rows of Torch.error.1 are different now"));
  EXPECT_THAT(refused.error().message,
              HasSubstr("accuracy_checking_run_20260101000000.txt, which names them, is missing"));
  EXPECT_EQ(bytes(first->paths), wanted);
  EXPECT_FALSE(fs::exists(run_file));
  again.rerun = options(dump, "out").rerun;
  ASSERT_TRUE(check(again));
  EXPECT_EQ(bytes(first->paths), wanted);
}

TEST_F(RunCheckTest, ThePairOfOneDeviceNamesTheMergedOne) {
  CheckOptions two = options(write_dump(mixed_calls(20)), "out");
  two.request.devices = {"0", "1"};
  two.request.workers = 2;
  two.request.pair_per_device = true;
  ASSERT_TRUE(check(two));
  two.request.resume_csv = scratch_.path() / "out/device0_20260101000000" /
                           "accuracy_checking_result_20260101000000.csv";
  const auto refused = check(two);
  ASSERT_FALSE(refused);
  EXPECT_THAT(
      refused.error().message,
      EndsWith("continue from the merged one: -csv_path " +
               (scratch_.path() / "out/accuracy_checking_result_20260101000000.csv").string()));
}

// Document 000: "Enables JIT compilation."; it must be as it was when the dump was made.
TEST_F(RunCheckTest, JitCompileIsCheckedAgainstTheDump) {
  const auto said_of = [&](const char* recorded, bool asked) {
    const std::string text = fmt::format(
        R"({{"framework": "pytorch", {}"data": {{"Torch.a.0.forward": {{"input_args": [],
            "input_kwargs": {{}}, "output": []}}}}}})",
        recorded);
    CheckOptions jit = options(scratch_.write("dump.json", text), "jit");
    fs::remove_all(jit.out_directory);
    fs::create_directories(jit.out_directory);
    jit.request.engine.jit_compile = asked;
    said_.clear();
    EXPECT_TRUE(check(jit));
    return said_;
  };
  EXPECT_THAT(said_of("", true), HasSubstr("jit_compile has no effect on cpu"));
  EXPECT_THAT(said_of("", false), Not(HasSubstr("jit_compile")));
  EXPECT_THAT(said_of("\"jit_compile\": true, ", false),
              HasSubstr("recorded with jit_compile on, this check runs with it off"));
  EXPECT_THAT(said_of("\"jit_compile\": false, ", true),
              HasSubstr("recorded with jit_compile off, this check runs with it on"));
  EXPECT_THAT(said_of("\"jit_compile\": true, ", true), Not(HasSubstr("recorded with")));
  EXPECT_THAT(said_of("\"framework_version\": \"2.1.0+cpu\", ", false),
              HasSubstr("recorded with PyTorch 2.1.0, this check runs with fake"));
  EXPECT_THAT(said_of("\"framework_version\": \"fake+cpu\", ", false),
              Not(HasSubstr("recorded with")));
}

TEST_F(RunCheckTest, OtherFrameworksAreNamed) {
  const auto refused = [&](const std::string& text) {
    const auto outcome = check(options(scratch_.write("dump.json", text), "out"));
    return outcome ? "no error" : outcome.error().message;
  };
  EXPECT_THAT(refused(R"({"framework": "MXNet", "data": {}})"),
              EndsWith("Unsupported framework in api_info: MXNet"));
  EXPECT_THAT(refused(R"({"framework": "jax", "data": {}})"),
              EndsWith("Unsupported framework in api_info: jax"));
  EXPECT_THAT(refused(R"({"data": {}})"), HasSubstr("Key \"framework\" not found in "));
  EXPECT_THAT(refused("{"), Not(HasSubstr("no error")));
}

TEST_F(RunCheckTest, NoSuchDeviceLeavesNoFiles) {
  CheckOptions wrong = options(write_dump({"Torch.a.0"}), "out");
  wrong.request.devices = {"none:0"};
  const auto outcome = check(wrong);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "no device none:0; there are: cpu");
  EXPECT_TRUE(fs::is_empty(scratch_.path() / "out"));
}

// Kills the checking process, or one of its engines, at some moment; then continues.
TEST_F(RunCheckTest, KilledAtAnyMomentItResumesToTheSameBytes) {
  const fs::path dump = write_dump(mixed_calls(400));
  const auto whole = check(options(dump, "whole"));
  ASSERT_TRUE(whole);
  const Bytes wanted = bytes(whole->paths);
  std::mt19937 random(1);
  int killed = 0;
  for (int turn = 0; turn < 12; ++turn) {
    const std::string out = fmt::format("turn{}", turn);
    CheckOptions run = options(dump, out);
    run.request.workers = 3;
    const fs::path result = run.out_directory / "accuracy_checking_result_20260101000000.csv";
    bool done = false;
    for (int attempt = 0; attempt < 50 && !done; ++attempt) {
      if (fs::exists(result)) run.request.resume_csv = result;
      const pid_t child = ::fork();
      if (child == 0) {
        const bool good = run_check(run).has_value();
        ::_exit(good ? 0 : 1);
      }
      const bool last = attempt >= 4;
      if (!last) {
        ::usleep(static_cast<useconds_t>(random() % 40'000));
        ::kill(child, SIGKILL);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      killed += WIFSIGNALED(status) ? 1 : 0;
      done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      // Killed before its files were there: the run file alone blocks the name.
      if (!done && !fs::exists(result)) {
        fs::remove_all(run.out_directory);
        fs::create_directories(run.out_directory);
      }
    }
    ASSERT_TRUE(done);
    EXPECT_EQ(bytes(journal::csv_paths(run.out_directory, "20260101000000")), wanted);
  }
  EXPECT_GT(killed, 0);  // how many depends on the machine's speed
}

}  // namespace
}  // namespace msprobe::check
