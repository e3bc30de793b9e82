// SPDX-License-Identifier: Apache-2.0
// The built page of web/dist, embedded at build time. Its files are inline; by their hashes the
// page allows them and nothing else.
#pragma once

#include <string>
#include <string_view>

namespace msprobe::report {

struct PageFile {
  std::string_view text;
  std::string_view sha256;  // in hexadecimal digits
};

extern const PageFile kPageScript;
extern const PageFile kPageStyle;
extern const PageFile kCardStyle;  // what the page of a card has beyond kPageStyle

// The source of a Content-Security-Policy that allows this file, inline, and no other:
// "'sha256-...'".
std::string policy_source(const PageFile& file);

}  // namespace msprobe::report
