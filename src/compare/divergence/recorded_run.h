// SPDX-License-Identifier: Apache-2.0
// One recorded run as the search for its first divergence needs it: calls in execution order, each
// with the tensors that went in and came out. Small and flat: a hundred thousand calls take some
// hundred MB at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/dtype.h"
#include "dump/entry_reader.h"

namespace msprobe::divergence {

// How the values of a dtype are compared.
enum class Values : std::uint8_t { kReal, kWhole, kUnknown };

struct RunTensor {
  std::uint64_t form = 0;      // hash of shape and kind of dtype; any real dtype is one kind
  std::uint64_t identity = 0;  // hash of dtype, shape and every value recorded
  std::uint64_t checksum = 0;  // hash of the recorded checksum; 0: none
  double max = 0, min = 0, mean = 0, norm = 0;
  double count = 0;    // elements
  double spacing = 0;  // of the dtype at 1: 2^-23 for float32; 0: not a float type
  std::uint32_t path;  // Trace::paths
  Values values = Values::kUnknown;
  bool has_range = false;  // max and min
  bool has_mean = false, has_norm = false;

  bool has_values() const { return has_range || has_norm || checksum != 0; }
};

// What a communication call says about its partners.
struct Communication {
  std::vector<int> ranks;      // of the process group; empty: all
  std::vector<int> receivers;  // dst of a send, peers of a batch
  std::vector<int> senders;    // src of a receive or a broadcast
  int first_number = -1;       // the first whole number among the arguments; -1: none
};

struct Call {
  std::string_view entry;     // "Torch.matmul.3.forward"
  std::string_view api;       // "Torch.matmul"; of a module "Module.blocks.0.Block"
  std::string_view known_as;  // what the other run calls the API, where that is known; else empty
  std::uint64_t at = 0;       // where in the file
  std::uint64_t name = 0;     // hash of the API name without prefix, in-place and operator spelling
  std::uint64_t arguments = 0;  // hash of the arguments that are not tensors
  std::uint64_t twin = 0;       // the same for the forward and the backward pass of one call
  std::uint32_t first = 0;      // in Trace::tensors: inputs, then outputs
  std::uint32_t inputs = 0, outputs = 0;
  std::uint32_t first_argument = 0, argument_count = 0;  // in Trace::arguments
  std::int32_t communication = -1;                       // in Trace::communications
  dump::EntryKind direction = dump::EntryKind::kForward;
  bool is_module = false;
  bool makes_garbage = false;       // torch.empty and its kin: uninitialised memory comes out
  bool nonfinite_argument = false;  // an infinity or NaN was passed on purpose
};

struct Argument {
  std::uint32_t path;  // Trace::paths
  std::uint32_t text;  // Trace::texts
  double number = 0;   // where it is one
  bool is_number = false;
};

// Texts that occur again and again, each kept once.
class TextPool {
 public:
  TextPool() = default;
  TextPool(TextPool&&) = default;  // a copy would look into the original
  TextPool& operator=(TextPool&&) = default;

  std::uint32_t add(std::string_view text);
  std::string_view operator[](std::uint32_t index) const { return texts_[index]; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::vector<std::string_view> texts_;  // views of the keys, which stay where they are
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> known_;
};

struct Trace {
  std::vector<Call> calls;  // in execution order
  std::vector<RunTensor> tensors;
  std::vector<Argument> arguments;
  std::vector<Communication> communications;
  TextPool paths, texts;
  std::deque<std::string> names;  // what Call::entry points to
  bool has_checksums = false;

  std::span<const RunTensor> inputs(const Call& call) const {
    return {tensors.data() + call.first, call.inputs};
  }
  std::span<const RunTensor> outputs(const Call& call) const {
    return {tensors.data() + call.first + call.inputs, call.outputs};
  }
};

// Describes a recorded tensor; `path` is the number of "input.0", "output.1" in Trace::paths.
RunTensor describe(const dump::Item& item, std::uint32_t path);

// Whether numpy lacks the dtype: bfloat16, and the types of 8 bits.
bool is_unknown_to_numpy(std::string_view dtype);

// "Tensor.__iadd__" and "Torch.add_" both become "add", "Torch.concat" becomes "cat": a renamed
// call is still known.
std::string_view operation_of(std::string_view api);

// Fills what follows from Call::entry, and from the name of the call in the other run (empty: the
// same).
void name_call(Call& call, std::string_view known_as = {});

// Completes a run whose entries are all there: puts its calls in the order of the file, each once,
// and gives the gradients of a module's parameters the inputs of its backward pass.
void finish(Trace& run);

std::uint64_t mix(std::uint64_t seed, std::uint64_t value);

}  // namespace msprobe::divergence
