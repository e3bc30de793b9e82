// SPDX-License-Identifier: Apache-2.0
#include "nonfinite_output.h"

#include "common_options.h"
#include "core/json_writer.h"
#include "core/log.h"
#include "core/visible_text.h"
#include "divergence/nonfinite.h"
#include "summary.h"

namespace msprobe::app {

ExitStatus show_nonfinite(const std::string& path, const std::string& json) {
  const Result<divergence::NonFiniteReport> report = divergence::find_nonfinite(path);
  if (!report) return refuse(report.error());
  for (const std::string& note : report->notes) log::warning("{}", note);
  JsonWriter writer;
  divergence::write_json(*report, writer);
  const Result<void> shown =
      show_summary(json, writer.text(), visible_text(divergence::describe(*report)));
  if (!shown) return refuse(shown.error());
  return report->origin_count > 0 ? kFailed : kPassed;
}

}  // namespace msprobe::app
