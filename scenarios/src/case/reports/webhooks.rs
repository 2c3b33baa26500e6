//! Admission that stands in the way, and namespaces that do not drain.

use fake_apiserver::Readiness;

use super::*;
use crate::runtime::run;

const URL: &str = "https://example.org/a.yaml";

/// A webhook that is asked about these requests, and must be.
fn webhook(name: &str, operations: &[&str], resource: (&str, &str)) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [{
            "name": format!("{name}.example.org"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"service": {"namespace": "policy", "name": "policy"}},
            "rules": [{"apiGroups": [resource.0], "apiVersions": ["*"], "operations": operations, "resources": [resource.1]}],
            "failurePolicy": "Fail",
        }],
    })
}

/// A workload with a Service in front of it.
fn guard(namespace: &str, name: &str, image: &str) -> [Value; 2] {
    let labels = json!({"app": name});
    let workload = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": namespace, "name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": image}]}}}});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": namespace, "name": name},
        "spec": {"selector": labels, "ports": [{"port": 443}]}});
    [workload, service]
}

#[test]
fn br59_a_webhook_that_stands_before_its_own_workload_is_named_and_its_removal_by_hand_ends_the_loop() {
    run(|| async {
        let mut world = world(1);
        let east = spoke(&world, "east");
        let later = "https://example.org/later.yaml";
        for (url, image) in [(URL, "one"), (later, "two")] {
            let [workload, service] = guard("knative-serving", "policy", image);
            world.files.put(url, format!("{workload}\n---\n{service}\n"));
        }
        world.submit(small(&[URL]));
        world.ready(SERVING, "1.23.0").await;
        let mut configuration = webhook("policy", &["CREATE", "UPDATE"], ("apps", "deployments"));
        configuration["webhooks"][0]["clientConfig"]["service"]["namespace"] = json!("knative-serving");
        world.create(&east, configuration);
        // Its pods are lost, and new ones need a new image, which nobody can admit.
        east.server.workloads().script("policy", Readiness::Never);
        world.pass(MINUTE).await;
        let spec = small(&[later])["spec"].clone();
        world.edit(&world.hub, id(SERVING), |object| object["spec"] = spec);
        let text = world.says(SERVING, "InstallSucceeded", "False", "ObjectsRejected").await;
        assert!(text.contains("Deployment.apps knative-serving/policy"), "{text}");
        assert!(text.contains("policy.example.org"), "it names the webhook: {text}");
        let start = world.trace.len();
        world.pass(HOUR).await;
        let tried = requests(&world, start, "east", "/deployments/policy?");
        assert!((50..=400).contains(&tried), "tried {tried} times in an hour");
        let image = |world: &World| {
            let live = find(&spoke(world, "east"), deployment("policy")).expect("installed");
            live["spec"]["template"]["spec"]["containers"][0]["image"].clone()
        };
        assert_eq!(image(&world), "one", "nothing is forced");
        world.delete(&east, ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "", "policy"));
        east.server.workloads().script("policy", Readiness::After(Duration::from_secs(5)));
        world.ready(SERVING, "1.23.0").await;
        assert_eq!(image(&world), "two");
        world.stop_operator();
    });
}

#[test]
fn br60_two_of_ten_obsolete_objects_whose_deletion_is_denied_for_an_hour_stay_recorded_and_then_go() {
    run(|| async {
        let mut world = world(2);
        let (east, others) = (spoke(&world, "east"), "https://example.org/others.yaml");
        world.files.put(URL, map_and_role("a"));
        world.files.put(others, config_maps("old", 10));
        world.submit(small(&[URL, others]));
        world.ready(SERVING, "1.23.0").await;
        world.create_namespace(&east, "policy");
        let denies = Arc::new(Mutex::new(true));
        let asked = denies.clone();
        east.server.webhooks().answer_with("policy", "policy", move |request| {
            let protected = ["old-3", "old-7"].iter().any(|name| request["name"] == *name);
            json!({"allowed": !(protected && *asked.lock()), "status": {"message": "not before noon"}})
        });
        for object in guard("policy", "policy", "any") {
            world.create(&east, object);
        }
        world.pass(MINUTE).await;
        world.create(&east, webhook("policy", &["DELETE"], ("", "configmaps")));
        let spec = small(&[URL])["spec"].clone();
        world.edit(&world.hub, id(SERVING), |object| object["spec"] = spec);
        let text = world.says(SERVING, "InstallSucceeded", "False", "PruneFailed").await;
        assert!(
            text.contains("old-3") && text.contains("old-7") && text.contains("not before noon"),
            "{text}"
        );
        world.pass(HOUR).await;
        let left = |world: &World| {
            let names = (0..10).map(|i| format!("old-{i}"));
            names.filter(|name| find(&spoke(world, "east"), config_map(name)).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(left(&world), ["old-3", "old-7"]);
        let component = world.component(SERVING).expect("it is there");
        let record = component["status"]["annotations"]["operator.knative.dev/inventory"].to_string();
        assert!(
            record.contains("old-3") && record.contains("old-7") && !record.contains("old-5"),
            "{record}"
        );
        *denies.lock() = false;
        world.ready(SERVING, "1.23.0").await;
        assert_eq!(left(&world), [""; 0]);
        world.stop_operator();
    });
}

#[test]
fn br61_a_namespace_that_an_unavailable_api_keeps_from_draining_is_waited_for_and_shown() {
    run(|| async {
        let world = installed(3, "1.23.0").await;
        let east = spoke(&world, "east");
        let service = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": "v1.metrics.example.org"},
            "spec": {"group": "metrics.example.org", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100,
                     "service": {"namespace": "kube-system", "name": "nobody"}}});
        world.create(&east, service);
        world.pass(MINUTE).await;
        let start = world.trace.len();
        world.delete(&world.hub, id(SERVING));
        let text = world.says(SERVING, "DeletionBlocked", "True", "DeletionFailed").await;
        assert!(text.contains("knative-serving") && text.contains("metrics.example.org/v1"), "{text}");
        world.pass(HOUR).await;
        assert!(world.component(SERVING).is_some());
        let namespace = find(&east, ("", "Namespace", "", "knative-serving")).expect("it is held");
        assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]), "no finalizer is stripped");
        let sent = writes(&world, start, "east");
        assert!(sent.iter().all(|request| !request.path.contains("finalize")), "{sent:?}");
        world.delete(&east, ("apiregistration.k8s.io", "APIService", "", "v1.metrics.example.org"));
        world.until(10 * MINUTE, |world| world.component(SERVING).is_none()).await.expect("it goes on");
    });
}
