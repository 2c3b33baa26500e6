//! Field ownership and server-side apply.

use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};

use super::*;
use crate::oracle::member::set_of;
use crate::runtime::run;

const URL: &str = "https://example.org/a.yaml";

fn api(site: &Site, group: &str, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    Api::namespaced_with(site.server.client(), "knative-serving", &resource)
}

fn managers(object: &Value) -> Vec<(&str, &str)> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let text = |value: &'_ Value| value.as_str().unwrap_or_default().to_owned().leak() as &str;
    entries.map(|entry| (text(&entry["manager"]), text(&entry["operation"]))).collect()
}

/// Makes an installation look as if the Go operator had made it: its field manager updates, no labels of ours, no
/// record.
async fn as_of_the_go_operator(world: &World) {
    let east = spoke(world, "east");
    let snapshot = east.server.snapshot();
    for member in snapshot.objects().filter(|object| set_of(object.value).is_some()) {
        let key = crate::oracle::member::key_of(member.value);
        world.edit(&east, (&key.kind.group, &key.kind.kind, &key.namespace, &key.name), |object| {
            let metadata = &mut object["metadata"];
            if let Some(labels) = metadata["labels"].as_object_mut() {
                labels.remove("applyset.kubernetes.io/part-of");
            }
            for entry in metadata["managedFields"].as_array_mut().into_iter().flatten() {
                if entry["manager"] == "knative-operator" && entry["operation"] == "Apply" {
                    entry["manager"] = json!("manifestival");
                    entry["operation"] = json!("Update");
                }
            }
        });
    }
    let (group, kind, namespace, name) = id(SERVING);
    let emptied = world.hub.server.edit_status(group, kind, namespace, name, |object| {
        object["status"]["annotations"] = json!({});
    });
    assert!(emptied.is_ok(), "{emptied:?}");
    // An argument of a release that this operator does not have.
    let deployments = api(&east, "apps", "Deployment");
    let mut controller = deployments.get("controller").await.expect("installed");
    controller.data["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["--legacy"]);
    let their = PostParams { field_manager: Some("manifestival".into()), ..PostParams::default() };
    deployments.replace("controller", &their, &controller).await.expect("it may be changed");
}

#[test]
fn br43_an_argument_that_the_go_operator_applied_goes_and_its_claims_are_taken_over_once() {
    run(|| async {
        let mut world = installed(1, "1.23.0").await;
        world.pass(20 * MINUTE).await;
        world.stop_operator();
        as_of_the_go_operator(&world).await;
        let east = spoke(&world, "east");
        let args = |site: &Site| {
            let controller = find(site, deployment("controller")).expect("installed");
            controller["spec"]["template"]["spec"]["containers"][0]["args"].clone()
        };
        assert_eq!(args(&east), json!(["--legacy"]));
        let uids = |site: &Site| {
            let mut all = inventory(site);
            // Without a record it is not known that they have run.
            all.retain(|key, _| !key.starts_with("Job."));
            all
        };
        let (before, activator) = (uids(&east), find(&east, deployment("activator")).expect("installed"));
        world.start_operator();
        world.pass(5 * MINUTE).await;
        world.ready(SERVING, "1.23.0").await;
        assert_eq!(args(&east), json!(null));
        assert_same(&before, &uids(&east));
        let now = find(&east, deployment("activator")).expect("installed");
        assert_eq!(now["metadata"]["generation"], activator["metadata"]["generation"], "it was restarted");
        let snapshot = east.server.snapshot();
        for member in snapshot.objects().filter(|object| set_of(object.value).is_some()) {
            if member.value["kind"] != "Job" {
                let managers = managers(member.value);
                assert!(
                    !managers.iter().any(|(name, _)| *name == "manifestival"),
                    "{}: {managers:?}",
                    member.name
                );
                assert!(managers.contains(&("knative-operator", "Apply")), "{}: {managers:?}", member.name);
            }
        }
        world.start_operator();
        let start = world.trace.len();
        world.pass(HOUR).await;
        assert_eq!(writes(&world, start, "east"), [], "it happens once");
    });
}

fn service(port: u16) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec: {{selector: {{a: b}}, \
         ports: [{{name: http, port: {port}}}]}}\n"
    )
}

