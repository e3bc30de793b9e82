// SPDX-License-Identifier: Apache-2.0
// What is known of each API: one row each, in op_table.cc. Whatever depends on the name of an API
// asks here; how an API is called is in execute/.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace msprobe::ops {

// The lists an API is in. One bit each; combine them with |.
using Groups = std::uint32_t;
inline constexpr Groups kFunctional = 1U << 0U;  // torch.nn.functional
inline constexpr Groups kTensor = 1U << 1U;      // torch.Tensor
inline constexpr Groups kTorch = 1U << 2U;
inline constexpr Groups kVf = 1U << 3U;  // torch._VF
inline constexpr Groups kTorchNpu = 1U << 4U;
inline constexpr Groups kAten = 1U << 5U;         // operators below autograd
inline constexpr Groups kDistributed = 1U << 6U;  // torch.distributed: recorded, never replayed
inline constexpr Groups kNpuDistributed = 1U << 7U;
inline constexpr Groups kMindSpeed = 1U << 8U;
inline constexpr Groups kMint = 1U << 9U;             // mindspore.mint
inline constexpr Groups kMintFunctional = 1U << 10U;  // mindspore.mint.nn.functional
inline constexpr Groups kMsTensor = 1U << 11U;        // mindspore.Tensor
inline constexpr Groups kMsOps = 1U << 12U;           // mindspore.ops
// Recorded only with "wide_list": true.
inline constexpr Groups kMintMore = 1U << 13U;
inline constexpr Groups kMintFunctionalMore = 1U << 14U;
inline constexpr Groups kMsTensorMore = 1U << 15U;

// The comparison algorithms of the new precision standard.
enum class Standard : std::uint8_t {
  kNone,  // the dtype has none: float64, complex
  kBenchmark,
  kAbsoluteThreshold,
  kBinaryConsistency,
  kUlp,
  kDual1000,
};
std::string_view name(Standard standard);  // as a standards file spells it: "benchmark"

// Operator monitoring levels: the higher, the closer the device must be to the reference device.
enum class Level : std::uint8_t { kL0, kL1, kL2 };
std::string_view name(Level level);  // "L0"

// What the collector leaves out when the user asks for fewer: FOCUS leaves out kLow, CORE keeps
// only kCore (and the fused operators and communication).
enum class Risk : std::uint8_t {
  kLow,  // moves or makes data and computes nothing
  kNormal,
  kCore,  // matrix products, convolutions, normalisations, embeddings, attention
};

// How many terms are summed for one element of a result.
enum class Sums : std::uint8_t {
  kByShape,           // as many as the largest tensor has elements per element of the result
  kContraction,       // products over the last extent of the first tensor (matmul, linear)
  kAddedContraction,  // the same; the first tensor is added, the second one counts (addmm)
  kConvolution,       // products over channels and kernel: the weight, per output channel
  kAlongDim,          // over one extent (softmax, cumsum, norms along a dimension)
  kLastExtent,        // a normalisation over the last extent
  kPerChannel,        // a normalisation over everything but the channels (batch_norm)
  kPerInstance,       // over what is neither batch nor channel (instance_norm)
  kPerGroup,          // over a group of channels (group_norm)
  kNormalizedShape,   // over the shape that the call names (layer_norm)
  kAll,               // over everything (losses, attention, linear algebra, recurrences)
};

// Results that are one matrix product and can be taken apart.
enum class Form : std::uint8_t {
  kOther,
  kMatmul,         // first @ second
  kAddedMatmul,    // first + second @ third
  kLinear,         // first @ second^T + third
  kConvolution2d,  // images
  kSum,            // of all elements
};

// What an elementary function is made of, where kernels of some frameworks are known to compute
// that coarsely.
enum class Made : std::uint8_t {
  kOtherwise,
  kOfExponential,          // of exp of the arguments
  kGradientOfExponential,  // the gradient has a factor exp; the result has not
  kOfOneAdded,             // log(1 + x), exp(x) - 1
  kOfOneAndExponential,    // log(1 + exp(x))
};

