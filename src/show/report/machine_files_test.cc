// SPDX-License-Identifier: Apache-2.0
// JUnit, SARIF and the HTML file from one small run that has everything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>
#include <zlib.h>

#include "core/call_name.h"
#include "documented/skip_message.h"
#include "report/calls_json.h"
#include "report/html_report.h"
#include "report/junit.h"
#include "report/packed.h"
#include "report/sarif.h"
#include "scratch_directory_for_test.h"

namespace msprobe::report {
namespace {

using testing::HasSubstr;

ReportRun small_run() {
  ReportRun run;
  run.kind = "check";
  run.title = "cpu";
  run.rerun = CallCommand("acc_check");
  run.metrics = {{"Cosine similarity", ""}};
  run.stacks = {{{"/py/site-packages/t.py", 3, "call", "f(x)", true},
                 {"src/my net.py", 12, "forward", "y = mm(a, b)", false}}};
  const auto add = [&](std::string name, Verdict status, std::optional<Verdict> strict,
                       std::string message) {
    ReportCall& call = run.calls.emplace_back();
    call.name = std::move(name);
    call.api = api_of(call.name);
    call.forward = status;
    call.strict = strict;
    call.message = message;
    call.first_row = run.rows.size();
    call.row_count = 1;
    ReportRow& row = run.rows.emplace_back();
    row.part = "forward.output.0";
    row.status = status;
    row.strict = strict;
    row.skip = call.skip = documented::skip_reason_of(message);
    row.message = std::move(message);
    row.numbers = {0.5};
  };
  add("Torch.mm.0", Verdict::kError, Verdict::kError, "less than 0.99 </script><b>");
  run.rows[0].likely_cause = "wrong \"scale\" & shift";
  run.calls[0].stack = 0;
  run.calls[0].site = {
      .module = "blocks.1.mlp", .line = "/py/site-packages/m.py:9", .user_line = {}};
  add("Torch.mm.1", Verdict::kPass, Verdict::kWarning, "");
  add("Torch.add.0", Verdict::kSkip, std::nullopt, "crashed: signal 11");
  add("Torch.add.1", Verdict::kSkip, std::nullopt, "filtered: black list");
  return run;
}

TEST(CallsJson, HasEveryCallWithItsRows) {
  ReportRun run = small_run();
  run.rows[0].error_map = R"({"rows":1})";
  run.rows[1].numbers = {kNoNumber};
  simdjson::dom::parser parser;
  simdjson::padded_string text(calls_json(std::span(&run, 1)));
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(text).get(root), simdjson::SUCCESS);
  const simdjson::dom::array calls = root["runs"].at(0)["calls"];
  ASSERT_EQ(calls.size(), run.calls.size());
  const simdjson::dom::element first = calls.at(0);
  EXPECT_EQ(first["name"].get_string().value(), "Torch.mm.0");
  EXPECT_EQ(first["status"].get_string().value(), "error");
  EXPECT_EQ(first["source_line"].get_string().value(), "m.py:9");
  EXPECT_EQ(first["module"].get_string().value(), "blocks.1.mlp");
  const simdjson::dom::element row = first["results"].at(0);
  EXPECT_EQ(row["result"].get_string().value(), "forward.output.0");
  EXPECT_EQ(row["metrics"]["Cosine similarity"].get_double().value(), 0.5);
  EXPECT_EQ(row["error_map"]["rows"].get_int64().value(), 1);
  EXPECT_TRUE(calls.at(1)["results"].at(0)["metrics"]["Cosine similarity"].is_null());
  EXPECT_TRUE(calls.at(2)["status"].is_null());
}

TEST(Junit, CountsFailuresLostAndSkippedCalls) {
  const ReportRun run = small_run();
  const std::string xml = junit_text(std::span(&run, 1), FailOn::kError);
  EXPECT_THAT(xml, HasSubstr("<testsuites name=\"msprobe\" tests=\"4\" failures=\"1\" errors=\"1\" "
                             "skipped=\"1\">"));
  EXPECT_THAT(xml, HasSubstr("message=\"wrong &quot;scale&quot; &amp; shift\""));
  EXPECT_THAT(xml, HasSubstr("at blocks.1.mlp, m.py:9&#10;msprobe acc_check --only Torch.mm.0"));
  EXPECT_THAT(xml, HasSubstr("<error message=\"crashed: signal 11\"/>"));
  EXPECT_THAT(junit_text(std::span(&run, 1), FailOn::kStrict), HasSubstr("failures=\"2\""));
  EXPECT_EQ(xml_text("a\x01<"), "a\\x01&lt;");
}

TEST(Sarif, PointsAtTheUsersLine) {
  const ReportRun run = small_run();
  simdjson::dom::parser parser;
  const std::string text = sarif_text(std::span(&run, 1), FailOn::kError, "1.0");
  simdjson::dom::element sarif = parser.parse(text);
  EXPECT_EQ(std::string_view(sarif["version"]), "2.1.0");
  const simdjson::dom::array results = sarif["runs"].at(0)["results"];
  ASSERT_EQ(results.size(), 3U);
  const simdjson::dom::element first = results.at(0);
  EXPECT_EQ(std::string_view(first["ruleId"]), "precision-error");
  EXPECT_THAT(std::string(first["message"]["text"]),
              testing::StartsWith("Torch.mm.0 (blocks.1.mlp, m.py:9): "));
  const simdjson::dom::element place = first["locations"].at(0)["physicalLocation"];
  EXPECT_EQ(std::string_view(place["artifactLocation"]["uri"]), "src/my%20net.py");
  EXPECT_EQ(std::int64_t(place["region"]["startLine"]), 12);
  const simdjson::dom::element module = first["locations"].at(0)["logicalLocations"].at(1);
  EXPECT_EQ(std::string_view(module["fullyQualifiedName"]), "blocks.1.mlp");
  EXPECT_EQ(std::string_view(results.at(1)["ruleId"]), "strict-warning");
  EXPECT_EQ(std::string_view(results.at(2)["ruleId"]), "lost-call");
  EXPECT_EQ(uri_of("/a/b.py"), "file:///a/b.py");
}

// A call that raises on the device, one that proves little, and one that only the documents flag.
ReportRun run_with_others() {
  ReportRun run = small_run();
  const auto set = [&](std::size_t i, Verdict status, Verdict strict, std::string message) {
    run.calls[i].forward = run.rows[i].status = status;
    run.calls[i].strict = run.rows[i].strict = strict;
    run.calls[i].skip = run.rows[i].skip = documented::skip_reason_of(message);
    run.calls[i].message = run.rows[i].message = std::move(message);
    run.rows[i].likely_cause.clear();
  };
  set(0, Verdict::kSkip, Verdict::kSkip, "device_failed: \nno kernel\nsixty lines");
  set(1, Verdict::kPass, Verdict::kInconclusive, "");
  run.rows[1].strict_reason = "proves little: it is all zero; equal";
  set(2, Verdict::kError, Verdict::kPass, "too far");
  return run;
}

TEST(Junit, ACallThatDoesNotRunIsAFailureAndAWeakPassIsNoPass) {
  const ReportRun run = run_with_others();
  const std::string xml = junit_text(std::span(&run, 1), FailOn::kStrict);
  EXPECT_THAT(xml, HasSubstr("failures=\"1\" errors=\"0\" skipped=\"2\">"));
  EXPECT_THAT(
      xml,
      HasSubstr("<failure type=\"raised\" message=\"does not run on the device: no kernel\">"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"inconclusive: proves little: it is all zero"));
  EXPECT_THAT(junit_text(std::span(&run, 1), FailOn::kError), HasSubstr("failures=\"2\""));
}

TEST(Sarif, NamesWhatTheStrictStatusNames) {
  const ReportRun run = run_with_others();
  const auto rules = [&](FailOn fail_on) {
    simdjson::dom::parser parser;
    const std::string text = sarif_text(std::span(&run, 1), fail_on, "1.0");
    std::vector<std::string> found;
    for (const simdjson::dom::element result :
         simdjson::dom::element(parser.parse(text))["runs"].at(0)["results"]) {
      found.emplace_back(std::string_view(result["ruleId"]));
    }
    return found;
  };
  EXPECT_THAT(rules(FailOn::kStrict), testing::ElementsAre("does-not-run", "inconclusive"));
  EXPECT_THAT(rules(FailOn::kError),
              testing::ElementsAre("does-not-run", "inconclusive", "precision-error"));
}

TEST(HtmlReport, IsOneFileAndNothingInItCanRun) {
  const ScratchDirectory scratch;
  const ReportRun run = small_run();
  const Result<void> written =
      write_html_report(scratch.path() / "r.html", std::span(&run, 1), "1.0");
  ASSERT_TRUE(written.has_value()) << written.error().message;
  const std::string html = read_text(scratch.path() / "r.html");
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_EQ(html.find("src="), std::string::npos);
  EXPECT_EQ(html.find("</script><b>"), std::string::npos) << "text of a cell in the markup";
  EXPECT_THAT(html, HasSubstr("id=\"b0\""));
}

std::string unpacked(std::string_view base64) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string packed;
  std::uint32_t bits = 0;
  int have = 0;
  for (const char c : base64) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<std::uint32_t>(kDigits.find(c));
    have += 6;
    if (have >= 8) packed += static_cast<char>(bits >> (have -= 8));
  }
  std::string out(1000, '\0');
  uLongf size = out.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                       reinterpret_cast<const Bytef*>(packed.data()), packed.size()),
            Z_OK);
  out.resize(size);
  return out;
}

