// SPDX-License-Identifier: Apache-2.0
#include "overflow/overflow_row.h"

#include <array>

#include <fmt/format.h>

#include "check/known_errors.h"
#include "tables/csv_text.h"

namespace msprobe::overflow {
namespace {

using protocol::MeasuredCall;
using protocol::MeasuredLeaf;

std::string row_name(const dump::CallSlice& slice, bool backward) {
  constexpr std::string_view kForward = "_forward";
  if (slice.key.empty()) {
    return backward ? fmt::format("{}.backward", slice.full_name) : std::string(slice.full_name);
  }
  if (!backward) return std::string(slice.key);
  if (!slice.key.ends_with(kForward)) return fmt::format("{}.backward", slice.key);
  return fmt::format("{}_backward", slice.key.substr(0, slice.key.size() - kForward.size()));
}

bool has_data(const dump::List& values) {
  for (const dump::Value& value : values) {
    if (const auto* tensor = value.as<dump::TensorRecord>(); tensor && !tensor->data_name.empty()) {
      return true;
    }
    if (const auto* list = value.as<dump::List>(); list && has_data(*list)) return true;
  }
  return false;
}

// What was recorded of one direction.
struct Recorded {
  std::optional<bool> overflow;  // of its outputs; empty: not known
  bool real_data = false;
};

Recorded recorded_of(const dump::CallRecord* record, bool backward, DeviceSide side) {
  Recorded recorded;
  if (record != nullptr) {
    const dump::List& inputs = record->forward.input_args;
    recorded.real_data = has_data(inputs);
    recorded.overflow = backward && record->backward
                            ? recorded_overflow(record->backward->output, record->backward->input)
                            : recorded_overflow(record->forward.output, inputs);
  }
  if (side == DeviceSide::kProvenance) recorded.overflow = true;
  return recorded;
}

std::string message_of(const OverflowRow& row, const Sides& sides, const Recorded& recorded,
                       const RowContext& context) {
  switch (row.verdict) {
    case OverflowVerdict::kNormal:
      return fmt::format("The {} overflow is a normal overflow.", row.name);
    case OverflowVerdict::kAbnormal:
      return fmt::format("The {} overflow is an abnormal overflow.", row.name);
    case OverflowVerdict::kCpuOnly:
      return fmt::format("The {} overflow is seen on the CPU only, not on {}.", row.name,
                         context.device);
    case OverflowVerdict::kNotReproduced:
      if (recorded.overflow == false) {
        return fmt::format("The {} overflow is not reproduced: no overflow recorded.", row.name);
      }
      return fmt::format("The {} overflow is not reproduced: neither the CPU nor {} overflows{}.",
                         row.name, context.device,
                         recorded.real_data ? "" : " on random inputs of the recorded range");
    case OverflowVerdict::kSkip:
      break;
  }
  return fmt::format("Run {} UT Error: {}", row.name, sides.differs);
}

OverflowRow judged_row(std::string name, const std::vector<MeasuredLeaf>& leaves,
                       const Recorded& recorded, const RowContext& context) {
  const Sides sides = look_at(leaves);
  OverflowRow row{.name = std::move(name), .cpu = sides.cpu, .first = sides.first};
  row.device = context.side == DeviceSide::kRun ? sides.device : recorded.overflow;
  row.expected = recorded.overflow != false || sides.cpu || row.device == true;
  if (sides.all_none) {
    row.cpu = row.device = false;
    row.verdict = OverflowVerdict::kNormal;
    row.message =
        fmt::format("The {} overflow is a normal overflow, out and npu_out is None.", row.name);
    return row;
  }
  if (sides.all_exact) {
    row.cpu = row.device = row.expected = false;
    row.verdict = OverflowVerdict::kNotReproduced;
    row.message = fmt::format(
        "The {} overflow is not reproduced: an int or a bool, which it returns, cannot overflow.",
        row.name);
    return row;
  }
  if (!row.device) {
    row.message = fmt::format(
        "Run {} UT Error: its outputs were not recorded; choose a device "
        "with -d",
        row.name);
    return row;
  }
  if (sides.differs.empty()) row.verdict = verdict_of(sides.cpu, row.device.value_or(false));
  row.lost = !sides.differs.empty();
  row.message = message_of(row, sides, recorded, context);
  return row;
}

// A CPU kernel that is missing even for float32, an argument that cannot be rebuilt, a crash.
OverflowRow failed_row(std::string name, const Skip& skip) {
  OverflowRow row{.name = std::move(name)};
  row.lost = is_lost(skip.reason);
  row.message = fmt::format("Run {} UT Error: {}", row.name, check::with_advice(skip.text));
  return row;
}

std::string_view truth(const std::optional<bool>& known) {
  if (!known) return "N/A";
  return *known ? "True" : "False";
}

}  // namespace

std::vector<OverflowRow> rows_of(const dump::CallSlice& slice, const dump::CallRecord* record,
                                 const MeasuredCall& call, const RowContext& context) {
  const bool has_backward = !slice.backward_json.empty();
  std::vector<OverflowRow> rows;
  if (call.skip) {
    rows.push_back(failed_row(row_name(slice, false), *call.skip));
    return rows;
  }
  rows.push_back(judged_row(row_name(slice, false), call.forward,
                            recorded_of(record, false, context.side), context));
  if (!has_backward) return rows;
  const std::string name = row_name(slice, true);
  rows.push_back(call.backward_skip ? failed_row(name, *call.backward_skip)
                                    : judged_row(name, call.backward,
                                                 recorded_of(record, true, context.side), context));
  return rows;
}

OverflowRow skipped_row(const dump::CallSlice& slice, const Skip& skip) {
  return failed_row(row_name(slice, false), skip);
}

std::string csv_header() {
  return fmt::format(
      "{}API Name,CPU Overflow,Device Overflow,Verdict,First Overflowing Output,"
      "Message{}",
      tables::kByteOrderMark, tables::kRecordEnd);
}

void append_csv(const OverflowRow& row, std::string& out) {
  const std::array<std::string_view, 6> cells{row.name,          truth(row.cpu), truth(row.device),
                                              name(row.verdict), row.first,      row.message};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += ',';
    tables::append_text(out, cells[i]);
  }
  out += tables::kRecordEnd;
}

}  // namespace msprobe::overflow
