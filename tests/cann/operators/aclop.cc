// SPDX-License-Identifier: Apache-2.0
// The older interface: an operator is a name, descriptors of its tensors, buffers, and attributes
// by name.
#include <map>
#include <variant>

#include <ATen/ATen.h>

#include "operator.h"

struct aclTensorDesc {
  aclDataType type;
  std::vector<int64_t> sizes;
  aclFormat format;
  std::string name;
};
struct aclDataBuffer {
  void* data;
  size_t size;
};
struct aclopAttr {
  using Value =
      std::variant<bool, int64_t, float, std::string, std::vector<int64_t>, std::vector<float>>;
  std::map<std::string, Value> values;
};

namespace cann {
namespace {

struct Call {
  std::vector<at::Tensor> inputs;  // undefined: left out by the caller
  std::vector<at::Tensor> outputs;
  std::map<std::string, aclopAttr::Value> attributes;

  template <class V>
  V attribute(const std::string& name, V otherwise = {}) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return otherwise;
    const V* value = std::get_if<V>(&found->second);
    TORCH_CHECK(value != nullptr, "attribute ", name, " is of another type");
    return *value;
  }
  void give(std::size_t index, const at::Tensor& value) const { write(outputs.at(index), value); }
};

void confusion_transpose(const Call& call) {
  const auto perm = call.attribute<std::vector<int64_t>>("perm"),
             shape = call.attribute<std::vector<int64_t>>("shape");
  const at::Tensor& x = call.inputs[0];
  call.give(0, call.attribute<bool>("transpose_first") ? x.permute(perm).reshape(shape)
                                                       : x.reshape(shape).permute(perm));
}

void scaled_masked_softmax(const Call& call) {
  const at::Tensor x = call.inputs[0].to(at::kFloat) * call.attribute<float>("scale", 1);
  const bool triangle = call.attribute<bool>("fixed_triu_mask");
  const at::Tensor mask = triangle ? at::ones({x.size(-2), x.size(-1)}, at::kBool).triu(1)
                                   : call.inputs[1].to(at::kBool);
  call.give(0, at::softmax(x.masked_fill(mask, -10000.0), -1).to(call.outputs[0].scalar_type()));
}

void scaled_masked_softmax_grad(const Call& call) {
  const at::Tensor grad = call.inputs[0].to(at::kFloat), y = call.inputs[1].to(at::kFloat);
  const bool triangle = call.attribute<bool>("fixed_triu_mask");
  const at::Tensor mask = triangle ? at::ones({y.size(-2), y.size(-1)}, at::kBool).triu(1)
                                   : call.inputs[2].to(at::kBool);
  const at::Tensor inner =
      (grad - (grad * y).sum(-1, true)) * y * call.attribute<float>("scale", 1);
  call.give(0, inner.masked_fill(mask, 0).to(call.outputs[0].scalar_type()));
}

double number(const Call& call, std::size_t index) { return call.inputs.at(index).item<double>(); }

void apply_adam(const Call& call) {
  const at::Tensor g = call.inputs.at(9).to(at::kFloat);
  const double beta1 = number(call, 6), beta2 = number(call, 7);
  const at::Tensor m = at::lerp(g, call.inputs[1].to(at::kFloat), beta1),
                   v = at::lerp(g * g, call.inputs[2].to(at::kFloat), beta2);
  const double rate = number(call, 5) * std::sqrt(1 - number(call, 4)) / (1 - number(call, 3));
  const at::Tensor step = call.attribute<bool>("use_nesterov") ? at::lerp(g, m, beta1) : m;
  call.give(0, call.inputs[0].to(at::kFloat) - rate * step / (number(call, 8) + at::sqrt(v)));
  call.give(1, m);
  call.give(2, v);
}

// The powers are those of the step before.
void apply_adam_w(const Call& call) {
  const at::Tensor g =
      call.inputs.at(10).to(at::kFloat) * (call.attribute<bool>("maximize") ? -1 : 1);
  const double lr = number(call, 5), beta1 = number(call, 7), beta2 = number(call, 8);
  const at::Tensor m = at::lerp(g, call.inputs[1].to(at::kFloat), beta1),
                   v = at::lerp(g * g, call.inputs[2].to(at::kFloat), beta2);
  const at::Tensor second =
      call.attribute<bool>("amsgrad") ? at::maximum(call.inputs.at(11).to(at::kFloat), v) : v;
  const at::Tensor below = at::sqrt(second / (1 - number(call, 4) * beta2)) + number(call, 9);
  call.give(0, call.inputs[0].to(at::kFloat) * (1 - lr * number(call, 6)) -
                   lr / (1 - number(call, 3) * beta1) * m / below);
  call.give(1, m);
  call.give(2, v);
}

void layer_norm(const Call& call) {
  const at::Tensor x = call.inputs[0].to(at::kFloat);
  const auto shape =
      x.sizes().slice(static_cast<std::size_t>(call.attribute<int64_t>("begin_norm_axis")));
  const auto [result, mean, rstd] = at::native_layer_norm(
      x, shape, call.inputs[1].to(at::kFloat).reshape(shape),
      call.inputs[2].to(at::kFloat).reshape(shape), call.attribute<float>("epsilon"));
  call.give(0, result);
  call.give(1, mean);
  call.give(2, rstd);
}

struct Row {
  std::string_view name;
  void (*compute)(const Call&);
};
constexpr Row kRows[] = {
    {"ApplyAdamD", &apply_adam},
    {"ApplyAdamW", &apply_adam_w},
    {"Cast", [](const Call& c) { c.give(0, c.inputs[0].to(c.outputs[0].scalar_type())); }},
    {"ConfusionTransposeD", &confusion_transpose},
    {"FormatCast", [](const Call& c) { c.give(0, c.inputs[0]); }},
    {"Identity", [](const Call& c) { c.give(0, c.inputs[0]); }},
    {"LayerNormV3", &layer_norm},
    {"Mish", [](const Call& c) { c.give(0, at::mish(c.inputs[0])); }},
    {"MishGrad", [](const Call& c) { c.give(0, at::mish_backward(c.inputs[0], c.inputs[1])); }},
    {"ScaledMaskedSoftmax", &scaled_masked_softmax},
    {"ScaledMaskedSoftmaxGrad", &scaled_masked_softmax_grad},
    {"SortV2",
     [](const Call& c) {
       c.give(0, std::get<0>(at::sort(c.inputs[0], c.attribute<int64_t>("axis", -1),
                                      c.attribute<bool>("descending"))));
     }},
    {"TransData", [](const Call& c) { c.give(0, c.inputs[0]); }},
    {"Transpose",
     [](const Call& c) {
       c.give(0, c.inputs[0].permute(c.attribute<std::vector<int64_t>>("perm")));
     }},
    {"ZerosLike", [](const Call& c) { c.give(0, at::zeros_like(c.outputs[0])); }},
};

at::Tensor view_of(const aclTensorDesc& desc, const aclDataBuffer& buffer) {
  if (buffer.data == nullptr || desc.type == ACL_DT_UNDEFINED) return {};
  const at::ScalarType type = scalar_type(desc.type);
  return at::from_blob(on_host(buffer.data), desc.sizes, at::TensorOptions(type));
}

// Small inputs may lie on the host, and are gone when the stream comes to them.
at::Tensor kept(const aclTensorDesc& desc, const aclDataBuffer& buffer) {
  const at::Tensor view = view_of(desc, buffer);
  return view.defined() && !is_of_device(buffer.data) ? view.clone() : view;
}

}  // namespace
}  // namespace cann

