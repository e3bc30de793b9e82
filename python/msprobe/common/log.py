# SPDX-License-Identifier: Apache-2.0
"""Lines for the user, on stderr, in the form that the msprobe commands use."""
import os
import sys
import time


def line(level: str, text: str) -> None:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    print(f"{stamp} ({os.getpid()}) [{level}] {text}", file=sys.stderr, flush=True)


def warning(text: str) -> None:
    line("WARNING", text)


def error(text: str) -> None:
    line("ERROR", text)


def info(text: str) -> None:
    line("INFO", text)
