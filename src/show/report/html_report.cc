// SPDX-License-Identifier: Apache-2.0
#include "report/html_report.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "core/json_writer.h"
#include "report/answer.h"
#include "report/packed.h"
#include "report/page.h"
#include "tables/output_file.h"

namespace msprobe::report {
namespace {

constexpr std::size_t kNoVerdict = kVerdicts;  // nothing was judged

std::size_t code(std::optional<Verdict> verdict) {
  return verdict ? static_cast<std::size_t>(*verdict) : kNoVerdict;
}

// The packed columns, each in an element of its own; the summary names them by their ids.
class Blocks {
 public:
  std::string add(std::string packed) {
    packed_.push_back(std::move(packed));
    return fmt::format("b{}", packed_.size() - 1);
  }
  const std::vector<std::string>& packed() const { return packed_; }

 private:
  std::vector<std::string> packed_;
};

// Text that repeats: each value once, and its number per row.
class TextColumn {
 public:
  void add(const std::string& text) {
    const auto [place, fresh] = known_.emplace(text, static_cast<std::uint32_t>(known_.size()));
    if (fresh) values_.push_back(&place->first);
    ids_.push_back(place->second);
  }
  void write(JsonWriter& json, Blocks& blocks) const {
    JsonWriter values(JsonWriter::Texts::kShown);
    values.begin_array();
    for (const std::string* value : values_) values.value(*value);
    values.end_array();
    json.begin_object();
    json.key("values").value(blocks.add(packed_bytes(values.text())));
    json.key("ids").value(blocks.add(packed_integers(ids_)));
    json.end_object();
  }

 private:
  std::unordered_map<std::string, std::uint32_t> known_;
  std::vector<const std::string*> values_;
  std::vector<std::uint32_t> ids_;
};

template <class Item, class Get>
void write_texts(JsonWriter& json, std::string_view key, const std::vector<Item>& items, Get get,
                 Blocks& blocks) {
  TextColumn column;
  for (const Item& item : items) column.add(get(item));
  json.key(key);
  column.write(json, blocks);
}

template <class Item, class Get>
void write_verdicts(JsonWriter& json, std::string_view key, const std::vector<Item>& items, Get get,
                    Blocks& blocks) {
  std::string codes;
  for (const Item& item : items) codes += static_cast<char>(code(get(item)));
  json.key(key).value(blocks.add(packed_bytes(codes)));
}

template <class Item, class Get>
void write_integers(JsonWriter& json, std::string_view key, const std::vector<Item>& items, Get get,
                    Blocks& blocks) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(items.size());
  for (const Item& item : items) numbers.push_back(static_cast<std::uint32_t>(get(item)));
  json.key(key).value(blocks.add(packed_integers(numbers)));
}

void write_standings(JsonWriter& json, const ReportRun& run, Blocks& blocks) {
  std::string codes;
  for (const ReportCall& call : run.calls) codes += static_cast<char>(standing(call));
  json.key("standing").value(blocks.add(packed_bytes(codes)));
}

void write_spreads(JsonWriter& json, const ReportRun& run, Blocks& blocks) {
  std::string codes;
  for (const ReportCall& call : run.calls) codes += static_cast<char>(call.spread);
  json.key("spread").value(blocks.add(packed_bytes(codes)));
}

void write_calls(JsonWriter& json, const ReportRun& run, Blocks& blocks) {
  const auto& calls = run.calls;
  json.key("calls").begin_object();
  json.key("count").value(calls.size());
  write_texts(json, "name", calls, std::mem_fn(&ReportCall::name), blocks);
  write_texts(json, "api", calls, std::mem_fn(&ReportCall::api), blocks);
  write_texts(json, "group", calls, std::mem_fn(&ReportCall::group), blocks);
  write_texts(
      json, "why", calls, [&](const ReportCall& call) { return cause_text(run, call); }, blocks);
  write_texts(json, "message", calls, std::mem_fn(&ReportCall::message), blocks);
  write_texts(json, "arguments", calls, std::mem_fn(&ReportCall::arguments), blocks);
  write_texts(
      json, "line", calls, [&](const ReportCall& call) { return source_line(run, call); }, blocks);
  write_texts(
      json, "cause", calls, [&](const ReportCall& call) { return cause_name(run, call); }, blocks);
  write_texts(
      json, "dtype", calls, [&](const ReportCall& call) { return call_dtype(run, call); }, blocks);
  write_standings(json, run, blocks);
  write_spreads(json, run, blocks);
  write_verdicts(json, "forward", calls, std::mem_fn(&ReportCall::forward), blocks);
  write_verdicts(json, "backward", calls, std::mem_fn(&ReportCall::backward), blocks);
  write_verdicts(json, "strict", calls, std::mem_fn(&ReportCall::strict), blocks);
  write_integers(json, "firstRow", calls, std::mem_fn(&ReportCall::first_row), blocks);
  write_integers(json, "rowCount", calls, std::mem_fn(&ReportCall::row_count), blocks);
  // 0: no stack.
  write_integers(
      json, "stack", calls, [](const ReportCall& call) { return call.stack ? *call.stack + 1 : 0; },
      blocks);
  json.end_object();
}

void write_metrics(JsonWriter& json, const ReportRun& run, Blocks& blocks) {
  json.key("metrics").begin_array();
  std::vector<double> column(run.rows.size());
  for (std::size_t m = 0; m < run.metrics.size(); ++m) {
    bool any = false;
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      column[i] = run.rows[i].numbers[m];
      any = any || column[i] != kNoNumber;
    }
    if (!any) continue;
    json.begin_object();
    json.key("title").value(run.metrics[m].title).key("side").value(run.metrics[m].side);
    json.key("numbers").value(blocks.add(packed_numbers(column)));
    json.end_object();
  }
  json.end_array();
}

