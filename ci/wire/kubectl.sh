#!/usr/bin/env bash
# kubectl against the fake API server: every command a person uses, and the state it leaves behind.
#
# usage: kubectl.sh FAKE-APISERVER     (KO_DATA_PATH: also apply the whole Knative Serving release)
# Prints a line for each check, then `N passed, N failed`; status 1 if any failed.
set -euo pipefail
server=${1:?the fake-apiserver binary}
work=$(mktemp -d)
pid=
finish() {
  [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

export KUBECONFIG=$work/kubeconfig
"$server" --kubeconfig "$KUBECONFIG" --deployment-ready-after 500ms >"$work/told" 2>"$work/log" &
pid=$!
for _ in $(seq 100); do
  grep -q '^serving ' "$work/told" && break
  sleep 0.1
done
grep -q '^serving ' "$work/told" || { cat "$work/log" >&2; exit 2; }

passed=0
failed=0
# check NAME PATTERN COMMAND...: the command succeeds and what it says matches the extended regular expression.
check() {
  local name=$1 pattern=$2 out
  shift 2
  if out=$("$@" 2>&1) && grep -Eqz -- "$pattern" <<<"$out"; then
    passed=$((passed + 1))
    echo "ok   $name"
  else
    failed=$((failed + 1))
    echo "FAIL $name: $(head -c 300 <<<"$out" | tr '\n' ' ')"
  fi
}
# refuse NAME PATTERN COMMAND...: the command fails and says so.
refuse() {
  local name=$1 pattern=$2 out
  shift 2
  if ! out=$("$@" 2>&1) && grep -Eqz -- "$pattern" <<<"$out"; then
    passed=$((passed + 1))
    echo "ok   $name"
  else
    failed=$((failed + 1))
    echo "FAIL $name: $(head -c 300 <<<"$out" | tr '\n' ' ')"
  fi
}
# No command may hang for ever.
kubectl() { command timeout 100 kubectl "$@"; }
export -f kubectl
# value TYPE/NAME JSONPATH: one field of an object in the namespace `shop`.
value() { kubectl -n shop get "$1" -o "jsonpath=$2"; }
# An Event, and how it is listed.
events() {
  kubectl apply -f - >/dev/null <<'JSON'
{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"shop"},"type":"Normal","reason":"Seen","message":"all is well",
 "involvedObject":{"apiVersion":"apps/v1","kind":"Deployment","name":"web","namespace":"shop"},
 "firstTimestamp":"2024-01-01T00:00:00Z","lastTimestamp":"2024-01-01T00:00:00Z","count":1,"source":{"component":"check"}}
JSON
  kubectl -n shop get events
}
# What a watch shows of a change that is made, and undone, while it runs.
watches() {
  (command timeout 3 kubectl -n shop get cm settings -w || true) >"$work/watched" &
  local watcher=$!
  sleep 1
  kubectl -n shop patch cm settings --type=merge -p '{"data":{"more":"x"}}' >/dev/null
  kubectl -n shop patch cm settings --type=merge -p '{"data":{"more":null}}' >/dev/null
  wait "$watcher"
  cat "$work/watched"
}
differs() { ! kubectl diff -f "$1"; }

cat >"$work/shop.yaml" <<'YAML'
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: settings, namespace: shop }
data: { colour: red }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: shop, labels: { app: web } }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: registry.example/web:1 }] }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
YAML
sed 's/colour: red/colour: blue/' "$work/shop.yaml" >"$work/blue.yaml"

echo "# looking around"
check version 'Server Version: v1\.' kubectl version
check api-resources 'deployments +deploy +apps/v1 +true +Deployment' kubectl api-resources
check api-versions 'rbac.authorization.k8s.io/v1' kubectl api-versions
check explain 'KIND: +Deployment.*spec.<DeploymentSpec>' kubectl explain deployment
check 'explain a field' 'FIELD: strategy <DeploymentStrategy>.*rollingUpdate.<RollingUpdateDeployment>.*type.<string>' \
  kubectl explain deployment.spec.strategy
