// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"

#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "core/visible_text.h"

namespace msprobe::log {
namespace {

constexpr std::array<spdlog::level::level_enum, 5> kSpdlogLevels{
    spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err,
    spdlog::level::off};

constexpr std::array<std::string_view, 5> kNames{"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};

spdlog::level::level_enum wanted_level() {
  const char* text = std::getenv("MSPROBE_LOG_LEVEL");
  if (text == nullptr || text[0] < '0' || text[0] > '4' || text[1] != '\0') {
    return spdlog::level::info;
  }
  return kSpdlogLevels[static_cast<std::size_t>(text[0] - '0')];
}

}  // namespace

void start() {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_st>(
      colour(STDERR_FILENO) ? spdlog::color_mode::automatic : spdlog::color_mode::never);
  sink->set_color(spdlog::level::info, sink->reset);
  auto logger = std::make_shared<spdlog::logger>("msprobe", std::move(sink));
  logger->set_level(wanted_level());
  logger->set_pattern("%^%Y-%m-%d %H:%M:%S (%P) %v%$");
  spdlog::set_default_logger(std::move(logger));
}

void only_warnings() {
  if (!level_was_asked_for()) spdlog::set_level(spdlog::level::warn);
}

bool level_was_asked_for() { return std::getenv("MSPROBE_LOG_LEVEL") != nullptr; }

void write(Severity level, std::string_view text) {
  const auto index = static_cast<std::size_t>(level);
  spdlog::log(kSpdlogLevels[index], "[{}] {}", kNames[index], clean(text));
}

std::string clean(std::string_view text) {
  static constexpr std::string_view kSpelled[] = {"08", "0a", "0b", "0c", "0d", "7f"};
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c >= '\b' && c <= '\r') || c == 0x7f) {
      result += '_';
      continue;
    }
    if (c == '%' && i + 2 < text.size()) {
      const std::string pair{
          static_cast<char>(std::tolower(static_cast<unsigned char>(text[i + 1]))),
          static_cast<char>(std::tolower(static_cast<unsigned char>(text[i + 2])))};
      bool control = false;
      for (const std::string_view spelled : kSpelled) control = control || pair == spelled;
      if (control) {
        result += '_';
        i += 2;
        continue;
      }
    }
    result += static_cast<char>(c);
  }
  return visible_line(result);
}

bool colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && no_colour[0] != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return ::isatty(descriptor) == 1;
}

}  // namespace msprobe::log
