# SPDX-License-Identifier: Apache-2.0
"""Importing this records one iteration of the training, by default the second one, and ends the training after it."""
from api_accuracy_checker.dump import dump
from api_accuracy_checker.dump.config import msCheckerConfig

__all__ = ["dump", "msCheckerConfig"]
