// A call as dump.json writes it: what reads as a CallRecord, written back.
#pragma once

#include <string>

#include "dump/call_record.h"

namespace msprobe::shrink {

std::string json_of(const dump::ForwardRecord& forward);
std::string json_of(const dump::BackwardRecord& backward);
// A whole dump.json with this call alone. `with_data`: its tensors have files.
std::string dump_of(const dump::CallRecord& call, bool with_data);

}  // namespace msprobe::shrink
