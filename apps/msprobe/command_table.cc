// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "command.h"

namespace msprobe::app {
namespace {

const std::vector<Command>& table() {
  static const std::vector<Command> kCommands = {
      {CommandGroup::kStartHere, "acc_check",
       "Replay every recorded API call, forward and backward, and judge the results.",
       "  msprobe acc_check dump/step0/rank0/dump.json\n"
       "  msprobe acc_check dump -d npu:0 -o out --report\n"
       "  msprobe acc_check -api_info dump.json -o out -d cpu --jobs 4\n"
       "  msprobe acc_check -api_info dump.json \\\n"
       "      -csv_path out/accuracy_checking_result_20260101000000.csv\n"
       "  msprobe acc_check -api_info dump.json --only Functional.conv2d.0\n",
       &declare_acc_check},
      {CommandGroup::kMore, "api_precision_compare",
       "Compare the details CSVs of two devices: the final verdict per API.",
       "  msprobe api_precision_compare npu_out gpu_out -o out  # the -o of two checks\n"
       "  msprobe api_precision_compare -o out \\\n"
       "      -npu npu/accuracy_checking_details_20260101000000.csv \\\n"
       "      -gpu gpu/accuracy_checking_details_20260101000000.csv\n"
       "  msprobe api_precision_compare -npu npu.csv -gpu gpu.csv --titles zh\n"
       "  msprobe api_precision_compare -npu npu.csv -gpu gpu.csv \\\n"
       "      --standards my.yaml --json\n",
       &declare_api_precision_compare},
      {CommandGroup::kStartHere, "compare",
       "Compare two dumps item by item: two runs of a model, or graph-mode dumps (TorchAir).",
       "  msprobe compare npu/step0 gpu/step0 -o out --report\n"
       "  msprobe compare npu/step0 --nan           # where the first NaN comes from\n"
       "  msprobe compare -tp npu/rank0/dump.json -gp gpu/rank0/dump.json --xlsx\n"
       "  msprobe compare -tp dump/msprobe_ge_dump -gp dump/msprobe_fx_dump\n",
       &declare_compare},
      {CommandGroup::kMore, "convert_info",
       "Turn graph-mode dumps into info files of minimum and maximum.",
       "  msprobe convert_info msprobe_ge_dump\n"
       "  msprobe convert_info msprobe_fx_dump --watch\n",
       &declare_convert_info},
      {CommandGroup::kMore, "diff",
       "Compare two checks of the same calls: new failures, fixed, still failing.",
       "  msprobe diff old new                      # the -o directories of two checks\n"
       "  msprobe diff old.csv new.csv --fail-on strict --json\n",
       &declare_diff},
      {CommandGroup::kMore, "merge_checks", "Join the shards of one check (--shard K/N).",
       "  msprobe acc_check -api_info dump.json --shard 2/5 -o shard2\n"
       "  msprobe merge_checks shard1 shard2 shard3 shard4 shard5 -o out\n",
       &declare_merge_checks},
      {CommandGroup::kMore, "metrics",
       "Show every metric of one pair of tensors, and the verdict for an API.",
       "  msprobe metrics bench.npy device.npy\n"
       "  msprobe metrics bench.npy device.npy --device-dtype bfloat16 --api matmul\n"
       "  msprobe metrics bench.pt device.pt --api Functional.conv2d.0 --json\n",
       &declare_metrics},
      {CommandGroup::kMore, "multi_acc_check",
       "Run acc_check with many engines, on one or several devices.",
       "  msprobe multi_acc_check -api_info dump.json -n 32 -d 0 1 2 3\n"
       "  msprobe multi_acc_check -api_info dump.json -n 4 -d cpu\n",
       &declare_multi_acc_check},
      {CommandGroup::kMore, "predict",
       "Predict what a device will compute for a matrix product, from its card.",
       "  msprobe predict dump.json --card card.json --only Torch.matmul.0 -o out\n"
       "  msprobe predict dump.json --card card.json --only Torch.matmul.0 -d npu:0\n",
       &declare_predict},
      {CommandGroup::kMore, "probe_device",
       "Find out how a device computes: the card of its arithmetic.",
       "  msprobe probe_device -d npu:0 -o card.json\n"
       "  msprobe probe_device -d cpu --only products --evidence\n"
       "  msprobe probe_device --diff old.json new.json\n"
       "  msprobe probe_device --read card.json --html card.html\n",
       &declare_probe_device},
      {CommandGroup::kStartHere, "report",
       "Write an HTML page of results: what fails, how badly, why, and where.",
       "  msprobe report out\n"
       "  msprobe report npu/accuracy_checking_result_20260101000000.csv \\\n"
       "      gpu/accuracy_checking_result_20260101000000.csv -o two_devices.html\n"
       "  msprobe report old new -o what_changed.html\n"
       "  msprobe report details.csv --dump dump.json \\\n"
       "      --junit verdicts.xml --sarif verdicts.sarif\n",
       &declare_report},
      {CommandGroup::kMore, "run_overflow_check",
       "Check whether the overflow of a call comes from its data or from the device.",
       "  msprobe run_overflow_check -forward forward_info_0.json\n"
       "  msprobe run_overflow_check -forward forward_info_0.json \\\n"
       "      -backward backward_info_0.json -d npu:0 -o out\n"
       "  msprobe run_overflow_check dump.json -d npu:0\n"
       "  msprobe compare dump/step0 --nan          # where the first NaN comes from\n",
       &declare_run_overflow_check},
      {CommandGroup::kOlderName, "run_ut",
       "Check recordings of the older api_accuracy_checker.dump.",
       "  msprobe run_ut -forward forward_info_0.json \\\n"
       "      -backward backward_info_0.json\n"
       "  msprobe run_ut -forward forward_info_0.json \\\n"
       "      -backward backward_info_0.json -save_error_data --out_path out\n"
       "  msprobe run_ut -forward forward_info_0.json \\\n"
       "      -backward backward_info_0.json -csv_path accuracy_checking_result.csv\n",
       &declare_run_ut},
      {CommandGroup::kMore, "self_check",
       "Check the verdicts against a simulated device with known faults.",
       "  msprobe self_check --jobs 2\n"
       "  msprobe self_check --only wrong_tile --only tf32 --json scores.json\n",
       &declare_self_check},
      {CommandGroup::kStartHere, "shrink",
       "Reduce a failing call to its smallest form: a dump and a Python script.",
       "  msprobe shrink -api_info dump.json --only Torch.matmul.0 -d npu:0 -o shrunk\n"
       "  msprobe shrink dump.json --only Torch.matmul.0 -d sim --sim-config sim.yaml\n",
       &declare_shrink},
      {CommandGroup::kMore, "verify",
       "Check one kernel of yours against a plain PyTorch function, without a dump.",
       "  msprobe verify kernel.py reference.py\n"
       "  msprobe verify kernels.py:softmax kernels.py:softmax_reference --seed 7\n",
       &declare_verify},
  };
  return kCommands;
}

}  // namespace

std::span<const Command> commands() { return table(); }

}  // namespace msprobe::app
