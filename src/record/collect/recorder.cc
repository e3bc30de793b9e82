// SPDX-License-Identifier: Apache-2.0
#include "collect/recorder.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <unistd.h>

#include "collect/json_text.h"

namespace msprobe::collect {
namespace {

// What a killed training may lose is a tenth of a second of its CPU time, of the stacks a second:
// that is what counts on a busy machine, or on one with many cores. Every round of writing costs,
// so entries wait until they are old, or would be before the next look at them; a training that
// runs far ahead waits.
constexpr std::chrono::milliseconds kLooking{20};
constexpr std::chrono::milliseconds kOld{50};
constexpr std::chrono::milliseconds kTooOld{60};
constexpr int kMaxLooks = 10;  // a training that sleeps has its entries written too
constexpr std::chrono::milliseconds kStackPause{400};
// Asking for the CPU time costs a system call; with many cores there is more of it to ask for.
constexpr std::chrono::microseconds kSampling{8000}, kMinSampling{500}, kMaxSampling{4000};
// stack.json is written as a whole: the more there is of it, the rarer.
constexpr std::size_t kStackBytesPerPause = 16U << 20;
// An entry that stays open, as that of an asynchronous call does, has those that follow it written
// again in every round. Where these are many, they are put down before it.
constexpr std::size_t kMaxRewrittenBytes = 256U << 10;
// A write that fails, because the disk is full, costs the entries that were written with it.
constexpr std::size_t kWrittenTogether = 64U << 10;
// Writing is mostly the kernel copying; one thread does not keep up with a training that records
// tensors.
constexpr int kSavers = 2;

std::chrono::microseconds sampling() {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  return std::clamp(kSampling / cores, kMinSampling, kMaxSampling);
}

// A file with nothing in it, and another name for it where the file system has such.
Result<void> make_empty(const std::string& path, const std::string& second_path) {
  if (!path.empty()) {
    const Result<void> made = replace_file(path, "{}");
    if (!made) return propagate(made);
    if (!second_path.empty() && ::link(path.c_str(), second_path.c_str()) == 0) return {};
  }
  return second_path.empty() ? Result<void>{} : replace_file(second_path, "{}");
}

}  // namespace

Recorder::Recorder(std::size_t max_pending_bytes)
    : max_pending_bytes_(max_pending_bytes), sampling_(sampling()) {
  threads_.emplace_back([this] { run(); });
  for (int i = 0; i < kSavers; ++i) threads_.emplace_back([this] { save_files(); });
}

Recorder::~Recorder() {
  flush();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  new_files_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Result<void> Recorder::open_step(const StepFiles& files) {
  flush();
  end_step();
  // dump.json is made last: where it is, the others are.
  const Result<void> made = make_empty(files.construct_path, files.stack_path);
  if (!made) return propagate(made);
  Result<GrowingJson> dump = GrowingJson::create(files.dump_path, files.dump_head, files.dump_tail);
  if (!dump) return propagate(dump);
  const std::unique_lock lock = lock_files();
  begin_entries();
  stacks_.clear();
  dump_ = std::move(*dump);
  stack_path_ = files.stack_path;
  construct_.reset(files.construct_path);
  sites_.reset(files.sites_path);
  return {};
}

// What is recorded from now on goes into other files.
void Recorder::begin_entries() {
  first_entry_ += entries_.size();
  entries_.clear();
  tensors_.forget();
  unfinished_.clear();
  waiting_since_.reset();
  next_stacks_ = cpu_time(CLOCK_PROCESS_CPUTIME_ID) + kStackPause;
}

void Recorder::park_step(const std::string& key) {
  end_step();
  const std::unique_lock lock = lock_files();
  begin_entries();
  parked_[key] = {std::exchange(dump_, std::nullopt), std::exchange(stack_path_, {}),
                  std::exchange(construct_, {}), std::exchange(sites_, {}),
                  std::exchange(stacks_, {})};
}

bool Recorder::resume_step(const std::string& key) {
  const std::unique_lock lock = lock_files();
  const auto found = parked_.find(key);
  if (found == parked_.end()) return false;
  begin_entries();
  Step& step = found->second;
  dump_ = std::move(step.dump);
  stack_path_ = std::move(step.stack_path);
  construct_ = std::move(step.construct);
  sites_ = std::move(step.sites);
  stacks_ = std::move(step.stacks);
  parked_.erase(found);
  return true;
}

void Recorder::forget_parked_steps() {
  const std::unique_lock lock = lock_files();
  parked_.clear();
}

Result<void> Recorder::move_step(const StepFiles& files) {
  const std::unique_lock lock = lock_files();
  stack_path_ = files.stack_path;
  unfinished_.clear();
  changed_ = true;
  if (const Result<void> moved = construct_.move_to(files.construct_path); !moved) return moved;
  if (const Result<void> moved = sites_.move_to(files.sites_path); !moved) return moved;
  return dump_ ? dump_->move_to(files.dump_path, files.dump_head) : Result<void>{};
}

void Recorder::end_step() {
  const std::unique_lock lock = lock_files();
  if (dump_) dump_->settle();
  construct_.settle();
  sites_.settle();
}

void Recorder::set_tail(const std::string& tail) {
  const std::unique_lock lock = lock_files();
  if (!dump_) return;
  dump_->set_tail(tail);
  note(dump_->append("", unfinished_));
}

// The lock, at a moment when no file of JSON is being written.
std::unique_lock<std::mutex> Recorder::lock_files() {
  std::unique_lock lock(mutex_);
  progress_.wait(lock, [&] { return !writing_; });
  return lock;
}

std::uint64_t Recorder::begin(std::string text) {
  const std::lock_guard lock(mutex_);
  sample_clocks();
  entries_.push_back({std::move(text), false, first_file_ + files_.size(), cpu_time_});
  changed_ = true;
  return first_entry_ + entries_.size() - 1;
}

void Recorder::finish(std::uint64_t entry, std::string text) {
  std::unique_lock lock(mutex_);
  if (entry < first_entry_) return;
  sample_clocks();
  entries_[entry - first_entry_] = {std::move(text), true, first_file_ + files_.size(), cpu_time_};
  changed_ = true;
  keep_up(lock);
}

void Recorder::sample_clocks() {
  const auto now = std::chrono::steady_clock::now();
  if (now - sampled_ < sampling_) return;
  sampled_ = now;
  cpu_time_ = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
}

// Has entries written that wait for long, and waits itself where the training runs too far ahead.
void Recorder::keep_up(std::unique_lock<std::mutex>& lock) {
  if (!dump_) return;
  if (!waiting_since_) {
    waiting_since_ = cpu_time_;
    awaited_files_ = first_file_ + files_.size();
  }
  const std::chrono::nanoseconds now = cpu_time_;
  const auto is_older = [&](std::chrono::nanoseconds age) {
    return waiting_since_ && now - *waiting_since_ > age;
  };
  if (!is_older(kOld)) return;
  do {
    is_late_ = true;
    work_.notify_one();
    if (!is_older(kTooOld)) return;
    progress_.wait(lock);
  } while (is_older(kTooOld));
}

void Recorder::add_child(const std::string& child, const std::string* parent) {
  const std::lock_guard lock(mutex_);
  if (!construct_.is_wanted()) return;
  JsonText json(JsonText::Layout::kOneLine);
  json.key(child);
  parent ? json.string(*parent) : json.null();
  construct_.add(json.take());
  changed_ = true;
}

void Recorder::add_stack(const std::string& name, const std::string& frames,
                         const std::string& site) {
  const std::lock_guard lock(mutex_);
  stacks_.add(name, frames);
  stacks_changed_ = true;
  if (sites_.is_wanted() && !site.empty()) sites_.add('"' + name + "\": " + site);
}

std::optional<Error> Recorder::flush() {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = ++flushes_asked_;
  work_.notify_one();
  progress_.wait(lock, [&] { return flushes_done_ >= wanted; });
  return std::exchange(error_, std::nullopt);
}

void Recorder::run() {
  std::unique_lock lock(mutex_);
  std::chrono::nanoseconds written{0}, looked{0};  // CPU time: nothing waited then; the last look
  int looks = 0;                                   // since `written`
  while (!stop_) {
    work_.wait_for(lock, kLooking, [&] {
      return stop_ || flushes_asked_ > flushes_done_ ||
             (is_late_ && files_are_saved_before(awaited_files_));
    });
    const std::chrono::nanoseconds now = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
    const std::chrono::nanoseconds age = now - std::min(written, waiting_since_.value_or(written));
    const bool is_old = age + (now - looked) > kOld || ++looks >= kMaxLooks;
    const bool is_late = std::exchange(is_late_, false);
    const std::uint64_t asked = flushes_asked_;
    const bool flushing = asked > flushes_done_;
    if (flushing || (changed_ && (is_late || is_old))) {
      write_round(lock, flushing);
      written = now;
      looks = 0;
    } else if (!changed_) {
      written = now;
      looks = 0;
    }
    looked = now;
    flushes_done_ = asked;
    progress_.notify_all();
  }
}

// An entry is written after its tensor files: those were handed over before it was finished.
void Recorder::write_round(std::unique_lock<std::mutex>& lock, bool flushing) {
  if (flushing) {
    const std::uint64_t files_so_far = first_file_ + files_.size();
    progress_.wait(lock, [&] { return files_are_saved_before(files_so_far); });
  }
  changed_ = false;
  Finished finished;
  std::string unfinished;
  collect(finished, unfinished);
  const std::string stacks = stacks_to_write(flushing);
  const std::string children = construct_.take();
  const std::string sites = stacks.empty() ? "" : sites_.take();
  if (!dump_) return;
  writing_ = true;
  const std::string stack_path = stack_path_;
  lock.unlock();
  const Result<void> nested = construct_.append(children);
  const Result<void> placed = sites_.append(sites);
  const Result<void> appended = write_entries(finished, unfinished);
  Result<void> stacked;
  if (!stacks.empty()) stacked = replace_file(stack_path, stacks);
  lock.lock();
  writing_ = false;
  note(nested);
  note(placed);
  note(appended);
  note(stacked);
}

// Takes what can be written.
void Recorder::collect(Finished& finished, std::string& unfinished) {
  std::size_t part = 0;
  const auto take = [&](Entry& entry) {
    if (finished.text.size() - part > kWrittenTogether) {
      part = finished.text.size();
      finished.parts.push_back(part);
    }
    finished.text += std::exchange(entry.text, {});
  };
  const auto can_be_written = [&](const Entry& entry) {
    return files_are_saved_before(entry.files);
  };
  while (!entries_.empty() && entries_.front().finished && can_be_written(entries_.front())) {
    take(entries_.front());
    entries_.pop_front();
    ++first_entry_;
  }
  std::size_t rewritten = 0;
  for (const Entry& entry : entries_) rewritten += entry.finished ? entry.text.size() : 0;
  waiting_since_.reset();
  for (Entry& entry : entries_) {
    if (!can_be_written(entry)) {
      changed_ = true;
      if (!entry.finished || waiting_since_) continue;
      waiting_since_ = entry.since;
      awaited_files_ = entry.files;
    } else if (entry.finished && rewritten > kMaxRewrittenBytes) {
      take(entry);
    } else {
      unfinished += entry.text;
    }
  }
}

Result<void> Recorder::write_entries(const Finished& finished, const std::string& unfinished) {
  if (finished.text.empty() && unfinished == unfinished_) return {};  // as it is
  unfinished_ = unfinished;
  Result<void> appended = dump_->append(finished.text, unfinished);
  if (appended || finished.parts.empty()) return appended;
  // The disk is full, maybe; some of it may have a place.
  std::string_view left = finished.text;
  std::size_t begin = 0;
  for (const std::size_t end : finished.parts) {
    appended = dump_->append(left.substr(begin, end - begin), "");
    if (!appended) return appended;
    begin = end;
  }
  return dump_->append(left.substr(begin), "");
}

// Nothing where stack.json is as it should be, or was written a short while ago: it is written as a
// whole.
std::string Recorder::stacks_to_write(bool flushing) {
  if (!stacks_changed_ || stack_path_.empty()) return "";
  const std::chrono::nanoseconds now = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
  if (!flushing && now < next_stacks_) {
    changed_ = true;
    return "";
  }
  stacks_changed_ = false;
  std::string text = stacks_.text();
  next_stacks_ = now + kStackPause * (1 + text.size() / kStackBytesPerPause);
  return text;
}

void Recorder::note(const Result<void>& result) {
  if (!result && !error_) error_ = result.error();
}

}  // namespace msprobe::collect
