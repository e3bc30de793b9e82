// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <complex>
#include <csignal>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "collect/float_sums.h"
#include "collect/growing_json.h"
#include "collect/json_text.h"
#include "collect/pt_file.h"
#include "collect/recorder.h"
#include "collect/scratch_for_test.h"
#include "collect/statistics.h"
#include "core/float_formats.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// It would end a test that asks for more memory than there is.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif
#endif

namespace msprobe::collect {
namespace {

namespace fs = std::filesystem;

template <class T>
StridedView view_of(const std::vector<T>& values, DType dtype, std::vector<std::int64_t> shape,
                    std::vector<std::int64_t> strides) {
  return {reinterpret_cast<const std::byte*>(values.data()), dtype, std::move(shape),
          std::move(strides)};
}

template <class T>
StridedView row_of(const std::vector<T>& values, DType dtype) {
  return view_of(values, dtype, {static_cast<std::int64_t>(values.size())}, {1});
}

std::vector<float> some_floats(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<float>(i)) * 3.0F;
  return values;
}

class EveryLength : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryLength, VectorSumsAgreeWithThePlainLoop) {
  const std::vector<float> values = some_floats(GetParam());
  const FloatSums fast = float_sums(values.data(), values.size());
  const FloatSums plain = float_sums_reference(values.data(), values.size());
  EXPECT_EQ(fast.max, plain.max);
  EXPECT_EQ(fast.min, plain.min);
  EXPECT_NEAR(fast.sum, plain.sum, 1e-12 * static_cast<double>(GetParam() + 1));
  EXPECT_NEAR(fast.sum_of_squares, plain.sum_of_squares, 1e-12 * plain.sum_of_squares);
  EXPECT_FALSE(fast.has_nan);
}