using namespace cann;

extern "C" {

STAND_IN_API aclTensorDesc* aclCreateTensorDesc(aclDataType type, int dims, const int64_t* sizes,
                                                aclFormat format) {
  return new aclTensorDesc{type, std::vector<int64_t>(sizes, sizes + dims), format, ""};
}
STAND_IN_API void aclDestroyTensorDesc(const aclTensorDesc* desc) { delete desc; }
STAND_IN_API aclDataType aclGetTensorDescType(const aclTensorDesc* desc) { return desc->type; }
STAND_IN_API aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) { return desc->format; }
STAND_IN_API size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) {
  return desc->sizes.size();
}
STAND_IN_API aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index,
                                            int64_t* size) {
  if (index >= desc->sizes.size()) return ACL_ERROR_INVALID_PARAM;
  *size = desc->sizes[index];
  return ACL_SUCCESS;
}
STAND_IN_API void aclSetTensorDescName(aclTensorDesc* desc, const char* name) { desc->name = name; }
// What a tensor is stored as; the description above stays what it is to the program.
STAND_IN_API aclError aclSetTensorFormat(aclTensorDesc*, aclFormat) { return ACL_SUCCESS; }
STAND_IN_API aclError aclSetTensorShape(aclTensorDesc*, int, const int64_t*) { return ACL_SUCCESS; }
STAND_IN_API aclError aclSetTensorPlaceMent(aclTensorDesc*, aclMemType) { return ACL_SUCCESS; }
STAND_IN_API aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  return new aclDataBuffer{data, size};
}
STAND_IN_API aclError aclDestroyDataBuffer(const aclDataBuffer* buffer) {
  delete buffer;
  return ACL_SUCCESS;
}