check 'explain --recursive' 'containers.<\[\]Container> -required-.*requests.<map' kubectl explain pod.spec --recursive
refuse 'explain what is not' 'field "nope" does not exist' kubectl explain deployment.spec.nope
check 'OpenAPI v2' '"swagger":"2.0"' kubectl get --raw /openapi/v2

echo "# apply"
check 'apply --dry-run=server of a namespace' 'namespace/shop created \(server dry run\)' \
  kubectl apply --dry-run=server -f - <<<'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}'
refuse 'a dry run leaves nothing' 'NotFound' kubectl get namespace shop
check apply 'namespace/shop created.*deployment.apps/web created' kubectl apply -f "$work/shop.yaml"
check 'apply again' 'configmap/settings unchanged' kubectl apply -f "$work/shop.yaml"
check 'diff shows the change' 'colour: blue' differs "$work/blue.yaml"
check 'apply a change' 'configmap/settings configured' kubectl apply -f "$work/blue.yaml"
check 'diff shows nothing' '^\s*$' kubectl diff -f "$work/blue.yaml"
check 'the change is there' '^blue' value cm/settings '{.data.colour}'
check 'apply --server-side' 'serverside-applied' \
  kubectl apply --server-side --force-conflicts -f "$work/shop.yaml"
check 'fields have an owner' 'kubectl' value cm/settings '{.metadata.managedFields[*].manager}'
refuse 'a conflict names the manager' 'conflict with "other"' \
  bash -c "kubectl apply --server-side --field-manager=other --force-conflicts -f $work/blue.yaml >/dev/null &&
           kubectl apply --server-side --field-manager=kubectl -f $work/shop.yaml"
check 'create --dry-run=client' 'kind: ConfigMap' kubectl create cm x --from-literal=a=b --dry-run=client -o yaml
refuse 'a bad object is refused' 'spec.ports' \
  kubectl apply -f - <<<'{"apiVersion":"v1","kind":"Service","metadata":{"name":"bad"},"spec":{"selector":{"a":"b"}}}'

echo "# wait and get"
check 'wait for a Deployment' 'condition met' kubectl -n shop wait deploy/web --for=condition=Available --timeout=20s
check 'rollout status' 'successfully rolled out' kubectl -n shop rollout status deploy/web --timeout=20s
check 'get as a table' 'NAME +READY +UP-TO-DATE +AVAILABLE +AGE\s+web +2/2 +2 +2 +[0-9]+s' kubectl -n shop get deploy
check 'get -o wide' 'AGE +CONTAINERS +IMAGES +SELECTOR\s+web .* web +registry.example/web:1 +app=web' \
  kubectl -n shop get deploy -o wide
check 'get several kinds' 'NAME +DATA +AGE.*configmap/settings +1 .*NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE' \
  kubectl -n shop get cm,svc
check 'get all' 'NAMESPACE +NAME +TYPE .*shop +service/web +ClusterIP .*NAMESPACE +NAME +READY .*shop +deployment.apps/web' \
  kubectl get all -A
check 'get --sort-by' 'settings' kubectl -n shop get cm --sort-by=.metadata.name
check 'get events' 'LAST SEEN +TYPE +REASON +OBJECT +MESSAGE.*Normal +Seen +deployment/web +all is well' events
# The watch ends by itself; kubectl starts with what there is.
check 'get -w' 'NAME +DATA +AGE.*settings +1 +.*settings +2 ' watches
check 'get -o yaml' 'kind: Deployment.*replicas: 2' kubectl -n shop get deploy web -o yaml
check 'get -o name' 'service/web' kubectl -n shop get svc -o name
check 'get by label' 'deployment.apps/web' kubectl -n shop get deploy -l app=web -o name
check 'get by field' 'configmap/settings' kubectl -n shop get cm --field-selector metadata.name=settings -o name
check describe 'Replicas: +2 desired' kubectl -n shop describe deploy web
refuse 'get what is not there' 'deployments.apps "none" not found' kubectl -n shop get deploy none

