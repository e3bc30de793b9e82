// SPDX-License-Identifier: Apache-2.0
#include "probe/run_operation.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "libtorch/autograd.h"
#include "libtorch/dtypes.h"

namespace msprobe::probe {
namespace {

using Tensors = std::vector<at::Tensor>;

// query, key, value, then a mask if there is one. PyTorch 1.13 has no such operator.
at::Tensor attend(const Tensors& in, bool causal) {
  const auto handle =
      c10::Dispatcher::singleton().findSchema({"aten::scaled_dot_product_attention", ""});
  TORCH_CHECK(handle, "this PyTorch has no scaled_dot_product_attention");
  torch::jit::Stack stack{in[0], in[1], in[2]};
  stack.emplace_back(in.size() > 3 ? c10::IValue(in[3]) : c10::IValue());
  stack.emplace_back(0.0);
  stack.emplace_back(causal);
  const auto& arguments = handle->schema().arguments();
  for (std::size_t at = stack.size(); at < arguments.size(); ++at) {
    stack.push_back(arguments[at].default_value().value_or(c10::IValue()));
  }
  handle->callBoxed(&stack);
  return stack.at(0).toTensor();
}

// Of float8 numbers, in float32. Libraries want the second factor column by column. The order of
// the operator's arguments depends on the version.
at::Tensor multiply_scaled(const Tensors& in) {
  const auto handle = c10::Dispatcher::singleton().findSchema({"aten::_scaled_mm", ""});
  TORCH_CHECK(handle, "this PyTorch has no _scaled_mm");
  const at::Tensor one = at::ones({}, at::kFloat).to(in[0].device());
  torch::jit::Stack stack;
  for (const c10::Argument& argument : handle->schema().arguments()) {
    const std::string& name = argument.name();
    if (name == "self") {
      stack.emplace_back(in[0]);
    } else if (name == "mat2") {
      stack.emplace_back(in[1].t().contiguous().t());
    } else if (name == "scale_a" || name == "scale_b") {
      stack.emplace_back(one);
    } else if (name == "out_dtype") {
      stack.emplace_back(at::kFloat);
    } else {
      stack.push_back(argument.default_value().value_or(c10::IValue()));
    }
  }
  handle->callBoxed(&stack);
  return stack.at(0).toTensor();
}

struct Row {
  std::string_view name;
  std::size_t fewest, most;  // inputs
  at::Tensor (*run)(const Tensors& in);
};

constexpr Row kRows[] = {
    {"matmul", 2, 2, [](const Tensors& in) { return at::matmul(in[0], in[1]); }},
    {"scaled_mm", 2, 2, &multiply_scaled},
    {"copy", 1, 1, [](const Tensors& in) { return in[0].clone(); }},
    {"add", 2, 2, [](const Tensors& in) { return in[0] + in[1]; }},
    {"mul", 2, 2, [](const Tensors& in) { return in[0] * in[1]; }},
    {"div", 2, 2, [](const Tensors& in) { return in[0] / in[1]; }},
    {"pow", 2, 2, [](const Tensors& in) { return at::pow(in[0], in[1]); }},
    {"exp", 1, 1, [](const Tensors& in) { return at::exp(in[0]); }},
    {"exp2", 1, 1, [](const Tensors& in) { return at::exp2(in[0]); }},
    {"expm1", 1, 1, [](const Tensors& in) { return at::expm1(in[0]); }},
    {"log", 1, 1, [](const Tensors& in) { return at::log(in[0]); }},
    {"log2", 1, 1, [](const Tensors& in) { return at::log2(in[0]); }},
    {"log10", 1, 1, [](const Tensors& in) { return at::log10(in[0]); }},
    {"log1p", 1, 1, [](const Tensors& in) { return at::log1p(in[0]); }},
    {"sin", 1, 1, [](const Tensors& in) { return at::sin(in[0]); }},
    {"cos", 1, 1, [](const Tensors& in) { return at::cos(in[0]); }},
    {"tan", 1, 1, [](const Tensors& in) { return at::tan(in[0]); }},
    {"atan", 1, 1, [](const Tensors& in) { return at::atan(in[0]); }},
    {"tanh", 1, 1, [](const Tensors& in) { return at::tanh(in[0]); }},
    {"sinh", 1, 1, [](const Tensors& in) { return at::sinh(in[0]); }},
    {"erf", 1, 1, [](const Tensors& in) { return at::erf(in[0]); }},
    {"erfc", 1, 1, [](const Tensors& in) { return at::erfc(in[0]); }},
    {"sigmoid", 1, 1, [](const Tensors& in) { return at::sigmoid(in[0]); }},
    {"silu", 1, 1, [](const Tensors& in) { return at::silu(in[0]); }},
    {"gelu", 1, 1, [](const Tensors& in) { return at::gelu(in[0]); }},
    {"gelu_tanh", 1, 1, [](const Tensors& in) { return at::gelu(in[0], "tanh"); }},
    {"sqrt", 1, 1, [](const Tensors& in) { return at::sqrt(in[0]); }},
    {"rsqrt", 1, 1, [](const Tensors& in) { return at::rsqrt(in[0]); }},
    {"reciprocal", 1, 1, [](const Tensors& in) { return at::reciprocal(in[0]); }},
    // Over the last dimension.
    {"sum", 1, 1, [](const Tensors& in) { return at::sum(in[0], {-1}); }},
    {"mean", 1, 1, [](const Tensors& in) { return at::mean(in[0], {-1}); }},
    {"cumsum", 1, 1, [](const Tensors& in) { return at::cumsum(in[0], -1); }},
    {"softmax", 1, 1, [](const Tensors& in) { return at::softmax(in[0], -1); }},
    {"layer_norm", 1, 1, [](const Tensors& in) { return at::layer_norm(in[0], {in[0].size(-1)}); }},
    {"attention", 3, 4, [](const Tensors& in) { return attend(in, false); }},
    {"causal_attention", 3, 3, [](const Tensors& in) { return attend(in, true); }},
};

Result<at::Tensor> tensor_of(const Numbers& numbers) {
  const std::optional<at::ScalarType> type = libtorch::scalar_type(numbers.dtype);
  if (!type) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("this PyTorch has no {}", text(numbers.dtype)));
  }
  const Result<std::size_t> bytes = byte_count(numbers.shape, numbers.dtype);
  if (!bytes) return propagate(bytes);
  if (*bytes != numbers.bytes.size()) {
    return fail(ErrorKind::kFormat,
                fmt::format("{} bytes for a tensor of {}", numbers.bytes.size(), *bytes));
  }
  at::Tensor tensor = at::empty(numbers.shape, *type);
  if (*bytes > 0) std::memcpy(tensor.data_ptr(), numbers.bytes.data(), *bytes);
  return tensor;
}

