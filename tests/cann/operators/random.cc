// SPDX-License-Identifier: Apache-2.0
// Random numbers: the same seed and offset give the same numbers, which are not those of an NPU.
#include <ATen/CPUGeneratorImpl.h>

#include "operator.h"

using namespace cann;

namespace {

at::Generator generator(int64_t seed, int64_t offset) {
  return at::detail::createCPUGenerator(static_cast<uint64_t>(seed) * 0x9E3779B97F4A7C15U +
                                        static_cast<uint64_t>(offset));
}

// One bit for each element, 1: it is kept.
void keep_bits(const T& out, at::IntArrayRef shape, double drop, int64_t seed, int64_t offset) {
  const int64_t count = c10::multiply_integers(shape), room = (*out).numel();
  at::Tensor bits = at::zeros({room * 8}, at::kByte);
  bits.slice(0, 0, count).bernoulli_(1 - drop, generator(seed, offset));
  const at::Tensor weights = at::tensor({1, 2, 4, 8, 16, 32, 64, 128}, at::kByte);
  out = (bits.reshape({room, 8}) * weights).sum(1, false, at::kByte);
}

}  // namespace

at::Tensor cann::kept_by(const at::Tensor& mask, at::IntArrayRef sizes) {
  const at::Tensor weights = at::tensor({1, 2, 4, 8, 16, 32, 64, 128}, at::kByte);
  const at::Tensor bits = at::bitwise_and(mask.flatten().unsqueeze(1), weights).ne(0).flatten();
  return bits.slice(0, 0, c10::multiply_integers(sizes)).reshape(sizes);
}

OPERATOR(DropoutGenMask, (Ints shape, double drop, int64_t seed, int64_t offset, T out),
         keep_bits(out, *shape, drop, seed, offset))
OPERATOR(DropoutGenMaskV2,
         (Ints shape, double drop, int64_t seed, int64_t offset, Type type, T out),
         keep_bits(out, *shape, drop, seed, offset))
OPERATOR(DropoutDoMask, (T self, T mask, double drop, T out),
         out = drop == 1 ? at::zeros_like(*self)
                         : *self * kept_by(*mask, (*self).sizes()) / (1 - drop))
OPERATOR(InplaceNormal, (T self, float mean, float deviation, int64_t seed, int64_t offset),
         self = at::empty_like(*self).normal_(mean, deviation, generator(seed, offset)))
OPERATOR(NormalFloatFloat, (float mean, float deviation, int64_t seed, int64_t offset, T out),
         out = at::empty_like(*out).normal_(mean, deviation, generator(seed, offset)))
OPERATOR(InplaceUniform, (T self, double low, double high, uint64_t seed, uint64_t offset),
         self = at::empty_like(*self).uniform_(low, high,
                                               generator(static_cast<int64_t>(seed),
                                                         static_cast<int64_t>(offset))))
OPERATOR(InplaceRandom, (T self, int64_t low, int64_t high, int64_t seed, int64_t offset),
         self = at::empty_like(*self).random_(low, high, generator(seed, offset)))
OPERATOR(InplaceBernoulli, (T self, S p, int64_t seed, int64_t offset),
         self = at::empty_like(*self).bernoulli_((*p).toDouble(), generator(seed, offset)))
OPERATOR(InplaceBernoulliTensor, (T self, T p, int64_t seed, int64_t offset),
         self = at::empty_like(*self).bernoulli_(*p, generator(seed, offset)))
OPERATOR(Randperm, (int64_t count, int64_t seed, int64_t offset, T out),
         out = at::randperm(count, generator(seed, offset), at::TensorOptions(at::kLong)))
OPERATOR(Multinomial, (T self, int64_t count, bool again, int64_t seed, int64_t offset, T out),
         out = at::multinomial(*self, count, again, generator(seed, offset)))
