// SPDX-License-Identifier: Apache-2.0
// What a training leaves on disk, written by its own threads: dump.json with its entries in the
// order in which their calls began, stack.json, and the tensor files.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "collect/growing_json.h"
#include "collect/growing_lines.h"
#include "collect/saving_cost.h"
#include "collect/stack_table.h"
#include "collect/tensor_store.h"
#include "core/dtype.h"
#include "core/result.h"

namespace msprobe::collect {

// The usual memory, but for this: where there is not enough, it is always std::bad_alloc. The usual
// operator new of AddressSanitizer ends the process instead.
template <class T>
struct BufferMemory {
  using value_type = T;

  T* allocate(std::size_t count) {
    void* memory = ::operator new(count * sizeof(T), std::nothrow);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t /*count*/) { ::operator delete(memory); }
  bool operator==(const BufferMemory&) const = default;
};

using Buffer = std::vector<std::byte, BufferMemory<std::byte>>;

// A tensor to be saved. Its bytes are a copy: the training goes on changing the original.
struct TensorFile {
  std::string path;
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::unique_ptr<Buffer> buffer;
  std::size_t size = 0;  // bytes of `buffer` that are the tensor's
};

// Where the entries of one step go. Entries of `head`'s object are indented by `indent` blanks.
struct StepFiles {
  std::string dump_path, dump_head, dump_tail;
  std::string stack_path = {};      // empty: no stacks
  std::string construct_path = {};  // empty: no tree of modules
  std::string sites_path = {};      // empty: no places of calls
};

class Recorder {
 public:
  // The calls that are not yet written may hold up to `max_pending_bytes` of tensors.
  explicit Recorder(std::size_t max_pending_bytes);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Ends the files of the step before.
  Result<void> open_step(const StepFiles& files);

  // The open step is left, flushed before, and may be gone on with: its files keep what they have.
  void park_step(const std::string& key);
  // Goes on with the step that was left under this key; false if there is none.
  bool resume_step(const std::string& key);
  void forget_parked_steps();

  // The step's files are elsewhere now: `files` as open_step had them, with the other names.
  Result<void> move_step(const StepFiles& files);

  // The number of a new entry; `text` is `"name": value` as far as it is known. `finish` replaces
  // the text; an empty one takes the entry back. Entries of an ended step are ignored.
  std::uint64_t begin(std::string text);
  void finish(std::uint64_t entry, std::string text);

  // A line of construct.json: `parent` is null for what is called by no module.
  void add_child(const std::string& child, const std::string* parent);

  // `frames` is a JSON array; calls with equal frames share one entry of stack.json. `site` is a
  // JSON object, the value of the call's line in call_sites.json.
  void add_stack(const std::string& name, const std::string& frames, const std::string& site = {});

  // Memory for `size` bytes; waits until the bound allows it. Null if there is none. Whoever
  // keeps buffers back, not knowing yet whether they are to be saved, would wait for itself, and
  // ignores the bound.
  enum class Bound : std::uint8_t { kKept, kIgnored };
  std::unique_ptr<Buffer> take_buffer(std::size_t size, Bound bound = Bound::kKept);
  void give_back(std::unique_ptr<Buffer> buffer, std::size_t size);
  void save(TensorFile file);

  // What ends dump.json from now on.
  void set_tail(const std::string& tail);

  // No more tensors are expected soon: memory that was kept for them is given to the system.
  void free_memory();

  // Returns when everything recorded so far is in its files. The first thing that went wrong since
  // the last call, if anything.
  std::optional<Error> flush();

  // The step is over, flushed before: what helped to write its files is removed.
  void end_step();

 private:
  struct Entry {
    std::string text;
    bool finished = false;
    std::uint64_t files = 0;            // those handed over before belong to it, or to earlier ones
    std::chrono::nanoseconds since{0};  // CPU time when it was handed over
  };
  // Entries that are written together, unless the disk is full: then part by part.
  struct Finished {
    std::string text;
    std::vector<std::size_t> parts;  // where all but the first begin
  };

  // The files of one step.
  struct Step {
    std::optional<GrowingJson> dump;
    std::string stack_path;
    GrowingLines construct, sites;
    StackTable stacks;
  };

  void run();
  void save_files();
  void begin_entries();
  bool files_are_saved_before(std::uint64_t number) const;
  void write_round(std::unique_lock<std::mutex>& lock, bool flushing);
  void collect(Finished& finished, std::string& unfinished);
  Result<void> write_entries(const Finished& finished, const std::string& unfinished);
  void keep_up(std::unique_lock<std::mutex>& lock);
  void sample_clocks();
  std::string stacks_to_write(bool flushing);
  std::unique_lock<std::mutex> lock_files();
  void note(const Result<void>& result);

  const std::size_t max_pending_bytes_;
  const std::chrono::microseconds sampling_;
  std::mutex mutex_;
  std::condition_variable work_, new_files_, progress_;
  std::optional<GrowingJson> dump_;  // used by the thread, without the lock, while `writing_`
  bool writing_ = false;
  std::string stack_path_;
  GrowingLines construct_, sites_;  // as dump_
  std::string unfinished_;          // text after the finished entries of dump_
  std::deque<Entry> entries_;
  std::uint64_t first_entry_ = 0;  // the number of entries_.front()
  StackTable stacks_;
  std::map<std::string, Step> parked_;
  bool stacks_changed_ = false;
  std::chrono::nanoseconds next_stacks_{0};  // CPU time; not before, unless flushed
  std::chrono::steady_clock::time_point sampled_;
  std::chrono::nanoseconds cpu_time_{0};                   // of the process, when sampled
  std::optional<std::chrono::nanoseconds> waiting_since_;  // the oldest entry that is not written
  std::uint64_t awaited_files_ = 0;  // those handed over before keep that entry from being written
  bool is_late_ = false;             // it waits for too long
  TensorStore tensors_;
  std::deque<TensorFile> files_;
  std::uint64_t first_file_ = 0;           // the number of files_.front()
  std::set<std::uint64_t> files_at_work_;  // numbers of those that are being written
  std::size_t pending_bytes_ = 0;
  SavingCost saving_cost_;
  std::vector<std::unique_ptr<Buffer>> spare_;
  std::size_t spare_bytes_ = 0;
  std::uint64_t flushes_asked_ = 0, flushes_done_ = 0;
  bool changed_ = false;
  bool stop_ = false;
  std::optional<Error> error_;
  std::vector<std::thread> threads_;
};

}  // namespace msprobe::collect
