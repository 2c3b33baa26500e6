#!/usr/bin/env bash
# The operator over real sockets: two fake API servers (a hub and a spoke) with TLS and tokens, a credential plugin as a
# process, kubectl as the user. Installs KnativeServing on the spoke, repairs an edit, removes it again.
#
# usage: operator.sh DIRECTORY-WITH-BINARIES [IMAGE]     (KO_DATA_PATH: releases to use instead of the embedded ones)
# With an image, the operator is a container of it that reaches the hub as a pod does: with its mounted account.
set -euo pipefail
bin=$(cd "${1:?directory with fake-apiserver and knative-operator}" && pwd)
image=${2:-}
work=$(mktemp -d)
container=knative-operator-wire-$$
pids=()
finish() {
  status=$?
  [ -z "$image" ] || docker rm --force "$container" >/dev/null 2>&1 || true
  kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  if [ "$status" -ne 0 ]; then
    tail -n 30 "$work/operator.log" >&2 || true
  fi
  rm -rf "$work"
}
trap finish EXIT

passed=0
check() { # text, command...
  local text=$1
  shift
  if "$@" >"$work/out" 2>&1; then
    passed=$((passed + 1))
    echo "ok   $text"
  else
    echo "FAIL $text"
    cat "$work/out"
    echo "$passed passed, 1 failed"
    exit 1
  fi
}
eventually() { # seconds, command...
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.2
  done
}
hub() { kubectl --kubeconfig "$work/hub.kubeconfig" "$@"; }
spoke() { kubectl --kubeconfig "$work/spoke.kubeconfig" "$@"; }
gone() { ! "$@" >/dev/null 2>&1; }

start_cluster() { # name, flags...
  local name=$1
  shift
  "$bin/fake-apiserver" --kubeconfig "$work/$name.kubeconfig" --ca-file "$work/$name.ca" \
    --deployment-ready-after 1s "$@" >"$work/$name.out" 2>"$work/$name.err" &
  pids+=($!)
  eventually 10 grep -q '^serving https://' "$work/$name.out"
}
url_of() { sed -n 's/^serving //p' "$work/$1.out"; }

# On both the operator may do what `knative-operator rbac` says, and nothing else.
account=system:serviceaccount:knative-operator:knative-operator,system:serviceaccounts
check "the hub serves" start_cluster hub --token "account=$account"
check "the spoke serves, with a token for the fleet" start_cluster spoke --token "s3cret=$account"

credential='{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"s3cret"}}'
mkdir "$work/fleet" "$work/account"
if [ -z "$image" ]; then
  # It tells nothing but the token; the operator passes what it needs in KUBERNETES_EXEC_INFO.
  printf '#!/bin/sh\ntest -n "$KUBERNETES_EXEC_INFO" || exit 1\necho %s\n' "'$credential'" >"$work/fleet/plugin"
  chmod +x "$work/fleet/plugin"
  plugin="\"command\":\"$work/fleet/plugin\""
else
  # An image holds no shell, so the plugin is the smallest program that can print a credential.
  cp /bin/cat "$work/fleet/plugin"
  echo "$credential" >"$work/fleet/credential"
  plugin='"command":"/fleet/plugin","args":["/fleet/credential"]'
fi
cat >"$work/fleet/providers.json" <<JSON
{"providers":[{"name":"wire","execConfig":{"apiVersion":"client.authentication.k8s.io/v1",
  $plugin,"provideClusterInfo":true,"interactiveMode":"Never"}}]}
JSON
cat >"$work/namespaces.yaml" <<'YAML'
apiVersion: v1
kind: Namespace
metadata: {name: fleet}
---
apiVersion: v1
kind: Namespace
metadata: {name: knative-serving}
YAML
cat >"$work/profile.yaml" <<'YAML'
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata: {name: spoke, namespace: fleet}
spec: {clusterManager: {name: wire}, displayName: spoke}
YAML
cat >"$work/profile-status.json" <<JSON
{"status":{"conditions":[{"type":"ControlPlaneHealthy","status":"True","reason":"Probed","message":"",
    "lastTransitionTime":"2030-01-01T00:00:00Z"}],
  "accessProviders":[{"name":"wire","cluster":{"server":"$(url_of spoke)",
    "certificate-authority-data":"$(base64 -w0 "$work/spoke.ca")"}}]}}
JSON
cat >"$work/serving.yaml" <<'YAML'
apiVersion: operator.knative.dev/v1beta1
kind: KnativeServing
metadata: {name: knative-serving, namespace: knative-serving}
spec:
  version: "1.23"
  clusterProfileRef: {name: spoke, namespace: fleet}
  ingress: {kourier: {enabled: true}}
YAML

