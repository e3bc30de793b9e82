// SPDX-License-Identifier: Apache-2.0
#include "engines/dispatch.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>

#include "engines/worker_place.h"

namespace msprobe::engines {
namespace {

using Clock = Place::Clock;
using std::chrono::milliseconds;

constexpr milliseconds kTick(100);  // progress, memory
constexpr milliseconds kFlushEvery(50);
constexpr double kElementsPerLimit = 1e8;  // as many elements again, as much time again
// An engine holds further calls ready while those it has cost less than this together.
constexpr double kPipelinedCost = 1e7;
constexpr std::size_t kPipelinedCalls = 16;
// A call that brings an engine down is tried once more, in a fresh one, before it is blamed.
// SIGKILL comes from outside (an operator, the kernel short of memory), so it counts less.
constexpr int kCrashesToBlame = 2;
constexpr int kKillsToBlame = 4;
constexpr int kFruitlessStarts = 4;

class Dispatcher {
 public:
  Dispatcher(Work& work, std::size_t first, std::size_t end, const std::vector<Worker>& workers,
             const protocol::RunOptions& run, const DispatchOptions& options)
      : work_(work),
        options_(options),
        run_frame_(encode(run)),
        queue_(first, end, options.window,
               workers.size() > 1 ? CallOrder::kCostliestFirst : CallOrder::kDump,
               [this](std::size_t position) { return enter_window(position); }),
        end_(end),
        committed_(first),
        flushed_(first) {
    for (const Worker& worker : workers) places_.push_back({.worker = &worker});
  }

  Result<DispatchEnd> run(ReadyEngine ready);

 private:
  std::optional<double> enter_window(std::size_t position);
  Result<void> fill_places();
  Result<void> start(Place& place);
  void make_ready(Place& place);
  void send(Place& place, Sent call);
  void feed();
  bool wait_for_events();
  Result<void> handle_events();
  Result<void> read(Place& place);
  Result<void> take_frame(Place& place, const protocol::Frame& frame);
  void finish(const Sent& call, const protocol::MeasuredCall& found, std::size_t device);
  void lose(const Sent& call, SkipReason reason, std::string text, std::size_t device);
  Result<void> engine_ended(Place& place, std::string nonsense);
  void blame(Place& place, const std::string& ended, int crashes_to_blame);
  void release(Place& place);
  void check_time(Place& place);
  void check_memory(Place& place);
  Result<void> commit(bool all);
  bool work_left() const { return committed_ < end_; }

