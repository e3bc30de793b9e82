// SPDX-License-Identifier: Apache-2.0
// LibTorch throws; here, and nowhere else, that becomes a reason and a text.
#pragma once

#include <new>
#include <string_view>

#include "core/skip.h"
#include "execute/adapter.h"

namespace msprobe::execute {

inline bool is_out_of_memory(const c10::Error& error) {
  const std::string_view text = error.what_without_backtrace();
  return text.find("can't allocate memory") != std::string_view::npos ||
         text.find("not enough memory") != std::string_view::npos ||
         text.find("out of memory") != std::string_view::npos;
}

// What `run` returns; `reason` where an operator failed.
template <class Run>
auto caught(SkipReason reason, const Run& run) -> OrSkip<decltype(run())> {
  try {
    return run();
  } catch (const BindError& error) {
    return skip(SkipReason::kBind, error.what());
  } catch (const std::bad_alloc&) {
    return skip(SkipReason::kOutOfMemory, "out of memory");
  } catch (const c10::Error& error) {
    return skip(is_out_of_memory(error) ? SkipReason::kOutOfMemory : reason,
                error.what_without_backtrace());
  } catch (const std::exception& error) {
    return skip(reason, error.what());
  }
}

}  // namespace msprobe::execute
