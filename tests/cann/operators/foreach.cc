// SPDX-License-Identifier: Apache-2.0
// The same for every tensor of a list. Newer and older forms differ in whether a number is a scalar
// or a tensor.
#include "operator.h"

using namespace cann;

namespace {

using Values = std::vector<at::Tensor>;

struct Number {
  const Handle* handle;
  at::Scalar operator*() const {
    if (const auto* scalar = dynamic_cast<const aclScalar*>(handle)) return scalar->value;
    return dynamic_cast<const aclTensor&>(*handle).view.item();
  }
};
struct Numbers {
  const Handle* handle;
  at::Scalar operator[](std::size_t i) const {
    if (const auto* list = dynamic_cast<const aclScalarList*>(handle))
      return list->scalars.at(i)->value;
    return dynamic_cast<const aclTensor&>(*handle).view[static_cast<int64_t>(i)].item();
  }
};

template <class F>
Values each(const Tensors& list, F&& function) {
  const Values inputs = *list;
  Values results;
  for (std::size_t i = 0; i < inputs.size(); ++i) results.push_back(function(inputs[i], i));
  return results;
}

}  // namespace

#define EACH(name, function)                        \
  OPERATOR(Foreach##name, (Tensors x, Tensors out), \
           out = each(x, [](const at::Tensor& t, std::size_t) { return function(t); }))
EACH(Abs, at::abs)
EACH(Acos, at::acos)
EACH(Asin, at::asin)
EACH(Atan, at::atan)
EACH(Cos, at::cos)
EACH(Cosh, at::cosh)
EACH(Erf, at::erf)
EACH(Erfc, at::erfc)
EACH(Exp, at::exp)
EACH(Expm1, at::expm1)
EACH(Log, at::log)
EACH(Log10, at::log10)
EACH(Log1p, at::log1p)
EACH(Log2, at::log2)
EACH(Neg, at::neg)
EACH(Reciprocal, at::reciprocal)
EACH(Sigmoid, at::sigmoid)
EACH(Sign, at::sign)
EACH(Sin, at::sin)
EACH(Sinh, at::sinh)
EACH(Sqrt, at::sqrt)
EACH(Tan, at::tan)
EACH(Tanh, at::tanh)
OPERATOR(ForeachZeroInplace, (Tensors x),
         x = each(x, [](const at::Tensor& t, std::size_t) { return at::zeros_like(t); }))
OPERATOR(ForeachCopy, (Tensors x, Tensors out), out = *x)

#define SCALAR(name, expression)                                                 \
  OPERATOR(name, (Tensors x, Number number, Tensors out), {                      \
    const at::Scalar s = *number;                                                \
    out = each(x, [&](const at::Tensor& t, std::size_t) { return expression; }); \
  })
#define SCALARS(name, expression)                                                  \
  SCALAR(Foreach##name##Scalar, expression)                                        \
  SCALAR(Foreach##name##ScalarV2, expression)                                      \
  OPERATOR(Foreach##name##ScalarList, (Tensors x, Numbers numbers, Tensors out), { \
    out = each(x, [&](const at::Tensor& t, std::size_t i) {                        \
      const at::Scalar s = numbers[i];                                             \
      return expression;                                                           \
    });                                                                            \
  })
SCALARS(Add, at::add(t, s))
SCALARS(Sub, at::sub(t, s))
SCALARS(Mul, at::mul(t, s))
SCALARS(Div, at::div(t, s))
SCALARS(Maximum, at::clamp_min(t, s))
SCALARS(Minimum, at::clamp_max(t, s))
SCALARS(Pow, at::pow(t, s))
OPERATOR(ForeachPowScalarAndTensor, (Number number, Tensors x, Tensors out), {
  const at::Scalar s = *number;
  out = each(x, [&](const at::Tensor& t, std::size_t) { return at::pow(s, t); });
})

#define LISTS(name, expression)                                                                \
  OPERATOR(Foreach##name##List, (Tensors x, Tensors other, Tensors out), {                     \
    const Values o = *other;                                                                   \
    out = each(x, [&](const at::Tensor& t, std::size_t i) { return expression(t, o.at(i)); }); \
  })
#define LISTS_WITH_ALPHA(name, expression)                                                         \
  OPERATOR(Foreach##name, (Tensors x, Tensors other, Number number, Tensors out), {                \
    const Values o = *other;                                                                       \
    const at::Scalar alpha = *number;                                                              \
    out = each(x,                                                                                  \
               [&](const at::Tensor& t, std::size_t i) { return expression(t, o.at(i), alpha); }); \
  })
LISTS(Mul, at::mul)
LISTS(Div, at::div)
LISTS(Maximum, at::maximum)
LISTS(Minimum, at::minimum)
LISTS(Pow, at::pow)
LISTS_WITH_ALPHA(AddList, at::add)
LISTS_WITH_ALPHA(AddListV2, at::add)
LISTS_WITH_ALPHA(SubList, at::sub)
LISTS_WITH_ALPHA(SubListV2, at::sub)
LISTS_WITH_ALPHA(LerpScalar, at::lerp)
OPERATOR(ForeachLerpList, (Tensors x, Tensors other, Tensors weights, Tensors out), {
  const Values o = *other, w = *weights;
  out = each(x, [&](const at::Tensor& t, std::size_t i) { return at::lerp(t, o.at(i), w.at(i)); });
})

#define THREE(name, function)                                                     \
  OPERATOR(Foreach##name##Scalar,                                                 \
           (Tensors x, Tensors one, Tensors two, Number number, Tensors out), {   \
             const Values a = *one, b = *two;                                     \
             const at::Scalar s = *number;                                        \
             out = each(x, [&](const at::Tensor& t, std::size_t i) {              \
               return function(t, a.at(i), b.at(i), s);                           \
             });                                                                  \
           })                                                                     \
  OPERATOR(Foreach##name##ScalarV2,                                               \
           (Tensors x, Tensors one, Tensors two, Number number, Tensors out), {   \
             const Values a = *one, b = *two;                                     \
             const at::Scalar s = *number;                                        \
             out = each(x, [&](const at::Tensor& t, std::size_t i) {              \
               return function(t, a.at(i), b.at(i), s);                           \
             });                                                                  \
           })                                                                     \
  OPERATOR(Foreach##name##ScalarList,                                             \
           (Tensors x, Tensors one, Tensors two, Numbers numbers, Tensors out), { \
             const Values a = *one, b = *two;                                     \
             out = each(x, [&](const at::Tensor& t, std::size_t i) {              \
               return function(t, a.at(i), b.at(i), numbers[i]);                  \
             });                                                                  \
           })
THREE(Addcmul, at::addcmul)
THREE(Addcdiv, at::addcdiv)
OPERATOR(ForeachNorm, (Tensors x, Number order, Tensors out), {
  const at::Scalar p = *order;
  out = each(x, [&](const at::Tensor& t, std::size_t) { return at::linalg_vector_norm(t, p); });
})
