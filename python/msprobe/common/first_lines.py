# SPDX-License-Identifier: Apache-2.0
"""The first lines of a recording: what is recorded, and where config.json means something else than with the public tool."""
from typing import List

from msprobe.common.config import Config

_APIS = {"ALL": "every API call", "FOCUS": "API calls but those that only move data",
         "CORE": "products, convolutions, norms, attention and communication"}


def first_lines(config: Config, place: str, is_public_default: bool) -> List[str]:
    """`is_public_default`: a file without risk_level, in the public tool's format, of a framework where the public tool has a filter."""
    apis = _APIS[config.risk_level]
    filtered = bool(config.scope or config.names)
    what = {"L0": "module calls", "L1": apis, "mix": f"module calls and {apis}", "debug": "what save() is given"}[config.level]
    settings = [f"task {config.task}", f"level {config.level}"]
    if config.level in ("L1", "mix"):
        settings.append("filtered by scope and list" if filtered else f"risk_level {config.risk_level}")
    if config.request_id:
        settings.append(f"request {config.request_id}")
    lines = [f"recording {what} ({', '.join(settings)}) into {place}"]
    if is_public_default and not config.is_risk_level_given and config.level in ("L1", "mix") and not filtered:
        lines.append("config.json has no risk_level: here that means ALL; the public tool would take FOCUS and leave out views, copies, casts "
                     "and constants. Set risk_level to have the same with both")
    return lines
