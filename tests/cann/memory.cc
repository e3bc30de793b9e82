// SPDX-License-Identifier: Apache-2.0
// Memory: of the device, tagged and full of NaN at first; of the host, page-locked.
#include <cstring>
#include <map>
#include <mutex>

#include <sys/mman.h>

#include "stand_in.h"

namespace cann {
namespace {

constexpr std::size_t kPage = 4096;
constexpr int kNaN = 0xFF;  // every byte: NaN in each floating type

struct Block {
  std::size_t size;
  int device;  // -1: page-locked memory of the host
};

struct Blocks {
  std::mutex mutex;
  std::map<std::uintptr_t, Block> known;
};

Blocks& blocks() {
  static Blocks& all = *new Blocks;  // streams may run while the process ends
  return all;
}

std::uintptr_t address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(on_host(pointer));
}

std::size_t whole_pages(std::size_t size) {
  return (std::max<std::size_t>(size, 1) + kPage - 1) / kPage * kPage;
}

// The block that holds all of `size` bytes, else null; the lock is held.
const Block* find(const void* pointer, std::size_t size) {
  auto& known = blocks().known;
  auto after = known.upper_bound(address(pointer));
  if (after == known.begin()) return nullptr;
  const auto& [start, block] = *--after;
  return address(pointer) + size <= start + block.size ? &block : nullptr;
}

void* map(std::size_t size, int protection) {
  void* memory =
      ::mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void* tagged(void* memory) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory) | kDeviceBit);
}

aclError allocate(void** out, std::size_t size, int device) {
  const std::size_t whole = whole_pages(size);
  void* memory = map(whole, PROT_READ | PROT_WRITE);
  if (memory == nullptr) return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "out of memory");
  if (device >= 0) std::memset(memory, kNaN, whole);
  const std::lock_guard lock(blocks().mutex);
  blocks().known[address(memory)] = {whole, device};
  *out = device >= 0 ? tagged(memory) : memory;
  return ACL_SUCCESS;
}

aclError release(void* pointer) {
  if (pointer == nullptr) return ACL_SUCCESS;
  const std::lock_guard lock(blocks().mutex);
  const auto found = blocks().known.find(address(pointer));
  if (found == blocks().known.end())
    return fail(ACL_ERROR_RT_PARAM_INVALID, "free of an unknown pointer");
  ::munmap(on_host(pointer), found->second.size);  // a use after this crashes
  blocks().known.erase(found);
  return ACL_SUCCESS;
}

bool is_page_locked(const void* pointer, std::size_t size) {
  const std::lock_guard lock(blocks().mutex);
  const Block* block = find(pointer, size);
  return block != nullptr && block->device < 0;
}

// Whether both ends are what the kind of the copy says, and lie inside blocks.
aclError check_copy(void* to, std::size_t room, const void* from, std::size_t count,
                    aclrtMemcpyKind kind) {
  if (count > room) return fail(ACL_ERROR_RT_PARAM_INVALID, "copy: the destination is too small");
  const bool to_device = kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  const bool from_device = kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  if (kind <= ACL_MEMCPY_DEVICE_TO_DEVICE &&
      (is_of_device(to) != to_device || is_of_device(from) != from_device)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "copy: a pointer is not where the kind of the copy says");
  }
  if ((is_of_device(to) && device_of(to, count) < 0) ||
      (is_of_device(from) && device_of(from, count) < 0)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "copy: outside of the memory of a device");
  }
  return state_of(current_device());
}

}  // namespace

int device_of(const void* pointer, std::size_t size) {
  const std::lock_guard lock(blocks().mutex);
  const Block* block = find(pointer, size);
  return block == nullptr || !is_of_device(pointer) ? -1 : block->device;
}

}  // namespace cann

using namespace cann;

