// SPDX-License-Identifier: Apache-2.0
// Streams and events. Each stream has a thread of its own: what it is given runs later, in order.
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "stand_in.h"

namespace cann {
namespace {

using Clock = std::chrono::steady_clock;

struct Stream {
  explicit Stream(int owner) : device(owner) {}

  const int device;
  int id = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> waiting;
  bool busy = false;
  bool ends = false;
  aclError error = ACL_SUCCESS;  // of a kernel since the last synchronisation

  void run();
};

// One recording of an event.
struct Mark {
  std::mutex mutex;
  std::condition_variable changed;
  bool reached = false;
  Clock::time_point when;
};
struct Event {
  std::shared_ptr<Mark> mark;  // none: never recorded, or reset
};

struct Device {
  Stream* first = nullptr;  // the stream that has no handle
  aclError state = ACL_SUCCESS;
};

struct Everything {
  std::mutex mutex;
  std::map<int, Device> devices;
  std::map<Stream*, int> streams;
  int next_id = 0;
  std::string message;
};
Everything& everything() {
  static Everything& all = *new Everything;  // streams may run while the process ends
  return all;
}

constexpr aclError kDriverFailed = 507899;  // of a machine that has CANN, and no device

thread_local int chosen_device = 0;

Stream* new_stream(int device) {
  auto* stream = new Stream(device);
  {
    const std::lock_guard lock(everything().mutex);
    stream->id = everything().next_id++;
    everything().streams[stream] = device;
  }
  std::thread([stream] { stream->run(); }).detach();
  return stream;
}

Stream* stream_of(aclrtStream handle) {
  if (handle != nullptr) return static_cast<Stream*>(handle);
  {
    const std::lock_guard lock(everything().mutex);
    if (Stream* first = everything().devices[chosen_device].first; first != nullptr) return first;
  }
  Stream* first = new_stream(chosen_device);
  const std::lock_guard lock(everything().mutex);
  return everything().devices[chosen_device].first = first;
}

void Stream::run() {
  for (;;) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return !waiting.empty() || ends; });
    if (waiting.empty()) break;
    std::function<void()> work = std::move(waiting.front());
    waiting.pop_front();
    busy = true;
    lock.unlock();
    aclError seen = ACL_SUCCESS;
    try {
      work();
    } catch (const DeviceError& failure) {
      seen = fail(failure.code, failure.message);
      if (failure.sticky) {
        const std::lock_guard all(everything().mutex);
        everything().devices[device].state = seen;
      }
    } catch (const std::exception& failure) {
      seen = fail(kKernelFailed, failure.what());
    }
    work = nullptr;
    lock.lock();
    if (seen != ACL_SUCCESS) error = seen;
    busy = false;
    changed.notify_all();
  }
  delete this;
}

bool is_idle(const Stream& stream) { return stream.waiting.empty() && !stream.busy; }

aclError synchronize(Stream* stream) {
  std::unique_lock lock(stream->mutex);
  stream->changed.wait(lock, [stream] { return is_idle(*stream); });
  if (const aclError state = state_of(stream->device); state != ACL_SUCCESS) return state;
  return std::exchange(stream->error, ACL_SUCCESS);
}

aclError synchronize_device(int device) {
  std::map<Stream*, int> streams;
  {
    const std::lock_guard lock(everything().mutex);
    streams = everything().streams;
  }
  aclError error = state_of(device);
  for (const auto& [stream, owner] : streams) {
    if (owner != device) continue;
    if (const aclError seen = synchronize(stream); seen != ACL_SUCCESS) error = seen;
  }
  return error;
}

void wait_for(Mark& mark) {
  std::unique_lock lock(mark.mutex);
  mark.changed.wait(lock, [&mark] { return mark.reached; });
}

aclError new_event(aclrtEvent* event) {
  *event = new Event;
  return ACL_SUCCESS;
}

int device_count() { return std::stoi(setting("MSPROBE_CANN_DEVICES", "2")); }

}  // namespace

int current_device() { return chosen_device; }
int device_of_stream(aclrtStream stream) { return stream_of(stream)->device; }

aclError state_of(int device) {
  const std::lock_guard lock(everything().mutex);
  return everything().devices[device].state;
}

aclError fail(aclError code, std::string_view message) {
  const std::lock_guard lock(everything().mutex);
  everything().message = message;
  return code;
}

aclError submit(aclrtStream handle, std::function<void()> work) {
  Stream* stream = stream_of(handle);
  if (const aclError state = state_of(stream->device); state != ACL_SUCCESS) return state;
  {
    const std::lock_guard lock(stream->mutex);
    stream->waiting.push_back(std::move(work));
  }
  stream->changed.notify_all();
  return ACL_SUCCESS;
}

}  // namespace cann

using namespace cann;

