//! LimitRanges and ResourceQuotas: how much Pods, claims and namespaces may take.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use common::{Answer, cluster, send};
use fake_apiserver::FakeApiServer;
use serde_json::{Value, json};

const BASE: &str = "/api/v1/namespaces/default";

async fn limits(cluster: &FakeApiServer, limits: Value) {
    let body = json!({"metadata": {"name": "limits"}, "spec": {"limits": limits}});
    assert_eq!(send(cluster, "POST", &format!("{BASE}/limitranges"), Some(body)).await.code, 201);
}

async fn quota(cluster: &FakeApiServer, spec: Value, used: Value) {
    let body = json!({"metadata": {"name": "quota"}, "spec": spec});
    assert_eq!(send(cluster, "POST", &format!("{BASE}/resourcequotas"), Some(body)).await.code, 201);
    let target = format!("{BASE}/resourcequotas/quota");
    let mut object = send(cluster, "GET", &target, None).await.body;
    object["status"] = json!({"hard": object["spec"]["hard"], "used": used});
    assert_eq!(send(cluster, "PUT", &format!("{target}/status"), Some(object)).await.code, 200);
}

async fn pod(cluster: &FakeApiServer, name: &str, resources: Value) -> Answer {
    let containers = json!([{"name": "main", "image": "i", "resources": resources}]);
    let body = json!({"metadata": {"name": name}, "spec": {"containers": containers}});
    send(cluster, "POST", &format!("{BASE}/pods"), Some(body)).await
}

fn refusal(answer: &Answer) -> &str {
    assert_eq!(answer.code, 403, "{}", answer.text);
    answer.body["message"].as_str().unwrap().split_once(" is forbidden: ").unwrap().1
}

#[tokio::test]
async fn containers_get_the_usual_amounts_and_the_pod_says_so() {
    let cluster = cluster();
    let limit = json!({"type": "Container", "max": {"memory": "1Gi"}, "default": {"cpu": "1"}, "min": {"cpu": "10m"}});
    limits(&cluster, json!([limit])).await;
    let made = pod(&cluster, "p", json!({"requests": {"cpu": "500m"}})).await.body;
    assert_eq!(
        made["spec"]["containers"][0]["resources"],
        json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}})
    );
    assert_eq!(
        made["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: memory request for container main; cpu, memory limit for container main"
    );
    assert_eq!(made["status"]["qosClass"], "Burstable");
}

#[tokio::test]
async fn a_pod_outside_of_the_limits_is_told_every_one_it_breaks() {
    let cluster = cluster();
    limits(
        &cluster,
        json!([
            {"type": "Container", "min": {"cpu": "100m"}, "maxLimitRequestRatio": {"cpu": "2"}},
            {"type": "Pod", "max": {"memory": "1Gi"}},
        ]),
    )
    .await;
    let resources = json!({"requests": {"cpu": "50m", "memory": "2Gi"}, "limits": {"cpu": "150m"}});
    assert_eq!(
        refusal(&pod(&cluster, "p", resources).await),
        "[minimum cpu usage per Container is 100m, but request is 50m, cpu max limit to request ratio per Container \
         is 2, but provided ratio is 3.000000, maximum memory usage per Pod is 1Gi.  No limit is specified]"
    );
}

