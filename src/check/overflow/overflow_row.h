// SPDX-License-Identifier: Apache-2.0
// One line of an overflow check: one direction of a call, its verdict and its message.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/skip.h"
#include "dump/call_record.h"
#include "dump/dump_json.h"
#include "overflow/overflow_verdict.h"
#include "protocol/measured_call.h"

namespace msprobe::overflow {

struct OverflowRow {
  std::string name;              // as the file has it: "Torch.mul.0", "Functional*relu*0.backward"
  std::optional<bool> cpu = {};  // empty: not known
  std::optional<bool> device = {};
  OverflowVerdict verdict = OverflowVerdict::kSkip;
  std::string first = {};  // path of the first output that overflows
  std::string message = {};
  bool lost = false;     // skipped, and should have been checked
  bool expected = true;  // an overflow was recorded, or may have been: its line is a warning
};

// Where the values on the device's side come from.
enum class DeviceSide : std::uint8_t {
  kRun,         // the device ran the call
  kRecorded,    // the recorded outputs tell
  kProvenance,  // the file holds what overflowed on the device, and nothing else
};

struct RowContext {
  DeviceSide side = DeviceSide::kRun;
  std::string device;  // for messages: "sim:0"
};

// The rows of a call that an engine answered: forward, and backward where it was recorded.
// `record` is empty if the entry cannot be read.
std::vector<OverflowRow> rows_of(const dump::CallSlice& slice, const dump::CallRecord* record,
                                 const protocol::MeasuredCall& call, const RowContext& context);

// A call that no engine ran.
OverflowRow skipped_row(const dump::CallSlice& slice, const Skip& skip);

// A CSV of rows: its header, and a row with its line end.
std::string csv_header();
void append_csv(const OverflowRow& row, std::string& out);

}  // namespace msprobe::overflow
