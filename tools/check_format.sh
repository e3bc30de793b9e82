#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every C++ file is as clang-format leaves it, every source file names its license (`tools/check_format.sh --fix` makes it so), and
# files are made in one way, comments are sentences that name what exists, and small headers have more than one user.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(--dry-run --Werror)
[ "${1:-}" = "--fix" ] && mode=(-i)
git ls-files -z --cached --others --exclude-standard '*.cc' '*.h' | xargs -0 clang-format-19 "${mode[@]}"
python3 tools/check_spdx.py "$@"
# Names of Python that begin so are its own: one version has them and the next has not.
if git grep -nE '\b_Py[A-Z]' -- src apps; then
  echo "private names of Python" >&2
  exit 1
fi
python3 tools/check_writers.py
python3 tools/check_comments.py
python3 tools/count_headers.py --most 45 >/dev/null || { python3 tools/count_headers.py; exit 1; }