echo "# change"
check label 'labeled' kubectl -n shop label deploy web tier=front
check 'the label is there' '^front' value deploy/web '{.metadata.labels.tier}'
check annotate 'annotated' kubectl -n shop annotate deploy web note=hello
check 'the annotation is there' '^hello' value deploy/web '{.metadata.annotations.note}'
check 'strategic patch' 'patched' kubectl -n shop patch deploy web -p \
  '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"registry.example/side:1"}]}}}}'
check 'it merged the containers' '^side web|^web side' value deploy/web '{.spec.template.spec.containers[*].name}'
check 'merge patch' 'patched' kubectl -n shop patch cm settings --type=merge -p '{"data":{"size":"xl"}}'
check 'json patch' 'patched' kubectl -n shop patch cm settings --type=json -p '[{"op":"remove","path":"/data/size"}]'
check 'both are seen' '^\{"colour":"[a-z]+"\}' value cm/settings '{.data}'
check scale 'scaled' kubectl -n shop scale deploy web --replicas=3
check 'it is scaled' '^3' value deploy/web '{.spec.replicas}'
check 'set image' 'image updated' kubectl -n shop set image deploy/web web=registry.example/web:2
edits() { EDITOR="sed -i s/web:2/web:3/" kubectl -n shop edit deploy web; }
check edit 'edited' edits
check 'it is edited' 'web:3' value deploy/web '{.spec.template.spec.containers[*].image}'
check replace 'replaced' bash -c 'kubectl -n shop get cm settings -o json | sed "s/\"colour\": \"[a-z]*\"/\"colour\": \"green\"/" | kubectl replace -f -'
check 'it is replaced' '^green' value cm/settings '{.data.colour}'

echo "# typed clients (their requests are protobuf)"
check 'create namespace' 'namespace/typed created' kubectl create namespace typed
check 'create configmap' 'configmap/c created' kubectl -n shop create configmap c --from-literal=a=b
check 'create serviceaccount' 'serviceaccount/robot created' kubectl -n shop create serviceaccount robot
check 'create token' '^[A-Za-z0-9._-]{20,}' kubectl -n shop create token robot
check 'auth can-i as administrator' '^yes' kubectl auth can-i create deployments
refuse 'auth can-i as nobody' '^no' kubectl auth can-i create deployments --as nobody
check 'auth whoami' 'kubernetes-admin' kubectl auth whoami
refuse 'nobody may not look' 'User "nobody" cannot list resource "configmaps"' kubectl -n shop get cm --as nobody

echo "# what needs a kubelet, or an encoding that is not spoken here"
check 'run' 'pod/lone created' kubectl -n shop run lone --image=registry.example/lone:1
refuse logs 'BadRequest.*pod lone does not have a host assigned' kubectl -n shop logs lone
refuse exec 'pod lone does not have a host assigned' kubectl -n shop exec lone -- ls
refuse attach 'pod lone does not have a host assigned' kubectl -n shop attach lone
# kubectl itself asks for a Pod that runs.
kubectl -n shop patch pod lone --subresource=status --type=merge -p '{"status":{"phase":"Running"}}' >/dev/null
refuse port-forward 'pod lone does not have a host assigned' kubectl -n shop port-forward lone 8080:80
check 'the Pod is still there' '^registry.example/lone:1' value pod/lone '{.spec.containers[0].image}'
server_url=$(kubectl config view --raw -o 'jsonpath={.clusters[0].cluster.server}')
token=$(kubectl config view --raw -o 'jsonpath={.users[0].user.token}')
kubectl config view --raw -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d >"$work/ca"
# post CONTENT-TYPE BODY: the answer to a ConfigMap sent so, and its status code.
post() {
  curl -sS --cacert "$work/ca" -H "Authorization: Bearer $token" -H "Content-Type: $1" --data-binary "$2" \
    -w ' %{http_code}' "$server_url/api/v1/namespaces/shop/configmaps"
}
check 'protobuf that is none is refused' 'UnsupportedMediaType.* 415\s*$' post application/vnd.kubernetes.protobuf nonsense
check 'CBOR is refused' 'application/json, application/yaml.*UnsupportedMediaType.* 415\s*$' post application/cbor x
check 'JSON that is none is refused' 'BadRequest.* 400\s*$' post application/json '{"kind":'
check 'text that is no UTF-8 is refused' 'BadRequest.* 400\s*$' post application/json $'{"kind":"\xff"}'
deep() { post application/json "$(head -c 100000 /dev/zero | tr '\0' '[')"; }
check 'deep nesting is refused' 'BadRequest.* 400\s*$' deep
check 'and the server goes on' '^ok' kubectl get --raw /readyz