void write_rows(JsonWriter& json, const ReportRun& run, Blocks& blocks) {
  const auto& rows = run.rows;
  json.key("rows").begin_object();
  json.key("count").value(rows.size());
  write_texts(json, "part", rows, std::mem_fn(&ReportRow::part), blocks);
  write_texts(json, "benchDtype", rows, std::mem_fn(&ReportRow::bench_dtype), blocks);
  write_texts(json, "deviceDtype", rows, std::mem_fn(&ReportRow::device_dtype), blocks);
  write_texts(json, "shape", rows, std::mem_fn(&ReportRow::shape), blocks);
  write_texts(json, "algorithm", rows, std::mem_fn(&ReportRow::algorithm), blocks);
  write_texts(json, "message", rows, std::mem_fn(&ReportRow::message), blocks);
  write_texts(json, "reason", rows, std::mem_fn(&ReportRow::strict_reason), blocks);
  write_texts(json, "cause", rows, std::mem_fn(&ReportRow::likely_cause), blocks);
  write_verdicts(json, "status", rows, std::mem_fn(&ReportRow::status), blocks);
  write_verdicts(json, "strict", rows, std::mem_fn(&ReportRow::strict), blocks);
  write_integers(json, "limits", rows, std::mem_fn(&ReportRow::limits), blocks);
  json.end_object();
  write_metrics(json, run, blocks);
}

// Who reads from whom, in a comparison; and which group is part of which.
void write_relations(JsonWriter& json, const ReportRun& run, Blocks& blocks) {
  json.key("edges").begin_object();
  write_integers(json, "from", run.edges, std::mem_fn(&Edge::from), blocks);
  write_integers(json, "to", run.edges, std::mem_fn(&Edge::to), blocks);
  json.end_object();
  JsonWriter parents(JsonWriter::Texts::kShown);
  parents.begin_array();
  for (const auto& [group, parent] : run.group_parents) {
    const auto kind = run.group_kinds.find(group);
    parents.begin_array().value(group).value(parent);
    parents.value(kind == run.group_kinds.end() ? "" : kind->second).end_array();
  }
  parents.end_array();
  json.key("groupParents").value(blocks.add(packed_bytes(parents.text())));
}

