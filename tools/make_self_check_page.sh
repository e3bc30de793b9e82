#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the scores of msprobe self_check into docs/self-check.md, below their mark.
#   tools/make_self_check_page.sh [build/release/bin/msprobe]
set -eu
cd "$(dirname "$0")/.."
program=${1:-build/release/bin/msprobe}
scores=$(mktemp)
page=$(mktemp)
trap 'rm -f "$scores" "$page"' EXIT
status=0
"$program" self_check --markdown "$scores" || status=$?
sed '/^<!-- scores -->$/q' docs/self-check.md > "$page"
# Lines of text have at most 120 columns; the list of escapes is text.
{ echo; awk '/^[*] / { while (length > 120) {
                         for (end = 120; substr($0, end, 1) != " "; --end) {}
                         print substr($0, 1, end - 1); $0 = "  " substr($0, end + 1) } } { print }' "$scores"; } >> "$page"
cp "$page" docs/self-check.md
exit $status
