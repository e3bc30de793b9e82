// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/gpu_index.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "tables/number_text.h"

namespace msprobe::final_verdict {

documented::Cell GpuRow::metric(std::size_t i) const {
  const bool blank = ((blank_metrics >> i) & 1U) != 0;
  return blank ? documented::Cell{} : documented::Cell{documented::Cell::Kind::kDouble, metrics[i]};
}

std::uint64_t text_hash(std::string_view text) {
  text = tables::trim(text);
  return text.empty() ? 0 : std::hash<std::string_view>{}(text);
}

bool finite_or_blank(const documented::Cell& cell) {
  return cell.blank() || std::isfinite(cell.value);
}

void GpuIndex::add(const documented::DetailRow& row, std::uint64_t line, bool damaged) {
  ++row_count_;
  const auto [place, is_new] = rows_.try_emplace(row.api_name);
  GpuRow& kept = place->second;
  if (!is_new) {
    kept.repeated = true;
    return;
  }
  for (std::size_t i = 0; i < kKeptMetrics.size(); ++i) {
    const documented::Cell& cell = row.*kKeptMetrics[i];
    kept.metrics[i] = cell.value;
    if (cell.blank()) kept.blank_metrics = static_cast<std::uint8_t>(kept.blank_metrics | 1U << i);
  }
  kept.line = line;
  kept.damaged = damaged;
  kept.dtype_hash = text_hash(row.device_dtype);
  kept.shape_hash = text_hash(row.shape);
  kept.strict = row.strict_status;
  kept.cosine_finite = finite_or_blank(row.cosine);
  kept.max_abs_finite = finite_or_blank(row.max_abs_error);
}

GpuRow* GpuIndex::find(std::string_view name) {
  const auto found = rows_.find(name);
  return found == rows_.end() ? nullptr : &found->second;
}

std::vector<std::string_view> GpuIndex::unmatched() const {
  std::vector<std::pair<std::uint64_t, std::string_view>> found;
  for (const auto& [name, row] : rows_) {
    if (!row.matched) found.emplace_back(row.line, name);
  }
  std::ranges::sort(found);
  std::vector<std::string_view> names;
  names.reserve(found.size());
  for (const auto& entry : found) names.push_back(entry.second);
  return names;
}

}  // namespace msprobe::final_verdict
