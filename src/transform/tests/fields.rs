//! Namespace, owner, labels, configuration, Services, budgets, rules.

use super::*;

#[test]
fn everything_namespaced_moves_to_the_component_and_gets_its_owner_and_label() {
    let mut service_account = object("v1", "ServiceAccount", "a");
    service_account["metadata"]["namespace"] = "kourier-system".into();
    service_account["metadata"]["ownerReferences"] = json!([{"name": "somebody"}]);
    let mut facts = facts();
    facts.apply_set = Some("applyset-x-v1".into());
    let result = transform(&component("KnativeServing", json!({})), &facts, service_account).unwrap();
    assert_eq!(
        result["metadata"],
        json!({
            "name": "a", "namespace": "ns",
            "labels": {"app.kubernetes.io/name": "knative-serving", "applyset.kubernetes.io/part-of": "applyset-x-v1"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "anchor", "uid": "u",
                                 "controller": true, "blockOwnerDeletion": true}],
        })
    );
}

#[test]
fn a_cluster_scoped_object_gets_a_label_but_neither_namespace_nor_owner() {
    let result = eventing(json!({}), object("rbac.authorization.k8s.io/v1", "ClusterRole", "a"));
    assert_eq!(
        result["metadata"],
        json!({"name": "a", "labels": {"app.kubernetes.io/name": "knative-eventing"}})
    );
}

#[test]
fn every_namespace_becomes_the_components_and_takes_the_users_labels() {
    let mut namespace = object("v1", "Namespace", "knative-sources");
    namespace["metadata"]["labels"] = json!({"istio-injection": "enabled", "a": "b"});
    let spec = json!({"namespace": {"labels": {"istio-injection": "disabled"}, "annotations": {"o": "p"}}});
    let result = eventing(spec, namespace);
    assert_eq!(result["metadata"]["name"], "ns");
    assert_eq!(result["metadata"]["annotations"], json!({"o": "p"}));
    assert_eq!(
        result["metadata"]["labels"],
        json!({"app.kubernetes.io/name": "knative-eventing", "istio-injection": "disabled", "a": "b"})
    );
}

