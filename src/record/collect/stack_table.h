// SPDX-License-Identifier: Apache-2.0
// stack.json: calls with equal frames share one entry.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

namespace msprobe::collect {

class StackTable {
 public:
  // `frames` is a JSON array.
  void add(const std::string& name, const std::string& frames);
  void clear();
  // The whole file.
  std::string text() const;

 private:
  struct Stack {
    std::string frames;
    std::vector<std::string> names;
  };

  std::unordered_map<std::string, std::size_t> stack_of_frames_;
  std::vector<Stack> stacks_;
};

}  // namespace msprobe::collect
