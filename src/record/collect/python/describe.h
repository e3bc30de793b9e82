// SPDX-License-Identifier: Apache-2.0
// Arguments, results and gradients of a call as the JSON of its entry.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "collect/json_text.h"
#include "collect/python/collector.h"

namespace msprobe::collect {

// What is written of one entry while its call runs.
class Describer {
 public:
  // `name` is that of the entry and of its tensor files.
  Describer(Collector& collector, std::string name, JsonText& json);
  ~Describer();
  Describer(const Describer&) = delete;
  Describer& operator=(const Describer&) = delete;

  // The elements of a tuple or list as one JSON array; `category` names their files: input, output.
  void sequence(PyObject* values, const char* category);
  void keywords(PyObject* values);
  // The tensors of a dictionary as one JSON object; `category` as above.
  void named(PyObject* values, const char* category) { members(values, category, 0); }
  // An array of one value, whose file has `part` behind the entry's name; never cut.
  void only(PyObject* value, const std::string& part);
  // A value that is the whole entry, named as above.
  void alone(PyObject* value, const std::string& part) { this->value(value, part, nullptr, 0); }
  // A result: a tuple element by element, anything else as the only element.
  void result(PyObject* value);

  // The elements of the tensors that were described since the last call.
  std::uint64_t take_elements() { return std::exchange(elements_, 0); }
  // Tensors with an infinity, NaN or saturated value among what was described since the last call.
  bool take_overflow();
  // Tensor files wait until this is called where only overflowing entries are kept.
  void save_files();

  bool saves() const { return saves_; }
  void save_into(const std::string& directory) { directory_ = directory; }

 private:
  void value(PyObject* object, const std::string& path, PyObject* keyword, int depth);
  void items(PyObject* values, const std::string& path, int depth);
  void members(PyObject* values, const std::string& path, int depth);
  void plain(const char* type, PyObject* object);
  void slice(PyObject* object);
  void none();
  bool number(PyObject* object);
  void tensor(PyObject* object, const std::string& path);
  void special(PyObject* object, const std::string& path, PyObject* keyword, int depth);
  void fields(PyObject* values, const std::string& path, int depth);
  void python_json(PyObject* object, int depth);
  void string(PyObject* object);

  // A tensor as far as it is written: its description, and its elements where they can be read.
  struct Read {
    StridedView view;
    bool has_data = true, saveable = true, requires_grad = false;
    bool is_weight = false;  // it has no tokens
    std::string type = "torch.Tensor", dtype;
    PyRef owner;                 // keeps the elements alive
    PyRef extra;                 // further keys
    std::vector<float> widened;  // the elements of `view` where it was changed to float32
  };
  bool read_plain(PyObject* object, Read& read);
  bool read_special(PyObject* object, Read& read);
  void write_dump_tensor(Read& read, const std::string& path);
  void widen(Read& read);
  void write_legacy_tensor(const Read& read);
  bool save(const Read& read, const std::string& file);

  Collector& collector_;
  std::string name_;
  JsonText& json_;
  std::string directory_;
  bool saves_ = false;
  bool is_weight_ = false;  // what is described now
  bool overflow_ = false;
  std::uint64_t elements_ = 0;
  std::size_t leaves_ = 0;  // legacy files are numbered by the leaf arguments before them
  std::vector<TensorFile> files_;
};

}  // namespace msprobe::collect
