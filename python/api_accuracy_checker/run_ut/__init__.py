# SPDX-License-Identifier: Apache-2.0
"""The older commands as scripts: python run_ut.py, python run_overflow_check.py."""
