#include "save_data.h"

#include <fstream>

#include <fmt/format.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "execute/tree.h"
#include "libtorch/dtypes.h"

namespace msprobe::engine {
namespace {

using arguments::PyValue;
using execute::LeafPair;

Result<void> save_tensor(const std::filesystem::path& path, const at::Tensor& tensor) {
  const std::vector<char> bytes = torch::jit::pickle_save(libtorch::plain(tensor));
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) {
    return fail(ErrorKind::kIo, fmt::format("{}: cannot be written", path.string()));
  }
  return {};
}

// One file per tensor, numbered over all leaves.
class Saver {
 public:
  Saver(std::filesystem::path prefix) : prefix_(std::move(prefix)) {}

  void add(const PyValue& value) {
    execute::for_each_leaf(value, [&](const PyValue& leaf) {
      const auto* tensor = leaf.as<at::Tensor>();
      const std::size_t i = count_++;
      if (tensor == nullptr || !result_) return;
      result_ = save_tensor(fmt::format("{}.{}.pt", prefix_.string(), i), *tensor);
    });
  }
  Result<void> result() const { return result_; }

 private:
  std::filesystem::path prefix_;
  std::size_t count_ = 0;
  Result<void> result_;
};

Result<void> save_pairs(const std::filesystem::path& prefix, const std::vector<LeafPair>& pairs,
                        const std::string& device_word) {
  Saver bench(prefix.string() + ".bench");
  Saver device(prefix.string() + "." + device_word);
  for (const LeafPair& pair : pairs) {
    bench.add(pair.bench);
    device.add(pair.device);
  }
  return bench.result() ? device.result() : bench.result();
}

}  // namespace

Result<void> save_data(const std::filesystem::path& directory, const std::string& full_name,
                       const execute::CallOutcome& outcome, const std::string& device_word) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return fail(ErrorKind::kIo, fmt::format("{}: {}", directory.string(), error.message()));
  }
  const std::filesystem::path base = directory / full_name;
  Saver inputs(base.string() + ".forward.input");
  for (const PyValue& value : outcome.arguments.call.args) inputs.add(value);
  for (const auto& [name, value] : outcome.arguments.call.kwargs) inputs.add(value);
  if (!inputs.result()) return inputs.result();
  if (Result<void> done =
          save_pairs(base.string() + ".forward.output", outcome.forward, device_word);
      !done) {
    return done;
  }
  if (outcome.arriving.empty()) return {};
  Saver arriving(base.string() + ".backward.input");
  for (const PyValue& value : outcome.arriving) arriving.add(value);
  if (!arriving.result()) return arriving.result();
  return save_pairs(base.string() + ".backward.output", outcome.backward, device_word);
}

}  // namespace msprobe::engine
