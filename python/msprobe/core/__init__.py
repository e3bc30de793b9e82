# SPDX-License-Identifier: Apache-2.0
"""What trainers import by this name: ``from msprobe.core import SingleSave``."""
from msprobe.core.single_save import SingleSave

__all__ = ["SingleSave"]