#[test]
fn references_to_a_namespace_follow_but_none_is_invented() {
    let mut binding = object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "a");
    binding["subjects"] =
        json!([{"kind": "ServiceAccount", "name": "x", "namespace": "old"}, {"kind": "Group"}]);
    let subjects = serving(json!({}), binding)["subjects"].clone();
    assert_eq!(
        subjects,
        json!([{"kind": "ServiceAccount", "name": "x", "namespace": "ns"}, {"kind": "Group"}])
    );

    let mut hooks = object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "a");
    hooks["webhooks"] =
        json!([{"clientConfig": {"service": {"namespace": "old"}}}, {"clientConfig": {"url": "x"}}]);
    let hooks = serving(json!({}), hooks)["webhooks"].clone();
    assert_eq!(
        hooks,
        json!([{"clientConfig": {"service": {"namespace": "ns"}}}, {"clientConfig": {"url": "x"}}])
    );

    let mut definition = object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "a");
    definition["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["namespace"] = "old".into();
    let definition = serving(json!({}), definition);
    assert_eq!(definition["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["namespace"], "ns");
}

#[test]
fn w26_missing_and_odd_parts_never_panic() {
    for odd in [json!(null), json!("text"), json!([1, "a"]), json!({"webhooks": 1}), json!([null])] {
        for (api_version, kind, field) in [
            ("rbac.authorization.k8s.io/v1", "RoleBinding", "subjects"),
            ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "webhooks"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "spec"),
            ("apps/v1", "Deployment", "spec"),
            ("apps/v1", "StatefulSet", "spec"),
            ("batch/v1", "Job", "spec"),
            ("v1", "Service", "spec"),
            ("autoscaling/v2", "HorizontalPodAutoscaler", "spec"),
            ("policy/v1", "PodDisruptionBudget", "spec"),
        ] {
            let mut object = object(api_version, kind, "activator");
            object[field] = odd.clone();
            let spec = json!({
                "high-availability": {"replicas": 2}, "registry": {"default": "r/${NAME}"},
                "workloads": [{"name": "activator", "replicas": 1, "labels": {"a": "b"}, "hostNetwork": true}],
                "services": [{"name": "activator", "selector": {"a": "b"}}],
                "podDisruptionBudgets": [{"name": "activator", "minAvailable": 1}],
            });
            transform(&component("KnativeServing", spec), &facts(), object).unwrap();
        }
    }
}

#[test]
fn w26_a_config_map_with_a_short_name_is_left_alone() {
    for name in ["foo", "", "config-"] {
        let result = serving(json!({"config": {"network": {"a": "b"}}}), config_map(name, json!({"x": "y"})));
        assert_eq!(result["data"], json!({"x": "y"}));
    }
}

#[test]
fn config_entries_are_set_by_full_or_short_name_and_the_full_name_wins() {
    let released = || config_map("config-network", json!({"a": "released", "b": "released"}));
    let short = serving(json!({"config": {"network": {"a": "own"}}}), released());
    assert_eq!(short["data"], json!({"a": "own", "b": "released"}));
    let both = json!({"config": {"network": {"a": "short"}, "config-network": {"b": "full"}}});
    assert_eq!(serving(both, released())["data"], json!({"a": "released", "b": "full"}));
    let mut empty = released();
    empty["data"] = Value::Null;
    assert_eq!(serving(json!({"config": {"network": {"a": "own"}}}), empty)["data"], json!({"a": "own"}));
    let mut odd = released();
    odd["data"] = "text".into();
    assert_eq!(
        refused("KnativeServing", json!({"config": {"network": {"a": "b"}}}), odd),
        "data is not a map"
    );
}

#[test]
fn services_are_merged_and_several_entries_all_apply() {
    let mut service = object("v1", "Service", "a");
    service["spec"]["selector"] = json!({"app": "x", "role": "y"});
    let spec = json!({"services": [{"name": "a", "selector": {"app": "z"}, "labels": {"l": "1"}},
                                   {"name": "a", "annotations": {"n": "2"}}, {"name": "b", "labels": {"no": "no"}}]});
    let result = serving(spec, service);
    assert_eq!(result["spec"]["selector"], json!({"app": "z", "role": "y"}));
    assert_eq!(result["metadata"]["labels"], json!({"l": "1", "app.kubernetes.io/name": "knative-serving"}));
    assert_eq!(result["metadata"]["annotations"], json!({"n": "2"}));
}

#[test]
fn a_budget_has_one_number() {
    let budget = || {
        let mut budget = object("policy/v1", "PodDisruptionBudget", "a");
        budget["spec"] = json!({"minAvailable": "80%"});
        budget
    };
    let with = |entries: Value| json!({"podDisruptionBudgets": entries});
    let result = serving(with(json!([{"name": "a", "maxUnavailable": 1}])), budget());
    assert_eq!(result["spec"], json!({"maxUnavailable": 1}));
    let stopped = serving(with(json!([{"name": "a"}, {"name": "a", "maxUnavailable": 1}])), budget());
    assert_eq!(stopped["spec"], json!({"minAvailable": "80%"}));
    assert_eq!(
        refused(
            "KnativeServing",
            with(json!([{"name": "a", "minAvailable": 1, "maxUnavailable": "1%"}])),
            budget()
        ),
        "both minAvailable and maxUnavailable are set for PodDisruptionBudget a"
    );
}

#[test]
fn rules_of_aggregated_roles_are_left_to_the_aggregation_controller() {
    let component = component("KnativeServing", json!({}));
    let mut role = object("rbac.authorization.k8s.io/v1", "ClusterRole", "a");
    role["rules"] = json!([]);
    assert_eq!(transform(&component, &facts(), role.clone()).unwrap()["rules"], json!([]));
    role["aggregationRule"] = json!({"clusterRoleSelectors": []});
    assert_eq!(transform(&component, &facts(), role).unwrap().get("rules"), None);
}
