// SPDX-License-Identifier: Apache-2.0
// Lines of a card in the making: all of one section and subject.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "card/card.h"

namespace msprobe::identify {

class Lines {
 public:
  Lines(std::string section, std::string subject)
      : section_(std::move(section)), subject_(std::move(subject)) {}

  void know(std::string field, std::string value, std::string evidence,
            card::Confidence confidence = card::Confidence::kHigh) {
    lines_.push_back(
        {section_, subject_, std::move(field), std::move(value), confidence, std::move(evidence)});
  }
  void cannot_tell(std::string field, std::string why) {
    lines_.push_back(
        {section_, subject_, std::move(field), "", card::Confidence::kNone, std::move(why)});
  }
  std::vector<card::Line> take() { return std::move(lines_); }

 private:
  std::string section_, subject_;
  std::vector<card::Line> lines_;
};

}  // namespace msprobe::identify
