// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or an Error that says in one line what was wrong and where.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace msprobe {

// What kind of thing went wrong; it decides the exit status and the skip reason, never the wording.
enum class ErrorKind : std::uint8_t {
  kUsage,        // the command line or a configuration is wrong
  kIo,           // a file cannot be opened, read or written
  kFormat,       // a file or an entry is malformed
  kHostile,      // a file asks for something no honest file asks for (code, paths outside, bombs)
  kUnsupported,  // well-formed, but nothing this build can do
  kExecution,    // an operator failed
};

struct Error {
  ErrorKind kind = ErrorKind::kFormat;
  std::string message;
};

template <class T>
using Result = std::expected<T, Error>;
using Failure = std::unexpected<Error>;

inline Failure fail(ErrorKind kind, std::string message) {
  return Failure(Error{kind, std::move(message)});
}

// Hands on the error of `result`, with `context` in front of its message.
template <class T>
Failure propagate(const Result<T>& result, std::string_view context) {
  return fail(result.error().kind, std::string(context) + ": " + result.error().message);
}

template <class T>
Failure propagate(const Result<T>& result) {
  return Failure(result.error());
}

}  // namespace msprobe
