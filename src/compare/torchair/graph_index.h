// SPDX-License-Identifier: Apache-2.0
// The graph of a network, ready to be asked: who is it, who reads it, which FX node does it belong
// to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ge/graph_text.h"
#include "torchair/fx_files.h"

namespace msprobe::torchair {

using OpId = std::size_t;

class GraphIndex {
 public:
  explicit GraphIndex(ge::Graph graph);

  const ge::GraphOp& op(OpId id) const { return graph_.ops[id]; }
  std::size_t size() const { return graph_.ops.size(); }
  const std::string& problem() const { return graph_.problem; }

  std::optional<OpId> find(std::string_view name) const;
  // By the name as a file name spells it; the first where several are spelled alike.
  std::optional<OpId> find_escaped(std::string_view name) const;

  // Operators that read output `output` of `id`.
  std::vector<OpId> readers(OpId id, std::uint32_t output) const;

  // The FX node an operator is the result of; nothing for helpers.
  std::optional<std::string> fx_key(OpId id) const;
  // The FX name of one output; empty if it has none.
  std::string_view fx_name(OpId id, std::uint32_t output) const;

  // Graph inputs and constants: values that no operator computes.
  bool is_source(OpId id) const;

 private:
  ge::Graph graph_;
  std::unordered_map<std::string, OpId> by_name_;
  std::unordered_map<std::string, OpId> by_escaped_name_;
  std::unordered_map<std::string, std::vector<std::pair<std::uint32_t, OpId>>> readers_;
};

}  // namespace msprobe::torchair
