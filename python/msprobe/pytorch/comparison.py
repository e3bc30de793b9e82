# SPDX-License-Identifier: Apache-2.0
"""The names of the documents for comparing two recordings; what they do is the same for every framework."""
from msprobe.common.comparison import CompareError, compare, compare_distributed

__all__ = ["CompareError", "compare", "compare_distributed"]
