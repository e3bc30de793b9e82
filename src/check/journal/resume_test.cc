// SPDX-License-Identifier: Apache-2.0
#include "journal/resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "journal/map_lines.h"
#include "scratch_directory_for_test.h"

namespace msprobe::journal {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;

const CsvHeaders kHeaders = {
    "\xEF\xBB\xBF"
    "API name,F,B,Message\r\n",
    "\xEF\xBB\xBF"
    "API name,Status,Message\r\n"};

struct Call {
  std::string name;
  std::string details;
  std::string result;
  std::string maps = {};
};

// Several outputs, a backward pass, quoted messages with line ends, a skip, a dropout without
// details.
const std::vector<Call> kCalls = {
    {"Torch.a.0", "Torch.a.0.forward.output.0,pass,\"x, \"\"y\"\"\r\nz\n\"\r\n",
     "Torch.a.0,pass, ,\r\n"},
    {"Torch.b.0",
     "Torch.b.0.forward.output.0,pass,\r\nTorch.b.0.forward.output.1,error,\r\n"
     "Torch.b.0.backward.output.0,pass,\r\nTorch.b.0.backward.output.1,pass,\r\n",
     "Torch.b.0,error,pass,\r\n",
     map_line("Torch.b.0.forward.output.1", "{\"cells\":\"y\"}") +
         map_line("Torch.b.0.backward.output.1", "{}")},
    {"Torch.c.0", "Torch.c.0.forward.output.0,SKIP,\"why,\r\nso\"\r\n",
     "Torch.c.0,SKIP,SKIP,\"why,\r\nso\"\r\n"},
    {"Functional.dropout.0", "", "Functional.dropout.0,pass,pass,\r\n"},
    {"Torch.d.0", "Torch.d.0.forward.output.0,warning,\r\nTorch.d.0.forward.output.1,pass,\r\n",
     "Torch.d.0,warning, ,\r\n", map_line("Torch.d.0.forward.output.0", "{}")},
};

const ExpectedRows kExpected = {
    kCalls.size(), [](std::size_t i) { return kCalls[i].name; },
    [](std::string_view name) { return name.find("dropout") != std::string_view::npos; }, false};

struct Pair {
  std::string result = kHeaders.result;
  std::string details = kHeaders.details;
  std::string maps = {};
};

Pair whole_pair() {
  Pair pair;
  for (const Call& call : kCalls) {
    pair.details += call.details;
    pair.result += call.result;
    pair.maps += call.maps;
  }
  return pair;
}

Result<Salvaged> salvage_pair(const Pair& pair, bool finished,
                              std::vector<std::string>* shown = nullptr) {
  return salvage(
      {{"result.csv", "details.csv"}, pair.result, pair.details, kHeaders, finished, {}, pair.maps},
      kExpected, [&](const documented::ResultRow& row) {
        if (shown != nullptr) shown->push_back(row.api_name);
      });
}

// What a resumed run makes of the pair: it keeps what can be salvaged and adds what is missing.
Pair resumed(const Pair& torn) {
  std::vector<std::string> shown;
  const auto salvaged = salvage_pair(torn, false, &shown);
  EXPECT_TRUE(salvaged) << salvaged.error().message;
  if (!salvaged) return {};
  EXPECT_EQ(shown.size(), salvaged->calls);
  Pair pair{torn.result.substr(0, salvaged->keep.result),
            torn.details.substr(0, salvaged->keep.details),
            torn.maps.substr(0, salvaged->keep.maps)};
  if (pair.result.empty()) pair.result = kHeaders.result;
  if (pair.details.empty()) pair.details = kHeaders.details;
  for (std::size_t i = salvaged->calls; i < kCalls.size(); ++i) {
    pair.details += kCalls[i].details;
    pair.result += kCalls[i].result;
    pair.maps += kCalls[i].maps;
  }
  return pair;
}

TEST(Resume, EveryCutOfBothFilesEndsInTheSameBytes) {
  const Pair whole = whole_pair();
  for (std::size_t i = 0; i <= whole.result.size(); ++i) {
    for (std::size_t j = 0; j <= whole.details.size(); ++j) {
      // Maps come first: those of all details that are there are there, and maybe more.
      const Pair again =
          resumed({whole.result.substr(0, i), whole.details.substr(0, j), whole.maps});
      ASSERT_EQ(again.result, whole.result) << "cut at " << i << ", " << j;
      ASSERT_EQ(again.details, whole.details) << "cut at " << i << ", " << j;
      ASSERT_EQ(again.maps, whole.maps) << "cut at " << i << ", " << j;
    }
  }
}

TEST(Resume, EveryCutOfTheMapsEndsInTheSameBytes) {
  const Pair whole = whole_pair();
  // Up to the call whose maps are cut, the pair is as a kill while they are written leaves it.
  for (std::size_t i = 0; i <= whole.maps.size(); ++i) {
    Pair torn;
    torn.maps = whole.maps.substr(0, i);
    for (std::size_t call = 0, maps = 0; call < kCalls.size(); ++call) {
      maps += kCalls[call].maps.size();
      if (maps > i) break;
      torn.details += kCalls[call].details;
      torn.result += kCalls[call].result;
    }
    const Pair again = resumed(torn);
    ASSERT_EQ(again.maps, whole.maps) << "cut at " << i;
    ASSERT_EQ(again.details, whole.details) << "cut at " << i;
    ASSERT_EQ(again.result, whole.result) << "cut at " << i;
  }
}

TEST(Resume, ACutPairIsContinuedOnDisk) {
  const ScratchDirectory scratch;
  const CsvPaths paths = csv_paths(scratch.path(), "20260101000000");
  const Pair whole = whole_pair();
  for (std::size_t i = 0; i <= whole.details.size(); i += 7) {
    const Pair torn{whole.result.substr(0, i / 3), whole.details.substr(0, i), whole.maps};
    scratch.write(paths.result.filename(), torn.result);
    scratch.write(paths.details.filename(), torn.details);
    scratch.write(paths.maps.filename(), torn.maps);
    const auto salvaged = salvage_pair(torn, false);
    ASSERT_TRUE(salvaged);
    auto pair = CsvPair::reopen(paths, kHeaders, salvaged->keep);
    ASSERT_TRUE(pair) << pair.error().message;
    for (std::size_t call = salvaged->calls; call < kCalls.size(); ++call) {
      pair->add(kCalls[call].details, kCalls[call].result, kCalls[call].maps);
      ASSERT_TRUE(pair->flush());
    }
    EXPECT_EQ(read_text(paths.result), whole.result);
    EXPECT_EQ(read_text(paths.details), whole.details);
    EXPECT_EQ(read_text(paths.maps), whole.maps);
  }
}

TEST(Resume, AFinishedPairIsLeftAlone) {
  std::vector<std::string> shown;
  const Pair whole = whole_pair();
  const auto salvaged = salvage_pair(whole, true, &shown);
  ASSERT_TRUE(salvaged);
  EXPECT_EQ(salvaged->calls, kCalls.size());
  EXPECT_EQ(salvaged->keep.result, whole.result.size());
  EXPECT_EQ(salvaged->keep.details, whole.details.size());
  EXPECT_TRUE(salvaged->notes.empty());
  EXPECT_EQ(shown.size(), kCalls.size());
}

TEST(Resume, APairOfOneDeviceHoldsSomeOfTheCommittedCalls) {
  ExpectedRows committed = kExpected;
  committed.count = 4;
  committed.only_some = true;
  Pair pair;
  for (const std::size_t i : {1U, 3U, 4U}) {
    pair.details += kCalls[i].details;
    pair.result += kCalls[i].result;
  }
  const auto salvaged =
      salvage({{"result.csv", "details.csv"}, pair.result, pair.details, kHeaders, true}, committed,
              [](const auto&) {});
  ASSERT_TRUE(salvaged);
  EXPECT_EQ(salvaged->keep.result, pair.result.size() - kCalls[4].result.size());
  EXPECT_EQ(salvaged->keep.details, pair.details.size() - kCalls[4].details.size());
}

TEST(Resume, SaysWhatWasCut) {
  Pair torn = whole_pair();
  torn.details.resize(torn.details.size() - 3);
  const auto salvaged = salvage_pair(torn, false);
  ASSERT_TRUE(salvaged);
  ASSERT_EQ(salvaged->notes.size(), 1U);
  EXPECT_THAT(salvaged->notes[0], HasSubstr("details.csv: removed the last "));
  EXPECT_THAT(salvaged->notes[0], EndsWith("a partial row"));
}

TEST(Resume, ATailOfZerosIsTorn) {
  Pair torn = whole_pair();
  torn.result += std::string(100, '\0');
  const auto salvaged = salvage_pair(torn, true);
  ASSERT_TRUE(salvaged);
  EXPECT_EQ(salvaged->calls, kCalls.size() - 1);
}

TEST(Resume, RowsOfSomethingElseAreRefused) {
  Pair other = whole_pair();
  other.result = kHeaders.result + kCalls[1].result;
  EXPECT_THAT(salvage_pair(other, false).error().message,
              HasSubstr("result.csv: line 2: found the row of Torch.b.0, expected Torch.a.0"));
  other = whole_pair();
  other.result += kCalls[0].result;
  EXPECT_THAT(salvage_pair(other, false).error().message, HasSubstr("expected the end"));
  other.result = "API name\r\nTorch.a.0\r\n";
  EXPECT_THAT(salvage_pair(other, false).error().message, HasSubstr("its columns are not"));
  other.result = kHeaders.result + "Torch.a.0,maybe, ,\r\n";
  EXPECT_THAT(salvage_pair(other, false).error().message, HasSubstr("not a row that a check"));
}

TEST(Resume, OnlyTheDocumentedNameIsTaken) {
  const ScratchDirectory scratch;
  const auto good = scratch.write("accuracy_checking_result_20260101000000.csv", "");
  EXPECT_FALSE(paths_to_resume(good)) << "the details file is missing";
  scratch.write("accuracy_checking_details_20260101000000.csv", "");
  const auto paths = paths_to_resume(good);
  ASSERT_TRUE(paths) << paths.error().message;
  EXPECT_EQ(paths->stamp, "20260101000000");
  for (const char* name :
       {"result.csv", "accuracy_checking_result_2026010100000.csv", "accuracy_checking_result_.csv",
        "accuracy_checking_details_20260101000000.csv",
        "xaccuracy_checking_result_20260101000000.csv",
        "accuracy_checking_result_2026010100000x.csv"}) {
    EXPECT_THAT(paths_to_resume(scratch.write(name, "")).error().message,
                HasSubstr("please do not modify the result csv name"))
        << name;
  }
}

TEST(CsvPair, AFullDiskLeavesWhatWasCommitted) {
  const ScratchDirectory scratch;
  const CsvPaths paths = csv_paths(scratch.path(), "20260101000000");
  auto pair = CsvPair::create(paths, kHeaders);
  ASSERT_TRUE(pair);
  pair->add(kCalls[0].details, kCalls[0].result);
  ASSERT_TRUE(pair->flush());
  const Pair before{read_text(paths.result), read_text(paths.details)};
  // A file-size limit stands in for the full disk: the details fit in part, the result not at all.
  struct rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const struct rlimit tight{before.details.size() + 10, old.rlim_max};
  ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &tight);
  pair->add(kCalls[1].details, kCalls[1].result);
  const auto flushed = pair->flush();
  ::setrlimit(RLIMIT_FSIZE, &old);
  ASSERT_FALSE(flushed);
  EXPECT_THAT(flushed.error().message, HasSubstr("accuracy_checking_details_20260101000000.csv"));
  EXPECT_EQ(read_text(paths.result), before.result);
  EXPECT_EQ(read_text(paths.details), before.details);
}

