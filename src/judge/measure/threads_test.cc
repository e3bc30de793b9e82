// SPDX-License-Identifier: Apache-2.0
// What does not depend on the number of threads, and how much memory a measurement takes.
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "measure/chunks.h"
#include "measure/metrics.h"
#include "measure/pairs_for_test.h"

#if defined(__SANITIZE_ADDRESS__)
#define MSPROBE_TEST_WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MSPROBE_TEST_WITH_ASAN 1
#endif
#endif

#ifdef MSPROBE_TEST_WITH_ASAN
// Of <sanitizer/allocator_interface.h>, which not every compiler brings along.
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, std::size_t),
                                              void (*on_free)(const volatile void*));
std::size_t __sanitizer_get_allocated_size(const volatile void* block);
}
#else
#include <malloc.h>
#endif

namespace {

// Bytes that are allocated, and the most there were since the last reset.
std::atomic<std::size_t> live = 0;
std::atomic<std::size_t> peak = 0;

void note_new(std::size_t size_bytes) {
  const std::size_t now = live += size_bytes;
  std::size_t highest = peak;
  while (now > highest && !peak.compare_exchange_weak(highest, now)) {
  }
}

}  // namespace

#ifdef MSPROBE_TEST_WITH_ASAN

// AddressSanitizer pairs each form of new with its delete, so its own are left in place.
[[maybe_unused]] const int hooks = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void* block, std::size_t /*size*/) {
      note_new(__sanitizer_get_allocated_size(block));
    },
    [](const volatile void* block) { live -= __sanitizer_get_allocated_size(block); });

#else

void* operator new(std::size_t size) {
  void* block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  note_new(::malloc_usable_size(block));
  return block;
}

void operator delete(void* block) noexcept {
  live -= ::malloc_usable_size(block);
  std::free(block);
}

void operator delete(void* block, std::size_t /*size*/) noexcept { operator delete(block); }

#endif

namespace msprobe::measure {
namespace {

// Bit for bit, in both arithmetics and for every kind of pair.
TEST(Threads, DigitsDoNotDependOnTheirNumber) {
  const DTypePair all[] = {{DType::kFloat32, DType::kFloat64},
                           {DType::kBFloat16, DType::kFloat32},
                           {DType::kFloat16, DType::kFloat16},
                           {DType::kFloat32, DType::kFloat16}};
  for (const DTypePair dtypes : all) {
    const TestPair pair = make_pair_of(dtypes, Data::kNoisy, 5 * kChunk + 17, 5);
    for (const Arithmetic arithmetic : {Arithmetic::kDocumented, Arithmetic::kReference}) {
      const auto with_threads = [&](int threads) {
        return std::bit_cast<std::array<std::uint64_t, sizeof(Metrics) / 8>>(
            measure(pair.device.view(), pair.bench.view(),
                    {documented_thresholds(dtypes.device), arithmetic, threads}));
      };
      const auto wanted = with_threads(1);
      for (const int threads : {2, 3, 8}) EXPECT_EQ(with_threads(threads), wanted) << threads;
    }
  }
}

struct Visited {
  std::vector<std::size_t> firsts;
};

void merge(Visited& total, const Visited& part) {
  total.firsts.insert(total.firsts.end(), part.firsts.begin(), part.firsts.end());
}

TEST(Threads, ChunksOfSeveralRoundsAreMergedInIndexOrder) {
  const std::size_t chunks = 2 * kRound + 3;
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < chunks; ++i) wanted.push_back(i * kChunk);
  for (const int threads : {1, 4}) {
    std::atomic<std::size_t> elements = 0;
    const auto visited = reduce_in_chunks<Visited>((chunks - 1) * kChunk + 5, threads,
                                                   [&](std::size_t first, std::size_t count) {
                                                     elements += count;
                                                     return Visited{{first}};
                                                   });
    EXPECT_EQ(visited.firsts, wanted);
    EXPECT_EQ(elements, (chunks - 1) * kChunk + 5);
  }
}

TEST(Memory, DoesNotGrowWithTheTensor) {
  for (const std::size_t length : {2 * kChunk, 64 * kChunk}) {
    const TestPair pair =
        make_pair_of({DType::kBFloat16, DType::kBFloat16}, Data::kOrdinary, length, 1);
    const std::size_t before = live;
    peak = before;
    const Metrics metrics = measure(pair.device.view(), pair.bench.view(), {.threads = 4});
    const std::size_t extra = peak - before;
    EXPECT_EQ(metrics.count, length);
    EXPECT_LT(extra, (pair.device.bytes.size() + pair.bench.bytes.size()) / 100);
    EXPECT_LT(extra, kRound * 512);
  }
}

}  // namespace
}  // namespace msprobe::measure
