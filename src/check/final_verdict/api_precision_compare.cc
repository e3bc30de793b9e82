// SPDX-License-Identifier: Apache-2.0
#include "final_verdict/api_precision_compare.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file.h"
#include "core/formula.h"
#include "documented/detail_metrics.h"
#include "documented/judge.h"
#include "final_verdict/call_verdict.h"
#include "final_verdict/compare_columns.h"
#include "final_verdict/details_name.h"
#include "final_verdict/gpu_index.h"
#include "final_verdict/row_compare.h"
#include "final_verdict/strict_verdict.h"
#include "tables/csv_text.h"
#include "tables/detail_columns.h"
#include "tables/output_file.h"
#include "tables/table_reader.h"

namespace msprobe::final_verdict {
namespace {

using documented::DetailRow;
using documented::Profile;
using documented::ResultRow;
using DetailReader = tables::TableReader<DetailRow>;

// Not needed to compare; the public tool's own older files lack some of them.
bool optional_column(std::string_view english) {
  static constexpr std::string_view kOptional[] = {"Bench Dtype",
                                                   "Shape",
                                                   documented::kCosineMetric.english,
                                                   documented::kMaxAbsMetric.english,
                                                   documented::kDual100Metric.english,
                                                   documented::kDual10000Metric.english,
                                                   documented::kMaxUlpMetric.english,
                                                   "Status",
                                                   "Message"};
  return std::ranges::find(kOptional, english) != std::end(kOptional);
}

struct DetailsFile {
  FileBytes bytes;
  DetailReader reader;
  std::size_t forgotten = 0;

  // The next row; the memory of those before it is given back from time to time. What a CSV has
  // only in its messages is found there.
  Result<bool> next(DetailRow& row) {
    constexpr std::size_t kStep = std::size_t{4} << 20;
    if (reader.csv().offset() - forgotten > kStep) {
      forgotten = reader.csv().offset();
      bytes.forget(forgotten);
    }
    Result<bool> more = reader.next(row);
    row.skip = reason_of(row.message);
    row.float8_input = row.message.find(documented::kFloat8Input) != std::string::npos;
    return more;
  }
};

bool is_result_csv(const std::filesystem::path& path) {
  return path.filename().native().starts_with("accuracy_checking_result");
}

Result<DetailsFile> open_details(const std::filesystem::path& path, std::string_view label,
                                 tables::Titles titles) {
  Result<FileBytes> bytes = load_file(path);
  if (!bytes) return propagate(bytes);
  DetailRow blank;
  blank.status = Verdict::kPass;  // a file without Status is judged by its metrics
  const auto columns = tables::detail_columns(Profile::kDocumented);
  Result<DetailReader> reader =
      DetailReader::start(bytes->text(), path.string(), columns, std::move(blank));
  if (!reader) return propagate(reader);
  std::vector<std::string_view> missing;
  for (const auto& column : columns) {
    if (!reader->has(column) && !column.added && !optional_column(column.english)) {
      missing.push_back(column.title(titles));
    }
  }
  if (!missing.empty()) {
    return fail(ErrorKind::kFormat,
                fmt::format("The following columns {{{}}} are missing in {}: {}{}",
                            fmt::join(missing, ","), label, path.string(),
                            is_result_csv(path) ? "; this is the result CSV of a check: pass the "
                                                  "details CSV beside it"
                                                : ""));
  }
  return DetailsFile{std::move(*bytes), std::move(*reader), 0};
}

Result<GpuIndex> read_gpu(const PrecisionOptions& options) {
  Result<DetailsFile> file = open_details(options.gpu_csv, "gpu_csv", options.titles);
  if (!file) return propagate(file);
  GpuIndex index;
  DetailRow row;
  while (true) {
    const Result<bool> more = file->next(row);
    if (!more) return propagate(more);
    if (!*more) return index;
    index.add(row, file->reader.csv().line(), !file->reader.problem().empty());
  }
}

void add_strict(const DetailRow& npu, const GpuRow* gpu, CompareRow& row) {
  row.strict_device = npu.strict_status;
  if (gpu != nullptr && !gpu->repeated) row.strict_reference = gpu->strict;
  StrictVerdict verdict =
      strict_verdict(row.strict_device, row.strict_reference, is_alarm(row.result));
  if (npu.status == Verdict::kSkip) verdict = with_skip(verdict, npu.skip);
  row.strict_verdict = name(verdict);
}

// The two files being written, and what goes into them.
class Comparison {
 public:
  Comparison(const PrecisionOptions& options, GpuIndex index, tables::OutputFile details,
             tables::OutputFile result)
      : options_(options),
        rules_{options.profile, options.titles, options.standards},
        index_(std::move(index)),
        details_(std::move(details)),
        result_(std::move(result)) {
    details_.buffer() +=
        tables::csv_header(compare_detail_columns(options.profile), options.titles);
    result_.buffer() += tables::csv_header(compare_result_columns(options.profile), options.titles);
    outcome_.gpu_rows = index_.row_count();
  }

