# SPDX-License-Identifier: Apache-2.0
"""For scripts that still import from here; new ones use msprobe.torchair, or the command `msprobe convert_info`."""
from msprobe.torchair import parse_torchair_dump_data

__all__ = ["parse_torchair_dump_data"]
