// SPDX-License-Identifier: Apache-2.0
// .pt files that are broken or hostile.
#include "dump/pt.h"

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/files_for_test.h"

namespace msprobe::dump {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

// Pieces of a pickle.
std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
std::string text(const std::string& value) {
  std::string out = "X";
  put_number(out, value.size(), 4);
  return out + value;
}
std::string number(std::int64_t value) {
  std::string out = "\x8a\x08";
  put_number(out, static_cast<std::uint64_t>(value), 8);
  return out;
}
std::string tuple(const std::vector<std::string>& items) {
  std::string out = "(";
  for (const std::string& item : items) out += item;
  return out + "t";
}
std::string extents(const std::vector<std::int64_t>& values) {
  std::vector<std::string> items;
  for (const std::int64_t value : values) items.push_back(number(value));
  return tuple(items);
}
std::string storage(const std::string& type, std::int64_t count, const std::string& key = "0") {
  return tuple({text("storage"), global("torch", type), text(key), text("cpu"), number(count)}) +
         "Q";
}
std::string hooks() { return global("collections", "OrderedDict") + ")R"; }
std::string rebuild(std::int64_t stored, std::int64_t offset,
                    const std::vector<std::int64_t>& shape,
                    const std::vector<std::int64_t>& strides) {
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple({storage("FloatStorage", stored), number(offset), extents(shape), extents(strides),
                "\x89", hooks()}) +
         "R";
}
std::string pickle(const std::string& body) { return "\x80\x02" + body + "."; }

std::string archive(const std::string& pickled, const std::string& data) {
  return make_zip({{"a/data.pkl", pickled}, {"a/data/0", data}});
}

Result<Tensor> read_as_pt(const std::string& file) { return read_pt(file_of(file), "x.pt"); }

Error refused_pt(const std::string& pickle_body, const std::string& data = std::string(24, '\0')) {
  const auto tensor = read_as_pt(archive(pickle(pickle_body), data));
  if (tensor) return {ErrorKind::kExecution, "no fault"};
  EXPECT_THAT(tensor.error().message, HasSubstr("x.pt: "));
  return tensor.error();
}

void expect_hostile(const std::string& pickle_body, const std::string& wanted) {
  const Error error = refused_pt(pickle_body);
  EXPECT_EQ(error.kind, ErrorKind::kHostile) << error.message;
  EXPECT_THAT(error.message, HasSubstr(wanted));
  EXPECT_THAT(error.message, HasSubstr("byte "));
}

TEST(Pt, ReadsAnArchiveMadeByHand) {
  const auto tensor =
      read_as_pt(archive(pickle(rebuild(6, 0, {2, 3}, {3, 1})), std::string(24, '\x01')));
  ASSERT_TRUE(tensor) << tensor.error().message;
  EXPECT_EQ(tensor->shape, (Shape{2, 3}));
}

TEST(Pt, KeepsTheOrderInMemoryOfDenseTensors) {
  const auto strides_of = [](const std::vector<std::int64_t>& shape,
                             const std::vector<std::int64_t>& strides) {
    const auto tensor =
        read_as_pt(archive(pickle(rebuild(6, 0, shape, strides)), std::string(24, 'x')));
    return tensor ? tensor->recorded_strides : Shape{-1};
  };
  EXPECT_EQ(strides_of({2, 3}, {3, 1}), Shape{});
  EXPECT_EQ(strides_of({2, 3}, {1, 2}), (Shape{1, 2}));
  EXPECT_EQ(strides_of({1, 2, 3}, {1, 1, 2}), (Shape{1, 1, 2}));
  EXPECT_EQ(strides_of({1, 6}, {1, 1}), (Shape{1, 1}));
  EXPECT_EQ(strides_of({2, 3}, {0, 1}), Shape{});  // overlaps
  EXPECT_EQ(strides_of({3}, {2}), Shape{});        // has gaps
}

TEST(Pt, NeverCallsWhatAPickleNames) {
  const std::string argument = tuple({text("echo gone > /tmp/gone")});
  expect_hostile(global("posix", "system") + argument + "R",
                 "the pickle tries to call posix.system");
  expect_hostile(global("os", "system") + argument + "R", "call os.system");
  expect_hostile(global("builtins", "eval") + argument + "R", "call builtins.eval");
  expect_hostile(global("subprocess", "Popen") + argument + "R", "call subprocess.Popen");
  expect_hostile(text("builtins") + text("exec") + "\x93" + argument + "R", "call builtins.exec");
  expect_hostile(global("torch", "load") + argument + "R", "call torch.load");
  expect_hostile(global("torch._utils", "_rebuild_tensor_v2.__globals__") + argument + "R", "call");
  expect_hostile(global("torch.float32", "x") + argument + "R", "call torch.float32.x");
  // The name alone is enough, called or not, and wherever it is.
  expect_hostile(rebuild(6, 0, {2, 3}, {3, 1}) + global("posix", "system") + "0", "posix.system");
  expect_hostile(global("evil\x01\xff", "a"s + std::string(500, 'b')), "evil\\x01\\xff.abbb");
}

TEST(Pt, NeverMakesObjects) {
  const std::string type = global("torch", "Tensor");
  expect_hostile(type + ")\x81", "NEWOBJ");
  expect_hostile(type + ")}\x92", "NEWOBJ_EX");
  expect_hostile("}}b", "BUILD");
  expect_hostile("(iposix\nsystem\n", "INST");
  expect_hostile("(" + type + "o", "OBJ");
  expect_hostile("\x82\x01", "EXT1");
  expect_hostile("\x83\x01\x01", "EXT2");
  expect_hostile("\x84\x01\x01\x01\x01", "EXT4");
  expect_hostile("Pname\n", "PERSID");
  expect_hostile("\x97", "opcode 0x97");
  expect_hostile("I3\n", "opcode 0x49");
}

TEST(Pt, OnlyTheFunctionsOfTensorsAreReduced) {
  expect_hostile(text("x") + ")R", "call a string");
  expect_hostile(global("torch", "FloatStorage") + ")R", "call a type");
  expect_hostile(global("torch", "Tensor") + ")R", "call a type");
  expect_hostile(global("torch", "float32") + ")R", "call a type");
  expect_hostile(global("torch._tensor", "_rebuild_from_type_v2") +
                     tuple({global("torch._tensor", "_rebuild_from_type_v2"),
                            global("torch", "Tensor"), ")", "N"}) +
                     "R",
                 "not a tensor");
}

TEST(Pt, PersistentObjectsAreStoragesOnly) {
  const std::string wanted = "persistent object that is not a storage";
  expect_hostile(text("storage") + "Q", wanted);
  expect_hostile(tuple({text("module"), text("a")}) + "Q", wanted);
  expect_hostile(
      tuple({text("storage"), text("FloatStorage"), text("0"), text("cpu"), number(6)}) + "Q",
      wanted);
  expect_hostile(storage("FloatStorage", -1), wanted);
  expect_hostile(tuple({text("storage"), hooks(), text("0"), text("cpu"), number(6)}) + "Q",
                 wanted);
  expect_hostile(tuple({text("storage"), global("collections", "OrderedDict"), text("0"),
                        text("cpu"), number(6)}) +
                     "Q",
                 "storage of something that has none");
}

TEST(Pt, ViewsStayInsideTheStorage) {
  const auto reaches_out = [](std::int64_t offset, const std::vector<std::int64_t>& shape,
                              const std::vector<std::int64_t>& strides) {
    const Error error = refused_pt(rebuild(6, offset, shape, strides));
    EXPECT_THAT(error.message, HasSubstr("exceed a storage of 6 elements"));
  };
  reaches_out(0, {7}, {1});
  reaches_out(1, {6}, {1});
  reaches_out(0, {2, 3}, {4, 1});
  reaches_out(0, {2}, {INT64_MAX});
  reaches_out(INT64_MAX, {2}, {1});
  reaches_out(-1, {2}, {1});
  reaches_out(5, {2}, {-1});
  reaches_out(0, {INT64_MAX / 8, 1}, {INT64_MAX / 8, 1});
  EXPECT_EQ(refused_pt(rebuild(6, 5, {1}, {1})).message, "no fault");
  EXPECT_EQ(refused_pt(rebuild(6, 99, {0}, {1})).message, "no fault");
}

TEST(Pt, ShapesAreBounded) {
  EXPECT_THAT(
      refused_pt(rebuild(6, 0, {std::int64_t{1} << 40, std::int64_t{1} << 40}, {0, 0})).message,
      HasSubstr("64 bits can count"));
  EXPECT_THAT(refused_pt(rebuild(6, 0, {-1}, {1})).message, HasSubstr("negative extent"));
  EXPECT_THAT(refused_pt(rebuild(6, 0, {1, 2}, {1})).message, HasSubstr("malformed"));
  EXPECT_THAT(
      refused_pt(rebuild(6, 0, std::vector<std::int64_t>(65, 1), std::vector<std::int64_t>(65, 1)))
          .message,
      HasSubstr("malformed"));
  const Error expanded = refused_pt(rebuild(6, 0, {std::int64_t{1} << 60}, {0}));
  EXPECT_EQ(expanded.kind, ErrorKind::kHostile) << expanded.message;
}

TEST(Pt, StorageAndPickleMustAgree) {
  EXPECT_THAT(refused_pt(rebuild(7, 0, {2, 3}, {3, 1})).message,
              HasSubstr("a/data/0 has 24 bytes, the pickle says 28"));
  EXPECT_THAT(refused_pt(rebuild(std::int64_t{1} << 60, 0, {2, 3}, {3, 1})).message,
              HasSubstr("a/data/0 has 24 bytes"));
  EXPECT_THAT(refused_pt(rebuild(std::int64_t{1} << 62, 0, {2, 3}, {3, 1})).message,
              HasSubstr("malformed"));
  const std::string other =
      global("torch._utils", "_rebuild_tensor") +
      tuple({storage("FloatStorage", 6, "../secret"), number(0), extents({6}), extents({1})}) + "R";
  EXPECT_THAT(refused_pt(other).message, HasSubstr("no a/data/../secret in the archive"));
}

TEST(Pt, MalformedPicklesAreErrors) {
  for (const std::string& body :
       {""s,
        "0"s,
        "t"s,
        "s"s,
        "u"s,
        "a"s,
        "e"s,
        "R"s,
        "Q"s,
        "(R"s,
        "(((t"s,
        "q\x01"s,
        "h\x07"s,
        "Nr\xff\xff\xff\x7f"s,
        "}K\x01s"s,
        "}(K\x01u"s,
        "(K\x01u"s,
        "K\x01(e"s,
        "\x93"s,
        "NN\x93"s,
        "\x86"s,
        "(\x85"s,
        "\x8a\xff"s,
        "X\xff\xff\xff\xff"s,
        "\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"s,
        "K\x01K\x02"s,
        global("torch", "Size") + ")R",
        hooks() + ")R",
        global("torch._utils", "_rebuild_tensor_v2") + ")R",
        global("torch._utils", "_rebuild_parameter") + tuple({"N", "N", "N"}) + "R"}) {
    EXPECT_NE(refused_pt(body).message, "no fault") << testing::PrintToString(body);
  }
  EXPECT_THAT(read_as_pt(archive("\x80\x01.", "")).error().message, HasSubstr("pickle protocol 1"));
  EXPECT_THAT(read_as_pt(archive("\x80\x09.", "")).error().message, HasSubstr("pickle protocol 9"));
}

TEST(Pt, TruncatedPicklesAreErrorsAtEveryByte) {
  const std::string whole = pickle(rebuild(6, 0, {2, 3}, {3, 1}));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_as_pt(archive(whole.substr(0, size), std::string(24, '\0')))) << size;
  }
}

