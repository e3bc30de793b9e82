#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ruff over the Python files (where it is installed), clang-tidy over the files changed since REV (default: the last commit's parent),
# or over all with --all. LibTorch files take half a minute each, so the whole tree is a nightly job.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/dev
if command -v ruff >/dev/null; then ruff check .; else echo "ruff is not installed: pip install ruff" >&2; fi
[ -f "$build/compile_commands.json" ] || cmake --preset dev >/dev/null
if [ "${1:-}" = "--all" ]; then
  files=$(git ls-files 'src/*.cc' 'apps/*.cc')
else
  files=$(git diff --name-only --diff-filter=d "${1:-HEAD~1}" -- 'src/*.cc' 'apps/*.cc')
fi
[ -n "$files" ] || { echo "nothing to lint"; exit 0; }
printf '%s\n' "$files" | xargs -P "$(nproc)" -n 1 clang-tidy-19 -p "$build" --quiet
