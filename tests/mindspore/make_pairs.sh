#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Records the dumps of tests/cases/compare_mindspore_* again. They were made with MindSpore 2.10.0, PyTorch 2.13.0 and numpy 1.26, on the CPU.
#
#   tests/mindspore/make_pairs.sh PYTHON_WITH_MINDSPORE PYTHON_WITH_TORCH     after a build; then tests/run_case.py PROGRAM CASE --update
set -euo pipefail
cd "$(dirname "$0")/../.."
export GLOG_v=4 PYTHONPATH=$PWD/build/release/python
mindspore=$1 torch=$2

record() {  # FRAMEWORK CASE SIDE OPTIONS
  local python=$torch framework=$1 place=tests/cases/$2/$3
  [ "$framework" = mindspore ] && python=$mindspore
  shift 3
  rm -rf "$place"
  "$python" -W ignore tests/mindspore/record_pair.py "$framework" "$place" "$@"
  local dump=$place/step0/rank0
  # Paths of this machine, and what no case looks at.
  sed -i -E 's#File [^,]*/site-packages/#File site-packages/#g' "$dump"/stack.json
  sed -i "s#$PWD/##g" "$dump"/*.json
  rm "$place"/config.json "$dump"/call_sites.json
}

record mindspore compare_mindspore_pytorch target --fault
record pytorch compare_mindspore_pytorch golden
record mindspore compare_mindspore_same target --level L0
record mindspore compare_mindspore_same golden --level L0 --fault
only=(--list matmul.1 Tensor.to relu.0 second.)
record mindspore compare_mindspore_tensor target --task tensor --bfloat16 --fault "${only[@]}"
record pytorch compare_mindspore_tensor golden --task tensor --bfloat16 "${only[@]}"
record mindspore compare_mindspore_md5 target --md5 --bfloat16 --level L1 --list Tensor.to transpose
record pytorch compare_mindspore_md5 golden --md5 --bfloat16 --level L1 --list Tensor.to transpose
