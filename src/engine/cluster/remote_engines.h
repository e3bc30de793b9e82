// SPDX-License-Identifier: Apache-2.0
// The side of host 0: engines on other machines that look like processes of this one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <poll.h>

#include "cluster/pause.h"
#include "cluster/transport.h"
#include "core/descriptor.h"
#include "engines/hosts.h"

namespace msprobe::cluster {

// What the two threads share about one engine: the one that checks, and the one that carries bytes.
class RemoteState;

// start() and the engines it gives belong to the thread that checks; carry() runs in the thread
// that may use the transport.
class RemoteEngines : public engines::Hosts {
 public:
  // Host 0 is this machine; 1 to count-1 are behind the transport.
  static Result<std::unique_ptr<RemoteEngines>> create(Transport& transport, std::size_t count);
  ~RemoteEngines() override;

  std::size_t count() const override { return count_; }
  Result<engines::EngineProcess> start(std::size_t host,
                                       const engines::EngineCommand& command) override;

  // Carries bytes until stop() is called, then tells the other hosts to quit.
  void carry();
  void stop();

  // From any thread: to be sent by carry().
  void post(Message message);

 private:
  // One engine as carry() sees it: the far ends of its pipes.
  struct Line {
    std::size_t host = 0;
    std::shared_ptr<RemoteState> state;
    Descriptor input;   // what the check wrote
    Descriptor output;  // what the check reads
    Descriptor errors;
    std::string output_waiting = {};
    std::optional<int> ended = {};
  };

  RemoteEngines(Transport& transport, std::size_t count, Descriptor wake)
      : transport_(transport), count_(count), wake_(std::move(wake)) {}
  void wake() const;
  void send_posted();
  void take_messages();
  void take(const Message& message, Line& line);
  void wait_for_input();
  void read_input(std::uint64_t id, Line& line);
  static void write_output(Line& line);
  void drop_ended();

  Transport& transport_;
  const std::size_t count_;
  Descriptor wake_;  // an eventfd: something was posted
  std::atomic<bool> stopped_ = false;

  std::mutex mutex_;  // guards the three below
  std::deque<Message> posted_;
  std::map<std::uint64_t, Line> new_lines_;
  std::uint64_t next_engine_ = 1;

  std::map<std::uint64_t, Line> lines_;
  std::vector<pollfd> polled_;
  Pause pause_;
};

}  // namespace msprobe::cluster