// [row, map] of every row that has one.
void write_maps(JsonWriter& json, const ReportRun& run, Blocks& blocks) {
  std::string maps = "[";
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    if (run.rows[i].error_map.empty()) continue;
    maps += fmt::format("{}[{},{}]", maps.size() > 1 ? "," : "", i, run.rows[i].error_map);
  }
  json.key("maps").value(blocks.add(packed_bytes(maps + "]")));
}

// Pairs of a call's index and its script.
void write_scripts(JsonWriter& json, const ReportRun& run, Blocks& blocks) {
  JsonWriter scripts(JsonWriter::Texts::kShown);
  scripts.begin_array();
  for (std::size_t i = 0; i < run.calls.size(); ++i) {
    if (run.calls[i].script.empty()) continue;
    scripts.begin_array().value(i).value(run.calls[i].script).end_array();
  }
  scripts.end_array();
  json.key("scripts").value(blocks.add(packed_bytes(scripts.text())));
}

void write_limits(JsonWriter& json, const ReportRun& run) {
  json.key("limits").begin_array();
  for (const Limits& limits : run.limits) {
    json.begin_array();
    for (const Limit& limit : limits) {
      json.begin_object();
      json.key("metric").value(limit.metric).key("test").value(limit.test);
      json.key("value").value(limit.value).key("effect").value(limit.effect);
      json.key("origin").value(limit.origin).end_object();
    }
    json.end_array();
  }
  json.end_array();
}

void write_stacks(JsonWriter& json, const ReportRun& run, Blocks& blocks) {
  JsonWriter stacks(JsonWriter::Texts::kShown);
  stacks.begin_array();
  for (const Stack& stack : run.stacks) {
    stacks.begin_array();
    for (const StackFrame& frame : stack) {
      stacks.begin_array().value(frame.file).value(std::int64_t{frame.line}).value(frame.function);
      stacks.value(frame.code).value(frame.library).end_array();
    }
    stacks.end_array();
  }
  stacks.end_array();
  json.key("stacks").value(blocks.add(packed_bytes(stacks.text())));
}

// Cards beyond it are not worth their place: the table has every call.
constexpr std::size_t kMostCards = 200;

void write_card(JsonWriter& json, const ReportRun& run, const CauseCard& card) {
  json.begin_object().key("api").value(card.api).key("cause").value(card.cause);
  json.key("evidence").value(card.evidence).key("calls").value(card.calls);
  json.key("slight").value(card.slight).key("worstCall").value(card.worst_call);
  json.key("worstName").value(run.calls[card.worst_call].name).key("worst");
  card.worst == kNoNumber ? json.null() : json.value(card.worst);
  json.key("lines").begin_array();
  for (const std::string& line : card.lines) json.value(line);
  json.end_array().key("moreLines").value(card.more_lines).end_object();
}

// What the page shows before it has unpacked anything.
void write_answer(JsonWriter& json, const ReportRun& run) {
  const Answer answer = answer_of(run);
  json.key("answer").begin_object().key("checked").value(answer.checked);
  json.key("apis").begin_array();
  for (const WrongApi& api : answer.apis) {
    json.begin_object().key("api").value(api.api).key("wrong").value(api.wrong);
    json.key("total").value(api.total).key("cause").value(api.cause).end_object();
  }
  json.end_array().key("raised").begin_array();
  for (const RaisedApi& api : answer.raised) {
    json.begin_object().key("api").value(api.api).key("text").value(api.text);
    json.key("calls").value(api.calls).key("firstCall").value(api.first_call);
    json.key("firstName").value(run.calls[api.first_call].name);
    json.key("lines").begin_array();
    for (const std::string& line : api.lines) json.value(line);
    json.end_array().key("moreLines").value(api.more_lines).end_object();
  }
  json.end_array().key("skipped").begin_array();
  for (const auto& [words, calls] : answer.skipped) {
    json.begin_array().value(words).value(calls).end_array();
  }
  json.end_array().key("cardCount").value(answer.cards.size()).key("cards").begin_array();
  for (std::size_t i = 0; i < answer.cards.size() && i < kMostCards; ++i) {
    write_card(json, run, answer.cards[i]);
  }
  json.end_array();
  std::array<std::size_t, kStandings> counts{};
  bool strict = false;
  for (const ReportCall& call : run.calls) {
    ++counts[static_cast<std::size_t>(standing(call))];
    strict = strict || call.strict.has_value();
  }
  json.key("hasStrict").value(strict).key("standings").begin_array();
  for (const std::size_t count : counts) json.value(count);
  json.end_array().key("spreads").begin_array();
  for (std::size_t spread = 0; spread < kSpreads; ++spread) {
    json.value(std::ranges::count(run.calls, static_cast<Spread>(spread), &ReportCall::spread));
  }
  json.end_array().end_object();
}

