// SPDX-License-Identifier: Apache-2.0
#include "dump/call_sites.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/look_up.h"
#include "dump/json_walk.h"
#include "dump/printable.h"

namespace msprobe::dump {
namespace {

std::string file_and_line(std::string_view line) {
  return std::string(line.substr(line.rfind('/') + 1));
}

struct SiteMember {
  std::string_view key;
  std::string CallSite::* member;
};
constexpr SiteMember kSiteMembers[] = {
    {"module", &CallSite::module}, {"line", &CallSite::line}, {"user_line", &CallSite::user_line}};

}  // namespace

CallSite CallSites::where(std::string_view call) const {
  const std::string name = std::string(call) + ".forward";
  const auto found = std::ranges::lower_bound(entries_, name, {}, &Entry::name);
  CallSite site;
  if (found == entries_.end() || found->name != name) return site;
  JsonWalk walk(file_.text(), "");
  const auto read = [&](const JsonWalk::Member& member) -> Result<std::size_t> {
    const auto* row = std::ranges::find(kSiteMembers, member.key, &SiteMember::key);
    if (row == std::end(kSiteMembers) || !walk.is_at(member.value_at, '"')) {
      return walk.value_end(member.value_at, member.key);
    }
    std::size_t end = 0;
    const Result<std::string_view> text = walk.string(member.value_at, end);
    if (!text) return propagate(text);
    site.*row->member = is_utf8(*text) ? *text : printable(*text, text->size());
    return end;
  };
  const Result<std::size_t> end = walk.members(found->value_at, "a place", read);
  if (!end) return {};
  if (site.user_line.empty()) site.user_line = site.line;
  return site;
}

Result<CallSites> index_call_sites(FileBytes file, std::string_view name) {
  CallSites sites;
  JsonWalk walk(file.text(), name);
  const Result<bool> walked = walk.whole([&](const JsonWalk::Member& member) {
    sites.entries_.push_back({member.key, member.value_at});
    return walk.value_end(member.value_at, member.key);
  });
  if (!walked) return propagate(walked);
  sites.file_ = std::move(file);
  sites.file_.owner = walk.keep_alive(std::move(sites.file_.owner));
  std::ranges::stable_sort(sites.entries_, {}, &CallSites::Entry::name);
  return sites;
}

Result<CallSites> open_call_sites(const std::filesystem::path& path) {
  Result<FileBytes> file = load_file(path);
  if (!file) return propagate(file);
  return index_call_sites(*std::move(file), path.string());
}

std::filesystem::path call_sites_file(const std::filesystem::path& dump) {
  return dump.parent_path() / "call_sites.json";
}

std::optional<CallSites> call_sites_of(const std::filesystem::path& dump) {
  const std::filesystem::path path = call_sites_file(dump);
  if (const Result<bool> there = is_there(path); there && !*there) return std::nullopt;
  Result<CallSites> sites = open_call_sites(path);
  if (!sites) return std::nullopt;
  return *std::move(sites);
}

std::string site_text(const CallSite& site) {
  std::string text = site.module;
  const auto add = [&](std::string_view word, std::string_view line) {
    if (!line.empty())
      text += fmt::format("{}{}{}", text.empty() ? "" : ", ", word, file_and_line(line));
  };
  add("", site.line);
  if (site.user_line != site.line) add("from ", site.user_line);
  return text;
}

}  // namespace msprobe::dump
