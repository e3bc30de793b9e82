// SPDX-License-Identifier: Apache-2.0
#include "pair_cause.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/cast.h"
#include "core/new_file.h"
#include "core/npy_header.h"
#include "engines/engine_options.h"
#include "own_files.h"
#include "shrink/probe.h"

namespace msprobe::app {
namespace {

namespace fs = std::filesystem;

// Beyond so many bytes it would take longer than a person waits.
constexpr std::size_t kMostBytes = std::size_t{1} << 26;
constexpr double kTimeout = 60;  // seconds
constexpr const char* kCall = "Tensor.clone.0";

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "msprobe_pair_XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }  // empty: none could be made

 private:
  fs::path path_;
};

// A tensor as it is recorded, with its file in `directory`; nothing if it cannot be written. Dtypes
// that NumPy lacks are stored wider.
std::optional<dump::TensorRecord> stored(const Tensor& tensor, const fs::path& directory,
                                         const std::string& file) {
  const DType held = numpy_dtype(tensor.dtype);
  const Result<Tensor> written = held == tensor.dtype ? tensor : cast(tensor, held);
  if (!written) return std::nullopt;
  std::string content = npy_header(held, written->shape);
  content.append(reinterpret_cast<const char*>(written->bytes.data()), written->bytes.size());
  if (!write_new_file(directory / file, content)) return std::nullopt;
  dump::TensorRecord record;
  record.dtype = tensor.dtype;
  record.dtype_text = text(tensor.dtype);
  record.shape = tensor.shape;
  record.data_name = file;
  return record;
}

}  // namespace

std::string pair_cause(const Tensor& bench, const Tensor& device) {
  if (bench.shape != device.shape || device.bytes.size() > kMostBytes) return "";
  const Result<Tensor> rounded = bench.dtype == device.dtype ? bench : cast(bench, device.dtype);
  const Result<fs::path> engine = find_own_engine("");
  const TemporaryDirectory directory;
  if (!rounded || !engine || directory.path().empty()) return "";
  const auto input = stored(*rounded, directory.path(), "bench.npy");
  const auto output = stored(device, directory.path(), "device.npy");
  if (!input || !output) return "";
  dump::CallRecord call;
  call.full_name = kCall;
  call.forward.input_args = {{*input}};
  call.forward.output = {{*output}};
  ReplaySettings replay;
  replay.data_directory = directory.path().string();
  replay.strict = true;
  engines::EngineOptions options;
  options.program = engine->string();
  shrink::Probe probe(engines::command_of(options, "recorded"), replay, kTimeout);
  const Result<shrink::ProbeAnswer> answer = probe.ask(call);
  return answer ? answer->cause : "";
}

}  // namespace msprobe::app
