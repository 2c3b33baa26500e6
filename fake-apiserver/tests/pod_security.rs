//! Pod security standards: a namespace's labels decide which Pods it takes.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use common::{Answer, cluster, send};
use fake_apiserver::FakeApiServer;
use serde_json::{Value, json};

async fn namespace(cluster: &FakeApiServer, labels: Value) -> Answer {
    let body = json!({"metadata": {"name": "ns", "labels": labels}});
    send(cluster, "POST", "/api/v1/namespaces", Some(body)).await
}

async fn pod(cluster: &FakeApiServer, name: &str, spec: Value) -> Answer {
    let mut body =
        json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "i"}]}});
    for (field, value) in spec.as_object().unwrap() {
        body["spec"][field] = value.clone();
    }
    send(cluster, "POST", "/api/v1/namespaces/ns/pods", Some(body)).await
}

fn enforced(level: &str) -> Value {
    json!({ "pod-security.kubernetes.io/enforce": level })
}

fn warnings(answer: &Answer) -> Vec<&str> {
    answer.headers.get_all("warning").iter().map(|value| value.to_str().unwrap()).collect()
}

/// What a Pod of one container breaks, in the words of the refusal.
async fn broken(level: &str, spec: Value) -> String {
    let cluster = cluster();
    assert_eq!(namespace(&cluster, enforced(level)).await.code, 201);
    let answer = pod(&cluster, "p", spec).await;
    if answer.code == 201 {
        return String::new();
    }
    assert_eq!((answer.code, &answer.body["reason"]), (403, &json!("Forbidden")));
    let message = answer.body["message"].as_str().unwrap();
    let start = format!("pods \"p\" is forbidden: violates PodSecurity \"{level}:latest\": ");
    message.strip_prefix(&start).unwrap().to_owned()
}

fn container(rest: Value) -> Value {
    json!({ "containers": [common::with(json!({"name": "main", "image": "i"}), rest)] })
}

#[tokio::test]
async fn a_baseline_namespace_takes_plain_pods_and_refuses_what_reaches_the_node() {
    assert_eq!(broken("baseline", json!({})).await, "");
    for (spec, words) in [
        (json!({"hostNetwork": true, "hostPID": true}), "host namespaces (hostNetwork=true, hostPID=true)"),
        (json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}), "hostPath volumes (volume \"v\")"),
        (
            container(json!({"ports": [{"containerPort": 80, "hostPort": 80}]})),
            "hostPort (container \"main\" uses hostPort 80)",
        ),
        (
            container(json!({"securityContext": {"privileged": true}})),
            "privileged (container \"main\" must not set securityContext.privileged=true)",
        ),
        (
            container(json!({"securityContext": {"capabilities": {"add": ["NET_ADMIN", "CHOWN", "BPF"]}}})),
            "non-default capabilities (container \"main\" must not include \"BPF\", \"NET_ADMIN\" in \
             securityContext.capabilities.add)",
        ),
        (
            json!({"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}}),
            "forbidden sysctl (kernel.msgmax)",
        ),
        (
            json!({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}),
            "seccompProfile (pod must not set securityContext.seccompProfile.type to \"Unconfined\")",
        ),
        (
            json!({"securityContext": {"seLinuxOptions": {"type": "spc_t", "user": "u"}}}),
            "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type \"spc_t\"; user may not be set)",
        ),
    ] {
        assert_eq!(broken("baseline", spec).await, words);
    }
}

#[tokio::test]
async fn a_restricted_namespace_wants_pods_to_give_up_what_they_need_not() {
    let hardened = json!({
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "main", "image": "i", "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
        }}],
    });
    assert_eq!(broken("restricted", hardened.clone()).await, "");
    let root = common::with(hardened.clone(), json!({"securityContext": {"runAsUser": 0}}));
    assert_eq!(broken("restricted", root).await, "runAsUser=0 (pod must not set runAsUser=0)");
    let rooted = common::with(hardened.clone(), json!({"securityContext": {"runAsNonRoot": false}}));
    let words = "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)";
    assert_eq!(broken("restricted", rooted).await, words);
    let disk = json!({"volumes": [{"name": "v", "nfs": {"server": "s", "path": "/"}}]});
    let words = "restricted volume types (volume \"v\" uses restricted volume type \"nfs\")";
    assert_eq!(broken("restricted", common::with(hardened, disk)).await, words);
}

