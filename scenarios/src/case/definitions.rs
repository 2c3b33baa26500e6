//! The definitions of the custom resources: what they refuse, and that those of the Go operator take what we write.

use knative_operator::manifest::parse_yaml;
use serde_json::{Value, json};

use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{EVENTING, SERVING, eventing, id, serving};
use crate::world::{Options, World};

/// Variable with the directory of the definitions that clusters of the Go operator have.
const DEFINITIONS: &str = "OPERATOR_CRDS";

#[test]
fn w04_no_update_gives_a_resource_another_target_or_takes_its_target_away() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(1)));
        world.add_spoke("east");
        world.submit(serving("1.23.0", Some("east")));
        world.submit(eventing("1.23.0", None));
        let drop_spec = |object: &mut Value| drop(object.as_object_mut().and_then(|all| all.remove("spec")));
        let reference = |name: &str| json!({"namespace": "fleet", "name": name});
        for (kind, change, why) in [
            (SERVING, &drop_spec as &dyn Fn(&mut Value), "cannot be added or removed"),
            (
                SERVING,
                &|object: &mut Value| object["spec"]["clusterProfileRef"] = reference("west"),
                "is immutable",
            ),
            (
                EVENTING,
                &|object: &mut Value| object["spec"]["clusterProfileRef"] = reference("west"),
                "cannot be added",
            ),
        ] {
            let (group, kind, namespace, name) = id(kind);
            let refusal = world.hub.server.edit(group, kind, namespace, name, |object| change(object));
            let said = format!("{:?}", refusal.expect_err("the change is refused"));
            assert!(said.contains(why), "{said}");
        }
    });
}

#[test]
fn the_definitions_of_the_go_operator_keep_everything_that_is_written() {
    let Ok(directory) = std::env::var(DEFINITIONS) else {
        println!("skipped: {DEFINITIONS} is not set");
        return;
    };
    run(move || async move {
        let mut world = World::new(Options::new(Seed(2)));
        for entry in std::fs::read_dir(&directory).expect("a directory") {
            let bytes = std::fs::read(entry.expect("readable").path()).expect("readable");
            for definition in parse_yaml(&bytes).expect("a definition") {
                let name = definition.name().to_owned();
                world.edit(
                    &world.hub,
                    ("apiextensions.k8s.io", "CustomResourceDefinition", "", &name),
                    |stored| {
                        stored["spec"] = definition.value()["spec"].clone();
                    },
                );
            }
        }
        world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.22.0", Some("east")));
        world.submit(eventing("1.23.0", None));
        world.ready(SERVING, "1.22.0").await;
        world.ready(EVENTING, "1.23.0").await;
        // What is pruned would be missing here, and would be written again and again.
        let component = world.component(SERVING).expect("exists");
        for annotation in ["target", "inventory"] {
            let pointer = format!("/status/annotations/operator.knative.dev~1{annotation}");
            assert!(
                component.pointer(&pointer).is_some(),
                "{annotation} was not kept: {:#}",
                component["status"]
            );
        }
        let revision = component["metadata"]["resourceVersion"].clone();
        world.pass(std::time::Duration::from_secs(600)).await;
        assert_eq!(world.component(SERVING).expect("exists")["metadata"]["resourceVersion"], revision);
        world.set_version(SERVING, "1.23.0");
        world.ready(SERVING, "1.23.0").await;
        for component in [SERVING, EVENTING] {
            world.delete(&world.hub, id(component));
            world.gone(component).await;
        }
    });
}
