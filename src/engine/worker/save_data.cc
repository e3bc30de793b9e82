// SPDX-License-Identifier: Apache-2.0
#include "worker/save_data.h"

#include <algorithm>

#include <fmt/format.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "core/new_file.h"
#include "core/npy_header.h"
#include "execute/value_tree.h"
#include "libtorch/dtypes.h"

namespace msprobe::worker {
namespace {

using arguments::PyValue;
using execute::LeafPair;

Result<void> save_tensor(const std::filesystem::path& path, const at::Tensor& tensor) {
  const std::vector<char> bytes = torch::jit::pickle_save(libtorch::plain(tensor));
  return write_new_file(path, {bytes.data(), bytes.size()});
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

Result<void> save_npy(const std::string& path, const at::Tensor& tensor) {
  at::Tensor plain = libtorch::plain(tensor);
  const auto dtype = libtorch::dtype_of(plain.scalar_type());
  if (!dtype) return {};  // nothing NumPy could hold
  const DType held = numpy_dtype(*dtype);
  if (held != *dtype) plain = plain.to(*libtorch::scalar_type(held));
  const TensorView view = libtorch::view_of(plain);
  Result<NewFile> file = NewFile::create(path);
  if (!file) return propagate(file);
  const std::string_view bytes(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size());
  if (auto done = file->write(npy_header(held, view.shape)); !done) return done;
  if (auto done = file->write(bytes); !done) return done;
  return file->commit();
}

Result<void> save_npy_tree(const std::string& name, const PyValue& value) {
  if (const auto* tensor = value.as<at::Tensor>()) return save_npy(name + ".npy", *tensor);
  const auto* list = value.as<arguments::PyList>();
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const Result<void> saved = save_npy_tree(fmt::format("{}.{}", name, i), (*list)[i]);
    if (!saved) return saved;
  }
  return {};
}

Result<void> save_npy_pairs(const std::string& name, const std::vector<LeafPair>& pairs) {
  for (const LeafPair& pair : pairs) {
    const Result<void> tested =
        save_npy_tree(fmt::format("{}.output.{}", name, pair.path), pair.device);
    if (!tested) return tested;
    const Result<void> bench =
        save_npy_tree(fmt::format("{}.bench.{}", name, pair.path), pair.bench);
    if (!bench) return bench;
  }
  return {};
}

}  // namespace

Result<void> save_npy_data(const std::filesystem::path& directory, const std::string& full_name,
                           const execute::CallOutcome& outcome) {
  if (Result<void> made = make_directories(directory); !made) return made;
  const std::string forward = (directory / full_name).string() + ".forward";
  const std::string backward = (directory / full_name).string() + ".backward";
  const arguments::PyCall& call = outcome.arguments.call;
  if (auto saved = save_npy_tree(forward + ".input", PyValue{call.args}); !saved) return saved;
  for (const auto& [name, value] : call.kwargs) {
    std::string file = name;
    std::ranges::replace(file, '/', '_');  // it comes from the dump
    if (auto saved = save_npy_tree(forward + ".kwargs." + file, value); !saved) return saved;
  }
  if (auto saved = save_npy_pairs(forward, outcome.forward); !saved) return saved;
  if (auto saved = save_npy_tree(backward + ".input", PyValue{outcome.arriving}); !saved) {
    return saved;
  }
  return save_npy_pairs(backward, outcome.backward);
}

Result<void> save_data(const std::filesystem::path& directory, const std::string& full_name,
                       const execute::CallOutcome& outcome, const std::string& device_word) {
  if (Result<void> made = make_directories(directory); !made) return made;
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

}  // namespace msprobe::worker
