"""The collector for PyTorch."""
from msprobe.pytorch.debugger import PrecisionDebugger
from msprobe.pytorch.randomness import seed_all

__all__ = ["PrecisionDebugger", "seed_all"]
