// SPDX-License-Identifier: Apache-2.0
// What went into a call and came out of it, as files that torch.load reads.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"
#include "execute/execute_call.h"

namespace msprobe::worker {

// {full_name}.forward.input.{i}.pt, .forward.output.bench.{i}.pt,
// .forward.output.{device_word}.{i}.pt, .backward.input.{i}.pt and so on; i counts leaves depth
// first. An input that the device changed in place is saved as it is afterwards. The directory is
// made where it is missing.
Result<void> save_data(const std::filesystem::path& directory, const std::string& full_name,
                       const execute::CallOutcome& outcome, const std::string& device_word);

// The same as MindSpore's check leaves it: .npy files, {full_name}.forward.input.{i}.npy,
// .forward.kwargs.{name}.npy, .forward.output.{i}.npy (what was tested), .forward.bench.{i}.npy,
// .backward.input.{i}.npy and so on; nested lists add their places ("input.0.1").
Result<void> save_npy_data(const std::filesystem::path& directory, const std::string& full_name,
                           const execute::CallOutcome& outcome);

}  // namespace msprobe::worker
