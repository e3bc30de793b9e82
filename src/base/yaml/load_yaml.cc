// SPDX-License-Identifier: Apache-2.0
#include "yaml/load_yaml.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

namespace msprobe::yaml {
namespace {

struct Size {
  std::uint64_t nodes = 0;
  std::uint64_t bytes = 0;
};

// Follows the events of a document and adds up what it would be without aliases.
class ExpandedSize : public YAML::EventHandler {
 public:
  explicit ExpandedSize(std::size_t text_bytes)
      : most_nodes_(std::max<std::uint64_t>(kMostNodes, text_bytes)),
        most_bytes_(std::max<std::uint64_t>(kMostBytes, text_bytes)) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(mark, anchor, 0); }
  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                const std::string& value) override {
    leaf(mark, anchor, value.size());
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const bool is_open = std::ranges::find(open_, anchor, &Open::anchor) != open_.end();
    if (is_open) throw YAML::ParserException(mark, "an alias inside of what it stands for");
    add(mark, sizes_[anchor]);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    begin(mark, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    begin(mark, anchor);
  }
  void OnMapEnd() override { end(); }

 private:
  struct Open {
    YAML::anchor_t anchor;
    Size before;
  };

  void add(const YAML::Mark& mark, const Size& size) {
    total_.nodes += size.nodes;
    total_.bytes += size.bytes;
    if (total_.nodes > most_nodes_ || total_.bytes > most_bytes_) {
      throw YAML::ParserException(
          mark, fmt::format("with its aliases written out the document has more than {} values or "
                            "{} MB of text",
                            most_nodes_, most_bytes_ >> 20U));
    }
  }
  void leaf(const YAML::Mark& mark, YAML::anchor_t anchor, std::size_t bytes) {
    const Size size{1, bytes};
    add(mark, size);
    if (anchor != YAML::NullAnchor) sizes_[anchor] = size;
  }
  void begin(const YAML::Mark& mark, YAML::anchor_t anchor) {
    open_.push_back({anchor, total_});
    add(mark, {1, 0});
  }
  void end() {
    const Open closed = open_.back();
    open_.pop_back();
    if (closed.anchor == YAML::NullAnchor) return;
    sizes_[closed.anchor] = {total_.nodes - closed.before.nodes,
                             total_.bytes - closed.before.bytes};
  }

  std::uint64_t most_nodes_;
  std::uint64_t most_bytes_;
  std::map<YAML::anchor_t, Size> sizes_;
  std::vector<Open> open_;
  Size total_;
};

}  // namespace

YAML::Node load(std::string_view text) {
  const std::string copy(text);
  std::istringstream stream(copy);
  YAML::Parser parser(stream);
  ExpandedSize size(text.size());
  parser.HandleNextDocument(size);
  return YAML::Load(copy);
}

}  // namespace msprobe::yaml
