// SPDX-License-Identifier: Apache-2.0
#include "report/live_run.h"

#include <algorithm>
#include <utility>

#include "core/call_name.h"
#include "core/look_up.h"
#include "report/answer.h"
#include "report/describe_calls.h"
#include "report/report_row.h"

namespace msprobe::report {

const ReportCall* LiveRun::add(const documented::ResultRow& result,
                               std::span<const documented::DetailRow> details) {
  ReportCall call;
  call.name = utf8(result.api_name);
  take_dots(call.name);
  call.api = api_of(call.name);
  call.forward = result.forward;
  call.backward = result.backward;
  call.strict = result.strict;
  call.message = utf8(result.message);
  call.skip = result.skip;
  if (standing(call) == Standing::kPass) {
    ++run_.passed_apis[call.api];
    return nullptr;
  }
  call.first_row = run_.rows.size();
  call.row_count = details.size();
  for (const documented::DetailRow& row : details) {
    std::string name = utf8(row.api_name);
    take_dots(name);
    ReportRow out = report_row(row);
    out.part = name.substr(std::min(call.name.size() + 1, name.size()));
    run_.rows.push_back(std::move(out));
  }
  find_place(call);
  run_.calls.push_back(std::move(call));
  return &run_.calls.back();
}

void LiveRun::open_places() {
  const auto open = [this](const std::filesystem::path& path, auto reader, auto& into) {
    const Result<bool> there = is_there(path);
    if (there && !*there) return;
    auto found = reader(path);
    if (found) {
      into = *std::move(found);
    } else if (problem_.empty()) {
      problem_ = found.error().message;
    }
  };
  open(dump::call_sites_file(dump_), &dump::open_call_sites, sites_);
  open(stack_file_of(dump_), &dump::open_stacks, stacks_);
}

void LiveRun::find_place(ReportCall& call) {
  if (!std::exchange(opened_, true)) open_places();
  if (sites_) call.site = sites_->where(call.name);
  if (!call.site.line.empty() || !stacks_) return;
  const std::vector<std::string> frames = frames_of(*stacks_, call.name);
  if (frames.empty()) return;
  call.stack = static_cast<std::uint32_t>(run_.stacks.size());
  Stack& stack = run_.stacks.emplace_back();
  for (const std::string& frame : frames) stack.push_back(parse_frame(frame));
}

}  // namespace msprobe::report
