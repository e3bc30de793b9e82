# SPDX-License-Identifier: Apache-2.0
"""``python -m msprobe COMMAND ...`` is ``msprobe COMMAND ...``."""

from msprobe.common import program

if __name__ == "__main__":
    program.become()
