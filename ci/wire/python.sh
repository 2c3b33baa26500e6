#!/usr/bin/env bash
# The official Python client against the fake API server.
#
# usage: python.sh FAKE-APISERVER     (needs python3 with venv, and PyPI for the package `kubernetes`)
set -euo pipefail
server=${1:?the fake-apiserver binary}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
pid=
finish() {
  [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check kubernetes
"$server" --kubeconfig "$work/kubeconfig" --deployment-ready-after 500ms >"$work/told" 2>"$work/log" &
pid=$!
for _ in $(seq 100); do
  grep -q '^serving ' "$work/told" && break
  sleep 0.1
done
timeout 120 "$work/venv/bin/python" "$here/python_client.py" "$work/kubeconfig"
