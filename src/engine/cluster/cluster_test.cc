// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/run_check.h"
#include "cluster/command_text.h"
#include "cluster/engine_host.h"
#include "cluster/message_bytes.h"
#include "cluster/remote_engines.h"
#include "scratch_directory_for_test.h"

namespace msprobe::cluster {
namespace {

namespace fs = std::filesystem;
using check::CheckOptions;
using check::CheckOutcome;
using ::testing::HasSubstr;

TEST(CommandText, KeepsEveryWord) {
  const engines::EngineCommand command{"/a b/engine", {"--device", "", "cpu:1", "a\nb"}};
  const engines::EngineCommand read = decode_command(encode_command(command));
  EXPECT_EQ(read.program, command.program);
  EXPECT_EQ(read.arguments, command.arguments);
}

// Threads in place of machines.
class Network {
 public:
  explicit Network(std::size_t hosts) : boxes_(hosts) {}

  class Place : public Transport {
   public:
    Place(Network& network, std::size_t self) : network_(network), self_(self) {}
    void send(const Message& message) override {
      Message arriving = message;
      arriving.host = self_;
      const std::lock_guard lock(network_.mutex_);
      network_.boxes_[message.host].push_back(std::move(arriving));
    }
    std::optional<Message> receive() override {
      const std::lock_guard lock(network_.mutex_);
      auto& box = network_.boxes_[self_];
      if (box.empty()) return std::nullopt;
      Message message = std::move(box.front());
      box.pop_front();
      return message;
    }

   private:
    Network& network_;
    std::size_t self_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::deque<Message>> boxes_;
};

class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("MSPROBE_FAKE_DIRECTORY", scratch_.path().c_str(), 1); }

  fs::path write_dump(const std::vector<std::string>& names) {
    std::string data;
    for (const std::string& name : names) {
      data += fmt::format(
          "{}\"{}.forward\": {{\"input_args\": [], \"input_kwargs\": {{}}, \"output\": []}}",
          data.empty() ? "" : ", ", name);
    }
    return scratch_.write("dump.json",
                          fmt::format("{{\"task\": \"statistics\", \"framework\": \"pytorch\", "
                                      "\"dump_data_dir\": null, \"data\": {{{}}}}}",
                                      data));
  }
  CheckOptions options(const fs::path& dump, const std::string& out) {
    CheckOptions options;
    options.dump = dump;
    options.out_directory = scratch_.path() / out;
    fs::create_directories(options.out_directory);
    options.request.engine.program = MSPROBE_FAKE_ENGINE;
    options.request.devices = {"cpu"};
    options.rerun = CallCommand("acc_check").add("-api_info", "dump.json");
    options.timestamp = [] { return "20260101000000"; };
    options.say = [this](log::Severity, const std::string& text) { said_ += text + "\n"; };
    return options;
  }
  // Checks with `hosts` machines.
  Result<CheckOutcome> check_on(std::size_t hosts, CheckOptions options) {
    Network network(hosts);
    std::vector<std::jthread> others;
    for (std::size_t host = 1; host < hosts; ++host) {
      others.emplace_back([&network, host] {
        Network::Place place(network, host);
        serve_engines(place, -1);
      });
    }
    Network::Place place(network, 0);
    const auto engines = RemoteEngines::create(place, hosts);
    std::jthread carrier([&] { (*engines)->carry(); });
    options.request.hosts = engines->get();
    Result<CheckOutcome> outcome = run_check(options);
    (*engines)->stop();
    return outcome;
  }

  ScratchDirectory scratch_;
  std::string said_;
};

TEST_F(ClusterTest, BytesAreThoseOfOneMachine) {
  std::vector<std::string> names;
  for (int i = 0; i < 400; ++i) {
    names.push_back(fmt::format("{}.{}", i % 17 == 5 ? "Torch.error" : "Torch.a", i));
  }
  const fs::path dump = write_dump(names);
  const auto one = run_check(options(dump, "one"));
  ASSERT_TRUE(one) << one.error().message;
  CheckOptions many = options(dump, "many");
  many.request.workers = 2;
  many.request.pair_per_device = true;
  const auto four = check_on(4, many);
  ASSERT_TRUE(four) << four.error().message;
  EXPECT_EQ(read_text(four->paths.result), read_text(one->paths.result));
  EXPECT_EQ(read_text(four->paths.details), read_text(one->paths.details));
  std::ptrdiff_t rows = 0;
  for (const char* label : {"cpu", "cpu_rank1", "cpu_rank2", "cpu_rank3"}) {
    const std::string text =
        read_text(scratch_.path() / "many" / fmt::format("device{}_20260101000000", label) /
                  "accuracy_checking_result_20260101000000.csv");
    EXPECT_FALSE(text.empty()) << label;
    rows += std::ranges::count(text, '\n') - 1;
  }
  EXPECT_EQ(rows, 400);
}

TEST_F(ClusterTest, ACrashOrAHangFarAwayCostsOneRow) {
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) names.push_back(fmt::format("Torch.a.{}", i));
  names[20] = "Torch.crash.0";
  names[40] = "Torch.hang.0";
  CheckOptions with = options(write_dump(names), "out");
  with.dispatch.timeout_seconds = 6;
  const auto outcome = check_on(3, with);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->coverage.passed, 58U);
  EXPECT_EQ(outcome->coverage.lost, 2U);
  const std::string result = read_text(outcome->paths.result);
  EXPECT_THAT(result, HasSubstr("Torch.crash.0,SKIP,SKIP,crashed: the engine ended with signal "
                                "SIGSEGV (Segmentation fault)"));
  EXPECT_THAT(result, HasSubstr("Torch.hang.0,SKIP,SKIP,timed_out: no answer within 6 s"));
}