extern "C" {

STAND_IN_API aclError aclrtMalloc(void** pointer, size_t size, aclrtMemMallocPolicy) {
  return allocate(pointer, size, current_device());
}
STAND_IN_API aclError aclrtMallocAlign32(void** pointer, size_t size, aclrtMemMallocPolicy) {
  return allocate(pointer, size, current_device());
}
STAND_IN_API aclError aclrtMallocHost(void** pointer, size_t size) {
  return allocate(pointer, size, -1);
}
STAND_IN_API aclError aclrtFree(void* pointer) { return release(pointer); }
STAND_IN_API aclError aclrtFreeHost(void* pointer) { return release(pointer); }

STAND_IN_API aclError aclrtPointerGetAttributes(const void* pointer,
                                                aclrtPtrAttributes* attributes) {
  *attributes = {};
  attributes->pageSize = kPage;
  const int device = device_of(pointer, 0);
  attributes->location.type = device >= 0                  ? ACL_MEM_LOCATION_TYPE_DEVICE
                              : is_page_locked(pointer, 0) ? ACL_MEM_LOCATION_TYPE_HOST
                                                           : ACL_MEM_LOCATION_TYPE_UNREGISTERED;
  attributes->location.id = device >= 0 ? static_cast<uint32_t>(device) : 0;
  return ACL_SUCCESS;
}

STAND_IN_API aclError aclrtMemcpy(void* to, size_t room, const void* from, size_t count,
                                  aclrtMemcpyKind kind) {
  if (const aclError error = check_copy(to, room, from, count, kind); error != ACL_SUCCESS)
    return error;
  std::memmove(on_host(to), on_host(from), count);
  return ACL_SUCCESS;
}

// Memory of the host that is not page-locked may be gone when the stream comes to it: it is copied
// at once.
STAND_IN_API aclError aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t count,
                                       aclrtMemcpyKind kind, aclrtStream stream) {
  if (const aclError error = check_copy(to, room, from, count, kind); error != ACL_SUCCESS)
    return error;
  const aclError error = submit(stream, [=] { std::memmove(on_host(to), on_host(from), count); });
  const auto stays = [&](const void* pointer) {
    return is_of_device(pointer) || is_page_locked(pointer, count);
  };
  if (error != ACL_SUCCESS || (stays(to) && stays(from))) return error;
  return aclrtSynchronizeStream(stream);
}

STAND_IN_API aclError aclrtMemset(void* pointer, size_t room, int32_t value, size_t count) {
  if (count > room) return fail(ACL_ERROR_RT_PARAM_INVALID, "memset: the destination is too small");
  std::memset(on_host(pointer), value, count);
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtMemsetAsync(void* pointer, size_t room, int32_t value, size_t count,
                                       aclrtStream stream) {
  if (count > room) return fail(ACL_ERROR_RT_PARAM_INVALID, "memset: the destination is too small");
  return submit(stream, [=] { std::memset(on_host(pointer), value, count); });
}

// Addresses first, memory behind them later.
STAND_IN_API aclError aclrtReserveMemAddress(void** pointer, size_t size, size_t, void*, uint64_t) {
  void* memory = map(whole_pages(size), PROT_NONE);
  if (memory == nullptr) return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "out of addresses");
  const std::lock_guard lock(blocks().mutex);
  blocks().known[address(memory)] = {whole_pages(size), current_device()};
  *pointer = tagged(memory);
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtReleaseMemAddress(void* pointer) { return release(pointer); }
STAND_IN_API aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size,
                                          const aclrtPhysicalMemProp*, uint64_t) {
  *handle = reinterpret_cast<aclrtDrvMemHandle>(new std::size_t(size));
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  delete reinterpret_cast<std::size_t*>(handle);
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtMapMem(void* pointer, size_t size, size_t, aclrtDrvMemHandle, uint64_t) {
  if (::mprotect(on_host(pointer), size, PROT_READ | PROT_WRITE) != 0)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "map");
  std::memset(on_host(pointer), kNaN, size);
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclrtUnmapMem(void*) { return ACL_SUCCESS; }  // its size is not known here

STAND_IN_API aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
  *total = std::size_t{64} << 30;
  *free = std::size_t{60} << 30;
  return ACL_SUCCESS;
}

}  // extern "C"