Result<Numbers> numbers_of(const at::Tensor& tensor) {
  const std::optional<DType> dtype = libtorch::dtype_of(tensor.scalar_type());
  if (!dtype) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("a result of dtype {}", libtorch::text(tensor.scalar_type())));
  }
  const at::Tensor plain = libtorch::plain(tensor);
  return Numbers{*dtype, plain.sizes().vec(),
                 std::string(static_cast<const char*>(plain.data_ptr()), plain.nbytes())};
}

// The factors of a float8 product come as float32 numbers that a float8 can have.
Result<at::Tensor> input_of(const Operation& operation, const Numbers& numbers) {
  Result<at::Tensor> tensor = tensor_of(numbers);
  if (!tensor || operation.name != "scaled_mm") return tensor;
  const auto type = libtorch::scalar_type(operation.result);
  if (type) return tensor->to(*type);
  return fail(ErrorKind::kUnsupported,
              fmt::format("this PyTorch has no {}", text(operation.result)));
}

at::Tensor compute(const Operation& operation, const Tensors& in) {
  if (operation.name == "cast") {
    const auto type = libtorch::scalar_type(operation.result);
    TORCH_CHECK(type && in.size() == 1, "cannot cast to ", std::string(text(operation.result)));
    return in[0].to(*type);
  }
  const auto* row = std::ranges::find(kRows, operation.name, &Row::name);
  TORCH_CHECK(row != std::end(kRows), "unknown operation ", operation.name);
  TORCH_CHECK(in.size() >= row->fewest && in.size() <= row->most, operation.name, " with ",
              in.size(), " inputs");
  return row->run(in);
}

}  // namespace

Result<Numbers> run_operation(at::Device device, const Operation& operation) {
  const libtorch::BelowAutograd below;
  try {
    Tensors in;
    for (const Numbers& numbers : operation.inputs) {
      const Result<at::Tensor> tensor = input_of(operation, numbers);
      if (!tensor) return propagate(tensor);
      in.push_back(tensor->to(device));
    }
    return numbers_of(compute(operation, in));
  } catch (const c10::Error& error) {
    return fail(ErrorKind::kExecution, error.what_without_backtrace());
  } catch (const std::exception& error) {
    return fail(ErrorKind::kExecution, error.what());
  }
}

}  // namespace msprobe::probe