"$bin/knative-operator" crds >"$work/crds.yaml"
check "the hub takes our definitions" hub apply -f "$work/crds.yaml"
"$bin/knative-operator" rbac >"$work/hub-rbac.yaml"
"$bin/knative-operator" rbac --spoke >"$work/spoke-rbac.yaml"
check "the hub takes the operator's permissions" hub apply -f "$work/hub-rbac.yaml"
check "the spoke takes the operator's permissions" spoke apply -f "$work/spoke-rbac.yaml"
check "the hub takes the ClusterProfile's" hub apply -f "$(dirname "$0")/../../scenarios/src/fixtures/clusterprofiles.yaml"
for crd in knativeservings.operator.knative.dev clusterprofiles.multicluster.x-k8s.io; do
  check "$crd is established" hub wait --for=condition=Established --timeout=20s "crd/$crd"
done
check "namespaces are created" hub apply -f "$work/namespaces.yaml"
check "the profile is created" hub apply -f "$work/profile.yaml"
check "the profile gets its status" hub -n fleet patch clusterprofile spoke --subresource=status --type=merge \
  --patch-file "$work/profile-status.json"

intervals=(--remote-deployments-poll-interval 1s --drift-interval 2s)
start_process() {
  sed 's/^\( *token:\).*/\1 account/' "$work/hub.kubeconfig" >"$work/operator.kubeconfig"
  KUBECONFIG="$work/operator.kubeconfig" "$bin/knative-operator" run "${intervals[@]}" \
    --clusterprofile-provider-file "$work/fleet/providers.json" >"$work/operator.log" 2>&1 &
  pids+=($!)
  kill -0 "${pids[-1]}"
}
start_container() {
  local hub
  hub=$(url_of hub)
  echo -n account >"$work/account/token"
  echo -n knative-operator >"$work/account/namespace"
  cp "$work/hub.ca" "$work/account/ca.crt"
  chmod -R a+rX "$work"
  docker run --detach --name "$container" --network host --read-only --cap-drop ALL \
    --security-opt no-new-privileges --env KUBERNETES_SERVICE_HOST=127.0.0.1 --env KUBERNETES_SERVICE_PORT="${hub##*:}" \
    --volume "$work/account:/var/run/secrets/kubernetes.io/serviceaccount:ro" --volume "$work/fleet:/fleet:ro" \
    "$image" run "${intervals[@]}" --clusterprofile-provider-file /fleet/providers.json
  docker logs --follow "$container" >"$work/operator.log" 2>&1 &
}
start_operator() { if [ -z "$image" ]; then start_process; else start_container; fi; }
check "the operator starts" start_operator
check "a KnativeServing is created" hub apply -f "$work/serving.yaml"
check "it gets Ready" hub -n knative-serving wait --for=condition=Ready --timeout=60s knativeserving/knative-serving
fleet() { "$bin/knative-operator" status --kubeconfig "$work/hub.kubeconfig" >"$work/fleet.txt"; }
check "the fleet is shown" fleet
check "with the spoke" grep -Eq '^KnativeServing +knative-serving +knative-serving +fleet/spoke +1\.23\.0 +True ' "$work/fleet.txt"
check "one replica leads" sh -c "kubectl --kubeconfig $work/hub.kubeconfig -n knative-operator get lease knative-operator \
  -o jsonpath='{.spec.holderIdentity}' | grep -q ."
check "its Deployments are on the spoke" spoke -n knative-serving get deployment activator controller webhook
check "an anchor owns them" sh -c "kubectl --kubeconfig $work/spoke.kubeconfig -n knative-serving get deployment activator \
  -o jsonpath='{.metadata.ownerReferences[0].name}' | grep -qx knativeserving-knative-serving-root-owner"
check "nothing of it is on the hub" gone hub -n knative-serving get deployment activator
check "an edit by hand" spoke -n knative-serving patch service webhook --type=merge -p '{"spec":{"selector":{"app":"x"}}}'
repaired() { [ "$(spoke -n knative-serving get service webhook -o jsonpath='{.spec.selector.app}')" != x ]; }
check "is repaired" eventually 30 repaired
check "the resource is deleted" hub -n knative-serving delete knativeserving knative-serving --timeout=60s
check "and nothing of it is left on the spoke" gone spoke get namespace knative-serving
check "no token is in the log" sh -c "! grep -q s3cret $work/operator.log"
stop_operator() {
  if [ -n "$image" ]; then
    docker kill --signal TERM "$container" && [ "$(timeout 10 docker wait "$container")" = 0 ]
  else
    kill -TERM "${pids[-1]}" && wait "${pids[-1]}"
  fi
}
check "the operator ends on SIGTERM with status 0" stop_operator
check "and gives its Lease back" sh -c "! kubectl --kubeconfig $work/hub.kubeconfig -n knative-operator get lease \
  knative-operator -o jsonpath='{.spec.holderIdentity}' | grep -q ."
echo "$passed passed, 0 failed"
