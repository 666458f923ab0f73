#!/bin/sh
# Installs gRPC and the official client libraries for Python into a virtual environment under .toolchain, for the tests that call Tollgate from
# Python, and prints the environment's python. Prints nothing where there is no python3 with venv, or no package index.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
own="$root/.toolchain/python"
works() { "$own/bin/python" -c 'import grpc, grpc_reflection, google.rpc.status_pb2, openai, anthropic' 2>/dev/null; }
if ! works; then
  mkdir -p "$root/.toolchain"
  python3 -m venv "$own" >&2 && "$own/bin/python" -m pip install --quiet --disable-pip-version-check grpcio grpcio-reflection grpcio-status openai anthropic >&2
fi
works && echo "$own/bin/python"
