// SPDX-License-Identifier: Apache-2.0
// References of fused NPU operators beside the plain ATen compositions that a user would write, at
// the sizes of a model: seconds (the best of three) and peak memory of each.
//
//   npu_bench [grouped_matmul | attention] [plain | reference]
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>

#include <sys/resource.h>

#include "execute/npu/attention_core.h"
#include "execute/npu/experts.h"

namespace {

using namespace msprobe::execute::npu;
using Run = std::function<at::Tensor()>;

double best_of_three(const Run& run) {
  double best = 1e300;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const at::Tensor result = run();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

Run grouped(bool plain) {
  const at::Tensor x = at::randn({2048, 2048});
  const at::Tensor weight = at::randn({8, 2048, 1408});
  const std::vector<std::int64_t> ends = {100, 400, 400, 900, 1200, 1500, 2000, 2048};
  if (!plain) {
    return [=] {
      return npu_grouped_matmul({.x = {x},
                                 .weight = {weight},
                                 .bias = {},
                                 .ends = ends,
                                 .by = GroupedBy::kRows,
                                 .one_result = true})[0];
    };
  }
  return [=] {
    std::vector<at::Tensor> parts;
    std::int64_t first = 0;
    for (std::size_t g = 0; g < ends.size(); ++g) {
      parts.push_back(
          at::matmul(x.narrow(0, first, ends[g] - first), weight[static_cast<std::int64_t>(g)]));
      first = ends[g];
    }
    return at::cat(parts);
  };
}

Run of_attention(bool plain) {
  constexpr std::int64_t kLength = 2048;
  const at::Tensor query = at::randn({1, 16, kLength, 128});
  const at::Tensor key = at::randn({1, 16, kLength, 128});
  const at::Tensor value = at::randn({1, 16, kLength, 128});
  const double scale = 1 / std::sqrt(128.0);
  if (!plain) {
    return [=] {
      return attention({.query = query,
                        .key = key,
                        .value = value,
                        .pse = {},
                        .sink = {},
                        .mask = {},
                        .scale = scale})
          .y;
    };
  }
  return [=] {
    return at::matmul(at::softmax(at::matmul(query, key.transpose(-2, -1)) * scale, -1), value);
  };
}

}  // namespace

int main(int count, char** words) {
  const bool grouped_matmul = count < 2 || std::strcmp(words[1], "attention") != 0;
  const bool plain = count > 2 && std::strcmp(words[2], "plain") == 0;
  const at::NoGradGuard no_grad;
  at::manual_seed(7);
  const double seconds = best_of_three(grouped_matmul ? grouped(plain) : of_attention(plain));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%s, %s: %.3f s, peak %ld MB\n", grouped_matmul ? "grouped_matmul" : "attention",
              plain ? "plain ATen" : "reference", seconds, usage.ru_maxrss / 1024);
}