/// Installs a Service, lets `meddle` work on it, and changes its port.
async fn change_port<F: AsyncFn(&Api<DynamicObject>)>(seed: u64, meddle: F) -> Value {
    let mut world = world(seed);
    let later = "https://example.org/later.yaml";
    world.files.put(URL, service(80));
    world.files.put(later, service(8080));
    world.submit(small(&[URL]));
    world.ready(SERVING, "1.23.0").await;
    let east = spoke(&world, "east");
    meddle(&api(&east, "", "Service")).await;
    let spec = small(&[later])["spec"].clone();
    world.edit(&world.hub, id(SERVING), |object| object["spec"] = spec);
    world.pass(5 * MINUTE).await;
    world.ready(SERVING, "1.23.0").await;
    let start = world.trace.len();
    world.pass(10 * MINUTE).await;
    assert_eq!(writes(&world, start, "east"), []);
    world.stop_operator();
    let live = find(&east, ("", "Service", "knative-serving", "web")).expect("installed");
    let mut ports = live["spec"]["ports"].clone();
    for port in ports.as_array_mut().into_iter().flatten() {
        port.as_object_mut().expect("an object").retain(|key, _| key == "name" || key == "port");
    }
    ports
}

#[test]
fn br46_another_port_under_the_same_name_replaces_the_first_whoever_else_owns_that() {
    run(|| async {
        let wanted = json!([{"name": "http", "port": 8080}]);
        assert_eq!(change_port(2, async |_| {}).await, wanted);
        // Somebody else applies the same port.
        let applied = async |api: &Api<DynamicObject>| {
            let same = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                "spec": {"ports": [{"name": "http", "port": 80}]}});
            let params = PatchParams::apply("somebody").force();
            api.patch("web", &params, &Patch::Apply(same)).await.expect("it may be applied");
        };
        assert_eq!(change_port(3, applied).await, wanted);
        // Somebody changes it by hand.
        let edited = async |api: &Api<DynamicObject>| {
            let patch = json!({"spec": {"ports": [{"port": 80, "name": "http", "targetPort": 9090}]}});
            api.patch("web", &PatchParams::default(), &Patch::Strategic(patch))
                .await
                .expect("it may be changed");
        };
        assert_eq!(change_port(4, edited).await, wanted);
    });
}

#[test]
fn br46_the_server_keeps_ports_by_number_and_refuses_two_of_one_name() {
    run(|| async {
        let world = world(5);
        let east = spoke(&world, "east");
        world.create_namespace(&east, "knative-serving");
        let services = api(&east, "", "Service");
        for (manager, port, refused) in [("one", 80, false), ("two", 80, false), ("one", 8080, true)] {
            let wanted = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                "spec": {"ports": [{"name": "http", "port": port}]}});
            let answer = services.patch("web", &PatchParams::apply(manager), &Patch::Apply(wanted)).await;
            let text = answer.as_ref().err().map(ToString::to_string).unwrap_or_default();
            assert_eq!(answer.is_err(), refused, "{text}");
            assert!(!refused || text.contains("spec.ports[1].name: Duplicate value: \"http\""), "{text}");
        }
    });
}

#[test]
fn br47_a_repeated_variable_is_reported_with_object_and_field_and_the_rest_is_applied() {
    run(|| async {
        let world = world(6);
        let twice = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: odd}\nspec:\n  selector: {matchLabels: {a: b}}\n  \
             template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: c, image: i, env: \
             [{name: TWICE, value: x}, {name: TWICE, value: y}]}]}\n";
        world.files.put(URL, twice.to_owned() + "---\n" + &map_and_role("a"));
        world.submit(small(&[URL]));
        let text = world.says(SERVING, "InstallSucceeded", "False", "ObjectsRejected").await;
        for word in ["Deployment.apps knative-serving/odd", ".env", "TWICE", "duplicate entries for key"] {
            assert!(text.contains(word), "{text}");
        }
        assert!(find(&spoke(&world, "east"), config_map("a")).is_some(), "the others are applied");
    });
}

#[test]
fn br49_replicas_of_an_autoscaled_workload_are_the_least_of_its_autoscaler() {
    run(|| async {
        let world = world(7);
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["workloads"] = json!([{"name": "webhook", "replicas": 3}]);
        world.submit(resource);
        world.ready(SERVING, "1.23.0").await;
        let autoscaler = ("autoscaling", "HorizontalPodAutoscaler", "knative-serving", "webhook");
        let live = find(&spoke(&world, "east"), autoscaler).expect("installed");
        let bound = |field: &str| live["spec"][field].as_i64().unwrap_or_default();
        assert!(
            bound("minReplicas") >= 3 && bound("maxReplicas") >= bound("minReplicas"),
            "{}",
            live["spec"]
        );
    });
}