#[tokio::test]
async fn claims_for_storage_are_bounded() {
    let cluster = cluster();
    limits(&cluster, json!([{"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}])).await;
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}});
    let claim = json!({"metadata": {"name": "c"}, "spec": spec});
    let answer = send(&cluster, "POST", &format!("{BASE}/persistentvolumeclaims"), Some(claim)).await;
    assert_eq!(
        refusal(&answer),
        "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi"
    );
}

#[tokio::test]
async fn a_quota_is_used_up_by_what_is_created() {
    let cluster = cluster();
    let spec = json!({"hard": {"pods": "2", "requests.cpu": "1"}});
    quota(&cluster, spec, json!({"pods": "0", "requests.cpu": "0"})).await;
    let cpu = |amount: &str| json!({"requests": {"cpu": amount}});
    assert_eq!(
        refusal(&pod(&cluster, "a", json!({})).await),
        "failed quota: quota: must specify requests.cpu for: main"
    );
    assert_eq!(pod(&cluster, "a", cpu("600m")).await.code, 201);
    assert_eq!(
        refusal(&pod(&cluster, "b", cpu("500m")).await),
        "exceeded quota: quota, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1"
    );
    assert_eq!(pod(&cluster, "b", cpu("400m")).await.code, 201);
    assert_eq!(
        refusal(&pod(&cluster, "c", cpu("1m")).await),
        "exceeded quota: quota, requested: pods=1,requests.cpu=1m, used: pods=2,requests.cpu=1, limited: \
         pods=2,requests.cpu=1"
    );
}

#[tokio::test]
async fn a_quota_that_nobody_measures_yet_lets_nothing_through_that_it_limits() {
    let cluster = cluster();
    let body = json!({"metadata": {"name": "quota"}, "spec": {"hard": {"count/configmaps": "1"}}});
    send(&cluster, "POST", &format!("{BASE}/resourcequotas"), Some(body)).await;
    let made = common::config_map("c");
    let answer = send(&cluster, "POST", &format!("{BASE}/configmaps"), Some(made)).await;
    assert_eq!(refusal(&answer), "status unknown for quota: quota, resources: count/configmaps");
    assert_eq!(pod(&cluster, "p", json!({})).await.code, 201);
}

/// The fields that a refusal names, with what it says of them.
async fn problems(plural: &str, spec: Value) -> Vec<String> {
    let body = json!({"metadata": {"name": "x"}, "spec": spec});
    let answer = send(&cluster(), "POST", &format!("{BASE}/{plural}"), Some(body)).await;
    let causes = answer.body["details"]["causes"].as_array().into_iter().flatten();
    let told = |cause: &Value| {
        format!("{}: {}", cause["field"].as_str().unwrap(), cause["message"].as_str().unwrap())
    };
    causes.map(told).collect()
}

#[tokio::test]
async fn limits_that_contradict_each_other_are_refused() {
    let limits = json!([
        {"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}, "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}},
        {"type": "Pod", "default": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "500m"}},
        {"type": "PersistentVolumeClaim"},
        {"type": "Pod"},
    ]);
    assert_eq!(
        problems("limitranges", json!({"limits": limits})).await,
        [
            "spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1",
            "spec.limits[0].defaultRequest[cpu]: Invalid value: \"2\": default request value 2 is greater than max value 1",
            "spec.limits[0].defaultRequest[cpu]: Invalid value: \"2\": default request value 2 is greater than default \
             limit value 1",
            "spec.limits[0].default[cpu]: Invalid value: \"1\": min value 2 is greater than default value 1",
            "spec.limits[1].default: Forbidden: may not be specified when `type` is 'Pod'",
            "spec.limits[1].maxLimitRequestRatio[cpu]: Invalid value: \"500m\": ratio 500m is less than 1",
            "spec.limits[2]: Required value: either minimum or maximum storage value is required, but neither was provided",
            "spec.limits[3].type: Duplicate value: \"Pod\"",
        ]
    );
}

#[tokio::test]
async fn a_quota_of_what_nobody_counts_is_refused() {
    let spec = json!({"hard": {"bogus": "1", "pods": "-1", "count/jobs.batch": "500m"}});
    assert_eq!(
        problems("resourcequotas", spec).await,
        [
            "spec.hard[bogus]: Invalid value: \"bogus\": must be a standard resource type or fully qualified",
            "spec.hard[bogus]: Invalid value: \"bogus\": must be a standard resource for quota",
            "spec.hard[count/jobs.batch]: Invalid value: \"500m\": must be an integer",
            "spec.hard[pods]: Invalid value: \"-1\": must be greater than or equal to 0",
        ]
    );
    let spec = json!({"hard": {"requests.cpu": "1"}, "scopes": ["BestEffort", "NotBestEffort"]});
    let shown = "spec.scopes: Invalid value: [\"BestEffort\",\"NotBestEffort\"]:";
    assert_eq!(
        problems("resourcequotas", spec).await,
        [format!("{shown} unsupported scope applied to resource"), format!("{shown} conflicting scopes")]
    );
}
