// SPDX-License-Identifier: Apache-2.0
// How recorded calls are replayed. msprobe fills it from the command line and the dump, sends it to
// its engines once, and everything in an engine refers to it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace msprobe {

// The seed of generated inputs where a user names none.
inline constexpr std::uint64_t kDefaultSeed = 1234;

struct ReplaySettings {
  // --- As the user asks; for flags that change rows see kReplayFlags. ---
  std::uint64_t seed = kDefaultSeed;
  bool allow_tf32 = false;  // the strict status lets products round float32 inputs to TF32
  bool hf32 = false;        // both sides of conv1d and conv2d get float32 inputs rounded to HF32
  bool stochastic_casts = false;  // casts to 8 and 4 bits are judged as a property of the tensor
  bool explain = false;           // the strict status shows the terms of its bounds

  // --- As the dump is. ---
  std::string dialect = "pytorch";  // whose dump it is: how calls are read and run
  std::string dump_name = {};       // opens messages about entries
  std::string data_directory = {};  // of tensor files; empty: random mode
  bool find_moved_files = false;    // the calls name files by the path they were recorded at
  bool save_npy = false;            // error data as .npy files, as MindSpore's check leaves them
  std::string saved_device =
      "device";  // in names of saved files: "Torch.mul.0.forward.output.device.0.pt"

  // --- As the command is. ---
  bool strict = false;             // find the strict status too
  bool bench_as_device = false;    // the benchmark computes in the recorded precision too
  bool bench_alone = false;        // nothing runs on the device; the benchmark stands for both
  std::uint64_t memory_bytes = 0;  // what one call may take; 0: what the machine has
  // How often the strict status may run a user's reference, beside the first run and its
  // repetition.
  std::int32_t reference_runs = 2;
};

// Every field in turn, for those who send or read settings.
template <class Io, class Settings>
void replay_fields(Io& io, Settings& settings) {
  io(settings.seed), io(settings.allow_tf32), io(settings.hf32);
  io(settings.dialect), io(settings.dump_name), io(settings.data_directory);
  io(settings.find_moved_files), io(settings.save_npy), io(settings.saved_device);
  io(settings.strict), io(settings.bench_as_device), io(settings.bench_alone);
  io(settings.memory_bytes), io(settings.explain), io(settings.stochastic_casts);
  io(settings.reference_runs);
}

// A flag of every check. Its row declares the option, repeats it in re-run commands, and makes it
// part of what a continued run must have in common with the one before.
struct ReplayFlag {
  const char* option;
  bool ReplaySettings::* value;
  const char* help;
};
inline constexpr ReplayFlag kReplayFlags[] = {
    {"--allow-tf32", &ReplaySettings::allow_tf32,
     "allow matrix products to round float32 inputs to TF32 or HF32 (strict status)"},
    {"--hf32", &ReplaySettings::hf32,
     "round float32 inputs of conv1d and conv2d to HF32 in the benchmark, as for an npu"},
    {"--stochastic-casts", &ReplaySettings::stochastic_casts,
     "casts to 8 and 4 bits round stochastically: judge the tensor, not each code (strict status)"},
};

}  // namespace msprobe