TEST(CsvPair, MapsHaveAFileOnlyWhenThereAreAnyAndThatIsBounded) {
  const ScratchDirectory scratch;
  const CsvPaths paths = csv_paths(scratch.path(), "20260101000000");
  scratch.write(paths.maps.filename(), "of an older run\n");
  auto pair = CsvPair::create(paths, kHeaders);
  ASSERT_TRUE(pair);
  pair->add(kCalls[0].details, kCalls[0].result);
  ASSERT_TRUE(pair->finish());
  EXPECT_FALSE(fs::exists(paths.maps));
  // Lines are added while the file is below its limit, however they are grouped.
  const std::string line(kMostMapBytes / 4 + 1, 'x');
  const std::string lines = line + "\n" + line + "\n" + line + "\n";
  pair->add("", "", lines);
  ASSERT_TRUE(pair->flush());
  pair->add("", "", lines);
  pair->add("", "", "short\n");
  ASSERT_TRUE(pair->finish());
  EXPECT_EQ(read_text(paths.maps), lines + line + "\n");
}

TEST(CsvPair, ALostDirectoryIsNoticed) {
  const ScratchDirectory scratch;
  const fs::path out = scratch.path() / "out";
  fs::create_directory(out);
  auto pair = CsvPair::create(csv_paths(out, "20260101000000"), kHeaders);
  ASSERT_TRUE(pair);
  fs::remove_all(out);
  pair->add(kCalls[0].details, kCalls[0].result);
  EXPECT_THAT(pair->flush().error().message, HasSubstr("was removed while"));
}

TEST(Salvage, VerdictOfKeptRowsIsTheWorstOfTheirDetails) {
  const CsvHeaders headers{kHeaders.result, "API name,Status,Strict Status,Strict Reason\r\n"};
  const std::string details =
      headers.details +
      "Torch.a.0.forward.output.0,pass,warning,\"a, b\"\r\n"
      "Torch.b.0.forward.output.0,pass,pass,\r\nTorch.b.0.backward.output.0,pass,SKIP,\r\n";
  const std::string result = headers.result + kCalls[0].result + "Torch.b.0,pass,pass,\r\n";
  std::vector<std::optional<Verdict>> strict;
  const auto salvaged =
      salvage({{}, result, details, headers, true}, kExpected,
              [&](const documented::ResultRow& row) { strict.push_back(row.strict); });
  ASSERT_TRUE(salvaged) << salvaged.error().message;
  EXPECT_THAT(strict, ::testing::ElementsAre(Verdict::kWarning, Verdict::kPass));
}

}  // namespace
}  // namespace msprobe::journal
