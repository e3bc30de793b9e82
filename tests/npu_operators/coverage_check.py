#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/npu_coverage.py counts calls that compute, however they are written, and names what to add next."""

import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "npu_coverage.py"
SOURCE = """
import torch
import torch_npu
from torch_npu import npu_swiglu, npu_format_cast
from somewhere import npu_of_nobody, rebuild_npu_tensor

torch_npu.npu_rms_norm(x, torch_npu.npu_swiglu(y))
npu_swiglu(z), torch.ops.npu.npu_grouped_matmul.List(x, w)
torch_npu.npu_not_known(x), torch.ops.npu.npu_not_known(y), torch_npu.npu_other(x)
npu_format_cast(x, 29), torch_npu.npu_get_float_status(x), npu_of_nobody(x), rebuild_npu_tensor(x)
torch.ops._C_ascend.npu_own(x), torch_npu.npu.synchronize()
"""

with tempfile.TemporaryDirectory() as tree:
    pathlib.Path(tree, "model.py").write_text(SOURCE, encoding="utf-8")
    pathlib.Path(tree, "broken.py").write_text("def", encoding="utf-8")
    said = subprocess.run([sys.executable, str(TOOL), tree], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[0] == "7 call sites of 5 computing NPU operators; 4 judged (57 %)", said
    assert said[1] == "next: npu_not_known", said
    assert [line.split()[:2] for line in said[2:]] == [["2", "npu_not_known"], ["1", "npu_other"]], said
