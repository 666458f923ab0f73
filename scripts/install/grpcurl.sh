#!/bin/sh
# Installs grpcurl in .toolchain/bin, built from its Go module. Installs Debian's Go if there is none. This is the last version that Debian 12's Go 1.19 can
# build.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
[ ! -x "$root/.toolchain/bin/grpcurl" ] || exit 0
"$root/scripts/install/programs.sh" go:golang-go
GOBIN="$root/.toolchain/bin" go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.8.9
