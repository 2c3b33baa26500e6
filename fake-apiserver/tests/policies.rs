//! ValidatingAdmissionPolicies and their bindings.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use common::{cluster, config_map, send, with};
use fake_apiserver::FakeApiServer;
use serde_json::{Value, json};

const API: &str = "admissionregistration.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn policy(spec: Value) -> Value {
    let rules =
        json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]);
    let base = json!({"matchConstraints": {"resourceRules": rules}});
    json!({"apiVersion": API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": with(base, spec)})
}

fn binding(spec: Value) -> Value {
    let base = json!({"policyName": "p", "validationActions": ["Deny"]});
    json!({"apiVersion": API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "b"}, "spec": with(base, spec)})
}

fn cluster_with(policy_spec: Value, binding_spec: Value) -> FakeApiServer {
    let cluster = cluster();
    cluster.create(policy(policy_spec)).unwrap();
    cluster.create(binding(binding_spec)).unwrap();
    cluster
}

/// What is said against a new ConfigMap, without the names of policy and binding.
fn refusal(cluster: &FakeApiServer, map: Value) -> Option<(u16, String)> {
    let status = cluster.create(map).err()?;
    let text = status.message.rsplit_once("denied request: ").map_or(&*status.message, |(_, text)| text);
    Some((status.code, text.to_owned()))
}

fn validation(expression: &str, extra: Value) -> Value {
    json!({"validations": [with(json!({"expression": expression}), extra)]})
}

#[tokio::test]
async fn a_denial_says_why_in_the_words_of_the_policy() {
    let small = "size(object.data) < 2";
    let big = || with(config_map("a"), json!({"data": {"k": "v", "l": "w"}}));
    for (extra, expected) in [
        (json!({}), (422, "failed expression: size(object.data) < 2")),
        (json!({"message": "too big", "reason": "Forbidden"}), (403, "too big")),
        (
            json!({"message": "too big", "messageExpression": "'has ' + string(size(object.data))"}),
            (422, "has 2"),
        ),
        (json!({"message": "too big", "messageExpression": "object.nothing"}), (422, "too big")),
    ] {
        let cluster = cluster_with(validation(small, extra.clone()), json!({}));
        let (code, text) = refusal(&cluster, big()).unwrap();
        assert_eq!((code, &*text), expected, "{extra}");
        assert_eq!(refusal(&cluster, with(config_map("b"), json!({"data": {"k": "v"}}))), None, "{extra}");
    }
}

#[tokio::test]
async fn an_expression_that_fails_denies_unless_the_policy_fails_open() {
    let broken = validation("object.data.missing == 'x'", json!({}));
    let cluster = cluster_with(broken.clone(), json!({}));
    let (code, text) = refusal(&cluster, config_map("a")).unwrap();
    let expected = "expression 'object.data.missing == 'x'' resulted in error: no such key: data";
    assert_eq!((code, &*text), (422, expected));
    let open = cluster_with(with(broken, json!({"failurePolicy": "Ignore"})), json!({}));
    assert_eq!(refusal(&open, config_map("a")), None);
}

#[tokio::test]
async fn a_policy_acts_only_where_it_is_bound() {
    let never = || validation("false", json!({}));
    let elsewhere = json!({"matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}});
    let cluster = cluster_with(never(), elsewhere);
    assert_eq!(refusal(&cluster, config_map("a")), None);
    let other = with(config_map("a"), json!({"metadata": {"namespace": "kube-system"}}));
    assert!(refusal(&cluster, other).is_some());
    let unless = json!({"matchConditions": [{"name": "named", "expression": "object.metadata.name == 'a'"}]});
    let cluster = cluster_with(with(never(), unless), json!({}));
    assert_eq!(refusal(&cluster, config_map("b")), None);
    assert!(refusal(&cluster, config_map("a")).is_some());
}

#[tokio::test]
async fn a_warning_lets_the_write_pass_and_an_audit_is_silent() {
    for (action, warnings) in [("Warn", 1), ("Audit", 0)] {
        let cluster = cluster_with(
            validation("false", json!({"message": "no"})),
            json!({"validationActions": [action]}),
        );
        let answer = send(&cluster, "POST", MAPS, Some(config_map("a"))).await;
        assert_eq!(answer.code, 201);
        let given: Vec<_> = answer.headers.get_all("warning").iter().collect();
        assert_eq!(given.len(), warnings, "{action}");
    }
}

#[tokio::test]
async fn expressions_see_variables_parameters_the_request_and_the_old_object() {
    let expression = "variables.limit >= size(object.data) && request.operation == 'UPDATE' && \
                      oldObject.metadata.name == namespaceObject.metadata.name";
    let spec = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConditions": [{"name": "an update", "expression": "request.operation == 'UPDATE'"}],
        "variables": [{"name": "limit", "expression": "int(params.data.limit)"}],
    });
    let within = json!({
        "paramRef": {"name": "limits", "namespace": "kube-system", "parameterNotFoundAction": "Deny"},
        "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}},
    });
    let cluster = cluster_with(with(validation(expression, json!({})), spec), within);
    cluster.create(config_map("default")).unwrap();
    let grow = |keys: &[&str]| {
        cluster.edit("", "ConfigMap", "default", "default", |map| {
            keys.iter().for_each(|key| map["data"][*key] = json!("v"));
        })
    };
    let missing = grow(&["a"]).unwrap_err().message;
    assert!(
        missing.ends_with("no params found for policy binding with `Deny` parameterNotFoundAction"),
        "{missing}"
    );
    let limits = json!({"metadata": {"namespace": "kube-system"}, "data": {"limit": "1"}});
    cluster.create(with(config_map("limits"), limits)).unwrap();
    grow(&["a"]).unwrap();
    assert!(grow(&["a", "b"]).is_err());
}

#[tokio::test]
async fn a_deletion_has_an_old_object_only() {
    let spec = validation("object == null && oldObject.metadata.name != 'kept'", json!({}));
    let deletes = json!({"matchConstraints": {"resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"]}]}});
    let cluster = cluster_with(with(spec, deletes), json!({}));
    for (name, code) in [("kept", 422), ("free", 200)] {
        cluster.create(config_map(name)).unwrap();
        assert_eq!(send(&cluster, "DELETE", &format!("{MAPS}/{name}"), None).await.code, code, "{name}");
    }
}

#[tokio::test]
async fn incomplete_policies_and_bindings_are_refused() {
    let cluster = cluster();
    let causes = |object: Value| {
        let status = cluster.create(object).unwrap_err();
        let causes = status.details.unwrap()["causes"].as_array().cloned().unwrap();
        causes.iter().map(|cause| cause["field"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(causes(policy(json!({}))), ["spec.validations", "spec.auditAnnotations"]);
    assert_eq!(causes(policy(validation("1 +", json!({})))), ["spec.validations[0].expression"]);
    let both = json!({"validationActions": ["Deny", "Warn"]});
    assert_eq!(causes(binding(both)), ["spec.validationActions"]);
}
