#include "collect/recorder.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "collect/json_text.h"

namespace msprobe::collect {
namespace {

// How long an entry may wait before it is in its file; what a killed training may lose.
constexpr std::chrono::milliseconds kPause{100};
constexpr std::chrono::seconds kStackPause{1};
// An entry that stays open, as that of an asynchronous call does, has all that follow it written
// again in every round: the more there is of it, the rarer the rounds.
constexpr std::size_t kRewrittenBytesPerPause = 4U << 20;
// A write that fails, because the disk is full, costs the entries that were written with it.
constexpr std::size_t kWrittenTogether = 64U << 10;
// Writing is mostly the kernel copying; one thread does not keep up with a training that records
// tensors.
constexpr int kSavers = 2;
constexpr std::size_t kMaxSpareBytes = 256U << 20;

}  // namespace

Recorder::Recorder(std::size_t max_pending_bytes) : max_pending_bytes_(max_pending_bytes) {
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
  Result<GrowingJson> dump = GrowingJson::create(files.dump_path, files.dump_head, files.dump_tail);
  if (!dump) return propagate(dump);
  const std::unique_lock lock = lock_files();
  first_entry_ += entries_.size();
  entries_.clear();
  stacks_.clear();
  stack_of_frames_.clear();
  dump_ = std::move(*dump);
  tensors_.forget();
  stack_path_ = files.stack_path;
  stacks_changed_ = true;
  next_stacks_ = {};
  return {};
}

Result<void> Recorder::move_step(const StepFiles& files) {
  const std::unique_lock lock = lock_files();
  stack_path_ = files.stack_path;
  changed_ = true;
  return dump_ ? dump_->move_to(files.dump_path, files.dump_head) : Result<void>{};
}

// The lock, at a moment when no file of JSON is being written.
std::unique_lock<std::mutex> Recorder::lock_files() {
  std::unique_lock lock(mutex_);
  progress_.wait(lock, [&] { return !writing_; });
  return lock;
}

std::uint64_t Recorder::begin(std::string text) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({std::move(text), false});
  changed_ = true;
  return first_entry_ + entries_.size() - 1;
}

void Recorder::finish(std::uint64_t entry, std::string text) {
  const std::lock_guard lock(mutex_);
  if (entry < first_entry_) return;
  Entry& found = entries_[entry - first_entry_];
  found.text = std::move(text);
  found.finished = true;
  changed_ = true;
}

void Recorder::add_stack(const std::string& name, const std::string& frames) {
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = stack_of_frames_.try_emplace(frames, stacks_.size());
  if (is_new) stacks_.push_back({frames, {}});
  stacks_[place->second].names.push_back(name);
  stacks_changed_ = true;
}

std::unique_ptr<Buffer> Recorder::take_buffer(std::size_t size, Bound bound) {
  if (size > Buffer().max_size()) return nullptr;
  std::unique_lock lock(mutex_);
  progress_.wait(lock, [&] {
    return bound == Bound::kIgnored || pending_bytes_ == 0 ||
           pending_bytes_ + size <= max_pending_bytes_;
  });
  pending_bytes_ += size;
  // A buffer that was used before costs no page faults; one far too large would waste the bound.
  const auto fits = std::ranges::find_if(spare_, [&](const std::unique_ptr<Buffer>& buffer) {
    return buffer->size() >= size && buffer->size() / 2 <= size;
  });
  if (fits != spare_.end()) {
    std::unique_ptr<Buffer> found = std::move(*fits);
    spare_.erase(fits);
    spare_bytes_ -= found->size();
    return found;
  }
  lock.unlock();
  try {
    return std::make_unique<Buffer>(size);
  } catch (const std::bad_alloc&) {
    lock.lock();
    pending_bytes_ -= size;
    progress_.notify_all();
    return nullptr;
  }
}

void Recorder::give_back(std::unique_ptr<Buffer> buffer, std::size_t size) {
  const std::lock_guard lock(mutex_);
  pending_bytes_ -= size;
  spare_bytes_ += buffer->size();
  spare_.push_back(std::move(buffer));
  while (spare_bytes_ > kMaxSpareBytes) {
    spare_bytes_ -= spare_.front()->size();
    spare_.erase(spare_.begin());
  }
  progress_.notify_all();
}