extern "C" {

STAND_IN_API aclError aclInit(const char*) { return ACL_SUCCESS; }
STAND_IN_API aclError aclFinalize() { return ACL_SUCCESS; }
STAND_IN_API const char* aclGetRecentErrMsg() {
  thread_local std::string shown;
  const std::lock_guard lock(everything().mutex);
  shown = std::exchange(everything().message, "");
  return shown.empty() ? nullptr : shown.c_str();
}

STAND_IN_API aclError aclrtGetDeviceCount(uint32_t* count) {
  const int found = device_count();
  if (found == 0) return fail(kDriverFailed, "no device");
  *count = static_cast<uint32_t>(found);
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtSetDevice(int32_t device) {
  if (device < 0 || device >= device_count())
    return fail(ACL_ERROR_RT_INVALID_DEVICEID, "no such device");
  chosen_device = device;
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtGetDevice(int32_t* device) {
  *device = chosen_device;
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtResetDevice(int32_t) { return ACL_SUCCESS; }
STAND_IN_API aclError aclrtGetCurrentContext(aclrtContext* context) {
  *context = reinterpret_cast<aclrtContext>(static_cast<std::intptr_t>(chosen_device) + 1);
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtSetCurrentContext(aclrtContext context) {
  chosen_device = static_cast<int>(reinterpret_cast<std::intptr_t>(context)) - 1;
  return ACL_SUCCESS;
}

STAND_IN_API aclError aclrtCreateStream(aclrtStream* stream) {
  *stream = new_stream(chosen_device);
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) {
  return aclrtCreateStream(stream);
}
STAND_IN_API aclError aclrtDestroyStream(aclrtStream handle) {
  auto* stream = static_cast<Stream*>(handle);
  {
    const std::lock_guard lock(everything().mutex);
    everything().streams.erase(stream);
  }
  {
    const std::lock_guard lock(stream->mutex);
    stream->ends = true;
    stream->changed.notify_all();
  }
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return aclrtDestroyStream(stream);
}
STAND_IN_API aclError aclrtSynchronizeStream(aclrtStream stream) {
  return synchronize(stream_of(stream));
}
STAND_IN_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t) {
  return synchronize(stream_of(stream));
}
STAND_IN_API aclError aclrtSynchronizeDevice() { return synchronize_device(chosen_device); }
STAND_IN_API aclError aclrtSynchronizeDeviceWithTimeout(int32_t) {
  return synchronize_device(chosen_device);
}
STAND_IN_API aclError aclrtStreamGetId(aclrtStream stream, int32_t* id) {
  *id = stream_of(stream)->id;
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status) {
  Stream* stream = stream_of(handle);
  const std::lock_guard lock(stream->mutex);
  *status = is_idle(*stream) ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtLaunchCallback(aclrtCallback function, void* data,
                                          aclrtCallbackBlockType, aclrtStream stream) {
  return submit(stream, [=] { function(data); });
}
STAND_IN_API aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc function, void* data) {
  return submit(stream, [=] { function(data); });
}
STAND_IN_API aclError aclrtProcessReport(int32_t) { return ACL_ERROR_WAIT_CALLBACK_TIMEOUT; }

STAND_IN_API aclError aclrtCreateEvent(aclrtEvent* event) { return new_event(event); }
STAND_IN_API aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t) {
  return new_event(event);
}
STAND_IN_API aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t) {
  return new_event(event);
}
STAND_IN_API aclError aclrtDestroyEvent(aclrtEvent event) {
  delete static_cast<Event*>(event);
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtResetEvent(aclrtEvent event, aclrtStream) {
  static_cast<Event*>(event)->mark.reset();
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  const auto mark = std::make_shared<Mark>();
  static_cast<Event*>(event)->mark = mark;
  return submit(stream, [mark] {
    const std::lock_guard lock(mark->mutex);
    mark->reached = true;
    mark->when = Clock::now();
    mark->changed.notify_all();
  });
}
STAND_IN_API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  const auto mark = static_cast<Event*>(event)->mark;
  if (mark == nullptr) return ACL_SUCCESS;
  return submit(stream, [mark] { wait_for(*mark); });
}
STAND_IN_API aclError aclrtSynchronizeEvent(aclrtEvent event) {
  if (const auto mark = static_cast<Event*>(event)->mark; mark != nullptr) wait_for(*mark);
  return state_of(chosen_device);
}
STAND_IN_API aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  const auto mark = static_cast<Event*>(event)->mark;
  *status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  if (mark == nullptr) return ACL_SUCCESS;
  const std::lock_guard lock(mark->mutex);
  if (!mark->reached) *status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  aclrtQueryEventStatus(event, &recorded);
  *status = recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE ? ACL_EVENT_WAIT_STATUS_COMPLETE
                                                           : ACL_EVENT_WAIT_STATUS_NOT_READY;
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtEventElapsedTime(float* milliseconds, aclrtEvent from, aclrtEvent to) {
  const auto start = static_cast<Event*>(from)->mark, end = static_cast<Event*>(to)->mark;
  if (start == nullptr || end == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "an event was not recorded");
  wait_for(*start);
  wait_for(*end);
  *milliseconds = std::chrono::duration<float, std::milli>(end->when - start->when).count();
  return ACL_SUCCESS;
}

}  // extern "C"
