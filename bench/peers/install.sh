#!/bin/sh
# Installs other gateways from their package registries under .toolchain/peers, for `make bench-peers`. One that cannot be installed is left
# out of the table.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
peers="$root/.toolchain/peers"
mkdir -p "$peers"
cd "$peers"
# Portkey 1.15.2 streams nothing with a current @hono/node-server: it appends to headers that are immutable there.
echo '{"private":true,"overrides":{"@hono/node-server":"1.14.0"}}' > package.json
if [ ! -d node_modules/@portkey-ai/gateway ]; then
  npm install --no-audit --no-fund --loglevel=error --ignore-scripts @portkey-ai/gateway@1.15.2 >&2 || echo "Portkey could not be installed." >&2
fi
if [ ! -x python/bin/litellm ]; then
  # Newer versions than 1.106 ask for a newer certifi than some registries have.
  { python3 -m venv python && python/bin/pip install --quiet --disable-pip-version-check 'litellm[proxy]==1.106.2'; } >&2 ||
    echo "LiteLLM could not be installed." >&2
fi