void write_since(JsonWriter& json, const Since& since) {
  json.key("since").begin_object().key("title").value(since.title);
  const auto write = [&](std::string_view key, const std::vector<std::size_t>& calls) {
    json.key(key).begin_array();
    for (const std::size_t call : calls) json.value(call);
    json.end_array();
  };
  write("appeared", since.appeared);
  write("fixed", since.fixed);
  write("still", since.still);
  json.end_object();
}

void write_run(JsonWriter& json, const ReportRun& run, Blocks& blocks) {
  json.begin_object();
  json.key("kind").value(run.kind).key("title").value(run.title);
  json.key("place").value(run.place);
  json.key("origin").begin_array();
  for (const auto& [what, value] : run.origin) {
    json.begin_array().value(what).value(value).end_array();
  }
  json.end_array();
  json.key("directions").begin_array();
  json.value(run.directions[0]).value(run.directions[1]).end_array();
  json.key("groupTitle").value(run.group_title).key("rerun").value(run.rerun.text());
  json.key("shrink").value(run.rerun.as_shrink().text());
  write_answer(json, run);
  if (run.first_difference) {
    json.key("firstDifference").begin_object();
    json.key("call").value(run.first_difference->call);
    json.key("text").value(run.first_difference->text).end_object();
  }
  if (run.since) write_since(json, *run.since);
  write_calls(json, run, blocks);
  write_rows(json, run, blocks);
  write_relations(json, run, blocks);
  write_limits(json, run);
  write_stacks(json, run, blocks);
  write_maps(json, run, blocks);
  write_scripts(json, run, blocks);
  json.end_object();
}

// JSON for the inside of a script element: no '<' can end it or open a comment.
std::string script_safe(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

constexpr std::string_view kHead =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>msprobe report</title>\n";

}  // namespace

Result<void> write_html_report(const std::filesystem::path& path, std::span<const ReportRun> runs,
                               std::string_view version) {
  Blocks blocks;
  JsonWriter json(JsonWriter::Texts::kShown);
  json.begin_object().key("version").value(version).key("runs").begin_array();
  for (const ReportRun& run : runs) write_run(json, run, blocks);
  json.end_array().end_object();

  Result<tables::OutputFile> file = tables::OutputFile::create(path);
  if (!file) return propagate(file);
  std::string& out = file->buffer();
  out += kHead;
  // Nothing is loaded and no other script runs, whatever a CSV holds.
  fmt::format_to(std::back_inserter(out),
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "script-src {}; style-src {}\">\n<style>{}</style>\n",
                 policy_source(kPageScript), policy_source(kPageStyle), kPageStyle.text);
  out += "</head>\n<body>\n<div id=\"app\"></div>\n";
  out += "<script type=\"application/json\" id=\"summary\">";
  out += script_safe(json.text());
  out += "</script>\n<script>";
  out += kPageScript.text;
  out += "</script>\n";
  for (std::size_t i = 0; i < blocks.packed().size(); ++i) {
    fmt::format_to(std::back_inserter(out), "<script type=\"text/plain\" id=\"b{}\">", i);
    out += blocks.packed()[i];
    out += "</script>\n";
    if (const Result<void> flushed = file->flush_if_full(); !flushed) return flushed;
  }
  out += "</body>\n</html>\n";
  return file->commit();
}

}  // namespace msprobe::report