  // False: the public tool would stop here.
  Result<bool> add(const DetailRow& npu, const std::string& problem);
  Result<PrecisionOutcome> finish();

 private:
  Result<bool> add_unnamed(const DetailRow& npu, std::string message);
  Result<bool> add_named(const DetailRow& npu, const DetailsName& name, const std::string& problem,
                         const GpuRow* gpu);
  void count(const ComparedRow& compared);
  Result<void> write(const CompareRow& row);
  Result<void> write(const ResultRow& row);
  Result<void> finish_call();
  void warn(std::string_view text) const {
    if (options_.warn) options_.warn(text);
  }

  const PrecisionOptions& options_;
  CompareRules rules_;
  GpuIndex index_;
  tables::OutputFile details_;
  tables::OutputFile result_;
  std::optional<CallVerdict> call_;
  PrecisionOutcome outcome_;
};

Result<void> Comparison::write(const CompareRow& row) {
  outcome_.rows.add(row.result);
  tables::append_record(details_.buffer(), compare_detail_columns(options_.profile), row,
                        options_.precision);
  return details_.flush_if_full();
}

Result<void> Comparison::write(const ResultRow& row) {
  ++outcome_.calls;
  outcome_.strict.add(row.strict_verdict);
  outcome_.forward.add(row.forward);
  outcome_.backward.add(row.backward);
  if (options_.on_result) options_.on_result(row);
  tables::append_record(result_.buffer(), compare_result_columns(options_.profile), row,
                        options_.precision);
  return result_.flush_if_full();
}

Result<void> Comparison::finish_call() {
  if (!call_) return {};
  const ResultRow row = call_->conclude(rules_);
  call_.reset();
  return write(row);
}

// A row that belongs to no call has its own line in the result CSV. Documented: in its place;
// public tool: before the call that is still open.
Result<bool> Comparison::add_unnamed(const DetailRow& npu, std::string message) {
  if (options_.profile == Profile::kDocumented) {
    const Result<void> finished = finish_call();
    if (!finished) return propagate(finished);
  }
  Result<void> written = write(skip_row(npu.api_name, message));
  if (!written) return propagate(written);
  written = write(ResultRow{.api_name = npu.api_name,
                            .forward = Verdict::kSkip,
                            .backward = Verdict::kSkip,
                            .message = std::move(message)});
  if (!written) return propagate(written);
  return true;
}

void Comparison::count(const ComparedRow& compared) {
  outcome_.npu_only += compared.fate == RowFate::kNoGpuRow ? 1 : 0;
  outcome_.repeated += compared.fate == RowFate::kRepeatedGpuRow ? 1 : 0;
  outcome_.not_same += compared.fate == RowFate::kNotSame ? 1 : 0;
  const bool partner_missing =
      compared.fate == RowFate::kNoGpuRow || compared.fate == RowFate::kRepeatedGpuRow;
  if (partner_missing) warn(compared.row.message);
}

Result<bool> Comparison::add_named(const DetailRow& npu, const DetailsName& name,
                                   const std::string& problem, const GpuRow* gpu) {
  ComparedRow compared = compare_row(npu, name, problem, gpu, rules_);
  count(compared);
  if (options_.profile == Profile::kDocumented) add_strict(npu, gpu, compared.row);
  if (options_.profile == Profile::kReference) {
    if (compared.fate == RowFate::kNoGpuRow) return true;
    if (compared.fate == RowFate::kRepeatedGpuRow) {
      outcome_.stopped = compared.row.message;
      return false;
    }
    if (compared.fate == RowFate::kCannotBeJudged) return add_unnamed(npu, compared.row.message);
  }
  if (call_ && call_->call() != name.call) {
    const Result<void> finished = finish_call();
    if (!finished) return propagate(finished);
  }
  if (!call_) call_.emplace(name);
  call_->add(compared, name.forward);
  const Result<void> written = write(compared.row);
  if (!written) return propagate(written);
  return true;
}

Result<bool> Comparison::add(const DetailRow& npu, const std::string& problem) {
  ++outcome_.npu_rows;
  GpuRow* const gpu = index_.find(npu.api_name);
  if (gpu != nullptr) gpu->matched = true;
  if (unsafe_name(npu.api_name)) {
    ++outcome_.invalid_names;
    return add_unnamed(npu, "api name contains special characters, please check!");
  }
  const std::optional<DetailsName> name = parse_details_name(npu.api_name);
  if (!name) {
    ++outcome_.invalid_names;
    return add_unnamed(npu, fmt::format("The API name {} is invalid.", npu.api_name));
  }
  return add_named(npu, *name, problem, gpu);
}

Result<PrecisionOutcome> Comparison::finish() {
  // Where the public tool stops, the call that is still open is lost.
  if (outcome_.stopped.empty()) {
    const Result<void> finished = finish_call();
    if (!finished) return propagate(finished);
  }
  for (const std::string_view name : index_.unmatched()) {
    ++outcome_.gpu_only;
    warn(fmt::format("This API : {} does not exist in the NPU data.", name));
  }
  Result<void> committed = details_.commit();
  if (!committed) return propagate(committed);
  committed = result_.commit();
  if (!committed) return propagate(committed);
  return std::move(outcome_);
}

}  // namespace

void VerdictCounts::add(std::optional<Verdict> verdict) {
  if (!verdict) {
    ++blank;
    return;
  }
  switch (*verdict) {
    case Verdict::kPass:
      ++pass;
      break;
    case Verdict::kWarning:
      ++warning;
      break;
    case Verdict::kError:
      ++error;
      break;
    case Verdict::kInconclusive:  // no documented verdict
    case Verdict::kSkip:
      ++skip;
      break;
  }
}

void StrictCounts::add(std::string_view verdict) {
  for (const auto& [kind, count] :
       {std::pair(StrictVerdict::kPass, &pass),
        std::pair(StrictVerdict::kDeviceWrong, &device_wrong),
        std::pair(StrictVerdict::kBothWrong, &both_wrong),
        std::pair(StrictVerdict::kDocumentedOnly, &documented_only),
        std::pair(StrictVerdict::kRaised, &raised), std::pair(StrictVerdict::kLost, &lost),
        std::pair(StrictVerdict::kInconclusive, &inconclusive),
        std::pair(StrictVerdict::kSkip, &skip)}) {
    if (verdict == name(kind)) ++*count;
  }
}

Verdict PrecisionOutcome::worst() const {
  if (forward.error + backward.error > 0) return Verdict::kError;
  if (forward.warning + backward.warning > 0) return Verdict::kWarning;
  return forward.pass + backward.pass > 0 ? Verdict::kPass : Verdict::kSkip;
}

Result<PrecisionOutcome> api_precision_compare(const PrecisionOptions& options) {
  Result<DetailsFile> npu = open_details(options.npu_csv, "npu_csv", options.titles);
  if (!npu) return propagate(npu);
  Result<GpuIndex> index = read_gpu(options);
  if (!index) return propagate(index);
  std::string number;
  const auto stem_of = [&](std::string_view kind) {
    return fmt::format("api_precision_compare_{}_{}", kind, options.timestamp);
  };
  const auto path_of = [&](std::string_view kind) {
    return options.out_dir / (stem_of(kind) + number + ".csv");
  };
  Result<tables::FreeOutput> details =
      tables::create_free(options.out_dir, stem_of("details"), ".csv");
  if (!details) return propagate(details);
  number = details->number;
  Result<tables::OutputFile> result = tables::OutputFile::create(path_of("result"));
  if (!result) return propagate(result);

  Comparison comparison(options, std::move(*index), std::move(details->file), std::move(*result));
  DetailRow row;
  while (true) {
    const Result<bool> more = npu->next(row);
    if (!more) return propagate(more);
    if (!*more) break;
    const Result<bool> goes_on = comparison.add(row, npu->reader.problem());
    if (!goes_on) return propagate(goes_on);
    if (!*goes_on) break;
  }
  Result<PrecisionOutcome> outcome = comparison.finish();
  if (!outcome) return propagate(outcome);
  outcome->details_csv = path_of("details");
  outcome->result_csv = path_of("result");
  return outcome;
}

}  // namespace msprobe::final_verdict