  Work& work_;
  const DispatchOptions& options_;
  const std::string run_frame_;
  std::vector<bool> done_;  // ring over the window, by position
  CallQueue queue_;
  std::size_t end_;
  std::size_t committed_;
  std::size_t flushed_;
  std::deque<Place> places_;
  std::deque<Sent> saves_;  // calls to run again for their data
  std::unordered_map<std::size_t, int> crashes_;
  int fruitless_starts_ = 0;
  bool interrupted_ = false;
  Clock::time_point now_ = options_.clock();
  Clock::time_point flush_time_ = now_;
  Clock::time_point shown_ = now_;
  std::vector<pollfd> polled_;
};

std::optional<double> Dispatcher::enter_window(std::size_t position) {
  if (done_.empty()) done_.resize(options_.window);
  const std::optional<double> cost = work_.cost(position);
  done_[position % options_.window] = !cost;
  return cost;
}

Result<DispatchEnd> Dispatcher::run(ReadyEngine ready) {
  places_.front().process = std::make_unique<EngineProcess>(std::move(ready.process));
  make_ready(places_.front());
  while (work_left() && !interrupted_) {
    if (const Result<void> committed = commit(false); !committed) return propagate(committed);
    if (!work_left()) break;
    if (const Result<void> filled = fill_places(); !filled) return propagate(filled);
    feed();
    if (!wait_for_events()) break;
    if (const Result<void> handled = handle_events(); !handled) {
      std::ignore = commit(true);  // what is answered is kept; the first error is the one to report
      return propagate(handled);
    }
  }
  if (const Result<void> committed = commit(true); !committed) return propagate(committed);
  return interrupted_ ? DispatchEnd::kInterrupted : DispatchEnd::kDone;
}

// Starts an engine wherever one is missing and there is something for it to do.
Result<void> Dispatcher::fill_places() {
  for (Place& place : places_) {
    const bool wanted = !queue_.empty() || !saves_.empty();
    if (place.state != EngineState::kNone || !wanted) continue;
    if (const Result<void> started = start(place); !started) return started;
  }
  return {};
}

Result<void> Dispatcher::start(Place& place) {
  Result<EngineProcess> process = place.worker->start();
  if (!process) return propagate(process);
  place.process = std::make_unique<EngineProcess>(std::move(*process));
  place.state = EngineState::kStarting;
  place.since = now_;
  return {};
}

void Dispatcher::make_ready(Place& place) {
  place.state = EngineState::kReady;
  place.process->send(run_frame_);
}

void Dispatcher::send(Place& place, Sent call) {
  const std::string frame = encode(work_.request(call.item.position, call.save));
  if (frame.size() > protocol::most_bytes(protocol::FrameKind::kCallRequest)) {
    lose(call, SkipReason::kOutOfMemory,
         fmt::format("its entry of {} bytes is more than an engine takes", frame.size()),
         place.worker->device);
    return;
  }
  if (place.sent.empty()) place.since = now_;
  place.process->send(frame);
  place.sent.push_back(call);
}

// One call to every engine first, then further ones to those whose calls are small, so that a
// large call never waits behind another while an engine is idle.
void Dispatcher::feed() {
  for (std::size_t depth = 0; depth < kPipelinedCalls; ++depth) {
    for (Place& place : places_) {
      if (place.state != EngineState::kReady || place.sent.size() > depth) continue;
      if (!place.sent.empty() && place.sent_cost() > kPipelinedCost) continue;
      if (!saves_.empty()) {
        send(place, saves_.front());
        saves_.pop_front();
      } else if (const auto item = queue_.take()) {
        send(place, {*item, false});
      } else {
        return;
      }
    }
  }
}

// False: interrupted.
bool Dispatcher::wait_for_events() {
  polled_.clear();
  polled_.push_back({options_.interrupt, POLLIN, 0});
  for (Place& place : places_) {
    if (place.state == EngineState::kNone) continue;
    place.process->write_some();
    polled_.push_back({place.process->output(), POLLIN, 0});
    polled_.push_back({place.process->errors(), POLLIN, 0});
    const bool writing = place.process->wants_to_write();
    polled_.push_back({writing ? place.process->input() : -1, POLLOUT, 0});
  }
  while (::poll(polled_.data(), polled_.size(), static_cast<int>(kTick.count())) < 0 &&
         errno == EINTR) {
  }
  now_ = options_.clock();
  interrupted_ = polled_.front().revents != 0;
  return !interrupted_;
}

Result<void> Dispatcher::handle_events() {
  std::size_t at = 1;
  for (Place& place : places_) {
    if (place.state == EngineState::kNone) continue;
    const bool output = polled_[at].revents != 0;
    const bool errors = polled_[at + 1].revents != 0;
    at += 3;
    if (errors) place.process->read_errors();
    if (output) {
      if (const Result<void> done = read(place); !done) return done;
    }
    if (place.state != EngineState::kNone) check_time(place);
    if (place.state == EngineState::kReady) check_memory(place);
  }
  if (now_ - shown_ >= kTick) {
    shown_ = now_;
    work_.show_progress(committed_);
  }
  return {};
}

Result<void> Dispatcher::read(Place& place) {
  const Result<bool> more = place.process->read_some();
  const bool ended = !more || !*more;
  while (true) {
    const Result<std::optional<protocol::Frame>> read = place.process->next_frame();
    const std::optional<protocol::Frame> frame = read ? *read : std::nullopt;
    if (read && !frame) break;
    const Result<void> taken = frame ? take_frame(place, *frame) : propagate(read);
    if (taken) continue;
    if (taken.error().kind == ErrorKind::kUsage) return taken;  // no engine could do better
    // Nonsense on the stream: the engine's memory is spoiled. It counts as a crash.
    place.process->kill();
    return engine_ended(place, taken.error().message);
  }
  return ended ? engine_ended(place, {}) : Result<void>();
}

Result<void> Dispatcher::take_frame(Place& place, const protocol::Frame& frame) {
  if (place.state == EngineState::kStarting) {
    const Result<protocol::Hello> hello = read_greeting(frame);
    if (!hello) return propagate(hello);
    make_ready(place);
    return {};
  }
  if (frame.kind == protocol::FrameKind::kFatal) {
    const Result<protocol::Fatal> fatal = protocol::decode_fatal(frame);
    return fatal ? fail(ErrorKind::kUsage, fatal->message) : propagate(fatal);
  }
  const Result<protocol::CallResponse> response = protocol::decode_call_response(frame);
  if (!response) return propagate(response);
  if (place.sent.empty() || place.sent.front().item.position != response->id) {
    return fail(ErrorKind::kExecution,
                fmt::format("an engine answered call {} out of turn", response->id));
  }
  const Sent call = place.sent.front();
  place.sent.pop_front();
  place.since = now_;
  place.process->forget_errors();
  fruitless_starts_ = 0;
  finish(call, response->call, place.worker->device);
  if (place.state == EngineState::kDraining && place.sent.empty()) place.process->close_input();
  return {};
}

void Dispatcher::finish(const Sent& call, const protocol::MeasuredCall& found, std::size_t device) {
  const std::size_t position = call.item.position;
  if (call.save && found.skip) {
    work_.say(fmt::format("the data of a call could not be saved: {}", found.skip->text));
  }
  if (!call.save && work_.answered(position, found, device)) {
    saves_.push_back({call.item, true});
  } else {
    done_[position % options_.window] = true;
  }
}

// No engine could say anything about the call. If only its data were to be saved, it keeps its
// verdict.
void Dispatcher::lose(const Sent& call, SkipReason reason, std::string text, std::size_t device) {
  if (call.save) {
    work_.say(fmt::format("the data of a call could not be saved: {}", text));
    done_[call.item.position % options_.window] = true;
    return;
  }
  protocol::MeasuredCall lost;
  lost.skip = Skip{reason, std::move(text)};
  std::ignore = work_.answered(call.item.position, lost, device);
  done_[call.item.position % options_.window] = true;
}

// `nonsense`: what was wrong with its last frame; empty: it ended by itself.
Result<void> Dispatcher::engine_ended(Place& place, std::string nonsense) {
  if (place.state == EngineState::kStarting) {
    const Failure failure = early_end(*place.process);
    release(place);
    if (++fruitless_starts_ > kFruitlessStarts) return failure;
    return {};
  }
  place.process->read_errors();
  const int status = place.process->wait();
  const bool drained = place.state == EngineState::kDraining && place.sent.empty();
  const bool expected = drained || (nonsense.empty() && lost_its_device(status));
  const bool killed = nonsense.empty() && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  const std::string ended = nonsense.empty() ? end_text(status) : std::move(nonsense);
  if (!expected) blame(place, ended, killed ? kKillsToBlame : kCrashesToBlame);
  release(place);
  if (!expected && ++fruitless_starts_ > kFruitlessStarts) {
    return fail(ErrorKind::kExecution,
                fmt::format("the engines keep ending ({}) without an answer", ended));
  }
  return {};
}

// The call at work when the engine ended is tried again, or loses its row.
void Dispatcher::blame(Place& place, const std::string& ended, int crashes_to_blame) {
  if (place.sent.empty()) {
    work_.say(fmt::format("an idle engine ended with {}; another one is started", ended));
    return;
  }
  const Sent call = place.sent.front();
  const std::string said = last_error_line(*place.process);
  const bool blamed = ++crashes_[call.item.position] >= crashes_to_blame;
  work_.say(fmt::format("the engine that ran {} ended with {}{}{}; {}",
                        work_.request(call.item.position, false).full_name, ended,
                        said.empty() ? "" : ": ", said,
                        blamed ? "the call is skipped" : "it is tried again"));
  if (!blamed) return;
  place.sent.pop_front();
  lose(call, SkipReason::kCrashed, fmt::format("the engine ended with {}", ended),
       place.worker->device);
  fruitless_starts_ = 0;
}

// The engine is gone; its calls go to others.
void Dispatcher::release(Place& place) {
  for (auto call = place.sent.rbegin(); call != place.sent.rend(); ++call) {
    if (call->save) {
      saves_.push_front(*call);
    } else {
      queue_.give_back(call->item);
    }
  }
  place.sent.clear();
  place.process.reset();
  place.state = EngineState::kNone;
}

void Dispatcher::check_time(Place& place) {
  if (place.state == EngineState::kStarting) {
    if (now_ - place.since > kGreetingLimit) place.process->kill();
    return;
  }
  if (place.sent.empty()) return;
  const Sent call = place.sent.front();
  const double limit = time_limit_seconds(call.item.cost, options_.timeout_seconds);
  if (std::chrono::duration<double>(now_ - place.since).count() <= limit) return;
  place.process->kill();
  place.sent.pop_front();
  const std::string text = fmt::format("no answer within {:.3g} s", limit);
  work_.say(fmt::format("{}: {}; its engine is replaced",
                        work_.request(call.item.position, false).full_name, text));
  lose(call, SkipReason::kTimedOut, text, place.worker->device);
  release(place);
}

void Dispatcher::check_memory(Place& place) {
  if (options_.worker_memory_bytes == 0 || now_ - place.memory_looked < kTick) return;
  place.memory_looked = now_;
  if (place.process->resident_bytes() <= options_.worker_memory_bytes) return;
  place.state = EngineState::kDraining;
  if (place.sent.empty()) place.process->close_input();
}

Result<void> Dispatcher::commit(bool all) {
  while (work_left() && done_[committed_ % options_.window] &&
         committed_ - flushed_ < options_.window) {
    work_.commit(committed_++);
  }
  const bool due = now_ - flush_time_ >= kFlushEvery || flushed_ == 0 ||
                   committed_ - flushed_ >= options_.window / 2 || !work_left();
  if (committed_ == flushed_ || !(all || due)) return {};
  if (const Result<void> flushed = work_.flush(); !flushed) return flushed;
  flush_time_ = now_;
  flushed_ = committed_;
  queue_.advance(flushed_);
  return {};
}

// Every answer wakes this process. Where it shares a core with its engines it should read many
// answers at once, not push an engine off the core for each. Engines inherit it and do not mind.
void run_as_batch() {
  const sched_param none{};
  std::ignore = ::sched_setscheduler(0, SCHED_BATCH, &none);  // a matter of speed only
}

}  // namespace

double time_limit_seconds(double cost, double timeout_seconds) {
  return timeout_seconds * (1 + cost / kElementsPerLimit);
}

Result<DispatchEnd> dispatch(Work& work, std::size_t first, std::size_t end,
                             const std::vector<Worker>& workers, ReadyEngine ready,
                             const protocol::RunOptions& run, const DispatchOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);  // an engine that died is seen at its output
  run_as_batch();
  return Dispatcher(work, first, end, workers, run, options).run(std::move(ready));
}

}  // namespace msprobe::engines