#[tokio::test]
async fn rules_are_those_of_the_version_that_the_namespace_names() {
    let cluster = cluster();
    let labels =
        common::with(enforced("restricted"), json!({"pod-security.kubernetes.io/enforce-version": "v1.18"}));
    namespace(&cluster, labels).await;
    let refused = pod(&cluster, "p", json!({})).await;
    // Neither capabilities nor seccomp profiles were looked at then.
    assert_eq!(
        refused.body["message"],
        "pods \"p\" is forbidden: violates PodSecurity \"restricted:v1.18\": allowPrivilegeEscalation != false \
         (container \"main\" must set securityContext.allowPrivilegeEscalation=false), runAsNonRoot != true (pod or \
         container \"main\" must set securityContext.runAsNonRoot=true)"
    );
}

#[tokio::test]
async fn labels_that_name_no_level_are_refused() {
    let cluster = cluster();
    let labels = json!({
        "pod-security.kubernetes.io/enforce": "strict", "pod-security.kubernetes.io/warn-version": "1.20",
    });
    let refused = namespace(&cluster, labels).await;
    assert_eq!(refused.code, 422);
    let causes = refused.body["details"]["causes"].as_array().unwrap();
    let messages: Vec<_> = causes.iter().map(|cause| cause["message"].as_str().unwrap()).collect();
    assert_eq!(
        messages,
        [
            "Invalid value: \"strict\": must be one of privileged, baseline, restricted",
            "Invalid value: \"1.20\": must be \"latest\" or \"v1.x\"",
        ]
    );
}

#[tokio::test]
async fn a_stricter_namespace_keeps_its_pods_and_warns_of_them() {
    let cluster = cluster();
    namespace(&cluster, json!({})).await;
    for name in ["a", "b"] {
        assert_eq!(pod(&cluster, name, json!({"hostIPC": true})).await.code, 201);
    }
    let patch = json!({"metadata": {"labels": enforced("baseline")}});
    let merge = [("content-type", "application/merge-patch+json")];
    let answer = common::send_with(&cluster, "PATCH", "/api/v1/namespaces/ns", &merge, Some(patch)).await;
    assert_eq!(answer.code, 200);
    assert_eq!(
        warnings(&answer),
        [
            r#"299 - "existing pods in namespace \"ns\" violate the new PodSecurity enforce level \"baseline:latest\"""#,
            r#"299 - "a (and 1 other pod): host namespaces""#,
        ]
    );
    let unchanged = json!({"metadata": {"labels": {"x": "y"}}});
    let answer = common::send_with(&cluster, "PATCH", "/api/v1/namespaces/ns", &merge, Some(unchanged)).await;
    assert_eq!(warnings(&answer), [""; 0]);
}

#[tokio::test]
async fn what_makes_pods_is_warned_about_and_never_refused() {
    let cluster = cluster();
    let labels = common::with(enforced("baseline"), json!({"pod-security.kubernetes.io/warn": "baseline"}));
    namespace(&cluster, labels).await;
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {
        "hostPID": true, "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
    }});
    let job = json!({"metadata": {"name": "j"}, "spec": {"template": template}});
    let answer = send(&cluster, "POST", "/apis/batch/v1/namespaces/ns/jobs", Some(job)).await;
    assert_eq!(answer.code, 201);
    let words = r#"299 - "would violate PodSecurity \"baseline:latest\": host namespaces (hostPID=true)""#;
    assert_eq!(warnings(&answer), [words]);
}
