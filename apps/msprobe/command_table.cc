#include <vector>

#include "command.h"

namespace msprobe::app {
namespace {

const std::vector<Command>& table() {
  static const std::vector<Command> kCommands = {
      {"acc_check",
       "Replay every recorded API call, forward and backward, and judge what it gives.",
       "  msprobe acc_check -api_info dump/step0/rank0/dump.json\n"
       "  msprobe acc_check -api_info dump.json -o out --device cpu --jobs 4\n"
       "  msprobe acc_check -api_info dump.json -csv_path "
       "out/accuracy_checking_result_20260101000000.csv\n"
       "  msprobe acc_check -api_info dump.json --only Functional.conv2d.0\n",
       &declare_acc_check},
      {"api_precision_compare",
       "Compare the details CSVs of two devices: the final verdict per API.",
       "  msprobe api_precision_compare -npu npu/accuracy_checking_details_20260101000000.csv \\\n"
       "                                -gpu gpu/accuracy_checking_details_20260101000000.csv -o "
       "out\n"
       "  msprobe api_precision_compare -npu npu.csv -gpu gpu.csv --profile reference --titles zh\n"
       "  msprobe api_precision_compare -npu npu.csv -gpu gpu.csv --standards my.yaml --json\n",
       &declare_api_precision_compare},
      {"merge_checks", "Join the shards of one check (--shard K/N) to the result of one machine.",
       "  msprobe acc_check -api_info dump.json --shard 2/5 -o shard2\n"
       "  msprobe merge_checks shard1 shard2 shard3 shard4 shard5 -o out\n",
       &declare_merge_checks},
      {"metrics",
       "Every metric of one pair of tensors, and the verdict an API's standard gives it.",
       "  msprobe metrics bench.npy device.npy\n"
       "  msprobe metrics bench.npy device.npy --device-dtype bfloat16 --api matmul\n"
       "  msprobe metrics bench.pt device.pt --api Functional.conv2d.0 --json\n",
       &declare_metrics},
      {"multi_acc_check", "The same check with many engines, on several devices.",
       "  msprobe multi_acc_check -api_info dump/step0/rank0/dump.json -n 32 -d 0 1 2 3\n"
       "  msprobe multi_acc_check -api_info dump.json -n 4 -d cpu\n",
       &declare_multi_acc_check},
  };
  return kCommands;
}

}  // namespace

std::span<const Command> commands() { return table(); }

}  // namespace msprobe::app
