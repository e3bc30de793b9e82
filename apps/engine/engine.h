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
