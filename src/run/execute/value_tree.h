// SPDX-License-Identifier: Apache-2.0
// Walks over arguments and results: lists, dictionaries, and the tensors in them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "arguments/py_value.h"

namespace msprobe::execute {

using arguments::PyDict;
using arguments::PyList;
using arguments::PyValue;

// Calls `visit` with every leaf, depth first.
template <class Visit>
void for_each_leaf(const PyValue& value, const Visit& visit) {
  if (const auto* list = value.as<PyList>()) {
    for (const PyValue& item : *list) for_each_leaf(item, visit);
  } else if (const auto* dict = value.as<PyDict>()) {
    for (const auto& [key, item] : *dict) for_each_leaf(item, visit);
  } else {
    visit(value);
  }
}

template <class Visit>
void for_each_tensor(const PyValue& value, const Visit& visit) {
  for_each_leaf(value, [&](const PyValue& leaf) {
    if (const auto* tensor = leaf.as<at::Tensor>()) visit(*tensor);
  });
}

// A copy in which every leaf is what `change` makes of it.
template <class Change>
PyValue map_leaves(const PyValue& value, const Change& change) {
  if (const auto* list = value.as<PyList>()) {
    PyList items;
    items.reserve(list->size());
    for (const PyValue& item : *list) items.push_back(map_leaves(item, change));
    return {std::move(items)};
  }
  if (const auto* dict = value.as<PyDict>()) {
    PyDict items;
    items.reserve(dict->size());
    for (const auto& [key, item] : *dict) items.emplace_back(key, map_leaves(item, change));
    return {std::move(items)};
  }
  return change(value);
}

}  // namespace msprobe::execute
