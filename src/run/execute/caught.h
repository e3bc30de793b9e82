// SPDX-License-Identifier: Apache-2.0
// LibTorch throws; here, and nowhere else, that becomes a reason and a text.
#pragma once

#include <algorithm>
#include <new>
#include <string_view>

#include "core/repeatable_text.h"
#include "core/skip.h"
#include "execute/adapter.h"
#include "execute/user_functions.h"

namespace msprobe::execute {

inline bool is_out_of_memory(const c10::Error& error) {
  const std::string_view text = error.what_without_backtrace();
  return text.find("can't allocate memory") != std::string_view::npos ||
         text.find("not enough memory") != std::string_view::npos ||
         text.find("out of memory") != std::string_view::npos;
}

// An allocator's message up to the bytes that were asked for: what follows is how much memory other
// calls had left.
inline std::string_view what_was_wanted(std::string_view text) {
  const std::size_t wanted = text.find("ried to allocate");
  if (wanted == std::string_view::npos) return text;
  std::size_t end = std::string_view::npos;
  for (const std::string_view next : {". ", " (", "; "})
    end = std::min(end, text.find(next, wanted));
  return text.substr(0, end);
}

// What `run` returns; `reason` where an operator failed.
template <class Run>
auto caught(SkipReason reason, const Run& run) -> OrSkip<decltype(run())> {
  try {
    return run();
  } catch (const BindError& error) {
    return skip(SkipReason::kBind, error.what());
  } catch (const UserError& error) {
    return skip(error.reason(), repeatable_text(error.what()));
  } catch (const std::bad_alloc&) {
    return skip(SkipReason::kOutOfMemory, "out of memory");
  } catch (const c10::Error& error) {
    if (is_out_of_memory(error)) {
      return skip(SkipReason::kOutOfMemory,
                  repeatable_text(what_was_wanted(error.what_without_backtrace())));
    }
    return skip(reason, repeatable_text(error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return skip(reason, repeatable_text(error.what()));
  }
}

}  // namespace msprobe::execute