TEST(Pt, ArchivesNeedOnePickle) {
  EXPECT_THAT(read_as_pt(make_zip({{"a/data/0", "x"}})).error().message, HasSubstr("no data.pkl"));
  EXPECT_THAT(read_as_pt(make_zip({{"a/data.pkl", "x"}, {"b/data.pkl", "x"}})).error().message,
              HasSubstr("more than one data.pkl"));
  EXPECT_THAT(read_as_pt(make_zip({{"a/data.pkl", pickle(rebuild(6, 0, {6}, {1}))},
                                   {"a/data/0", std::string(24, '\0')},
                                   {"a/byteorder", "middle"}}))
                  .error()
                  .message,
              HasSubstr("byte order middle"));
  EXPECT_THAT(
      read_as_pt(make_zip({{"a/data.pkl", std::string((1 << 20) + 1, '0')}})).error().message,
      HasSubstr("more than the 1048576 wanted"));
}

TEST(Pt, MissingAndWrongFilesAreErrors) {
  EXPECT_THAT(read_as_pt("").error().message, HasSubstr("no zip directory"));
  EXPECT_THAT(read_as_pt("PK\x03\x04").error().message, HasSubstr("no zip directory"));
  EXPECT_THAT(read_as_pt(std::string(100000, '\0')).error().message, HasSubstr("no zip directory"));
  EXPECT_THAT(read_as_pt("\x93NUMPY").error().message, HasSubstr("no zip directory"));
}