TEST_P(EveryLength, ANanAnywhereIsFound) {
  std::vector<float> values = some_floats(GetParam());
  for (std::size_t i = 0; i < values.size(); i += 1 + values.size() / 8) {
    const float kept = std::exchange(values[i], NAN);
    EXPECT_TRUE(float_sums(values.data(), values.size()).has_nan) << i;
    values[i] = kept;
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, EveryLength,
                         testing::Values(0, 1, 3, 7, 8, 9, 15, 16, 31, 33, 63, 64, 65, 127, 128,
                                         129, 1023, 1025, 16385));

TEST(Statistics, OfFloats) {
  const std::vector<float> values{1, -2, 2, 4};
  const Statistics found = statistics_of(row_of(values, DType::kFloat32));
  EXPECT_EQ(found.max.real, 4);
  EXPECT_EQ(found.min.real, -2);
  EXPECT_EQ(found.mean.real, 1.25);
  EXPECT_EQ(found.norm.real, 5);
  EXPECT_EQ(found.max_finite.kind, RecordedStatistic::Kind::kNull);
}

TEST(Statistics, OfAnExpandedTensorTakeNoLongerThanOfItsElements) {
  const std::vector<float> values{3, 4};
  const StridedView view =
      view_of(values, DType::kFloat32, {2, std::int64_t{1} << 40, 2}, {0, 0, 1});
  const Statistics found = statistics_of(view);
  EXPECT_EQ(found.max.real, 4);
  EXPECT_EQ(found.mean.real, 3.5);
  EXPECT_EQ(found.norm.real, static_cast<float>(5 * std::sqrt(std::ldexp(1.0, 41))));
  EXPECT_EQ(statistics_of(view_of(values, DType::kFloat32, {0, 2}, {0, 1})).max.kind,
            RecordedStatistic::Kind::kNull);
}

TEST(Statistics, OfIntegersAndBoolsHaveNeitherMeanNorNorm) {
  const std::vector<std::int32_t> values{1, 2, 3};
  const Statistics found = statistics_of(row_of(values, DType::kInt32));
  EXPECT_EQ(found.max.integer, 3);
  EXPECT_EQ(found.mean.kind, RecordedStatistic::Kind::kNull);
  const std::vector<std::uint8_t> flags{1, 0, 1};
  const Statistics of_flags = statistics_of(row_of(flags, DType::kBool));
  EXPECT_EQ(of_flags.max.integer, 1);
  EXPECT_EQ(of_flags.min.integer, 0);
  EXPECT_EQ(of_flags.norm.kind, RecordedStatistic::Kind::kNull);
}

TEST(Statistics, OfAScalarAreItsValue) {
  const std::vector<float> value{-42};
  const Statistics found = statistics_of(view_of(value, DType::kFloat32, {}, {}));
  EXPECT_EQ(found.norm.real, -42);
  EXPECT_EQ(found.mean.real, -42);
}

TEST(Statistics, OfComplexNumbersAreThoseOfTheModulus) {
  const std::vector<float> values{1, 2, 3, 4};
  const Statistics found = statistics_of(view_of(values, DType::kComplex64, {2}, {1}));
  EXPECT_EQ(found.max.real, 5);
  EXPECT_NEAR(found.min.real, std::sqrt(5.0), 1e-6);
  EXPECT_EQ(found.norm.kind, RecordedStatistic::Kind::kNull);
}

TEST(Statistics, MindSporeRoundsIntegersAndDoublesToFloat32) {
  constexpr auto kRule = StatisticsRule::kMindSpore;
  const std::vector<std::int64_t> integers{1, 0, -3, 16777217};
  const Statistics of_integers = statistics_of(row_of(integers, DType::kInt64), kRule);
  EXPECT_EQ(of_integers.max.kind, RecordedStatistic::Kind::kReal);
  EXPECT_EQ(of_integers.max.real, 16777216.0);
  EXPECT_EQ(of_integers.min.real, -3.0);
  EXPECT_EQ(of_integers.mean.real, static_cast<double>(4194303.5F));
  const std::vector<double> doubles{0.1, 0.2};
  const Statistics of_doubles = statistics_of(row_of(doubles, DType::kFloat64), kRule);
  EXPECT_EQ(of_doubles.max.real, static_cast<double>(0.2F));
  EXPECT_EQ(of_doubles.norm.kind, RecordedStatistic::Kind::kReal);
  const std::vector<std::complex<float>> complexes{{3, 4}, {0, 0}};
  const Statistics of_complex = statistics_of(row_of(complexes, DType::kComplex64), kRule);
  EXPECT_EQ(of_complex.max.real, 5.0);
  EXPECT_EQ(of_complex.norm.real, 5.0);
  EXPECT_EQ(statistics_of(view_of(integers, DType::kInt64, {}, {}), kRule).mean.kind,
            RecordedStatistic::Kind::kSigned);
  EXPECT_EQ(statistics_of(row_of(std::vector<std::uint8_t>{1, 0}, DType::kBool), kRule).mean.kind,
            RecordedStatistic::Kind::kNull);
}

TEST(Statistics, NormOfHalfCanOverflow) {
  const std::vector<std::uint16_t> values(4, float_to_float16(60000));
  const Statistics found = statistics_of(row_of(values, DType::kFloat16));
  EXPECT_TRUE(std::isinf(found.norm.real));
  EXPECT_EQ(found.max.real, 60000);
}

TEST(Statistics, FiniteExtremesStandBesideInfinities) {
  const std::vector<float> values{1, INFINITY, -3};
  const Statistics found = statistics_of(row_of(values, DType::kFloat32));
  EXPECT_TRUE(std::isinf(found.max.real));
  EXPECT_EQ(found.max_finite.real, 1);
  EXPECT_EQ(found.min_finite.real, -3);
  EXPECT_TRUE(overflows(found, DType::kFloat32));
}

TEST(Statistics, SaturatedValuesCountAsOverflow) {
  const std::vector<std::uint16_t> values{float_to_float16(65504)};
  EXPECT_TRUE(overflows(statistics_of(row_of(values, DType::kFloat16)), DType::kFloat16));
  const std::vector<std::uint16_t> lower{float_to_float16(65472)};
  EXPECT_FALSE(overflows(statistics_of(row_of(lower, DType::kFloat16)), DType::kFloat16));
}

TEST(StridedView, EveryLayoutHasTheSameElements) {
  std::vector<float> values(2 * 3 * 70);
  std::iota(values.begin(), values.end(), 0.0F);
  const StridedView transposed = view_of(values, DType::kFloat32, {3, 70, 2}, {70, 1, 210});
  std::vector<float> copied(values.size());
  copy_contiguous(transposed, reinterpret_cast<std::byte*>(copied.data()));
  EXPECT_EQ(copied[0], 0);
  EXPECT_EQ(copied[1], 210);
  EXPECT_EQ(copied[2], 1);
  EXPECT_EQ(copied.back(), 419);
  EXPECT_EQ(statistics_of(transposed).norm.real,
            statistics_of(row_of(values, DType::kFloat32)).norm.real);
  const StridedView part = view_of(values, DType::kFloat32, {3, 2}, {70, 1});
  EXPECT_EQ(statistics_of(part).max.real, 141);
  const StridedView repeated = view_of(values, DType::kFloat32, {5, 2}, {0, 1});
  EXPECT_EQ(statistics_of(repeated).mean.real, 0.5);
}

TEST(JsonText, NumbersAreWrittenAsPythonDoes) {
  EXPECT_EQ(python_repr(2), "2.0");
  EXPECT_EQ(python_repr(1e-5), "1e-05");
  EXPECT_EQ(python_repr(0.0001), "0.0001");
  EXPECT_EQ(python_repr(1e15), "1000000000000000.0");
  EXPECT_EQ(python_repr(1e16), "1e+16");
  EXPECT_EQ(python_repr(123456789012345680.0), "1.2345678901234568e+17");
  EXPECT_EQ(python_repr(-0.0), "-0.0");
  EXPECT_EQ(python_repr(-INFINITY), "-Infinity");
}

TEST(JsonText, IsIndentedAndEscapedAsPythonDoes) {
  JsonText json(JsonText::Layout::kIndented);
  json.begin_object();
  json.key("a");
  json.begin_array();
  json.integer(1);
  json.string("\xc3\xa9\n\"\xf0\x9f\x98\x80");
  json.end_array();
  json.key("b");
  json.begin_array();
  json.end_array();
  json.end_object();
  EXPECT_EQ(json.text(),
            "{\n \"a\": [\n  1,\n  \"\\u00e9\\n\\\"\\ud83d\\ude00\"\n ],\n \"b\": []\n}");
}

TEST_F(InScratch, AGrowingFileIsCompleteAfterEveryWrite) {
  Result<GrowingJson> json = GrowingJson::create(file("a.json"), "{\"data\": {", "}}");
  ASSERT_TRUE(json);
  EXPECT_EQ(read_text(file("a.json")), "{\"data\": {}}");
  ASSERT_TRUE(json->append("", ",\"unfinished\": 1"));
  EXPECT_EQ(read_text(file("a.json")), "{\"data\": {\"unfinished\": 1}}");
  ASSERT_TRUE(json->append(",\"a\": 1", ""));
  EXPECT_EQ(read_text(file("a.json")), "{\"data\": {\"a\": 1}}");
  ASSERT_TRUE(json->append(",\"b\": 2", ",\"c\": 3"));
  EXPECT_EQ(read_text(file("a.json")), "{\"data\": {\"a\": 1,\"b\": 2,\"c\": 3}}");
}

TEST_F(InScratch, AGrowingFileThatIsMovedGetsAnotherHead) {
  Result<GrowingJson> json =
      GrowingJson::create(file("a.json"), "{\"in\": \"a\", \"data\": {", "}}");
  ASSERT_TRUE(json);
  ASSERT_TRUE(json->append(",\"a\": 1", ",\"b\": 0"));
  fs::rename(file("a.json"), file("b.json"));
  ASSERT_TRUE(json->move_to(file("b.json"), "{\"in\": \"elsewhere\", \"data\": {"));
  EXPECT_EQ(read_text(file("b.json")), "{\"in\": \"elsewhere\", \"data\": {\"a\": 1}}");
  ASSERT_TRUE(json->append(",\"b\": 2", ""));
  EXPECT_EQ(read_text(file("b.json")), "{\"in\": \"elsewhere\", \"data\": {\"a\": 1,\"b\": 2}}");
}

// While one lives, no file grows beyond `bytes`: a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit small{bytes, limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit limit_{};
  void (*handler_)(int);
};