TEST_F(ClusterTest, AHostWithoutTheEngineIsToldOf) {
  Network network(2);
  Network::Place here(network, 0);
  Network::Place there(network, 1);
  const auto engines = RemoteEngines::create(here, 2);
  std::jthread other([&] { serve_engines(there, -1); });
  std::jthread carrier([&] { (*engines)->carry(); });
  auto process = (*engines)->start(1, {"/no/such/engine", {}});
  ASSERT_TRUE(process);
  const auto ready = engines::greet(std::move(*process), -1);
  ASSERT_FALSE(ready);
  EXPECT_THAT(ready.error().message, HasSubstr("exit status 127"));
  (*engines)->stop();
}

TEST(MessageBytes, KeepEveryField) {
  const Message sent{.host = 2, .engine = 7, .kind = MessageKind::kOutput, .bytes = "a\0b"};
  const auto arrived = message_of(2, to_bytes(sent));
  ASSERT_TRUE(arrived);
  EXPECT_EQ(arrived->host, 2U);
  EXPECT_EQ(arrived->engine, 7U);
  EXPECT_EQ(arrived->kind, MessageKind::kOutput);
  EXPECT_EQ(arrived->bytes, sent.bytes);
}

TEST(MessageBytes, OfOthersAreNone) {
  const std::string output = to_bytes({.engine = 7, .kind = MessageKind::kOutput, .bytes = "x"});
  const std::string quit = to_bytes({.engine = 0, .kind = MessageKind::kQuit, .bytes = {}});
  EXPECT_FALSE(message_of(0, output));
  EXPECT_FALSE(message_of(1, quit));
  EXPECT_TRUE(message_of(0, quit));
  EXPECT_FALSE(message_of(1, output.substr(0, 8)));
  std::string unknown = output;
  unknown[sizeof(std::uint64_t)] = '\x63';
  EXPECT_FALSE(message_of(1, unknown));
  EXPECT_FALSE(message_of(1, output + std::string(kMostMessageBytes, 'x')));
}

// What a rank that is not ours, or whose memory is spoiled, may do to host 0.
TEST_F(ClusterTest, AHostileRankCostsItsCallsAndNothingElse) {
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back(fmt::format("Torch.a.{}", i));
  CheckOptions with = options(write_dump(names), "out");
  with.dispatch.timeout_seconds = 20;
  Network network(3);
  std::jthread good([&] {
    Network::Place place(network, 1);
    serve_engines(place, -1);
  });
  std::jthread hostile([&] {
    Network::Place place(network, 2);
    const auto tell = [&](std::uint64_t engine, MessageKind kind, std::string bytes) {
      place.send({.host = 0, .engine = engine, .kind = kind, .bytes = std::move(bytes)});
    };
    while (true) {
      const std::optional<Message> message = place.receive();
      if (!message) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      if (message->kind == MessageKind::kQuit) return;
      if (message->kind != MessageKind::kStart) continue;
      for (const std::uint64_t engine : {std::uint64_t{1}, message->engine - 1, UINT64_MAX}) {
        tell(engine, MessageKind::kOutput, std::string(100'000, '\xff'));  // of others
        tell(engine, MessageKind::kEnded, "0");
      }
      tell(message->engine, MessageKind::kMemory, "-1e999");
      tell(message->engine, MessageKind::kErrors, std::string(1'000'000, 'e'));
      for (int i = 0; i < 200; ++i) {
        tell(message->engine, MessageKind::kOutput, std::string(100'000, '\xff'));
      }
      tell(message->engine, MessageKind::kEnded, "not a number");
      tell(message->engine, MessageKind::kEnded, "123456789");
    }
  });
  Network::Place place(network, 0);
  const auto engines = RemoteEngines::create(place, 3);
  std::jthread carrier([&] { (*engines)->carry(); });
  with.request.hosts = engines->get();
  const auto outcome = run_check(with);
  (*engines)->stop();
  if (!outcome) {
    // Its engines may fail so often that the run is given up, which says so.
    EXPECT_THAT(outcome.error().message, HasSubstr("engine"));
    return;
  }
  EXPECT_EQ(outcome->coverage.passed + outcome->coverage.lost, names.size());
}

}  // namespace
}  // namespace msprobe::cluster
