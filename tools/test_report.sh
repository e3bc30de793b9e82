#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The page of the HTML report: its types, that web/dist is what web/src gives, and a walk through reports in Chromium.
#
#   tools/test_report.sh MSPROBE OUT_DIR
#
# Ends with 77 (skipped) where Node.js, Chromium or the npm packages are missing; tools/setup.sh --dev installs them.
set -euo pipefail
program=$(realpath "$1")
out=$(realpath -m "$2")
cd "$(dirname "$0")/.."
command -v node >/dev/null || { echo "skipped: no Node.js; install the package nodejs"; exit 77; }
[ -d web/node_modules ] || { echo "skipped: the npm packages are not there; run 'npm ci' in web/"; exit 77; }
(cd web && node_modules/.bin/tsc --noEmit && node build.mjs --check)
exec node web/test/browser_test.mjs "$program" "$PWD" "$out"