// What of a result is unique, where not all of it is.
enum class Unique : std::uint8_t {
  kEverything,
  kIndex,              // the values that the indices point at: argmax
  kSecondIndex,        // the same of the second output; the dimension is the second argument: sort
  kSecondIndexAfterK,  // the dimension is the third argument: topk
  kSet,                // the set of its values: unique
  kQr,                 // the product of the factors, and their angles
  kSvd,                // U S V^H
  kSvdTransposed,      // the same; the third output is V^H
  kEigh,
  kEig,
  kLu,
};

// Elements that are dropped by chance.
enum class Drops : std::uint8_t {
  kNothing,
  kDraws,   // the result itself is drawn: bernoulli
  kScaled,  // what is dropped is not zero: alpha_dropout
  kZeroes,  // what is dropped is zero, and nothing else is done: dropout
  kPart,    // there is a dropout in it
};

// What chance decides by itself: copies of it in one call are as good as several calls.
enum class Chance : std::uint8_t {
  kWholeCall,
  kElement,    // each element of the result has a draw of its own: dropout, normal
  kBatchPart,  // each part of a batch has: fractional_max_pool2d, attention
};

// Inputs that are not taken as they were recorded.
enum class InputRule : std::uint8_t {
  kAsRecorded,
  kHf32,          // devices with HF32 round float32 inputs to it, and are benched in float32
  kClassTargets,  // int32 targets become int64; an ignored index is not drawn
  kHistogram,     // integers become float32
  kCausalMask,    // sparse modes 2 to 4 read a fixed triangle as the mask
};

// Whether the benchmark may compute in a higher precision than was recorded.
enum class Raise : std::uint8_t {
  kAlways,
  kNever,          // conversions: raising would change what they are asked to do
  kWithoutDtype,   // not where a dtype is among the arguments: view(dtype)
  kEvenToFloat64,  // also from half types: float32 is not much better than what is judged
  kToFloat32,      // no further: PyTorch has no kernel for float64
};

// Results that are not the same twice.
enum class Contents : std::uint8_t {
  kDefined,
  kUninitialised,
  kUninitialisedTail,       // behind the old elements: resize_
  kUninitialisedWorkspace,  // the fourth output
  kUninitialisedPivots,     // LAPACK reads pivots that were never set
};

// Calls that a check never runs, as the documents say.
enum class NeverChecked : std::uint8_t { kNowhere, kInPyTorch, kEverywhere };

struct Traits {
  // How it is judged.
  Standard standard = Standard::kBenchmark;
  Level level = Level::kL0;
  bool exact = false;  // moves, selects or compares numbers and makes no new ones
  Sums sums = Sums::kByShape;
  bool inner_products = false;  // computes matrix products on the way, whatever `sums` is
  Form form = Form::kOther;
  Made made = Made::kOtherwise;
  Unique unique = Unique::kEverything;
  Drops drops = Drops::kNothing;
  Chance chance = Chance::kWholeCall;
  Contents contents = Contents::kDefined;
  bool first_output_only = false;  // the others are workspaces

  // How it is run.
  InputRule inputs = InputRule::kAsRecorded;
  Raise raise = Raise::kAlways;
  bool autocast = false;            // autocast runs it in the lower precision
  bool numbers_as_tensors = false;  // Python takes a number where the operator needs a tensor
  bool heavy = false;  // touches an element once per row, column or window of another operand
  NeverChecked never_checked = NeverChecked::kNowhere;
  Risk risk = Risk::kNormal;

  // Other names.
  std::string_view aten = {};       // the ATen operator that the method Tensor.NAME is
  std::string_view operation = {};  // what other spellings of the same operation are called, too
};

struct Op {
  std::string_view name;  // bare: "conv2d", "linalg.norm"
  Groups groups = 0;
  Traits traits = {};
};

// All rows, sorted by name.
std::span<const Op> all();

// Null: the API has no row.
const Op* find(std::string_view bare_name);

// The traits of its row; of an API without one, what its name suggests.
Traits traits_of(std::string_view bare_name);

// Whether matrix units may compute it, whose inputs a device may be allowed to round.
bool is_product(const Traits& traits);

// Whether there is a dropout in it, of any kind.
bool is_dropout(const Traits& traits);

// Whether a white or black list may name it: what the collector records, but for communication.
bool may_be_listed(std::string_view bare_name);

}  // namespace msprobe::ops
