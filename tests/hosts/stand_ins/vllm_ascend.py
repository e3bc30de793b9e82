# SPDX-License-Identifier: Apache-2.0
"""vllm-project/vllm-ascend: vllm_ascend/worker/model_runner_v1.py (NPUModelRunner), and the Dumper that switches recording on for a while by
editing dump_enable of config.json."""
import json
import os

import torch

from stand_ins import tiny


class NPUModelRunner:
    def __init__(self, dump_cfg=None, graph_mode=False):
        self.debugger = None
        self._debugger_started = False
        self.dump_cfg = dump_cfg
        if dump_cfg is not None:
            if not graph_mode:
                from msprobe.pytorch import PrecisionDebugger
                self.debugger = PrecisionDebugger(dump_cfg)
            else:
                from msprobe.pytorch import AclGraphDumper
                self.debugger = AclGraphDumper(dump_cfg)
        self.model = tiny.model().eval()

    def start_dump_data(self, scheduled_tokens):
        if self.debugger is None or self._debugger_started:
            return
        if hasattr(self.debugger, "stop"):
            self.debugger.start(self.model, scheduled_tokens=scheduled_tokens)
        else:
            self.debugger.start(self.model)
        self._debugger_started = True

    def finalize_dump_data(self, **kwargs):
        if self.debugger is None or not self._debugger_started:
            return
        if hasattr(self.debugger, "stop"):
            self.debugger.stop()
            self._debugger_started = False
        self.debugger.step(**kwargs)

    def set_msprobe_dump_state(self, on):
        with open(self.dump_cfg, encoding="utf-8") as file:
            config = json.load(file)
        config["dump_enable"] = on
        with open(self.dump_cfg + ".part", "w", encoding="utf-8") as file:
            json.dump(config, file, ensure_ascii=False, indent=2)
        os.replace(self.dump_cfg + ".part", self.dump_cfg)
        self.debugger._maybe_reload_config(force=True)

    def dummy_run(self, num_tokens):
        self.start_dump_data({})
        self.model(tiny.tokens(num_tokens))
        self.finalize_dump_data(dump=False)

    @torch.inference_mode()
    def execute_model(self, batch, is_last_rank=True):
        """`batch`: {request: its tokens}. Returns the next token of each; on a rank in the middle of a pipeline the hidden states."""
        self.start_dump_data({request: len(own) for request, own in batch.items()})
        if not batch:
            self.finalize_dump_data()
            return {}
        logits = self.model(torch.cat(list(batch.values())))
        if not is_last_rank:
            self.finalize_dump_data()
            return logits
        ends = torch.tensor([len(own) for own in batch.values()]).cumsum(0) - 1
        sampled = logits[ends].argmax(-1).tolist()
        self.finalize_dump_data()
        return dict(zip(batch, sampled))