TEST_F(InScratch, AFullDiskLeavesWhatWasWrittenBefore) {
  Result<GrowingJson> json = GrowingJson::create(file("a.json"), "{", "}");
  ASSERT_TRUE(json);
  ASSERT_TRUE(json->append(",\"a\": 1", ",\"b\": 0"));
  const std::string large = ",\"b\": \"" + std::string(5000, 'x') + "\"";
  {
    const FullDisk full(4096);
    EXPECT_FALSE(json->append(large, ""));
    EXPECT_EQ(read_text(file("a.json")), "{\"a\": 1}");
  }
  ASSERT_TRUE(json->append(",\"c\": 3", ""));
  EXPECT_EQ(read_text(file("a.json")), "{\"a\": 1,\"c\": 3}");
}

TEST_F(InScratch, AFullDiskLeavesNoPartsOfTensorFiles) {
  const std::vector<std::byte> bytes(8192, std::byte{1});
  const FullDisk full(4096);
  EXPECT_FALSE(write_pt(file("a.pt"), DType::kUInt8, std::vector<std::int64_t>{8192}, bytes, 0));
  EXPECT_FALSE(fs::exists(file("a.pt")));
}

TEST_F(InScratch, MoreMemoryThanThereIsIsNotGiven) {
  Recorder recorder(1 << 20);
  EXPECT_FALSE(recorder.take_buffer(std::size_t{1} << 60));
  EXPECT_TRUE(recorder.take_buffer(1 << 20));  // nothing is waited for
}

