// SPDX-License-Identifier: Apache-2.0
// Methods of Collector that are called once, before anything is recorded.
#pragma once

#include "collect/python/collector.h"

namespace msprobe::collect {

inline Collector& collector_of(PyObject* self) { return *reinterpret_cast<Collector*>(self); }

// set_callbacks(names: dict, dtypes: dict of dtype object to name). What a framework does not have
// is None.
PyObject* set_callbacks(PyObject* self, PyObject* args);

// configure(settings: dict)
PyObject* configure(PyObject* self, PyObject* given);

// set_apis(functions, operators): lists of (function or operator's name, prefix, api)
PyObject* set_apis(PyObject* self, PyObject* args);

}  // namespace msprobe::collect