void Recorder::save(TensorFile file) {
  {
    const std::lock_guard lock(mutex_);
    files_.push_back(std::move(file));
  }
  new_files_.notify_one();
}

void Recorder::free_memory() {
  const std::lock_guard lock(mutex_);
  spare_.clear();
  spare_bytes_ = 0;
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
  std::size_t rewritten = 0;
  while (!stop_) {
    const auto pause = kPause * (1 + rewritten / kRewrittenBytesPerPause);
    work_.wait_for(lock, pause, [&] { return stop_ || flushes_asked_ > flushes_done_; });
    const std::uint64_t asked = flushes_asked_;
    const bool flushing = asked > flushes_done_;
    if (changed_ || flushing) rewritten = write_round(lock, flushing);
    flushes_done_ = asked;
    progress_.notify_all();
  }
}

void Recorder::save_files() {
  std::unique_lock lock(mutex_);
  while (true) {
    new_files_.wait(lock, [&] { return stop_ || !files_.empty(); });
    if (files_.empty()) return;
    TensorFile file = std::move(files_.front());
    files_.pop_front();
    const std::uint64_t number = first_file_++;
    files_at_work_.insert(number);
    lock.unlock();
    const Result<void> written =
        tensors_.save(file.path, file.dtype, file.shape, std::span(*file.buffer).first(file.size));
    give_back(std::move(file.buffer), file.size);
    lock.lock();
    note(written);
    files_at_work_.erase(number);
    progress_.notify_all();
  }
}

bool Recorder::files_are_saved_before(std::uint64_t number) const {
  return first_file_ >= number && (files_at_work_.empty() || *files_at_work_.begin() >= number);
}

// An entry is written after its tensor files: those were handed over before it was finished.
std::size_t Recorder::write_round(std::unique_lock<std::mutex>& lock, bool flushing) {
  std::vector<std::string> finished(1);
  std::string unfinished;
  changed_ = false;
  while (!entries_.empty() && entries_.front().finished) {
    if (finished.back().size() > kWrittenTogether) finished.emplace_back();
    finished.back() += entries_.front().text;
    entries_.pop_front();
    ++first_entry_;
  }
  for (const Entry& entry : entries_) unfinished += entry.text;
  const std::string stacks = stacks_to_write(flushing);
  const std::uint64_t files_so_far = first_file_ + files_.size();
  progress_.wait(lock, [&] { return files_are_saved_before(files_so_far); });
  if (!dump_) return 0;
  writing_ = true;
  const std::string stack_path = stack_path_;
  lock.unlock();
  Result<void> appended;
  for (const std::string& part : finished) {
    appended = dump_->append(part, &part == &finished.back() ? unfinished : "");
    if (!appended) break;
  }
  Result<void> stacked;
  if (!stacks.empty()) stacked = replace_file(stack_path, stacks);
  lock.lock();
  writing_ = false;
  note(appended);
  note(stacked);
  return unfinished.size();
}

// Nothing where stack.json is as it should be, or was written a short while ago: it is written as a
// whole.
std::string Recorder::stacks_to_write(bool flushing) {
  const auto now = std::chrono::steady_clock::now();
  if (!stacks_changed_ || stack_path_.empty() || (!flushing && now < next_stacks_)) return "";
  stacks_changed_ = false;
  std::string text = stack_text();
  next_stacks_ = now + kStackPause * (1 + text.size() / kRewrittenBytesPerPause);
  return text;
}

std::string Recorder::stack_text() const {
  JsonText json(JsonText::Layout::kIndented);
  json.begin_object();
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    json.key(std::to_string(i));
    json.begin_array();
    json.begin_array();
    for (const std::string& name : stacks_[i].names) json.string(name);
    json.end_array();
    json.literal(stacks_[i].frames);
    json.end_array();
  }
  json.end_object();
  return json.take();
}

void Recorder::note(const Result<void>& result) {
  if (!result && !error_) error_ = result.error();
}

}  // namespace msprobe::collect
