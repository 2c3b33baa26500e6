#!/usr/bin/env python3
"""The official Python client against the fake API server: list, watch, patch, custom objects, leader election.

usage: python_client.py KUBECONFIG     (needs the package `kubernetes`)
Prints a line for each check, then `N passed, N failed`; status 1 if any failed.
"""
import sys
import threading
import time
import uuid

from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock

config.load_kube_config(sys.argv[1])
core, apps, version = client.CoreV1Api(), client.AppsV1Api(), client.VersionApi()
namespace = "python-" + uuid.uuid4().hex[:8]
results = []


def check(text, holds, seen=""):
    results.append(bool(holds))
    print(("ok   " if holds else "FAIL ") + text + ("" if holds else f": {seen}"))


def config_map(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"app": "python"}), data=data)


check("the server tells its version", int(version.get_code().minor.rstrip("+")) >= 33)
core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=namespace)))
for i in range(5):
    core.create_namespaced_config_map(namespace, config_map(f"cm-{i}", value=str(i)))

page = core.list_namespaced_config_map(namespace, label_selector="app=python", limit=2)
names = [item.metadata.name for item in page.items]
while page.metadata._continue:
    page = core.list_namespaced_config_map(namespace, label_selector="app=python", limit=2, _continue=page.metadata._continue)
    names += [item.metadata.name for item in page.items]
check("a list comes in pages and is complete", names == [f"cm-{i}" for i in range(5)], names)

start = core.list_namespaced_config_map(namespace).metadata.resource_version
core.patch_namespaced_config_map("cm-0", namespace, {"data": {"value": "patched"}})
core.delete_namespaced_config_map("cm-4", namespace)
seen = []
for event in watch.Watch().stream(core.list_namespaced_config_map, namespace, resource_version=start, timeout_seconds=5):
    seen.append((event["type"], event["object"].metadata.name))
    if len(seen) == 2:
        break
check("a watch replays what happened since", seen == [("MODIFIED", "cm-0"), ("DELETED", "cm-4")], seen)
check("a patch took effect", core.read_namespaced_config_map("cm-0", namespace).data == {"value": "patched"})

try:
    core.read_namespaced_config_map("missing", namespace)
    check("a missing object is a 404", False)
except ApiException as error:
    check("a missing object is a 404 with a Status", error.status == 404 and '"reason":"NotFound"' in error.body, error.body)

container = client.V1Container(name="main", image="registry.example/app:1")
labels = {"app": "web"}
template = client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=[container]))
spec = client.V1DeploymentSpec(replicas=2, selector=client.V1LabelSelector(match_labels=labels), template=template)
apps.create_namespaced_deployment(namespace, client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec))
for _ in range(100):
    status = apps.read_namespaced_deployment_status("web", namespace).status
    if status.available_replicas == 2:
        break
    time.sleep(0.1)
check("a Deployment becomes available", status.available_replicas == 2, status)

leading, deposed = threading.Event(), threading.Event()
lock = ConfigMapLock("election", namespace, "candidate-1")
election = electionconfig.Config(
    lock, lease_duration=5, renew_deadline=3, retry_period=1, onstarted_leading=leading.set, onstopped_leading=deposed.set
)
candidate = threading.Thread(target=leaderelection.LeaderElection(election).run, daemon=True)
candidate.start()
check("a candidate is elected leader", leading.wait(10))

core.delete_namespace(namespace)
for _ in range(100):
    try:
        core.read_namespace(namespace)
        time.sleep(0.1)
    except ApiException as error:
        gone = error.status == 404
        break
else:
    gone = False
check("a deleted namespace drains and goes", gone)
# It went with its lock. Left running, it could abort an interpreter that is on its way out.
candidate.join(30)
check("a candidate that cannot renew its lock stops leading", deposed.is_set() and not candidate.is_alive())

print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
sys.exit(0 if all(results) else 1)
