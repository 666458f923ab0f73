#!/bin/sh
# Installs the clients of docs/clients/ that `make test` does not need under .toolchain/clients: each Python framework in an environment of its own, because
# their requirements conflict, and the coding agents, with their commands in .toolchain/clients/bin.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
own="$root/.toolchain/clients"
[ ! -f "$own/.installed-1" ] || exit 0
mkdir -p "$own/bin" "$own/npm"

python3 -m venv "$own/uv"
"$own/uv/bin/python" -m pip install --quiet --disable-pip-version-check uv
python() {
  name=$1
  shift
  "$own/uv/bin/uv" venv --quiet --allow-existing --python python3 "$own/$name"
  "$own/uv/bin/uv" pip install --quiet --python "$own/$name/bin/python" "$@"
}
python langchain langchain-openai langchain-anthropic
python llamaindex llama-index-llms-openai-like
python litellm litellm
python instructor instructor
python pydantic-ai 'pydantic-ai-slim[openai]'
python aider aider-chat
ln -sf "$own/aider/bin/aider" "$own/bin/aider"

# Their install scripts only link the program of this platform, which is a package of its own.
cd "$own/npm"
[ -f package.json ] || echo '{ "private": true }' > package.json
PATH="$("$root/scripts/node-path.sh"):$PATH" npm install --ignore-scripts --no-audit --no-fund --loglevel=error opencode-ai @anthropic-ai/claude-code
program() { find "$own/npm/node_modules" -path "*-linux-*" -type f -name "$1" ! -path '*musl*' ! -path '*baseline*' | head -n 1; }
ln -sf "$(program opencode)" "$own/bin/opencode"
ln -sf "$(program claude)" "$own/bin/claude"
touch "$own/.installed-1"
