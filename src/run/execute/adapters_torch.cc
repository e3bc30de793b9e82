// SPDX-License-Identifier: Apache-2.0
// Functions of torch that Python writes itself, and the methods that go through them.
#include <algorithm>

#include <fmt/format.h>

#include "execute/api.h"

namespace msprobe::execute {
namespace {

using Sizes = std::vector<std::int64_t>;

PyDict with_out(PyDict kwargs, const Bound& a) {
  if (a.has("out") && !a.is_none("out")) kwargs.emplace_back("out", a.value("out"));
  return kwargs;
}

// Group i of `tensor`: along its batch, or up to the i-th offset along `dim`.
at::Tensor group_of(const at::Tensor& tensor, std::int64_t dim, const Sizes& ends, std::size_t i) {
  if (tensor.dim() == 3) return tensor.select(0, static_cast<std::int64_t>(i));
  const std::int64_t begin = i == 0 ? 0 : ends[i - 1];
  return tensor.narrow(dim, begin, ends[i] - begin);
}

// Products of groups of matrices. PyTorch has it for float32 and half types; the benchmark in
// float64 multiplies group by group.
PyValue grouped_mm(const Bound& a) {
  const at::Tensor &left = a.tensor("self"), &right = a.tensor("mat2");
  if (left.scalar_type() != at::kDouble) return call_aten("_grouped_mm", a.call());
  if (a.is_none("offs")) return {at::bmm(left, right)};
  const at::Tensor offsets = a.tensor("offs").to(at::kCPU, at::kLong).contiguous();
  const auto* first = offsets.data_ptr<std::int64_t>();
  const Sizes ends(first, first + offsets.numel());
  std::vector<at::Tensor> products;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::int64_t left_dim = right.dim() == 2 && left.dim() == 2 ? 1 : 0;
    const std::int64_t right_dim = left.dim() == 2 ? 0 : 1;
    products.push_back(group_of(left, left_dim, ends, i).mm(group_of(right, right_dim, ends, i)));
  }
  if (left.dim() == 2 && right.dim() == 2) return {at::stack(products)};
  const std::int64_t joined = left.dim() == 2 ? 0 : 1;
  at::Tensor result = at::cat(products, joined);
  // Rows behind the last group are not computed.
  const std::int64_t extent = left.dim() == 2 ? left.size(0) : right.size(1);
  if (result.size(joined) == extent) return {result};
  Sizes rest = result.sizes().vec();
  rest[static_cast<std::size_t>(joined)] = extent - result.size(joined);
  return {at::cat({result, at::zeros(rest, result.options())}, joined)};
}

// torch.norm: p is a number, 'fro' or 'nuc'.
PyValue norm(const Bound& a) {
  const at::Tensor& input = a.tensor("input");
  PyValue dim = a.value("dim");
  if (const auto one = as_integer(dim)) dim = {PyList{{*one}}};
  const auto* dims = dim.as<PyList>();
  const PyDict kwargs = with_out({{"dtype", a.value("dtype")}}, a);
  const auto* text = a.value("p").as<std::string>();
  const bool vector = text == nullptr || (*text == "fro" && (dims == nullptr || dims->size() <= 2));
  if (vector) {
    const bool two = text != nullptr || a.is_none("p");
    return call_aten(
        "linalg_vector_norm",
        {{{input}, two ? PyValue{2.0} : a.value("p"), dim, a.value("keepdim")}, kwargs});
  }
  if (dims == nullptr) {
    PyList all;
    for (std::int64_t i = 0; i < input.dim(); ++i) all.push_back({i});
    dim = {std::move(all)};
  }
  return call_aten("linalg_matrix_norm",
                   {{{input}, a.value("p"), dim, a.value("keepdim")}, kwargs});
}

PyValue split(const Bound& a) {
  const PyValue& size = a.value("split_size_or_sections");
  const auto one = as_integer(size);
  return call_aten(one ? "split" : "split_with_sizes",
                   {{a.value("tensor"), one ? PyValue{*one} : size, a.value("dim")}});
}

// PyTorch needs a tensor of places on the CPU, wherever the input is.
PyValue tensor_split(const Bound& a) {
  PyValue where = a.value("indices_or_sections");
  if (const auto* tensor = where.as<at::Tensor>()) where = {tensor->cpu()};
  return call_aten("tensor_split", {{a.value("input"), where, a.value("dim")}});
}

// The results the flags ask for; a single one is not wrapped in a tuple.
PyValue chosen(const std::tuple<at::Tensor, at::Tensor, at::Tensor>& all, const Bound& a) {
  std::vector<at::Tensor> results{std::get<0>(all)};
  if (a.boolean("return_inverse")) results.push_back(std::get<1>(all));
  if (a.boolean("return_counts")) results.push_back(std::get<2>(all));
  if (results.size() == 1) return {results.front()};
  return list_of(std::move(results));
}

PyValue unique(const Bound& a) {
  const at::Tensor& input = a.tensor("input");
  const bool sorted = a.boolean("sorted");
  const bool inverse = a.boolean("return_inverse");
  const bool counts = a.boolean("return_counts");
  if (const auto dim = a.opt_integer("dim")) {
    return chosen(at::unique_dim(input, *dim, sorted, inverse, counts), a);
  }
  return chosen(at::_unique2(input, sorted, inverse, counts), a);
}

PyValue unique_consecutive(const Bound& a) {
  return chosen(at::unique_consecutive(a.tensor("input"), a.boolean("return_inverse"),
                                       a.boolean("return_counts"), a.opt_integer("dim")),
                a);
}

char subscript(std::int64_t n) {
  if (n >= 0 && n < 26) return static_cast<char>('A' + n);
  if (n >= 26 && n < 52) return static_cast<char>('a' + n - 26);
  throw BindError("einsum(): subscript in subscript list is not within the valid range [0, 52)");
}

std::string subscripts(const PyValue& value) {
  const auto* list = value.as<PyList>();
  if (list == nullptr) throw BindError("einsum(): a list of subscripts was expected");
  std::string text;
  for (const PyValue& item : *list) {
    if (item.as<dump::Ellipsis>() != nullptr) {
      text += "...";
    } else {
      text += subscript(as_integer(item).value_or(-1));
    }
  }
  return text;
}

// einsum(operand, subscripts, operand, subscripts, ..., [result subscripts])
PyValue einsum_by_lists(const PyList& args) {
  std::string equation;
  std::vector<at::Tensor> operands;
  for (std::size_t i = 0; i + 1 < args.size(); i += 2) {
    const auto* operand = args[i].as<at::Tensor>();
    if (operand == nullptr) throw BindError("einsum(): an operand was expected");
    operands.push_back(*operand);
    equation += fmt::format("{}{}", i == 0 ? "" : ",", subscripts(args[i + 1]));
  }
  if (args.size() % 2 == 1) equation += fmt::format("->{}", subscripts(args.back()));
  return {at::einsum(equation, operands)};
}

PyValue einsum(const Bound& a) {
  const PyList& args = *a.value("args").as<PyList>();
  if (args.size() < 2) throw BindError("einsum(): must specify the equation and its operands");
  const auto* equation = args[0].as<std::string>();
  if (equation == nullptr) return einsum_by_lists(args);
  const auto* list = args.size() == 2 ? args[1].as<PyList>() : nullptr;
  PyList operands = list != nullptr ? *list : PyList(args.begin() + 1, args.end());
  return call_aten("einsum", {{args[0], {std::move(operands)}}});
}

PyValue meshgrid(const Bound& a) {
  PyList tensors = *a.value("tensors").as<PyList>();
  if (tensors.size() == 1 && tensors[0].as<PyList>() != nullptr) {
    tensors = PyList(*tensors[0].as<PyList>());
  }
  PyDict kwargs;
  if (!a.is_none("indexing")) kwargs.emplace_back("indexing", a.value("indexing"));
  return call_aten("meshgrid", {{{std::move(tensors)}}, std::move(kwargs)});
}

// One tensor alone, or as many as there are.
template <const char* kName>
PyValue at_least(const Bound& a) {
  const PyList& tensors = *a.value("tensors").as<PyList>();
  return call_aten(kName, {{tensors.size() == 1 ? tensors[0] : PyValue{tensors}}});
}

constexpr char kAtLeast1[] = "atleast_1d";
constexpr char kAtLeast2[] = "atleast_2d";
constexpr char kAtLeast3[] = "atleast_3d";

PyValue chain_matmul(const Bound& a) {
  return call_aten("chain_matmul", {{a.value("matrices")}, with_out({}, a)});
}

PyValue cdist(const Bound& a) {
  const std::string& mode = a.text("compute_mode");
  c10::optional<std::int64_t> choice;
  if (mode == "use_mm_for_euclid_dist") choice = 1;
  if (mode == "donot_use_mm_for_euclid_dist") choice = 2;
  if (!choice && mode != "use_mm_for_euclid_dist_if_necessary") {
    throw BindError(fmt::format("{} is not a valid value for compute_mode", mode));
  }
  return {at::cdist(a.tensor("x1"), a.tensor("x2"), a.real("p"), choice)};
}

PyValue range_value(std::int64_t from, std::int64_t to) {
  PyList list;
  for (std::int64_t i = from; i < to; ++i) list.push_back({i});
  return {std::move(list)};
}

PyValue tensordot(const Bound& a) {
  PyValue first;
  PyValue second;
  const PyValue& dims = a.value("dims");
  if (const auto* pair = dims.as<PyList>()) {
    if (pair->size() != 2) throw BindError("tensordot expects dims to be two lists");
    first = (*pair)[0];
    second = (*pair)[1];
    if (const auto one = as_integer(first)) first = {PyList{{*one}}};
    if (const auto one = as_integer(second)) second = {PyList{{*one}}};
  } else if (const auto* tensor = dims.as<at::Tensor>(); tensor != nullptr && tensor->numel() > 1) {
    const auto row = [&](std::int64_t i) {
      const at::Tensor list = (*tensor)[i].to(at::kLong).contiguous();
      return PyValue{dump::SizeValue{
          Sizes(list.data_ptr<std::int64_t>(), list.data_ptr<std::int64_t>() + list.numel())}};
    };
    first = row(0);
    second = row(1);
  } else {
    const std::int64_t count = tensor != nullptr ? tensor->item<std::int64_t>() : a.integer("dims");
    first = range_value(-count, 0);
    second = range_value(0, count);
  }
  return call_aten("tensordot", {{a.value("a"), a.value("b"), first, second}, with_out({}, a)});
}

PyValue stft(const Bound& a) {
  at::Tensor input = a.tensor("input");
  if (a.boolean("center")) {
    const std::int64_t rank = input.dim();
    Sizes shape(static_cast<std::size_t>(3 - rank), 1);
    shape.insert(shape.end(), input.sizes().begin(), input.sizes().end());
    const std::int64_t pad = a.integer("n_fft") / 2;
    input = at::pad(input.view(shape), {pad, pad}, a.text("pad_mode"));
    input = input.view(input.sizes().slice(static_cast<std::size_t>(input.dim() - rank)));
  }
  PyCall call{{{input},
               a.value("n_fft"),
               a.value("hop_length"),
               a.value("win_length"),
               a.value("window"),
               a.value("normalized"),
               a.value("onesided"),
               a.value("return_complex")}};
  if (!a.is_none("align_to_window"))
    call.kwargs = {{"align_to_window", a.value("align_to_window")}};
  return call_aten("stft", call);
}

PyValue nonzero(const Bound& a) {
  if (a.boolean("as_tuple")) return list_of(a.tensor("input").nonzero_numpy());
  return call_aten("nonzero", {{a.value("input")}, with_out({}, a)});
}

PyValue lu(const Bound& a) {
  const bool infos = a.boolean("get_infos");
  auto [factors, pivots, info] = at::_lu_with_info(a.tensor("self"), a.boolean("pivot"), !infos);
  return infos ? tuple_of({factors, pivots, info}) : tuple_of({factors, pivots});
}

// An operator of TorchScript, which the dispatcher does not know.
PyValue list_to_tensor(const Bound& a) { return {at::tensor(a.integers("self"), at::kInt)}; }

constexpr std::string_view kUnique =
    "input, sorted=True, return_inverse=False, return_counts=False, dim=None";
constexpr std::string_view kConsecutive =
    "input, return_inverse=False, return_counts=False, dim=None";
constexpr std::string_view kStft =
    "input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect', "
    "normalized=False, onesided=None, return_complex=None, align_to_window=None";
constexpr std::string_view kTensorSplit =
    "input, indices_or_sections|tensor_indices_or_sections|sections|indices, dim=0";
constexpr ApiRow kTorchRows[] = {
    {"Aten._grouped_mm", "self, mat2, offs=None, bias=None, out_dtype=None", &grouped_mm},
    {"Aten._list_to_tensor", "self", &list_to_tensor},
    {"Tensor.lu", "self, pivot=True, get_infos=False", &lu},
    {"Tensor.nonzero", "input, *, as_tuple=False", &nonzero},
    {"Tensor.norm", "input, p='fro', dim=None, keepdim=False, dtype=None", &norm},
    {"Tensor.split", "tensor, split_size_or_sections, dim=0", &split},
    {"Tensor.stft", kStft, &stft},
    {"Tensor.tensor_split", kTensorSplit, &tensor_split},
    {"Tensor.unique", kUnique, &unique},
    {"Tensor.unique_consecutive", kConsecutive, &unique_consecutive},
    {"Torch.atleast_1d", "*tensors", &at_least<kAtLeast1>},
    {"Torch.atleast_2d", "*tensors", &at_least<kAtLeast2>},
    {"Torch.atleast_3d", "*tensors", &at_least<kAtLeast3>},
    {"Torch.cdist", "x1, x2, p=2.0, compute_mode='use_mm_for_euclid_dist_if_necessary'", &cdist},
    {"Torch.chain_matmul", "*matrices, out=None", &chain_matmul},
    {"Torch.einsum", "*args", &einsum},
    {"Torch.meshgrid", "*tensors, indexing=None", &meshgrid},
    {"Torch.nonzero", "input, *, as_tuple=False, out=None", &nonzero},
    {"Torch.norm", "input, p='fro', dim=None, keepdim=False, out=None, dtype=None", &norm},
    {"Torch.split", "tensor, split_size_or_sections, dim=0", &split},
    {"Torch.stft", kStft, &stft},
    {"Torch.tensor_split", kTensorSplit, &tensor_split},
    {"Torch.tensordot", "a, b, dims=2, out=None", &tensordot},
    {"Torch.unique", kUnique, &unique},
    {"Torch.unique_consecutive", kConsecutive, &unique_consecutive},
};

}  // namespace

std::span<const ApiRow> torch_rows() { return kTorchRows; }

}  // namespace msprobe::execute
