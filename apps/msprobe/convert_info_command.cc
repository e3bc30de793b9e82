// SPDX-License-Identifier: Apache-2.0
// msprobe convert_info: graph-mode dumps become info files of minimum and maximum.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <poll.h>

#include "cli/parser.h"
#include "command.h"
#include "common_options.h"
#include "core/log.h"
#include "core/path_check.h"
#include "core/shrunken_file.h"
#include "core/visible_text.h"
#include "interrupt.h"
#include "torchair/convert_info.h"

namespace msprobe::app {
namespace {

struct ConvertArguments {
  std::string path;
  std::string arrays;
  bool watch = false;
  bool keep = false;
};

constexpr int kPauseMilliseconds = 500;

// Converts complete files, sleeps, and repeats until Ctrl-C.
void watch(torchair::Converter& converter) {
  const Interrupt interrupt;
  pollfd signals{interrupt.descriptor(), POLLIN, 0};
  do {
    converter.convert_settled();
  } while (::poll(&signals, 1, kPauseMilliseconds) == 0);
}

// The tensors of one file as arrays, for programs that want to reduce them in their own way.
ExitStatus write_arrays(const ConvertArguments& options) {
  const Result<std::filesystem::path> file = check_input_file(options.path, {});
  if (!file) return refuse(file.error());
  const Result<std::filesystem::path> directory = prepare_output_directory(options.arrays);
  if (!directory) return refuse(directory.error());
  const Result<bool> written = torchair::write_arrays(*file, *directory);
  return written ? kPassed : refuse(written.error());
}

ExitStatus run(const ConvertArguments& options) {
  install_sigbus_handler();
  if (!options.arrays.empty()) return write_arrays(options);
  const Result<std::filesystem::path> root = check_input_directory(options.path);
  if (!root) return refuse(root.error());
  torchair::ConvertEvents events;
  events.on_converted = [](const std::filesystem::path& from, const std::filesystem::path& to) {
    fmt::print("Converted: {} -> {}\n", visible_line(from.native()), visible_line(to.native()));
    std::fflush(stdout);
  };
  events.on_problem = [](const std::filesystem::path& path, const std::string& reason) {
    log::warning("{}: not converted: {}", path.string(), reason);
  };
  torchair::Converter converter(*root, {.keep_originals = options.keep}, std::move(events));
  if (options.watch) {
    log::info("watching {}; end with Ctrl-C", root->string());
    watch(converter);
    return kPassed;
  }
  const torchair::ConvertTotals totals = converter.convert_all();
  log::info("{} files converted, {} not converted", totals.converted, totals.refused);
  if (totals.refused > 0) return kFailed;
  if (totals.converted + totals.already == 0) {
    log::error("{}: no dump files", root->string());
    return kCannot;
  }
  return kPassed;
}

}  // namespace

Run declare_convert_info(cli::Parser& command) {
  auto options = std::make_shared<ConvertArguments>();
  command.value("PATH", options->path, "GE or FX dump directory").required();
  command.flag("--watch", options->watch, "keep converting beside a running dump until Ctrl-C");
  command
      .value("--arrays", options->arrays,
             "PATH is one GE file, or an npz made of one: only "
             "write its tensors to DIR, as npy")
      .named("DIR");
  command.flag("--keep", options->keep, "keep the original files");
  return [options] { return run(*options); };
}

}  // namespace msprobe::app
