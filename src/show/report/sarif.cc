// SPDX-License-Identifier: Apache-2.0
#include "report/sarif.h"

#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "core/json_writer.h"
#include "dump/call_sites.h"
#include "report/answer.h"
#include "tables/number_text.h"
#include "tables/output_file.h"

namespace msprobe::report {
namespace {

struct Rule {
  std::string_view id;
  std::string_view level;
  std::string_view text;
};

constexpr Rule kRules[] = {
    {"precision-error", "error", "An output or gradient misses the documented standard."},
    {"precision-warning", "warning", "An output or gradient is close to the documented standard."},
    {"strict-error", "error",
     "An output or gradient is farther from the benchmark than dtype, length and conditioning of "
     "the call explain."},
    {"strict-warning", "warning", "An output or gradient is just beyond the strict bound."},
    {"lost-call", "error", "A call that should have been checked could not be."},
    {"does-not-run", "error", "An operator raises an error on the device, and not on the CPU."},
    {"inconclusive", "note", "An output or gradient is within its bound, which proves little."},
};
enum RuleIndex : std::size_t {
  kDocumentedError,
  kDocumentedWarning,
  kStrictError,
  kStrictWarning,
  kLostCall,
  kDoesNotRun,
  kProvesLittle,
};

// The worst there is to say of a call; empty: nothing.
std::optional<RuleIndex> rule_of(const ReportCall& call, FailOn fail_on) {
  const Standing now = standing(call);
  const Verdict worst = call.worst();
  const bool documented = by_documents(fail_on) || !call.strict;
  if (now == Standing::kRaised) return kDoesNotRun;
  if (documented && worst == Verdict::kError) return kDocumentedError;
  if (call.strict == Verdict::kError) return kStrictError;
  if (documented && worst == Verdict::kWarning) return kDocumentedWarning;
  if (call.strict == Verdict::kWarning) return kStrictWarning;
  if (now == Standing::kLost) return kLostCall;
  if (call.strict == Verdict::kInconclusive) return kProvesLittle;
  return std::nullopt;
}

bool concerns(const ReportRow& row, RuleIndex rule) {
  switch (rule) {
    case kDocumentedError:
      return row.status == Verdict::kError;
    case kDocumentedWarning:
      return row.status == Verdict::kWarning;
    case kStrictError:
      return row.strict == Verdict::kError;
    case kStrictWarning:
      return row.strict == Verdict::kWarning;
    case kProvesLittle:
      return row.strict == Verdict::kInconclusive;
    case kDoesNotRun:
      return raised(row);
    case kLostCall:
      return row.status == Verdict::kSkip;
  }
  return true;
}

std::string text_of(const ReportRow& row, RuleIndex rule) {
  if (rule == kDoesNotRun) return "does not run on the device: " + raised_text(row);
  const bool strict = rule == kStrictError || rule == kStrictWarning || rule == kProvesLittle;
  std::string text = strict ? row.strict_reason : row.message;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  while (!text.empty() && text.front() == '\n') text.erase(0, 1);
  return text;
}

// What the first row that the rule is about says, and how many more there are.
std::string message_of(const ReportRun& run, const ReportCall& call, RuleIndex rule) {
  const std::string site = dump::site_text(call.site);
  std::string text = site.empty() ? call.name + ": " : fmt::format("{} ({}): ", call.name, site);
  std::size_t more = 0;
  bool told = false;
  for (std::size_t i = call.first_row; i < call.first_row + call.row_count; ++i) {
    const ReportRow& row = run.rows[i];
    if (!concerns(row, rule)) continue;
    if (told) {
      ++more;
      continue;
    }
    told = true;
    text += fmt::format("{}: {}", row.part, text_of(row, rule));
    if (!row.likely_cause.empty()) text += fmt::format(" Likely cause: {}.", row.likely_cause);
  }
  if (more > 0) text += fmt::format(" ({} more of this call)", more);
  if (!run.rerun.empty()) {
    text += fmt::format(" Check it alone: {}", run.rerun.text_for(call.name));
  }
  return text;
}

void write_place(JsonWriter& json, const StackFrame& frame) {
  json.key("physicalLocation").begin_object();
  json.key("artifactLocation").begin_object().key("uri").value(uri_of(frame.file)).end_object();
  json.key("region").begin_object();
  json.key("startLine").value(std::int64_t{frame.line > 0 ? frame.line : 1});
  if (!frame.code.empty()) {
    json.key("snippet").begin_object().key("text").value(frame.code).end_object();
  }
  json.end_object().end_object();
}

void write_stack(JsonWriter& json, const Stack& stack) {
  json.key("stacks").begin_array().begin_object();
  json.key("message").begin_object().key("text").value("call stack").end_object();
  json.key("frames").begin_array();
  for (const StackFrame& frame : stack) {
    if (frame.file.empty()) continue;
    json.begin_object().key("location").begin_object();
    write_place(json, frame);
    json.key("logicalLocations").begin_array().begin_object();
    json.key("name").value(frame.function).end_object().end_array();
    json.end_object().end_object();
  }
  json.end_array().end_object().end_array();
}

void write_result(JsonWriter& json, const ReportRun& run, const ReportCall& call, RuleIndex rule) {
  json.begin_object();
  json.key("ruleId").value(kRules[rule].id).key("ruleIndex").value(std::size_t{rule});
  json.key("level").value(kRules[rule].level);
  json.key("message").begin_object().key("text").value(message_of(run, call, rule)).end_object();
  json.key("locations").begin_array().begin_object();
  const StackFrame* frame = call.stack ? own_frame(run.stacks[*call.stack]) : nullptr;
  if (frame != nullptr) {
    write_place(json, *frame);
  } else if (!run.dump.empty()) {
    write_place(json, {.file = run.dump, .line = 1, .function = {}, .code = {}, .library = false});
  }
  json.key("logicalLocations").begin_array().begin_object();
  json.key("fullyQualifiedName").value(call.name).key("kind").value("function");
  json.end_object();
  if (!call.site.module.empty()) {
    json.begin_object().key("fullyQualifiedName").value(call.site.module);
    json.key("kind").value("module").end_object();
  }
  json.end_array();
  json.end_object().end_array();
  if (call.stack) write_stack(json, run.stacks[*call.stack]);
  json.key("partialFingerprints").begin_object().key("msprobeCall/v1").value(call.name);
  json.end_object().end_object();
}

void write_driver(JsonWriter& json, std::string_view version) {
  json.key("tool").begin_object().key("driver").begin_object();
  json.key("name").value("msprobe").key("version").value(version);
  json.key("rules").begin_array();
  for (const Rule& rule : kRules) {
    json.begin_object().key("id").value(rule.id);
    json.key("shortDescription").begin_object().key("text").value(rule.text).end_object();
    json.key("defaultConfiguration").begin_object().key("level").value(rule.level).end_object();
    json.end_object();
  }
  json.end_array().end_object().end_object();
}

}  // namespace

std::string uri_of(std::string_view path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  std::string out = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string sarif_text(std::span<const ReportRun> runs, FailOn fail_on, std::string_view version) {
  JsonWriter json(JsonWriter::Texts::kShown);
  json.begin_object();
  json.key("$schema").value("https://json.schemastore.org/sarif-2.1.0.json");
  json.key("version").value("2.1.0");
  json.key("runs").begin_array();
  for (const ReportRun& run : runs) {
    json.begin_object();
    write_driver(json, version);
    json.key("results").begin_array();
    for (const ReportCall& call : run.calls) {
      if (const auto rule = rule_of(call, fail_on)) write_result(json, run, call, *rule);
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

Result<void> write_sarif(const std::filesystem::path& path, std::span<const ReportRun> runs,
                         FailOn fail_on, std::string_view version) {
  Result<tables::OutputFile> file = tables::OutputFile::create(path);
  if (!file) return propagate(file);
  file->buffer() = sarif_text(runs, fail_on, version);
  return file->commit();
}

}  // namespace msprobe::report
