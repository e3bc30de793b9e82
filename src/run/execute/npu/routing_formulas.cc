// SPDX-License-Identifier: Apache-2.0
// Formulas of the operators that move rows to where they are needed: to the experts, and into the
// pages of a cache.
#include <limits>

#include <fmt/format.h>

#include "execute/npu/formula.h"

namespace msprobe::execute::npu {
namespace {

// npu_moe_init_routing_v2

struct Routing {
  at::Tensor order;         // entries by expert, those of no active expert behind
  at::Tensor experts;       // of the entries in that order
  std::int64_t each = 1;    // entries of a token
  std::int64_t active = 0;  // entries of active experts
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t rows = 0;  // of the result
};

Routing routing_of(const Bound& a) {
  const at::Tensor& experts = a.tensor("expert_idx");
  const at::Tensor flat = experts.reshape(-1).to(at::kLong);
  Routing r;
  r.each = experts.size(-1);
  r.high = a.integer("expert_num");
  const auto range = a.opt_integers("active_expert_range").value_or(std::vector<std::int64_t>());
  if (range.size() == 2 && range[1] > range[0]) {
    r.low = range[0];
    r.high = range[1];
  } else if (r.high < 0) {
    r.high = flat.numel() == 0 ? 0 : flat.max().item<std::int64_t>() + 1;
  }
  const at::Tensor is_active = flat.ge(r.low).logical_and(flat.lt(r.high));
  const at::Tensor keys =
      flat.masked_fill(is_active.logical_not(), std::numeric_limits<std::int64_t>::max());
  r.order = std::get<1>(at::sort(keys, /*stable=*/true, 0, /*descending=*/false));
  r.experts = flat.index_select(0, r.order);
  r.active = is_active.sum().item<std::int64_t>();
  const std::int64_t most = a.integer("active_num");
  r.rows = most > 0 ? std::min(most, flat.numel()) : flat.numel();
  return r;
}

// Which entry each row of the result comes from, -1 for a row of zeros; and where each entry goes.
struct Places {
  at::Tensor from, to;
};

Places places_of(const Bound& a, const Routing& r) {
  const std::int64_t entries = r.order.numel();
  Places places;
  if (a.integer("drop_pad_mode") == 0) {
    places.from = r.order.narrow(0, 0, r.rows);
    if (a.integer("row_idx_type") == 1) return {places.from, r.order};
    at::Tensor to = at::full({entries}, -1, r.order.options());
    const at::Tensor active = r.order.narrow(0, 0, r.active);
    places.to = to.scatter(0, active, at::arange(r.active, r.order.options()));
    return places;
  }
  const std::int64_t capacity = a.integer("expert_capacity");
  const at::Tensor counts = at::bincount(r.experts, {}, r.high);
  const at::Tensor first = counts.cumsum(0) - counts;
  const at::Tensor nth = at::arange(entries, r.order.options()) - first.index_select(0, r.experts);
  const at::Tensor kept = nth.lt(capacity);
  const at::Tensor place = r.experts * capacity + nth;
  places.to = at::full({entries}, -1, r.order.options())
                  .scatter(0, r.order, place.masked_fill(kept.logical_not(), -1));
  places.from = at::full({r.high * capacity}, -1, r.order.options());
  places.from.index_put_({place.masked_select(kept)}, r.order.masked_select(kept));
  return places;
}

at::Tensor token_counts(const Bound& a, const Routing& r) {
  const at::Tensor active = r.experts.narrow(0, 0, r.active) - r.low;
  const at::Tensor counts = at::bincount(active, {}, r.high - r.low);
  switch (a.integer("expert_tokens_num_type")) {
    case 0:
      return counts.cumsum(0);
    case 1:
      return counts;
    default:
      break;
  }
  const at::Tensor used = counts.nonzero().squeeze(1);
  const at::Tensor pairs = at::stack({used + r.low, counts.index_select(0, used)}, 1);
  const std::int64_t rows = a.integer("expert_num") > 0 ? a.integer("expert_num") : r.high;
  return at::constant_pad_nd(pairs, {0, 0, 0, std::max<std::int64_t>(rows - pairs.size(0), 0)});
}

Bounded rows_from(const at::Tensor& rows, const at::Tensor& from, bool bounds) {
  const at::Tensor found = rows.to(at::kDouble).index_select(0, from.clamp_min(0));
  return exact(found.masked_fill(from.lt(0).view({-1, 1}), 0), bounds);
}

// The rows and their scales, quantised as the mode says.
struct ExpandedRows {
  FormulaResult rows, scale;
};

ExpandedRows expanded_rows(const Bound& a, const Routing& r, const at::Tensor& from, bool bounds) {
  const at::Tensor& x = a.tensor("x");
  // torch_npu before 2.7 quantises with scale and offset unless told otherwise.
  const bool older = !a.given("quant_mode") && !a.is_none("offset");
  const std::int64_t mode = older ? 0 : a.integer("quant_mode");
  const at::Tensor token = at::where(from.lt(0), from, from.div(r.each, "floor"));
  const at::Tensor scale = a.tensor_or_undefined("scale");
  if (mode == -1) {
    const at::Tensor copied = x.index_select(0, token.clamp_min(0));
    const at::Tensor none = token.lt(0).view({-1, 1});
    FormulaResult rows = as_is(copied.masked_fill(none, 0));
    if (!scale.defined()) return {rows, {}};
    const at::Tensor scales = scale.reshape(-1).index_select(0, token.clamp_min(0));
    return {rows, as_is(scales.masked_fill(token.lt(0), 0))};
  }
  Bounded expanded = rows_from(x, token, bounds);
  if (mode == 0) {
    // The vendor computes this in float16.
    constexpr double kHalf = 1.0 / (1 << 11);
    const Bounded scaled = loosened(expanded * exact(scale.reshape(-1)[0], bounds), kHalf) +
                           exact(a.tensor("offset").reshape(-1)[0], bounds);
    return {as_codes(loosened(scaled, kHalf), Number::kInt8), {}};
  }
  if (mode == 2 || mode == 3) {
    const Number number = mode == 2 ? Number::kE5M2 : Number::kE4M3;
    MxRows quantised = mx_rows(expanded.value, number, bounds);
    return {std::move(quantised.codes), std::move(quantised.scales)};
  }
  if (mode != 1) {
    throw BindError(fmt::format("npu_moe_init_routing_v2: quant_mode {} has no benchmark", mode));
  }
  if (scale.defined()) {
    at::Tensor smooth = scale;
    if (scale.size(0) > 1) {
      const at::Tensor flat = a.tensor("expert_idx").reshape(-1).to(at::kLong);
      const at::Tensor expert = flat.index_select(0, from.clamp_min(0)) - r.low;
      smooth = scale.index_select(0, expert.clamp(0, scale.size(0) - 1));
    }
    expanded = expanded * exact(smooth, bounds);
  }
  const Bounded of_row = largest_size(expanded, {-1}) * (1.0 / 127);
  const Bounded shown = viewed(of_row, [](const at::Tensor& t) { return t.squeeze(-1); });
  return {as_codes(expanded / of_row, Number::kInt8), as_floats(shown, at::kFloat)};
}

// Places that no entry came to are zero, whatever a zero would become as a code.
FormulaResult without_empty(FormulaResult rows, const at::Tensor& from) {
  const at::Tensor empty = from.lt(0).unsqueeze(1);
  for (at::Tensor* each : {&rows.value, &rows.lowest, &rows.highest}) {
    if (each->defined()) *each = at::where(empty, at::zeros({}, each->options()), *each);
  }
  return rows;
}

FormulaResult in_experts(FormulaResult rows, const Bound& a, const Routing& r) {
  if (a.integer("drop_pad_mode") == 0) return rows;
  const auto view = [&](at::Tensor& t) {
    if (t.defined() && t.dim() == 2) t = t.view({r.high, a.integer("expert_capacity"), -1});
  };
  view(rows.value);
  view(rows.lowest);
  view(rows.highest);
  return rows;
}

FormulaResults init_routing(const Bound& a, Wish wish) {
  const Routing r = routing_of(a);
  const Places places = places_of(a, r);
  const ExpandedRows expanded = expanded_rows(a, r, places.from, wish.bounds);
  FormulaResults results{in_experts(without_empty(expanded.rows, places.from), a, r),
                         as_is(places.to.to(at::kInt)),
                         {},
                         expanded.scale};
  if (a.boolean("expert_tokens_num_flag")) results[2] = as_is(token_counts(a, r));
  return results;
}

std::vector<at::Tensor> init_routing_written(const Bound& a) {
  const Routing r = routing_of(a);
  const auto first = [](std::int64_t rows, std::int64_t count) {
    return at::arange(rows, at::kLong).lt(count);
  };
  std::vector<at::Tensor> masks(4);
  const bool dropless = a.integer("drop_pad_mode") == 0;
  if (dropless) {
    masks[0] = first(r.rows, r.active).unsqueeze(1);
    if (a.integer("row_idx_type") == 1) masks[1] = first(r.order.numel(), r.active);
  }
  masks[3] = dropless ? first(r.rows, r.active) : places_of(a, r).from.ge(0);
  const std::int64_t mode = a.integer("quant_mode");
  if (mode == 2 || mode == 3) masks[3] = masks[3].unsqueeze(1);
  if (a.boolean("expert_tokens_num_flag") && a.integer("expert_tokens_num_type") == 2) {
    const at::Tensor pairs = token_counts(a, r);
    const std::int64_t used = pairs.select(1, 1).gt(0).sum().item<std::int64_t>();
    masks[2] = first(pairs.size(0), used + 1).unsqueeze(1);
  }
  return masks;
}

// npu_kv_rmsnorm_rope_cache

// Even positions, then odd ones, rotated by halves.
Bounded roped(const Bounded& k, const Bounded& cos, const Bounded& sin) {
  const Bounded sorted = viewed(k, [](const at::Tensor& t) {
    return at::cat({t.slice(-1, 0, c10::nullopt, 2), t.slice(-1, 1, c10::nullopt, 2)}, -1);
  });
  const std::int64_t half = sorted.value.size(-1) / 2;
  const at::Tensor turned =
      at::cat({-sorted.value.narrow(-1, half, half), sorted.value.narrow(-1, 0, half)}, -1);
  at::Tensor slack = sorted.slack;
  if (slack.defined() && slack.dim() > 0) slack = slack.roll(half, -1);
  return sorted * cos + Bounded{turned, slack} * sin;
}

// Where each token goes, -1 for nowhere: a row of the cache seen as rows.
at::Tensor slots_of(const Bound& a, const at::Tensor& cache, std::int64_t batches,
                    std::int64_t tokens) {
  const std::string& mode = a.text("cache_mode");
  const at::Tensor index = a.tensor("index").to(at::kLong);
  if (mode == "Norm") {
    const at::Tensor first = at::arange(batches, index.options()).unsqueeze(1) * cache.size(2);
    const at::Tensor position = index.reshape({batches, tokens});
    return at::where(position.lt(0), position, position + first).reshape(-1);
  }
  if (mode == "PA" || mode == "PA_BNSD" || mode == "PA_NZ") return index.reshape(-1);
  if (mode != "PA_BLK_BNSD" && mode != "PA_BLK_NZ") {
    throw BindError(fmt::format("cache_mode '{}' has no benchmark", mode));
  }
  const std::int64_t size = cache.size(1);
  const std::int64_t pages = (tokens + size - 1) / size;
  const at::Tensor start =
      index.reshape({batches, pages}).repeat_interleave(size, 1).narrow(1, 0, tokens);
  const at::Tensor within = at::arange(tokens, index.options()).remainder(size);
  return at::where(start.lt(0), start, start + within).reshape(-1);
}

// The cache as rows, one for each slot; and the way back.
struct CacheRows {
  at::Tensor cache;
  bool columns_first = false;
  std::int64_t each = 16;  // columns that lie side by side

