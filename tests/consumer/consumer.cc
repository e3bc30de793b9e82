// SPDX-License-Identifier: Apache-2.0
// usage: consumer DUMP.json: the number of calls, then metrics of a small pair.
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>

#include "core/tensor.h"
#include "documented/standard.h"
#include "dump/dump_json.h"
#include "measure/metrics.h"
#include "metrics/pair.h"

int main(int count, char** words) {
  if (count != 2) return 2;
  const auto dump = msprobe::dump::open_dump(words[1]);
  if (!dump) {
    std::fprintf(stderr, "%s\n", dump.error().message.c_str());
    return 2;
  }
  std::printf("%zu calls\n", dump->calls.size());

  const std::array<float, 4> bench{1, 2, 3, 4};
  const std::array<float, 4> device{1, 2, 3, 5};
  const std::array<std::int64_t, 1> shape{4};
  const auto view = [&](const std::array<float, 4>& values) {
    return msprobe::TensorView{msprobe::DType::kFloat32, shape, std::as_bytes(std::span(values))};
  };
  const msprobe::documented::Standards standards;
  const auto answer = msprobe::metrics::evaluate(view(bench), view(device), {}, standards);
  if (!answer.metrics) return 1;
  std::printf("max_abs_error %g, within 0.01: %llu\n", answer.metrics->max_abs_error,
              static_cast<unsigned long long>(answer.metrics->within_100));
  return 0;
}
