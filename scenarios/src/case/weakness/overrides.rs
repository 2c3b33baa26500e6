//! What users override: it reaches its place, or it is said that it does not, and what others manage stays theirs.

use std::time::Duration;

use serde_json::{Value, json};

use super::{east, find, must_find, world, writes};
use crate::runtime::run;
use crate::story::{EVENTING, SERVING, component, eventing, id, serving};
use crate::world::World;

/// The Jobs of Serving on the spoke, by name with their UID.
fn jobs(world: &World) -> Vec<(String, Value)> {
    let jobs = east(world).server.snapshot().list("batch", "Job", "knative-serving");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    jobs.iter().map(|job| (text(&job["metadata"]["name"]), job["metadata"]["uid"].clone())).collect()
}

#[test]
fn w39_a_finished_job_is_not_run_again_because_it_was_tidied_away() {
    run(|| async {
        let mut world = world(1);
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        assert_eq!(jobs(&world).len(), 2);
        world.pass(Duration::from_secs(900)).await;
        assert_eq!(jobs(&world), []);
        let start = world.trace.len();
        world.start_operator();
        world.edit(&world.hub, id(SERVING), |object| {
            object["spec"]["config"] = json!({"network": {"ingress-class": "mine"}});
        });
        world.pass(Duration::from_secs(3600)).await;
        world.ready(SERVING, "1.23.0").await;
        let again = writes(&world, start).into_iter().filter(|write| write.path.contains("/jobs"));
        assert_eq!(again.collect::<Vec<_>>(), []);
    });
}

#[test]
fn w39_a_job_of_another_content_replaces_the_one_before_and_no_failure_shows() {
    run(|| async {
        let world = world(2);
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        world.pass(Duration::from_secs(60)).await;
        let before = jobs(&world);
        world.edit(&world.hub, id(SERVING), |object| {
            object["spec"]["registry"] = json!({"default": "registry.internal/${NAME}"});
        });
        for _ in 0..120 {
            world.pass(Duration::from_secs(1)).await;
            assert_ne!(world.condition(SERVING, "InstallSucceeded").0, "False");
        }
        world.ready(SERVING, "1.23.0").await;
        let after = jobs(&world);
        assert_eq!(after.len(), before.len());
        for ((old, old_uid), (new, new_uid)) in before.iter().zip(&after) {
            assert_eq!(old, new);
            assert_ne!(old_uid, new_uid);
        }
        let migration = must_find(&east(&world), &format!("Job.batch knative-serving/{}", after[0].0));
        let image = migration["spec"]["template"]["spec"]["containers"][0]["image"].as_str();
        assert!(image.is_some_and(|image| image.starts_with("registry.internal/")), "{image:?}");
    });
}

#[test]
fn w39_the_jobs_of_the_version_before_go() {
    run(|| async {
        let world = world(3);
        world.submit(serving("1.22.0", Some("east")));
        world.ready(SERVING, "1.22.0").await;
        world.set_version(SERVING, "1.23.0");
        world.ready(SERVING, "1.23.0").await;
        let names: Vec<_> = jobs(&world).into_iter().map(|(name, _)| name).collect();
        assert!(!names.is_empty() && names.iter().all(|name| name.ends_with("1.23.0")), "{names:?}");
    });
}

#[test]
fn w40_a_probe_for_a_container_that_has_none_is_left_out_and_said() {
    run(|| async {
        let world = world(4);
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["workloads"] = json!([{"name": "controller", "livenessProbes": [
            {"container": "metrics-proxy", "periodSeconds": 3}, {"container": "controller", "periodSeconds": 3},
        ]}]);
        world.submit(resource);
        world.ready(SERVING, "1.23.0").await;
        let text = world.says(SERVING, "OverridesApplied", "False", "UnknownNames").await;
        assert!(text.contains("metrics-proxy has no such probe"), "{text}");
        let controller = must_find(&east(&world), "Deployment.apps knative-serving/controller");
        let containers = &controller["spec"]["template"]["spec"]["containers"];
        let probe = |name: &str| {
            let found = containers.as_array().into_iter().flatten().find(|c| c["name"] == name);
            found.expect("a container")["livenessProbe"]["periodSeconds"].clone()
        };
        assert_eq!([probe("controller"), probe("metrics-proxy")], [json!(3), json!(null)]);
    });
}