echo "# delete"
# A ConfigMap owned by another; $1 names both, $2 is the cascade.
cascade() {
  kubectl -n shop apply -f - >/dev/null <<<"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"$1\"}}"
  local uid
  uid=$(value "cm/$1" '{.metadata.uid}')
  kubectl -n shop apply -f - >/dev/null <<<"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"$1-child\",
    \"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"$1\",\"uid\":\"$uid\",\"blockOwnerDeletion\":true}]}}"
  kubectl -n shop delete cm "$1" "--cascade=$2" --timeout=20s
}
check 'delete in the background' 'deleted' cascade back background
check 'the dependent goes' '' kubectl -n shop wait cm/back-child --for=delete --timeout=20s
check 'delete in the foreground' 'deleted' cascade fore foreground
refuse 'the dependent went first' 'NotFound' kubectl -n shop get cm fore-child
check 'delete an orphan' 'deleted' cascade orph orphan
check 'the dependent stays, without owner' '^\s*$' value cm/orph-child '{.metadata.ownerReferences}'
check 'delete by file' 'namespace "shop" deleted' kubectl delete --ignore-not-found -f "$work/shop.yaml" --timeout=60s
refuse 'the namespace is gone' 'NotFound' kubectl get namespace shop

release=${KO_DATA_PATH:-}/knative-serving/1.23.0
if [ -d "$release" ]; then
  echo "# Knative Serving 1.23.0"
  check 'apply the definitions' 'serverside-applied' kubectl apply --server-side -f "$release/1-serving-crds.yaml"
  check 'they are established' 'condition met' kubectl wait crd --all --for=condition=Established --timeout=30s
  check 'apply the rest' 'deployment.apps/controller' kubectl apply --server-side -f "$release/2-serving-core.yaml"
  check 'its Deployments get ready' 'condition met' \
    kubectl -n knative-serving wait deploy --all --for=condition=Available --timeout=60s
  check 'nothing differs from the release afterwards' '^\s*$' kubectl diff --server-side -f "$release/2-serving-core.yaml"
  check 'apply it again as a client' 'deployment.apps/controller' kubectl apply -f "$release/2-serving-core.yaml"
  check 'definitions say when they were made' 'NAME +CREATED AT.*services.serving.knative.dev +20[0-9T:-]+Z' kubectl get crd
  check 'explain a custom kind' 'KIND: +Service.*FIELD: spec <Object>.*template.<Object>' kubectl explain ksvc.spec
  check 'a custom kind has a short name' 'No resources' kubectl get ksvc -A
  kubectl apply -f - >/dev/null <<'JSON'
{"apiVersion":"serving.knative.dev/v1","kind":"Service","metadata":{"name":"hello","namespace":"default"},
 "spec":{"template":{"spec":{"containers":[{"image":"registry.example/hello:1"}]}}}}
JSON
  check 'a custom kind has columns of its own' \
    'NAMESPACE +NAME +URL +LATESTCREATED +LATESTREADY +READY +REASON\s+default +hello' kubectl get ksvc -A
  check 'roles are aggregated' 'serving.knative.dev' kubectl get clusterrole knative-serving-admin -o yaml
  # First, as long as what they call is still there.
  check 'remove its webhooks' 'deleted' \
    kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration --all --timeout=20s
  check 'remove it' 'deleted' kubectl delete --ignore-not-found --timeout=60s -f "$release/2-serving-core.yaml"
  check 'remove the definitions' '' kubectl delete --ignore-not-found --timeout=60s -f "$release/1-serving-crds.yaml"
  refuse 'nothing is left' 'NotFound' kubectl get namespace knative-serving
else
  echo "skip Knative Serving: KO_DATA_PATH is not set"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
