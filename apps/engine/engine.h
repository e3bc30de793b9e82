// SPDX-License-Identifier: Apache-2.0
// The one entry of the engine's library, which has two hosts: the program msprobe-engine, and the
// user's Python (host.py) for devices whose plug-in lives there.
#pragma once

// The arguments are those of msprobe-engine. Requests are read from one descriptor, frames are
// written to the other. Returns the exit status.
//   hosted              a plug-in was imported before, and bare ids are its devices
//   jit_compile_taken   the plug-in was told whether to compile
extern "C" __attribute__((visibility("default"))) int msprobe_engine_main(int argc, char** argv,
                                                                          int requests, int frames,
                                                                          int hosted,
                                                                          int jit_compile_taken);

// Runs a function of the user's Python. `request` is JSON (python_functions.cc); its tensors, of
// type at::TensorBase, are at their places. msprobe_engine_answer is called before it returns.
using MsprobeRunFunction = void (*)(const char* request, const void* const* tensors, int count,
                                    void* answer);

// Judges one call, {"name", "args", "kwargs", "outputs", "runs", "seed"}, by the functions that
// were set: its kernel against its reference. The findings as JSON, valid until the next call.
extern "C" __attribute__((visibility("default"))) const char* msprobe_engine_judge(
    const char* request, const void* const* tensors, int count);

// Before msprobe_engine_main. `names`: {"references": [...], "kernels": [...], "compared": [...]}.
extern "C" __attribute__((visibility("default"))) void msprobe_engine_set_functions(
    MsprobeRunFunction run, const char* names);
// {"value": ...} or {"error": "..."}; `tensors`, of type at::TensorImpl, are shared from then on.
extern "C" __attribute__((visibility("default"))) void msprobe_engine_answer(
    void* answer, const char* text, const void* const* tensors, int count);
