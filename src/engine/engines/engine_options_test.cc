// SPDX-License-Identifier: Apache-2.0
#include "engines/engine_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msprobe::engines {
namespace {

TEST(EngineOptions, WithoutAnythingOnlyDeviceAndThreads) {
  EngineOptions options;
  options.program = "/bin/engine";
  const EngineCommand command = command_of(options, "cpu");
  EXPECT_EQ(command.program, "/bin/engine");
  EXPECT_THAT(command.arguments, testing::ElementsAre("--device", "cpu", "--threads", "1"));
  CallCommand rerun("acc_check");
  add_device(rerun, {});
  add_flags(rerun, {});
  add_run(rerun, {});
  EXPECT_EQ(rerun.text(), "msprobe acc_check");
}

TEST(EngineOptions, WhatChangesACallReachesTheEngineAndTheRerunLine) {
  const EngineOptions options{.program = "engine",
                              .device_library = "a.so",
                              .sim_profile = "tf32",
                              .sim_config = "sim.yaml",
                              .sim_log = "log",
                              .jit_compile = true,
                              .threads = 4,
                              .replay = {.seed = 7, .hf32 = true}};
  EXPECT_THAT(command_of(options, "sim:0").arguments,
              testing::ElementsAre("--device", "sim:0", "--threads", "4", "--device-lib", "a.so",
                                   "--sim-profile", "tf32", "--sim-config", "sim.yaml", "--sim-log",
                                   "log", "--jit-compile"));
  CallCommand rerun("acc_check");
  add_device(rerun, options);
  add_flags(rerun, options);
  add_run(rerun, options);
  EXPECT_EQ(rerun.text(),
            "msprobe acc_check --device-lib a.so --sim-profile tf32 --sim-config sim.yaml --hf32 "
            "--seed 7 --threads 4 -j");
}

}  // namespace
}  // namespace msprobe::engines
