// SPDX-License-Identifier: Apache-2.0
// A step that is left for another one, because the host changed the directory of the dump, and gone
// on with when the host comes back to it.
#pragma once

#include "collect/python/collector.h"

namespace msprobe::collect {

// end_step(): gradients of calls made so far are no longer recorded; a scope begins anew.
PyObject* end_step(PyObject* self, PyObject* unused);

// park_step(key): the open step is left, flushed before; counters start again at 0.
PyObject* park_step(PyObject* self, PyObject* key);

// resume_step(key, data_directory) -> whether there was such a step; its counters go on.
PyObject* resume_step(PyObject* self, PyObject* args);

// forget_parked_steps(): none of them is gone on with.
PyObject* forget_parked_steps(PyObject* self, PyObject* unused);

}  // namespace msprobe::collect
