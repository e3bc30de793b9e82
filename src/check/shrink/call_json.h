// SPDX-License-Identifier: Apache-2.0
// A call as dump.json writes it: what reads as a CallRecord, written back.
#pragma once

#include <string>
#include <string_view>

#include "dump/call_record.h"

namespace msprobe::shrink {

std::string json_of(const dump::ForwardRecord& forward);
std::string json_of(const dump::BackwardRecord& backward);
// A whole dump.json of `framework` with this call alone. `with_data`: its tensors have files.
std::string dump_of(const dump::CallRecord& call, bool with_data,
                    std::string_view framework = "pytorch");

}  // namespace msprobe::shrink