TEST(Packed, EveryLengthOfBase64) {
  for (const std::string_view text : {"", "a", "ab", "abc", "abcd", "abcdefghijklmnop"}) {
    EXPECT_EQ(unpacked(packed_bytes(text)), text);
  }
}

TEST(Packed, NumbersInPlanesAndNearlyExact) {
  const std::vector<std::uint32_t> integers{1, 0x01020304};
  EXPECT_EQ(unpacked(packed_integers(integers)), std::string("\x01\x04\0\x03\0\x02\0\x01", 8));
  const std::vector<double> numbers{1.0 / 3, -0.0, kNoNumber, 1e-300,
                                    std::numeric_limits<double>::infinity()};
  const std::string planes = unpacked(packed_numbers(numbers));
  ASSERT_EQ(planes.size(), 8 * numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint64_t bits = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) {
      bits |= std::uint64_t{static_cast<unsigned char>(planes[byte * numbers.size() + i])}
              << (8 * byte);
    }
    const auto back = std::bit_cast<double>(bits);
    if (std::isinf(numbers[i]) || numbers[i] == kNoNumber) {
      EXPECT_EQ(back, numbers[i]);
    } else {
      EXPECT_NEAR(back, numbers[i], std::abs(numbers[i]) * 1e-8);
    }
  }
}

}  // namespace
}  // namespace msprobe::report
