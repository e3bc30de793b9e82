// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "core/json_writer.h"
#include "core/python_text.h"
#include "dump_compare/item_row.h"

namespace msprobe::dump_compare {
namespace {

using Out = std::string;
using State = RealNumbers::State;

constexpr std::string_view kUnsupported = "unsupported";

template <bool kTarget>
const dump::Item* item_of(const ItemRow& row) {
  return kTarget ? row.target : row.golden;
}

template <bool kTarget>
void name_cell(Out& out, const ItemRow& row, const EntryRows&) {
  const dump::Entry* const entry = kTarget ? row.target_entry : row.golden_entry;
  const dump::Item* const item = item_of<kTarget>(row);
  if (item == nullptr) {
    out += kNotKnown;
  } else {
    dump::append_item_name(out, *entry, *item);
  }
}

template <bool kTarget>
void dtype_cell(Out& out, const ItemRow& row, const EntryRows&) {
  const dump::Item* const item = item_of<kTarget>(row);
  out += item == nullptr ? kNotKnown : dtype_text(*item);
}

template <bool kTarget>
void shape_cell(Out& out, const ItemRow& row, const EntryRows&) {
  const dump::Item* const item = item_of<kTarget>(row);
  if (item == nullptr) {
    out += kNotKnown;
  } else {
    append_shape(out, *item);
  }
}

template <bool kTarget>
void requires_grad_cell(Out& out, const ItemRow& row, const EntryRows&) {
  out += requires_grad_text(item_of<kTarget>(row));
}

template <bool kTarget, ItemStatistic kStatistic>
void statistic_cell(Out& out, const ItemRow& row, const EntryRows&) {
  append_cell(out, statistic_of(item_of<kTarget>(row), kStatistic));
}

template <bool kTarget>
void md5_cell(Out& out, const ItemRow& row, const EntryRows&) {
  out += md5_text(item_of<kTarget>(row));
}

template <ItemStatistic kStatistic>
void difference_cell(Out& out, const ItemRow& row, const EntryRows&) {
  append_difference(out, row.difference(kStatistic));
}

template <ItemStatistic kStatistic>
void relative_cell(Out& out, const ItemRow& row, const EntryRows&) {
  append_relative(out, row.difference(kStatistic));
}

// As Python's round().
double rounded(double value, int decimals) {
  if (!std::isfinite(value) || std::abs(value) >= 1e15) return value;
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return std::strtod(text.data(), nullptr);
}

void append_number(Out& out, double value) {
  if (std::isnan(value)) {
    out += "Nan";
    return;
  }
  if (std::isinf(value)) out += ' ';
  append_python_float(out, value);
}

// A metric; `of_one`: known of pairs of one element, too.
void append_metric(Out& out, const ItemRow& row, double value, bool of_one) {
  switch (row.real.state) {
    case State::kUnsupported:
      out += kUnsupported;
      return;
    case State::kShapes:
      out += "shape unmatched";
      return;
    case State::kClasses:
      out += kNotKnown;
      return;
    case State::kOneElement:
      if (!of_one) {
        out += kUnsupported;
        return;
      }
      break;
    case State::kAll:
      break;
  }
  append_number(out, value);
}

template <double RealNumbers::* kField, bool kOfOne = false>
void metric_cell(Out& out, const ItemRow& row, const EntryRows&) {
  append_metric(out, row, rounded(row.real.*kField, 12), kOfOne);
}

void cosine_cell(Out& out, const ItemRow& row, const EntryRows&) {
  const double cosine = rounded(row.real.cosine, 12);
  append_metric(out, row, cosine > 0.9999 ? rounded(cosine, 6) : cosine, false);
}

void euclidean_cell(Out& out, const ItemRow& row, const EntryRows&) {
  append_metric(out, row, row.real.euclidean_distance, false);
}

void consistent_cell(Out& out, const ItemRow& row, const EntryRows&) {
  if (lacks_requires_grad(row)) {
    out += kNotKnown;
    return;
  }
  out += requires_grad_text(row.target) == requires_grad_text(row.golden) ? "True" : "False";
}

tables::RowMark mark_of(Outcome outcome) {
  if (outcome == Outcome::kPass) return tables::RowMark::kNone;
  return outcome == Outcome::kError ? tables::RowMark::kAbnormal : tables::RowMark::kSuspicious;
}

void message_cell(Out& out, const ItemRow& row, const EntryRows&) {
  if (row.messages.empty()) {
    out += "[]";
    return;
  }
  out += '[';
  for (std::size_t i = 0; i < row.messages.size(); ++i) {
    if (i > 0) out += ", ";
    JsonWriter json;
    json.value(row.messages[i]);
    out += json.text();
  }
  out += ']';
}

void stack_cell(Out& out, const ItemRow& row, const EntryRows& entry) {
  out += row.is_first && !entry.stack.empty() ? std::string_view(entry.stack) : kNotKnown;
}

void data_name_cell(Out& out, const ItemRow& row, const EntryRows&) {
  const auto file = [&](const dump::Item* item) {
    if (item == nullptr) {
      append_python_string(out, kNotKnown);
    } else {
      append_python_string(out, item->data_name.empty() ? "-1" : item->data_name);
    }
  };
  out += '[';
  file(row.target);
  out += ", ";
  file(row.golden);
  out += ']';
}

constexpr ItemColumn kFirst[] = {
    {"NPU Name", &name_cell<true>, true},
    {"Bench Name", &name_cell<false>, true},
    {"NPU Dtype", &dtype_cell<true>, true},
    {"Bench Dtype", &dtype_cell<false>, true},
    {"NPU Tensor Shape", &shape_cell<true>, true},
    {"Bench Tensor Shape", &shape_cell<false>, true},
    {"NPU Requires_grad", &requires_grad_cell<true>, true},
    {"Bench Requires_grad", &requires_grad_cell<false>, true},
};
constexpr ItemColumn kReal[] = {
    {"Cosine", &cosine_cell},
    {"EucDist", &euclidean_cell},
    {"MaxAbsErr", &metric_cell<&RealNumbers::max_abs_error, true>},
    {"MaxRelativeErr", &metric_cell<&RealNumbers::max_relative_error, true>},
    {"One Thousandth Err Ratio", &metric_cell<&RealNumbers::within_1000>},
    {"Five Thousandths Err Ratio", &metric_cell<&RealNumbers::within_200>},
};
constexpr ItemColumn kDifferences[] = {
    {"Max diff", &difference_cell<ItemStatistic::kMax>},
    {"Min diff", &difference_cell<ItemStatistic::kMin>},
    {"Mean diff", &difference_cell<ItemStatistic::kMean>},
    {"L2norm diff", &difference_cell<ItemStatistic::kNorm>},
    {"MaxRelativeErr", &relative_cell<ItemStatistic::kMax>},
    {"MinRelativeErr", &relative_cell<ItemStatistic::kMin>},
    {"MeanRelativeErr", &relative_cell<ItemStatistic::kMean>},
    {"NormRelativeErr", &relative_cell<ItemStatistic::kNorm>},
};
constexpr ItemColumn kSides[] = {
    {"NPU max", &statistic_cell<true, ItemStatistic::kMax>},
    {"NPU min", &statistic_cell<true, ItemStatistic::kMin>},
    {"NPU mean", &statistic_cell<true, ItemStatistic::kMean>},
    {"NPU l2norm", &statistic_cell<true, ItemStatistic::kNorm>},
    {"Bench max", &statistic_cell<false, ItemStatistic::kMax>},
    {"Bench min", &statistic_cell<false, ItemStatistic::kMin>},
    {"Bench mean", &statistic_cell<false, ItemStatistic::kMean>},
    {"Bench l2norm", &statistic_cell<false, ItemStatistic::kNorm>},
};
constexpr ItemColumn kMd5[] = {
    {"NPU MD5", &md5_cell<true>, true},
    {"BENCH MD5", &md5_cell<false>, true},
};
constexpr ItemColumn kVerdict[] = {
    {"Requires_grad Consistent", &consistent_cell, true},
    {"Result", [](Out& out, const ItemRow& row, const EntryRows&) { out += name(row.outcome); },
     true},
    {"Err_message", &message_cell, true},
};
constexpr ItemColumn kStack = {"NPU_Stack_Info", &stack_cell, true};
constexpr ItemColumn kDataName = {"Data_name", &data_name_cell, true};
// Ours.
constexpr ItemColumn kLast[] = {
    {"Match", [](Out& out, const ItemRow& row, const EntryRows&) { out += name(row.match); }, true},
    {"Module",
     [](Out& out, const ItemRow&, const EntryRows& entry) {
       out += entry.module.empty() ? kNotKnown : std::string_view(entry.module);
     },
     true},
};

}  // namespace

std::vector<ItemColumn> columns_of(DataMode mode, bool stack) {
  std::vector<ItemColumn> columns(std::begin(kFirst), std::end(kFirst));
  const auto add = [&](std::span<const ItemColumn> more) {
    columns.insert(columns.end(), more.begin(), more.end());
  };
  if (mode == DataMode::kReal) add(kReal);
  if (mode == DataMode::kStatistics) add(kDifferences);
  if (mode == DataMode::kMd5) {
    add(kMd5);
  } else {
    add(kSides);
  }
  add(kVerdict);
  if (stack) columns.push_back(kStack);
  if (mode == DataMode::kReal) columns.push_back(kDataName);
  add(kLast);
  return columns;
}

void append_texts(EntryRows& entry, std::span<const ItemColumn> columns, bool with_cells) {
  for (const ItemRow& row : entry.rows) {
    comparison::append_row(entry.texts, columns, with_cells, mark_of(row.outcome), row, entry);
  }
}

}  // namespace msprobe::dump_compare
