// SPDX-License-Identifier: Apache-2.0
// CallRecord: one recorded API call as dump.json describes it, before any tensor is made.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"

namespace msprobe::dump {

// A value statistic: absent, or a number as JSON wrote it (a boolean tensor's Max and Min count as
// 0 and 1; NaN and infinities occur). Integers keep all 64 bits.
struct Statistic {
  enum class Kind : std::uint8_t { kAbsent, kNull, kInteger, kReal, kOther };
  Kind kind = Kind::kAbsent;
  std::int64_t integer = 0;  // kInteger
  double real = 0;           // kInteger and kReal

  bool is_number() const { return kind == Kind::kInteger || kind == Kind::kReal; }
};

struct TensorRecord {
  std::string dtype_text;      // as recorded: "torch.float16"
  std::optional<DType> dtype;  // empty if this build does not know the name
  Shape shape;
  Statistic max, min, mean, norm;
  Statistic max_finite, min_finite;  // Max_except_inf_nan, Min_except_inf_nan
  bool requires_grad = false;
  std::string data_name;  // datapath, else data_name; empty: no file
  std::string md5;
  bool is_whole = true;    // false: the local part of a DTensor that spans several devices
  std::string placements;  // of a DTensor, as recorded, without space
  Shape strides = {};      // in elements, where it did not lie row by row; empty: it did
  bool has_shape = true;   // the oldest recordings of real data name the file and nothing else
};

struct None {};
struct Ellipsis {};
struct Slice {
  std::optional<std::int64_t> start, stop, step;
};
struct SizeValue {  // torch.Size
  std::vector<std::int64_t> extents;
};
struct DTypeValue {  // torch.dtype: "torch.float16"
  std::string text;
};
struct DeviceValue {  // torch.device: "npu:0", "cpu:None", "3"
  std::string text;
};
struct MemoryFormatValue {  // torch.memory_format: "torch.channels_last"
  std::string text;
};
// A type this build cannot rebuild: DTensor, ProcessGroup, numpy.ndarray, an object without "type".
struct Opaque {
  std::string type;
};

struct Value;
struct DictItem;  // a pair would have to be complete before Value is
using List = std::vector<Value>;
using Dict = std::vector<DictItem>;

struct Value {
  using Variant = std::variant<None, bool, std::int64_t, double, std::complex<double>, std::string,
                               Ellipsis, Slice, SizeValue, DTypeValue, DeviceValue,
                               MemoryFormatValue, Opaque, TensorRecord, List, Dict>;
  Variant data;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&data);
  }
};

struct DictItem {
  std::string first;
  Value second;
};

// What the forward entry holds.
struct ForwardRecord {
  List input_args;
  Dict input_kwargs;
  List output;
  Dict mutated;  // arguments after a call that changed them, by place: "0", "1.3", "kwargs.out"
};

// What the backward entry holds: the gradients that arrived at the outputs, those that left for the
// inputs.
struct BackwardRecord {
  List input;
  List output;
};

struct CallRecord {
  std::string full_name;  // "Functional.conv2d.0"
  ForwardRecord forward;
  std::optional<BackwardRecord> backward;
};

}  // namespace msprobe::dump