TEST(Zip, FilesCutAnywhereAreErrors) {
  std::ifstream in(MSPROBE_SOURCE_DIR "/tests/data/pt/float32.pt", std::ios::binary);
  std::stringstream whole;
  whole << in.rdbuf();
  ASSERT_TRUE(read_as_pt(whole.str()));
  for (std::size_t size = 0; size < whole.str().size(); ++size) {
    EXPECT_FALSE(read_as_pt(whole.str().substr(0, size))) << size;
  }
}

TEST(Zip, EveryDamagedByteIsAnErrorOrHarmless) {
  std::ifstream in(MSPROBE_SOURCE_DIR "/tests/data/pt/float32.pt", std::ios::binary);
  std::stringstream stream;
  stream << in.rdbuf();
  const auto whole = read_as_pt(stream.str());
  ASSERT_TRUE(whole);
  for (std::size_t at = 0; at < stream.str().size(); ++at) {
    std::string damaged = stream.str();
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    const auto tensor = read_as_pt(damaged);
    if (!tensor) continue;
    EXPECT_EQ(tensor->shape, whole->shape) << at;
    EXPECT_TRUE(std::ranges::equal(tensor->bytes, whole->bytes)) << at;
  }
}

TEST(Zip, BombsAreRefusedBeforeMemoryIsTaken) {
  const std::string small = deflated(std::string(1000, '\0'));
  const auto bomb = read_as_pt(make_zip({{"a/data.pkl", small, 8, 4'000'000'000}}));
  ASSERT_FALSE(bomb);
  EXPECT_EQ(bomb.error().kind, ErrorKind::kHostile);
  EXPECT_THAT(bomb.error().message, HasSubstr("a/data.pkl claims 4000000000 bytes out of"));
  const auto stored = read_as_pt(make_zip({{"a/data.pkl", "x", 0, 4'000'000'000}}));
  EXPECT_EQ(stored.error().kind, ErrorKind::kHostile);
  // Claims little, inflates to more.
  const std::string wide = deflated(pickle(rebuild(6, 0, {6}, {1})) + std::string(5000, '.'));
  EXPECT_THAT(read_as_pt(make_zip({{"a/data.pkl", wide, 8, 100, 1}})).error().message,
              HasSubstr("does not inflate to its 100 bytes"));
  // Claims more than comes.
  EXPECT_THAT(read_as_pt(make_zip({{"a/data.pkl", small, 8, 1001, 1}})).error().message,
              HasSubstr("does not inflate"));
  EXPECT_THAT(read_as_pt(make_zip({{"a/data.pkl", "\xff\xff\xff", 8, 100, 1}})).error().message,
              HasSubstr("does not inflate"));
}

TEST(Zip, ChecksumsAreVerified) {
  const std::string whole = pickle(rebuild(6, 0, {6}, {1}));
  EXPECT_THAT(read_as_pt(make_zip({{"a/data.pkl", whole, 0, ~0ULL, 5}})).error().message,
              HasSubstr("a/data.pkl is damaged"));
  const auto storage_damaged = read_as_pt(
      make_zip({{"a/data.pkl", whole}, {"a/data/0", std::string(24, '\0'), 0, ~0ULL, 5}}));
  EXPECT_THAT(storage_damaged.error().message, HasSubstr("a/data/0 is damaged"));
}

TEST(Zip, EncryptedAndStrangelyPackedMembersAreUnsupported) {
  EXPECT_EQ(read_as_pt(make_zip({{"a/data.pkl", "x", 0, ~0ULL, 0, 1}})).error().kind,
            ErrorKind::kUnsupported);
  EXPECT_EQ(read_as_pt(make_zip({{"a/data.pkl", "x", 12}})).error().kind, ErrorKind::kUnsupported);
}

TEST(Zip, DirectoriesMustFitTheFile) {
  const std::string whole = archive(pickle(rebuild(6, 0, {6}, {1})), std::string(24, '\0'));
  ASSERT_TRUE(read_as_pt(whole));
  const std::size_t end = whole.size() - 22;
  const auto with = [&](std::size_t at, std::uint64_t value, int bytes) {
    std::string changed;
    put_number(changed, value, bytes);
    return whole.substr(0, at) + changed + whole.substr(at + static_cast<std::size_t>(bytes));
  };
  EXPECT_FALSE(read_as_pt(with(end + 10, 60000, 2)));       // members
  EXPECT_FALSE(read_as_pt(with(end + 10, 3, 2)));           // members
  EXPECT_FALSE(read_as_pt(with(end + 12, 0x7fffffff, 4)));  // size
  EXPECT_FALSE(read_as_pt(with(end + 16, 0x7fffffff, 4)));  // place
  EXPECT_FALSE(read_as_pt(with(end + 16, 0xffffffff, 4)));  // in a zip64 record that is not there
  EXPECT_FALSE(read_as_pt(with(end + 20, 5, 2)));           // comment
  EXPECT_FALSE(read_as_pt(whole + "x"));
}

}  // namespace
}  // namespace msprobe::dump
