// SPDX-License-Identifier: Apache-2.0
#include "collect/tensor_store.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include "collect/pt_file.h"
#include "collect/scratch_for_test.h"
#include "core/crc32.h"
#include "core/descriptor.h"
#include "dump/tensor_file.h"

namespace msprobe::collect {
namespace {

namespace fs = std::filesystem;

using TensorFiles = InScratch;

TEST_F(TensorFiles, TheReaderTakesWhatIsWritten) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt64, DType::kBool,
                            DType::kUInt16, DType::kFloat8E4M3, DType::kComplex128}) {
    std::vector<std::byte> bytes(6 * size_bytes(dtype), std::byte{1});
    const std::vector<std::int64_t> shape{2, 3};
    const std::string path = file(std::string(name(dtype)) + ".pt");
    ASSERT_TRUE(write_pt(path, dtype, shape, bytes, crc32(0, bytes)));
    const Result<Tensor> read = dump::load_tensor_file(path);
    ASSERT_TRUE(read) << name(dtype) << ": " << read.error().message;
    EXPECT_EQ(read->dtype, dtype);
    EXPECT_EQ(read->shape, shape);
    EXPECT_TRUE(std::ranges::equal(read->bytes, bytes));
  }
}

TEST_F(TensorFiles, AnNpyIsWrittenWhereTheNameAsksForOne) {
  TensorStore store;
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt64, DType::kBool,
                            DType::kUInt16, DType::kComplex128}) {
    const std::vector<std::byte> bytes(6 * size_bytes(dtype), std::byte{1});
    const std::vector<std::int64_t> shape{2, 3};
    const std::string path = file(std::string(name(dtype)) + ".npy");
    ASSERT_TRUE(store.save(path, dtype, shape, bytes));
    const Result<Tensor> read = dump::load_tensor_file(path);
    ASSERT_TRUE(read) << name(dtype) << ": " << read.error().message;
    EXPECT_EQ(read->dtype, dtype);
    EXPECT_EQ(read->shape, shape);
    EXPECT_TRUE(std::ranges::equal(read->bytes, bytes));
  }
}

TEST_F(TensorFiles, AnEqualTensorIsLinkedAndAnotherIsNot) {
  TensorStore store;
  std::vector<std::byte> bytes(8192, std::byte{5});
  const std::vector<std::int64_t> shape{2048};
  ASSERT_TRUE(store.save(file("a.pt"), DType::kFloat32, shape, bytes));
  ASSERT_TRUE(store.save(file("b.pt"), DType::kFloat32, shape, bytes));
  bytes[8191] = std::byte{6};
  ASSERT_TRUE(store.save(file("c.pt"), DType::kFloat32, shape, bytes));
  ASSERT_TRUE(store.save(file("d.pt"), DType::kInt32, shape, bytes));
  EXPECT_TRUE(fs::equivalent(file("a.pt"), file("b.pt")));
  EXPECT_EQ(fs::hard_link_count(file("c.pt")), 1U);
  EXPECT_EQ(fs::hard_link_count(file("d.pt")), 1U);
}

TEST_F(TensorFiles, AFileThatIsReplacedLeavesItsContentToTheNamesLinkedToIt) {
  TensorStore store;
  const std::vector<std::byte> first(8192, std::byte{1}), second(8192, std::byte{2});
  const std::vector<std::int64_t> shape{8192};
  const auto byte_of = [&](const char* name) {
    const Result<Tensor> read = dump::load_tensor_file(file(name));
    return read ? read->bytes[0] : std::byte{0};
  };
  ASSERT_TRUE(store.save(file("a.pt"), DType::kUInt8, shape, first));
  ASSERT_TRUE(store.save(file("b.pt"), DType::kUInt8, shape, first));
  ASSERT_TRUE(store.save(file("a.pt"), DType::kUInt8, shape, second));
  ASSERT_TRUE(store.save(file("c.pt"), DType::kUInt8, shape, first));
  EXPECT_EQ(byte_of("a.pt"), std::byte{2});
  EXPECT_EQ(byte_of("b.pt"), std::byte{1});
  EXPECT_EQ(byte_of("c.pt"), std::byte{1});
}

TEST_F(TensorFiles, ThreadsThatSaveOneTensorWriteItOnce) {
  TensorStore store;
  const std::vector<std::byte> bytes(4 << 20, std::byte{3});
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_TRUE(store.save(file(std::to_string(i)), DType::kUInt8, {4 << 20}, bytes));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fs::hard_link_count(file("0")), 8U);
}

TEST_F(TensorFiles, WhereATensorCannotBeWrittenTheNextThreadTries) {
  TensorStore store;
  const std::vector<std::byte> bytes(8192, std::byte{3});
  EXPECT_FALSE(store.save(file("no/directory.pt"), DType::kUInt8, {8192}, bytes));
  EXPECT_TRUE(store.save(file("a.pt"), DType::kUInt8, {8192}, bytes));
  EXPECT_TRUE(fs::exists(file("a.pt")));
}

// How many pages of a file are in the page cache.
std::size_t cached_pages(const std::string& path) {
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::size_t size = fs::file_size(path);
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor.get(), 0);
  std::vector<unsigned char> pages((size + 4095) / 4096);
  ::mincore(map, size, pages.data());
  ::munmap(map, size);
  return static_cast<std::size_t>(
      std::ranges::count_if(pages, [](auto page) { return page & 1U; }));
}

TEST_F(TensorFiles, LargeFilesLeaveThePageCacheAndSmallOnesStay) {
  struct statfs system{};
  ASSERT_EQ(::statfs(file("").c_str(), &system), 0);
  // Others may keep the pages.
  const bool drops = system.f_type == EXT4_SUPER_MAGIC || system.f_type == XFS_SUPER_MAGIC;
  const std::string large(4 << 20, 'x'), small(4096, 'x');
  std::ofstream(file("large")) << large;
  std::ofstream(file("small")) << small;
  WriteBehind behind;
  behind.add(file("missing"), large.size());
  behind.add(file("small"), small.size());
  behind.add(file("large"), large.size());
  while (drops && cached_pages(file("large")) > 0) {  // the test's time limit ends a wait in vain
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(cached_pages(file("small")), 1U);
  EXPECT_EQ(read_text(file("large")), large);
}

}  // namespace
}  // namespace msprobe::collect