TEST_F(InScratch, EntriesKeepTheOrderInWhichTheyBegan) {
  Recorder recorder(1 << 20);
  ASSERT_TRUE(recorder.open_step({file("d.json"), "{", "}", file("s.json")}));
  const std::uint64_t first = recorder.begin(",\"a\": 0");
  const std::uint64_t second = recorder.begin(",\"b\": 0");
  recorder.finish(second, ",\"b\": 2");
  recorder.add_stack("a", "[]");
  recorder.add_stack("b", "[]");
  EXPECT_FALSE(recorder.flush());
  EXPECT_EQ(read_text(file("d.json")), "{\"a\": 0,\"b\": 2}");
  recorder.finish(first, ",\"a\": 1");
  EXPECT_FALSE(recorder.flush());
  EXPECT_EQ(read_text(file("d.json")), "{\"a\": 1,\"b\": 2}");
  EXPECT_THAT(read_text(file("s.json")), testing::HasSubstr("\"a\",\n   \"b\""));
}

TEST_F(InScratch, AStepBeginsWithItsFilesAndLeavesNoOthers) {
  Recorder recorder(1 << 20);
  ASSERT_TRUE(recorder.open_step({file("d.json"), "{", "}", file("s.json"), file("c.json")}));
  for (const char* name : {"d.json", "s.json", "c.json"})
    EXPECT_EQ(read_text(file(name)), "{}") << name;
  for (const char* name : {"a", "b", "c"}) {  // the second one finds a file to exchange names with
    recorder.finish(recorder.begin(""), fmt::format(",\"{}\": 1", name));
    recorder.add_stack(name, "[]");
    EXPECT_FALSE(recorder.flush());
  }
  recorder.end_step();
  EXPECT_EQ(read_text(file("d.json")), "{\"a\": 1,\"b\": 1,\"c\": 1}");
  EXPECT_THAT(read_text(file("s.json")), testing::HasSubstr("\"c\""));
  EXPECT_EQ(read_text(file("c.json")), "{}");  // which was one file with s.json
  const auto files = fs::directory_iterator(fs::path(file("d.json")).parent_path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 3);
}

