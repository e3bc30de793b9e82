// SPDX-License-Identifier: Apache-2.0
#include "dump/token_index.h"

#include <algorithm>
#include <cstddef>

#include <simdjson.h>

namespace msprobe::dump {
namespace {

constexpr std::size_t kLeastCapacity = 1 << 16;
constexpr std::size_t kUnusedDepth = 1;  // nesting is counted by whoever walks over the tokens

}  // namespace

TokenIndex::TokenIndex() = default;
TokenIndex::TokenIndex(TokenIndex&&) noexcept = default;
TokenIndex& TokenIndex::operator=(TokenIndex&&) noexcept = default;
TokenIndex::~TokenIndex() = default;

std::string_view TokenIndex::find(std::string_view text) {
  simdjson::error_code error = simdjson::SUCCESS;
  if (!stage_ || stage_->capacity() < text.size()) {
    const std::size_t capacity = std::max(kLeastCapacity, text.size() + text.size() / 2);
#ifdef MSPROBE_SIMDJSON_1
    const auto& implementation = simdjson::active_implementation;
#else
    const auto& implementation = simdjson::get_active_implementation();
#endif
    error = implementation->create_dom_parser_implementation(capacity, kUnusedDepth, stage_);
  }
  if (error == simdjson::SUCCESS) {
    error = stage_->stage1(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                           simdjson::stage1_mode::regular);
  }
  return error == simdjson::SUCCESS ? "" : simdjson::error_message(error);
}

std::span<const std::uint32_t> TokenIndex::tokens() const {
  return {stage_->structural_indexes.get(), stage_->n_structural_indexes};
}

}  // namespace msprobe::dump
