#!/bin/sh
# Compares the contracts with proto/baseline.binpb, the image of the contracts that callers rely on, and fails for every change that would break these
# callers. `--accept` makes the current contracts the baseline: before the first release, and after an announced break.
set -eu
cd "$(dirname "$0")/../proto"
if [ "${1:-}" = --accept ]; then
  exec npx --no-install buf build . --exclude-source-info -o baseline.binpb
fi
exec npx --no-install buf breaking . --against baseline.binpb