TEST_F(InScratch, AStepThatWasLeftIsGoneOnWith) {
  Recorder recorder(1 << 20);
  const auto add = [&](const char* name) {
    recorder.finish(recorder.begin(""), fmt::format(",\"{}\": 1", name));
    recorder.add_stack(name, "[]");
    EXPECT_FALSE(recorder.flush());
  };
  ASSERT_TRUE(recorder.open_step({file("d.json"), "{", "}", file("s.json")}));
  add("a");
  const std::uint64_t open = recorder.begin("");
  recorder.park_step("first");
  EXPECT_EQ(read_text(file("d.json")), "{\"a\": 1}");
  ASSERT_TRUE(recorder.open_step({file("e.json"), "{", "}", file("t.json")}));
  add("b");
  recorder.finish(open, ",\"lost\": 1");  // its step is not the open one
  recorder.park_step("second");
  EXPECT_FALSE(recorder.resume_step("third"));
  ASSERT_TRUE(recorder.resume_step("first"));
  add("c");
  recorder.end_step();
  EXPECT_EQ(read_text(file("d.json")), "{\"a\": 1,\"c\": 1}");
  EXPECT_EQ(read_text(file("e.json")), "{\"b\": 1}");
  EXPECT_THAT(read_text(file("s.json")), testing::HasSubstr("\"a\",\n   \"c\""));
  EXPECT_THAT(read_text(file("t.json")), testing::HasSubstr("\"b\""));
  EXPECT_FALSE(recorder.resume_step("first"));
  recorder.forget_parked_steps();
  EXPECT_FALSE(recorder.resume_step("second"));
}

TEST_F(InScratch, MemoryIsBoundedWhileManyTensorsWait) {
  Recorder recorder(1 << 20);
  ASSERT_TRUE(recorder.open_step({file("d.json"), "{", "}", ""}));
  for (int i = 0; i < 40; ++i) {
    std::unique_ptr<Buffer> buffer = recorder.take_buffer(600 << 10);  // waits for the one before
    recorder.save({file(std::to_string(i) + ".pt"),
                   DType::kUInt8,
                   {600 << 10},
                   std::move(buffer),
                   600 << 10});
  }
  EXPECT_FALSE(recorder.flush());
  EXPECT_TRUE(fs::exists(file("39.pt")));
}

TEST_F(InScratch, BuffersThatAreKeptBackDoNotWaitForEachOther) {
  Recorder recorder(1 << 20);
  std::vector<std::unique_ptr<Buffer>> kept;
  for (int i = 0; i < 3; ++i) {
    std::unique_ptr<Buffer> buffer = recorder.take_buffer(600 << 10, Recorder::Bound::kIgnored);
    ASSERT_EQ(buffer->size(), 600U << 10);
    kept.push_back(std::move(buffer));
  }
  for (std::unique_ptr<Buffer>& buffer : kept) recorder.give_back(std::move(buffer), 600 << 10);
}

TEST_F(InScratch, AnUnwritableFileIsReported) {
  Recorder recorder(1 << 20);
  ASSERT_TRUE(recorder.open_step({file("d.json"), "{", "}", ""}));
  recorder.save({file("no/such/directory.pt"), DType::kUInt8, {1}, recorder.take_buffer(1), 1});
  const std::optional<Error> error = recorder.flush();
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, testing::HasSubstr("directory.pt"));
  EXPECT_FALSE(recorder.flush());
}

}  // namespace
}  // namespace msprobe::collect
