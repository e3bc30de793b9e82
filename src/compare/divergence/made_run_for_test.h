// SPDX-License-Identifier: Apache-2.0
// Small recordings for tests, made call by call.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "divergence/read_run.h"
#include "divergence/recorded_run.h"

namespace msprobe::divergence {

// A tensor as its statistics; one number stands for all of them unless they are set apart.
struct MadeTensor {
  double max, min, mean, norm;
  Shape shape{4, 8};
  std::string dtype = "torch.float32";
  std::string md5;

  MadeTensor(double value)  // NOLINT: a number is a tensor here
      : max(value), min(-0.7 * value), mean(0.1 * value), norm(3 * std::abs(value)) {}

  MadeTensor times(double factor) const {
    MadeTensor made = *this;
    for (double* value : {&made.max, &made.min, &made.mean, &made.norm}) *value *= factor;
    return made;
  }
  MadeTensor of(Shape extents) const {
    MadeTensor made = *this;
    made.shape = std::move(extents);
    return made;
  }
  MadeTensor as(std::string other_dtype) const {
    MadeTensor made = *this;
    made.dtype = std::move(other_dtype);
    return made;
  }
  MadeTensor with_checksum(std::string text) const {
    MadeTensor made = *this;
    made.md5 = std::move(text);
    return made;
  }
};

struct MadeCall {
  std::string api;  // "Torch.matmul"
  std::vector<MadeTensor> inputs, outputs;
  std::string direction = "forward";
  std::vector<std::pair<std::string, double>> arguments = {};  // "input.1", 0.5
  std::string group = {};                                      // "[0, 1]"
  int number = -1;                                             // -1: the next one of its name
};

inline dump::ItemValue made_value(double value) {
  dump::ItemValue made;
  made.kind = dump::ItemValue::Kind::kReal;
  made.real = value;
  made.text = "number";
  return made;
}

inline dump::Item made_item(const MadeTensor& tensor, std::string place, dump::ItemPart part) {
  dump::Item item;
  item.place = std::move(place);
  item.part = part;
  item.kind = dump::ItemKind::kTensor;
  item.dtype = tensor.dtype;
  item.shape = tensor.shape;
  item.max = made_value(tensor.max);
  item.min = made_value(tensor.min);
  item.mean = made_value(tensor.mean);
  item.norm = made_value(tensor.norm);
  if (!tensor.md5.empty()) {
    item.md5.kind = dump::ItemValue::Kind::kText;
    item.md5.text = tensor.md5;
  }
  return item;
}

inline Trace made_run(const std::vector<MadeCall>& calls) {
  Trace run;
  std::map<std::string, int> numbers;
  for (const MadeCall& call : calls) {
    const int number = call.number >= 0 ? call.number : numbers[call.api + call.direction]++;
    const bool module = call.api.starts_with("Module.");
    const std::string name = module
                                 ? call.api + "." + call.direction + "." + std::to_string(number)
                                 : call.api + "." + std::to_string(number) + "." + call.direction;
    dump::Entry entry;
    entry.name = name;
    entry.parts = dump::parse_entry_name(entry.name).value();
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      entry.items.push_back(
          made_item(call.inputs[i], "input." + std::to_string(i), dump::ItemPart::kInput));
    }
    for (const auto& [place, value] : call.arguments) {
      dump::Item item;
      item.place = place;
      item.kind = dump::ItemKind::kValue;
      item.value = made_value(value);
      item.value.text = entry.texts.emplace_back(std::to_string(value));
      entry.items.push_back(item);
    }
    if (!call.group.empty()) {
      dump::Item item;
      item.place = "input.group";
      item.kind = dump::ItemKind::kGroup;
      item.value.kind = dump::ItemValue::Kind::kList;
      item.value.text = call.group;
      entry.items.push_back(item);
    }
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      entry.items.push_back(made_item(call.outputs[i], "output." + std::to_string(i),
                                      call.direction == "parameters_grad"
                                          ? dump::ItemPart::kGradient
                                          : dump::ItemPart::kOutput));
    }
    add_entry(entry, run);
  }
  finish(run);
  return run;
}

}  // namespace msprobe::divergence
