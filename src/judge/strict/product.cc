// SPDX-License-Identifier: Apache-2.0
#include "strict/product.h"

#include <ATen/ExpandUtils.h>

#include "libtorch/dtypes.h"
#include "ops/op.h"

namespace msprobe::strict {
namespace {

using arguments::PyCall;
using arguments::PyList;
using ops::Form;

const at::Tensor* tensor_at(const PyCall& call, std::size_t place, std::string_view name) {
  const arguments::PyValue* value = call.find(place, name);
  return value == nullptr ? nullptr : value->as<at::Tensor>();
}

at::Tensor widened_to(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.defined() ? tensor.to(type) : tensor;
}

// input + mat1 @ mat2, where nothing is scaled.
bool is_sum_and_product(Form form, const PyCall& call) {
  return form == Form::kAddedMatmul && call.args.size() == 3 && call.kwargs.empty();
}

std::vector<std::int64_t> pair_at(const PyCall& call, std::size_t place, std::string_view name,
                                  std::int64_t otherwise) {
  const arguments::PyValue* value = call.find(place, name);
  if (value == nullptr) return {otherwise, otherwise};
  if (const auto* one = value->as<std::int64_t>()) return {*one, *one};
  const auto* list = value->as<PyList>();
  std::vector<std::int64_t> pair;
  for (const auto& item : list == nullptr ? PyList{} : *list) {
    if (const auto* one = item.as<std::int64_t>()) pair.push_back(*one);
  }
  return pair.size() == 1 ? std::vector<std::int64_t>{pair[0], pair[0]} : pair;
}

// Not every version of PyTorch takes a picture of a half type apart.
at::ScalarType float_or_double(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// What a convolution of images does beside its weights.
struct Places {
  std::vector<std::int64_t> stride, padding, dilation;

  bool known() const { return stride.size() == 2 && padding.size() == 2 && dilation.size() == 2; }
};

Places places_of(const PyCall& call) {
  return {pair_at(call, 3, "stride", 1), pair_at(call, 4, "padding", 0),
          pair_at(call, 5, "dilation", 1)};
}

// What a kernel sees of images at each of its places, without a copy of each number for every place
// that sees it: (sample, channel, row and column of the kernel, row and column of the place).
at::Tensor seen_by(at::IntArrayRef kernel, const Places& places, const at::Tensor& images) {
  at::Tensor all = widened_to(libtorch::plain(images), float_or_double(images));
  const auto& padding = places.padding;
  if (padding[0] != 0 || padding[1] != 0) {
    all = at::constant_pad_nd(all, {padding[1], padding[1], padding[0], padding[0]});
  }
  std::vector<std::int64_t> sizes = {all.size(0), all.size(1), kernel[0], kernel[1]};
  std::vector<std::int64_t> strides = {all.stride(0), all.stride(1)};
  for (const std::size_t i : {0, 1}) {
    const auto dim = static_cast<std::int64_t>(i) + 2;
    const std::int64_t reach = places.dilation[i] * (kernel[i] - 1) + 1;
    sizes.push_back((all.size(dim) - reach) / places.stride[i] + 1);
    strides.push_back(places.dilation[i] * all.stride(dim));
  }
  for (const std::size_t i : {0, 1}) {
    strides.push_back(places.stride[i] * all.stride(static_cast<std::int64_t>(i) + 2));
  }
  return all.as_strided(sizes, strides);
}

struct Convolution {
  const at::Tensor& input;
  const at::Tensor& weight;
  Places places;
};

// Nothing if it is none of images, or has groups.
std::optional<Convolution> convolution_of(const PyCall& call) {
  const at::Tensor* input = tensor_at(call, 0, "input");
  const at::Tensor* weight = tensor_at(call, 1, "weight");
  if (input == nullptr || weight == nullptr || input->dim() != 4 || weight->dim() != 4 ||
      weight->size(1) != input->size(1)) {
    return std::nullopt;
  }
  Convolution found{*input, *weight, places_of(call)};
  return found.places.known() ? std::optional(std::move(found)) : std::nullopt;
}

// The weights times what they see: (channel, terms) and (sample, terms, place).
std::optional<Product> convolution_product(const PyCall& call) {
  const auto given = convolution_of(call);
  if (!given) return std::nullopt;
  const at::Tensor* bias = tensor_at(call, 2, "bias");
  return Product{
      libtorch::plain(given->weight).flatten(1),
      RightFactor::of_places(seen_by(given->weight.sizes().slice(2), given->places, given->input)),
      bias == nullptr ? at::Tensor() : libtorch::plain(*bias).unsqueeze(1), given->input.size(1),
      /*one_way=*/false};
}

// The gradient of the weights: a sum over samples and places.
std::optional<Product> weight_gradient(const PyCall& call, const at::Tensor& gradient) {
  const auto given = convolution_of(call);
  if (!given) return std::nullopt;
  const at::Tensor seen = seen_by(given->weight.sizes().slice(2), given->places, given->input);
  return Product{gradient.transpose(0, 1).flatten(1),
                 RightFactor::of_weights(seen.permute({1, 2, 3, 0, 4, 5})),
                 {},
                 0,
                 /*one_way=*/false};
}

// The gradient of the input: the weights, turned round, over the arriving gradient, whose numbers
// are as far apart as the places of the kernel were.
std::optional<Product> image_gradient(const PyCall& call, const at::Tensor& gradient) {
  const auto given = convolution_of(call);
  if (!given) return std::nullopt;
  const auto& [input, given_weight, places] = *given;
  at::Tensor weight = libtorch::plain(given_weight);
  std::vector<std::int64_t> sizes = {gradient.size(0), gradient.size(1)};
  double filled = 1;
  for (const std::size_t i : {0, 1}) {
    const auto dim = static_cast<std::int64_t>(i) + 2;
    const std::int64_t reach = places.dilation[i] * (weight.size(dim) - 1);
    const bool whole = places.dilation[i] == 1 || places.stride[i] == 1;
    if (places.padding[i] > reach || !whole) return std::nullopt;
    sizes.push_back(input.size(dim) + reach);
    const std::int64_t seen = (weight.size(dim) + places.stride[i] - 1) / places.stride[i];
    filled *= static_cast<double>(seen) / static_cast<double>(weight.size(dim));
  }
  at::Tensor apart = gradient;
  if (gradient.sizes() != at::IntArrayRef(sizes)) {
    apart = at::zeros(sizes, float_or_double(gradient));
    at::Tensor filled_places = apart;
    for (const std::size_t i : {0, 1}) {
      const auto dim = static_cast<std::int64_t>(i) + 2;
      const std::int64_t start = places.dilation[i] * (weight.size(dim) - 1) - places.padding[i];
      const std::int64_t end = start + (gradient.size(dim) - 1) * places.stride[i] + 1;
      filled_places = filled_places.slice(dim, start, end, places.stride[i]);
    }
    filled_places.copy_(gradient);
  }
  const Places next_to_each_other{{1, 1}, {0, 0}, places.dilation};
  if (weight.size(2) * weight.size(3) > 1) weight = weight.flip({2, 3});
  return Product{
      weight.transpose(0, 1).flatten(1),
      RightFactor::of_places(seen_by(weight.sizes().slice(2), next_to_each_other, apart)),
      {},
      gradient.size(1),
      /*one_way=*/false,
      filled};
}

std::optional<Product> convolution_gradient(const PyCall& call, const PyList& arriving,
                                            std::string_view path) {
  const auto* gradient = arriving.empty() ? nullptr : arriving.front().as<at::Tensor>();
  if (gradient == nullptr || gradient->dim() != 4) return std::nullopt;
  if (path == "0") return image_gradient(call, libtorch::plain(*gradient));
  return path == "1" ? weight_gradient(call, libtorch::plain(*gradient)) : std::nullopt;
}

}  // namespace

std::optional<Product> channels_last(const Product& product) {
  const std::int64_t channels = product.channels;
  if (channels < 2 || channels == product.left.size(-1)) return std::nullopt;
  const at::Tensor& seen = product.right.all();  // sample, terms, place
  return Product{
      product.left.reshape({product.left.size(0), channels, -1}).mT().flatten(1),
      seen.reshape({seen.size(0), channels, -1, seen.size(2)}).transpose(1, 2).flatten(1, 2),
      product.added,
      channels,
      product.one_way,
      product.filled};
}

Product reversed(const Product& product) {
  return {product.left.flip(-1), product.right.all().flip(-2),
          product.added,         product.channels,
          product.one_way,       product.filled};
}

Product in_double(const Product& product) {
  return {widened_to(product.left, at::kDouble),
          widened_to(product.right.all(), at::kDouble),
          widened_to(product.added, at::kDouble),
          product.channels,
          product.one_way,
          product.filled};
}

std::vector<std::int64_t> shape_of(const Product& product) {
  const auto batch = [](at::IntArrayRef sizes) { return sizes.slice(0, sizes.size() - 2); };
  const std::vector<std::int64_t> right = product.right.sizes();
  std::vector<std::int64_t> shape;
  for (const std::int64_t extent : at::infer_size(batch(product.left.sizes()), batch(right))) {
    shape.push_back(extent);
  }
  shape.push_back(product.left.size(-2));
  shape.push_back(product.right.size(-1));
  return shape;
}

Product in_matrices(const Product& product) {
  const at::Tensor& left = product.left;
  const RightFactor& right = product.right;
  std::vector<std::int64_t> batch = shape_of(product);
  batch.resize(batch.size() - 2);
  const std::int64_t matrices = c10::multiply_integers(batch);
  const auto joined = [&](const at::Tensor& factor) {
    std::vector<std::int64_t> shape = batch;
    for (const int dim : {-2, -1}) shape.push_back(factor.size(dim));
    return factor.expand(shape).reshape({matrices, factor.size(-2), factor.size(-1)});
  };
  Product same = product;
  if (right.dim() == 2) {
    same.left = left.reshape({matrices * left.size(-2), left.size(-1)});
  } else {
    if (right.is_copied()) same.right = joined(right.all());
    if (left.dim() > 2) same.left = joined(left);
  }
  return same;
}

std::optional<Product> forward_product(std::string_view name, const PyCall& call) {
  const Form form = ops::traits_of(name).form;
  const at::Tensor* first = tensor_at(call, 0, "input");
  const at::Tensor* second = tensor_at(call, 1, form == Form::kLinear ? "weight" : "other");
  if (first == nullptr) return std::nullopt;
  if (form == Form::kSum && call.args.size() + call.kwargs.size() == 1) {
    const at::Tensor row = libtorch::plain(*first).reshape({1, -1});
    return Product{row, at::ones({row.size(1), 1}, row.options()), {}};
  }
  if (form == Form::kConvolution2d) return convolution_product(call);
  if (is_sum_and_product(form, call)) {
    const at::Tensor* third = tensor_at(call, 2, "mat2");
    if (second == nullptr || third == nullptr) return std::nullopt;
    return Product{libtorch::plain(*second), libtorch::plain(*third), libtorch::plain(*first)};
  }
  if (second == nullptr || first->dim() < 2 || second->dim() < 2) return std::nullopt;
  if (form == Form::kMatmul) return Product{libtorch::plain(*first), libtorch::plain(*second), {}};
  if (form != Form::kLinear) return std::nullopt;
  const at::Tensor* bias = tensor_at(call, 2, "bias");
  return Product{libtorch::plain(*first), libtorch::plain(*second).t(),
                 bias == nullptr ? at::Tensor() : libtorch::plain(*bias)};
}

std::optional<Product> gradient_product(std::string_view name, const PyCall& call,
                                        const PyList& arriving, std::string_view path) {
  const Form form = ops::traits_of(name).form;
  if (form == Form::kConvolution2d) return convolution_gradient(call, arriving, path);
  const bool shifted = is_sum_and_product(form, call);
  const std::string_view left_path = shifted ? "1" : "0";
  const std::string_view right_path = shifted ? "2" : "1";
  const auto* weight = arriving.empty() ? nullptr : arriving.front().as<at::Tensor>();
  const auto forward = forward_product(name, call);
  if (weight == nullptr || !forward || form == Form::kSum) return std::nullopt;
  const at::Tensor gradient = libtorch::plain(*weight);
  if (path == left_path) return Product{gradient, forward->right.all().mT(), {}};
  const auto rows = [](const at::Tensor& t) { return t.reshape({-1, t.size(-1)}); };
  const std::string_view added_path = shifted ? "0" : form == Form::kLinear ? "2" : "";
  if (path == added_path && forward->added.dim() == 1) {
    const at::Tensor all = rows(gradient);
    return Product{at::ones({1, all.size(0)}, all.options()), all, {}, 0, /*one_way=*/false};
  }
  if (path != right_path) return std::nullopt;
  if (form == Form::kLinear) return Product{rows(gradient).t(), rows(forward->left), {}};
  return Product{forward->left.mT(), gradient, {}};
}

}  // namespace msprobe::strict
