# SPDX-License-Identifier: Apache-2.0
"""sgl-project/sglang: python/sglang/srt/model_executor/model_runner.py (create_msprobe_debugger, ModelRunner.forward) with
--msprobe-dump-config."""
import torch

from stand_ins import tiny


def create_msprobe_debugger(msprobe_dump_config):
    if msprobe_dump_config is None:
        return None
    from msprobe.pytorch import PrecisionDebugger, seed_all
    seed_all(mode=True)
    return PrecisionDebugger(config_path=msprobe_dump_config)


class ModelRunner:
    def __init__(self, msprobe_dump_config=None, gpu_id=3, dp_size=2):
        self.msprobe_debugger = create_msprobe_debugger(msprobe_dump_config)
        self.gpu_id, self.dp_size = gpu_id, dp_size
        self.model = tiny.model().eval()

    @torch.inference_mode()
    def forward(self, tokens):
        if self.msprobe_debugger is not None:
            rank_id = self.gpu_id if self.dp_size is not None and self.dp_size > 1 else None
            self.msprobe_debugger.start(model=self.model, rank_id=rank_id)
        output = self.model(tokens)
        if self.msprobe_debugger is not None:
            self.msprobe_debugger.stop()
            self.msprobe_debugger.step()
        return output

    def generate(self, tokens, count):
        """A prompt, then one token after the other."""
        made = []
        for _ in range(count):
            tokens = self.forward(tokens)[-1:].argmax(-1)
            made.append(tokens.item())
        return made
