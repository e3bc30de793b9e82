// SPDX-License-Identifier: Apache-2.0
// The top level of dump.json: what it says of the recording, and where its entries are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.h"
#include "dump/json_walk.h"

namespace msprobe::dump {

struct DumpHeader {
  std::string task;                      // empty: not there
  std::string level;                     // empty: not there
  std::optional<std::string> framework;  // as written
  std::string dump_data_dir;             // empty: random mode
  std::optional<bool> jit_compile;       // as it was when the dump was made; empty: not recorded
  std::string framework_version;         // the same
};

class TopLevel {
 public:
  using Member = JsonWalk::Member;

  // `walk` and `name` (the file in messages) must outlive it.
  TopLevel(JsonWalk& walk, std::string_view name) : walk_(walk), name_(name) {}

  // Walks the whole text; on_entry(member) is called for every member of "data" and returns where
  // its value ends.
  template <class OnEntry>
  Result<DumpHeader> scan(OnEntry on_entry) {
    const Result<bool> walked = walk_.whole([&](const Member& member) -> Result<std::size_t> {
      const std::size_t key = find_key(member.key);
      if (key == kTopKeys.size()) return walk_.value_end(member.value_at, member.key);
      if (std::exchange(seen_[key], true)) {
        return walk_.fault(member.key_at, "\"" + std::string(member.key) + "\" only once");
      }
      if (key == kData) return walk_.members(member.value_at, "\"data\"", on_entry);
      return read_header(member, static_cast<TopKey>(key));
    });
    if (!walked) return propagate(walked);
    if (!seen_[kData]) return no_data();
    return std::move(header_);
  }

 private:
  enum TopKey : std::uint8_t {
    kTask,
    kLevel,
    kFramework,
    kDirectory,
    kJitCompile,
    kVersion,
    kData
  };
  static constexpr std::array<std::string_view, 7> kTopKeys{
      "task", "level", "framework", "dump_data_dir", "jit_compile", "framework_version", "data"};

  static std::size_t find_key(std::string_view key);
  Result<std::size_t> read_header(const Member& member, TopKey key);
  Result<std::string> header_text(const Member& member, std::size_t end, bool lenient) const;
  Failure no_data() const;

  JsonWalk& walk_;
  std::string_view name_;
  DumpHeader header_;
  std::array<bool, kTopKeys.size()> seen_{};
};

}  // namespace msprobe::dump