STAND_IN_API aclopAttr* aclopCreateAttr() { return new aclopAttr; }
STAND_IN_API void aclopDestroyAttr(const aclopAttr* attributes) { delete attributes; }
STAND_IN_API aclError aclopSetAttrBool(aclopAttr* all, const char* name, uint8_t value) {
  all->values[name] = value != 0;
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclopSetAttrInt(aclopAttr* all, const char* name, int64_t value) {
  all->values[name] = value;
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclopSetAttrFloat(aclopAttr* all, const char* name, float value) {
  all->values[name] = value;
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclopSetAttrString(aclopAttr* all, const char* name, const char* value) {
  all->values[name] = std::string(value);
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclopSetAttrDataType(aclopAttr* all, const char* name, aclDataType value) {
  all->values[name] = static_cast<int64_t>(value);
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclopSetAttrListInt(aclopAttr* all, const char* name, int count,
                                          const int64_t* values) {
  all->values[name] = std::vector<int64_t>(values, values + count);
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclopSetAttrListFloat(aclopAttr* all, const char* name, int count,
                                            const float* values) {
  all->values[name] = std::vector<float>(values, values + count);
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclopSetAttrListBool(aclopAttr* all, const char* name, int count,
                                           const uint8_t* values) {
  all->values[name] = std::vector<int64_t>(values, values + count);
  return ACL_SUCCESS;
}
STAND_IN_API aclError aclopSetAttrListListInt(aclopAttr*, const char*, int, const int*,
                                              const int64_t* const[]) {
  return fail(ACL_ERROR_API_NOT_SUPPORT, "the stand-in knows no operator with lists of lists");
}

STAND_IN_API aclError aclopCompileAndExecute(const char* name, int input_count,
                                             const aclTensorDesc* const input_descs[],
                                             const aclDataBuffer* const inputs[], int output_count,
                                             const aclTensorDesc* const output_descs[],
                                             aclDataBuffer* const outputs[],
                                             const aclopAttr* attributes, aclopEngineType,
                                             aclopCompileType, const char*, aclrtStream stream) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.name == name; });
  const std::string known = std::string("aclop ") + name;
  if (row == std::end(kRows)) {
    note(known + " is unknown");
    return fail(ACL_ERROR_OP_NOT_FOUND, "the stand-in has no operator " + known);
  }
  const Fault fault = fault_of(name);
  note(known);
  if (fault.kind == Fault::Kind::kRefuse)
    return fail(static_cast<aclError>(fault.value), known + ": told to refuse");
  const auto call = std::make_shared<Call>();
  for (int i = 0; i < input_count; ++i) call->inputs.push_back(kept(*input_descs[i], *inputs[i]));
  for (int i = 0; i < output_count; ++i)
    call->outputs.push_back(view_of(*output_descs[i], *outputs[i]));
  if (attributes != nullptr) call->attributes = attributes->values;
  const int device = device_of_stream(stream);
  return submit(stream, [=] {
    if (state_of(device) == ACL_SUCCESS) run(known, fault, [&] { row->compute(*call); });
  });
}

}  // extern "C"
