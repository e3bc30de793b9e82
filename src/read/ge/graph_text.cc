// SPDX-License-Identifier: Apache-2.0
#include "ge/graph_text.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "ge/text_tokens.h"

namespace msprobe::ge {
namespace {

constexpr std::string_view kFxTensorName = "_fx_tensor_name";

// Reads messages of the text. Every function returns false once the text is broken; `stopped` is
// then where.
class GraphReader {
 public:
  explicit GraphReader(std::string_view text) : tokens_(text) {}

  bool read(Graph& graph) {
    return read_message(std::nullopt, [&](std::string_view field) {
      if (field == "name") return read_string(graph.name);
      if (field != "op") return skip_value();
      GraphOp op;
      if (!read_op(op)) return false;
      graph.ops.push_back(std::move(op));
      return true;
    });
  }

  std::size_t line() const { return tokens_.line(); }

 private:
  // Calls on_field(name) with the tokens standing behind the name, for each field up to the sign
  // that closes the message, or up to the end if there is none.
  template <class OnField>
  bool read_message(std::optional<char> close, OnField on_field) {
    for (;;) {
      const Token token = tokens_.next();
      if (close && token.is(*close)) return true;
      if (token.kind == TokenKind::kEnd) return !close;
      if (token.is('[')) {  // the name of an extension
        if (!skip_to(']') || !skip_value()) return false;
      } else if (token.kind != TokenKind::kWord || !on_field(token.text)) {
        return false;
      }
    }
  }

  // Behind the name of a field whose value is a message.
  template <class OnField>
  bool read_submessage(OnField on_field) {
    if (tokens_.peek().is(':')) tokens_.next();
    const Token open = tokens_.next();
    if (open.is('{')) return read_message('}', on_field);
    return open.is('<') && read_message('>', on_field);
  }

  bool read_string(std::string& out) {
    if (!tokens_.next().is(':')) return false;
    out.clear();
    if (tokens_.peek().kind != TokenKind::kString) return false;
    while (tokens_.peek().kind == TokenKind::kString) append_unescaped(out, tokens_.next().text);
    return true;
  }

  bool skip_to(char sign) {
    for (;;) {
      const Token token = tokens_.next();
      if (token.is(sign)) return true;
      if (token.kind == TokenKind::kEnd || token.kind == TokenKind::kBroken) return false;
    }
  }

  // Anything: numbers, strings, lists, messages; nested ones are counted, not entered.
  bool skip_value() {
    if (tokens_.peek().is(':')) tokens_.next();
    int depth = 0;
    do {
      const Token token = tokens_.next();
      if (token.kind == TokenKind::kEnd || token.kind == TokenKind::kBroken) return false;
      if (token.is('{') || token.is('<') || token.is('[')) ++depth;
      if (token.is('}') || token.is('>') || token.is(']')) --depth;
    } while (depth > 0);
    while (tokens_.peek().kind == TokenKind::kString) tokens_.next();
    return depth == 0;
  }

  // The value of an attribute of that key, where it is a string; other attributes are passed over.
  bool read_attribute(std::string_view wanted, std::string& out) {
    std::string key;
    std::string value;
    const bool fine = read_submessage([&](std::string_view field) {
      if (field == "key") return read_string(key);
      if (field != "value") return skip_value();
      return read_submessage(
          [&](std::string_view kind) { return kind == "s" ? read_string(value) : skip_value(); });
    });
    if (fine && key == wanted) out = std::move(value);
    return fine;
  }

  bool read_description(std::string& fx_name) {
    return read_submessage([&](std::string_view field) {
      return field == "attr" ? read_attribute(kFxTensorName, fx_name) : skip_value();
    });
  }

  bool read_op(GraphOp& op) {
    std::vector<std::string> inputs;
    std::vector<std::string> input_fx_names;
    const bool fine = read_submessage([&](std::string_view field) {
      if (field == "name") return read_string(op.name);
      if (field == "type") return read_string(op.type);
      if (field == "input") return read_string(inputs.emplace_back());
      if (field == "input_desc") return read_description(input_fx_names.emplace_back());
      if (field == "output_desc") return read_description(op.fx_names.emplace_back());
      return skip_value();
    });
    if (fine) add_edges(inputs, input_fx_names, op);
    return fine;
  }

  // Control edges ("X:-1") have no input_desc; unfed optional inputs ("") have one.
  static void add_edges(const std::vector<std::string>& inputs,
                        const std::vector<std::string>& fx_names, GraphOp& op) {
    std::size_t description = 0;
    for (const std::string& input : inputs) {
      const std::size_t colon = input.rfind(':');
      const std::string_view place =
          colon == std::string::npos ? "0" : std::string_view(input).substr(colon + 1);
      std::int64_t output = 0;
      const auto parsed = std::from_chars(place.data(), place.data() + place.size(), output);
      const bool is_control = parsed.ec == std::errc() && output < 0;
      const std::size_t at = is_control ? fx_names.size() : description++;
      if (is_control || input.empty()) continue;
      const std::string fx_name = at < fx_names.size() ? fx_names[at] : std::string();
      op.inputs.push_back({input.substr(0, colon), static_cast<std::uint32_t>(output), fx_name});
    }
  }

  Tokens tokens_;
};

}  // namespace

Graph read_graph_text(std::string_view text) {
  Graph graph;
  GraphReader reader(text);
  if (!reader.read(graph)) {
    graph.problem = fmt::format(
        "line {}: the graph text breaks off or is damaged here; {} operators "
        "were read before",
        reader.line(), graph.ops.size());
  }
  return graph;
}

}  // namespace msprobe::ge