  at::Tensor to_rows() const {
    const std::int64_t width = cache.size(-1);
    if (!columns_first) return cache.reshape({-1, width});
    return cache.reshape({cache.size(0), width / each, cache.size(1), each})
        .permute({0, 2, 1, 3})
        .reshape({-1, width});
  }
  at::Tensor from_rows(const at::Tensor& rows) const {
    const std::int64_t width = cache.size(-1);
    if (!columns_first) return rows.reshape(cache.sizes());
    return rows.reshape({cache.size(0), cache.size(1), width / each, each})
        .permute({0, 2, 1, 3})
        .reshape(cache.sizes());
  }
};

FormulaResult cache_result(const Bound& a, std::string_view name, FormulaResult fresh,
                           std::int64_t batches, std::int64_t tokens) {
  const at::Tensor& cache = a.tensor(name);
  const std::string& mode = a.text("cache_mode");
  const bool bytes = cache.element_size() == 1;
  const CacheRows view{cache, mode == "PA_NZ" || mode == "PA_BLK_NZ", bytes ? 32 : 16};
  const at::Tensor slots = slots_of(a, cache, batches, tokens);
  const at::Tensor kept = slots.ge(0).nonzero().squeeze(1);
  const at::Tensor where = slots.index_select(0, kept);
  const auto written = [&](const at::Tensor& old, const at::Tensor& rows) {
    if (!rows.defined()) return at::Tensor();
    const CacheRows as_rows{old, view.columns_first, view.each};
    const at::Tensor flat = rows.reshape({-1, rows.size(-1)}).index_select(0, kept);
    return as_rows.from_rows(as_rows.to_rows().index_copy(0, where, flat.to(old.scalar_type())));
  };
  const at::Tensor wide = cache.to(at::kDouble);
  return {.value = written(cache, fresh.value),
          .lowest = written(wide, fresh.lowest),
          .highest = written(wide, fresh.highest),
          .argument = std::string(name)};
}

FormulaResult for_cache(const Bounded& x, const Bound& a, std::string_view cache,
                        std::string_view scale, bool bounds) {
  if (a.tensor(cache).scalar_type() != at::kChar) {
    return as_floats(x, a.tensor(cache).scalar_type());
  }
  return as_codes(a.is_none(scale) ? x : x * exact(a.tensor(scale), bounds), Number::kInt8);
}

FormulaResults kv_rmsnorm_rope_cache(const Bound& a, Wish wish) {
  refuse(a, "npu_kv_rmsnorm_rope_cache", {"k_rope_offset", "c_kv_offset"});
  const at::Tensor& kv = a.tensor("kv");
  const std::int64_t batches = kv.size(0);
  const std::int64_t tokens = kv.size(2);
  const auto given = [&](std::string_view name) { return exact(a.tensor(name), wish.bounds); };
  const Bounded all = exact(kv, wish.bounds);
  const std::int64_t normed = a.tensor("gamma").numel();
  const std::int64_t turned = a.tensor("cos").size(-1);
  const auto part = [](const Bounded& x, std::int64_t first, std::int64_t count) {
    return viewed(x, [&](const at::Tensor& t) { return t.narrow(-1, first, count); });
  };
  const Bounded gamma = viewed(given("gamma"), [](const at::Tensor& t) { return t.reshape(-1); });
  const Bounded y = rms_normed(part(all, 0, normed), 1, a.real("epsilon")).y * gamma;
  Bounded k;
  Bounded second = y;
  if (a.is_none("v")) {
    k = roped(part(all, normed, turned), given("cos"), given("sin"));
  } else {
    const Bounded front = roped(part(y, 0, turned), given("cos"), given("sin"));
    const Bounded back = part(y, turned, normed - turned);
    const auto join = [](const at::Tensor& x, const at::Tensor& z) {
      return x.defined() ? at::cat({x, z}, -1) : at::Tensor();
    };
    k = {join(front.value, back.value), join(front.slack, back.slack)};
    second = given("v");
  }
  FormulaResults results{
      cache_result(a, "k_cache", for_cache(k, a, "k_cache", "k_rope_scale", wish.bounds), batches,
                   tokens),
      cache_result(a, "ckv_cache", for_cache(second, a, "ckv_cache", "c_kv_scale", wish.bounds),
                   batches, tokens),
      {},
      {}};
  if (a.boolean("is_output_kv")) {
    results[2] = as_floats(k, kv.scalar_type());
    results[3] = as_floats(second, kv.scalar_type());
  }
  return results;
}

constexpr FormulaRow kRoutingRows[] = {
    {.api = "NPU.npu_kv_rmsnorm_rope_cache",
     .signature = "kv, gamma, cos, sin, index, k_cache, ckv_cache, *, k_rope_scale=None, "
                  "c_kv_scale=None, k_rope_offset=None, c_kv_offset=None, v=None, epsilon=1e-05, "
                  "cache_mode='Norm', is_output_kv=False",
     .formula = &kv_rmsnorm_rope_cache},
    {.api = "NPU.npu_moe_init_routing_v2",
     .signature =
         "x, expert_idx, *, scale=None, offset=None, active_num=-1, expert_capacity=-1, "
         "expert_num=-1, drop_pad_mode=0, expert_tokens_num_type=0, "
         "expert_tokens_num_flag=False, quant_mode=-1, active_expert_range=[], row_idx_type=0, "
         "x_dtype=None",
     .formula = &init_routing,
     .written = &init_routing_written},
};

}  // namespace

std::span<const FormulaRow> routing_formulas() { return kRoutingRows; }

}  // namespace msprobe::execute::npu