#[test]
fn w41_what_eventing_sets_on_its_ping_source_adapter_stays() {
    run(|| async {
        let world = world(5);
        let adapter = ("apps", "Deployment", "knative-eventing", "pingsource-mt-adapter");
        let state = |world: &World| {
            let live = must_find(&east(world), "Deployment.apps knative-eventing/pingsource-mt-adapter");
            let env = live["spec"]["template"]["spec"]["containers"][0]["env"].clone();
            (live["spec"]["replicas"].clone(), env, live["metadata"]["generation"].clone())
        };
        world.submit(eventing("1.23.0", Some("east")));
        world.ready(EVENTING, "1.23.0").await;
        // A first PingSource: Eventing's controller scales the adapter up and tells it how to observe.
        world.edit(&east(&world), adapter, |object| {
            object["spec"]["replicas"] = json!(1);
            let env = object["spec"]["template"]["spec"]["containers"][0]["env"].as_array_mut();
            for variable in env.expect("variables") {
                if variable["name"] == "K_OBSERVABILITY_CONFIG" {
                    variable["value"] = json!("{\"tracing\": \"on\"}");
                }
            }
        });
        let set = state(&world);
        world.edit(&world.hub, id(EVENTING), |object| {
            object["spec"]["config"] = json!({"features": {"kreference-group": "enabled"}});
        });
        world.pass(Duration::from_secs(1800)).await;
        world.ready(EVENTING, "1.23.0").await;
        assert_eq!(state(&world), set);
    });
}

#[test]
fn w42_overrides_that_match_nothing_and_images_that_a_registry_does_not_reach_are_named() {
    run(|| async {
        let world = world(6);
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["config"] = json!({"netwrok": {"a": "b"}});
        resource["spec"]["workloads"] = json!([{"name": "controler", "replicas": 2}]);
        resource["spec"]["services"] = json!([{"name": "actvator", "labels": {"a": "b"}}]);
        resource["spec"]["podDisruptionBudgets"] = json!([{"name": "pdb", "minAvailable": 1}]);
        resource["spec"]["resources"] = json!([{"container": "nobody", "limits": {"cpu": "1"}}]);
        resource["spec"]["registry"] = json!({"default": "internal/${NAME}", "override": {"ghost": "x"}});
        world.submit(resource);
        world.ready(SERVING, "1.23.0").await;
        let text = world.says(SERVING, "OverridesApplied", "False", "UnknownNames").await;
        for name in ["netwrok", "controler", "actvator", "pdb", "nobody", "ghost", "queue-sidecar-image"] {
            assert!(text.contains(name), "{name} is not in {text}");
        }
        world.edit(&world.hub, id(SERVING), |object| {
            let url = object["spec"]["clusterProfileRef"].clone();
            object["spec"] = json!({"version": "1.23.0", "clusterProfileRef": url,
                                    "ingress": {"kourier": {"enabled": true}}});
        });
        world.pass(Duration::from_secs(60)).await;
        assert_eq!(world.condition(SERVING, "OverridesApplied").0, "", "the warning stays");
    });
}

#[test]
fn w43_references_in_data_follow_the_namespace_of_the_resource() {
    run(|| async {
        let world = world(7);
        let key = ("KnativeEventing", "ev", "eventing");
        world.submit(component(key, &eventing("1.23.0", Some("east"))["spec"]));
        world.ready(key, "1.23.0").await;
        let defaults = must_find(&east(&world), "ConfigMap. ev/config-br-defaults");
        let text = defaults["data"]["default-br-config"].as_str().expect("a text");
        let value: Value = serde_saphyr::from_str(text).expect("YAML");
        let reference = &value["clusterDefault"];
        assert_eq!(reference["namespace"], "ev");
        let name = reference["name"].as_str().expect("a name");
        assert!(find(&east(&world), &format!("ConfigMap. ev/{name}")).is_some(), "{name} is not there");
        let key = ("KnativeServing", "sv", "serving");
        world.submit(component(key, &serving("1.23.0", Some("east"))["spec"]));
        world.ready(key, "1.23.0").await;
        let bootstrap = must_find(&east(&world), "ConfigMap. sv/kourier-bootstrap").to_string();
        assert!(bootstrap.contains("net-kourier-controller.sv"), "{bootstrap}");
        assert!(!bootstrap.contains("net-kourier-controller.knative-serving"), "{bootstrap}");
    });
}

#[test]
fn w50_two_names_of_one_config_map_that_say_different_things_are_refused() {
    run(|| async {
        let world = world(8);
        let both = |long: &str, short: &str| json!({"config-features": {"transport-encryption": long}, "features": {"transport-encryption": short}});
        let mut resource = eventing("1.23.0", Some("east"));
        resource["spec"]["config"] = both("strict", "disabled");
        world.submit(resource);
        let text = world.says(EVENTING, "InstallSucceeded", "False", "Error").await;
        assert!(text.contains("\"features\"") && text.contains("\"config-features\""), "{text}");
        assert!(find(&east(&world), "Namespace. /knative-eventing").is_none(), "something was written");
        world
            .edit(&world.hub, id(EVENTING), |object| object["spec"]["config"] = both("disabled", "disabled"));
        world.ready(EVENTING, "1.23.0").await;
        let features = must_find(&east(&world), "ConfigMap. knative-eventing/config-features");
        assert_eq!(features["data"]["transport-encryption"], "disabled");
    });
}
