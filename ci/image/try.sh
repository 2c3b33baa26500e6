#!/usr/bin/env bash
# Builds the image and runs it: its help, its definitions, and the whole story of ci/wire/operator.sh with the operator
# as a container beside a fake hub and a fake spoke.
#
# usage: try.sh DIRECTORY-WITH-FAKE-APISERVER
set -euo pipefail
bin=${1:?directory with fake-apiserver}
here=$(cd "$(dirname "$0")" && pwd)
image=knative-operator:try
if ! docker info >/dev/null 2>&1; then
  echo "SKIPPED: the image, no Docker Engine answers"
  exit 0
fi
"$here/build.sh" "$image"
confined() { docker run --rm --read-only --cap-drop ALL --network none "$image" "$@"; }
[[ $(confined --help) == *"Usage: knative-operator"* ]]
[[ $(confined crds) == *"kind: CustomResourceDefinition"* ]]
"$here/../wire/operator.sh" "$bin" "$image"
