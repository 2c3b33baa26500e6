//! Upgrades, pruning, and what must not be concluded from half a view.

use super::*;
use crate::issuer::Behaviour;
use crate::runtime::run;
use crate::wire::Meddler;

const URL: &str = "https://example.org/a.yaml";

#[test]
fn br77_obsolete_objects_that_are_absent_and_kinds_that_are_unknown_are_skipped() {
    run(|| async {
        let (_guard, log) = listen();
        let mut world = world(1);
        let (east, others) = (spoke(&world, "east"), "https://example.org/others.yaml");
        let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: images.caching.internal.knative.dev}\n\
            spec:\n  group: caching.internal.knative.dev\n  scope: Namespaced\n  names: {kind: Image, listKind: ImageList, plural: images, singular: image}\n  \
            versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n";
        let thing = "apiVersion: caching.internal.knative.dev/v1\nkind: Image\nmetadata: {name: one}\n";
        world.files.put(URL, map_and_role("a"));
        world.files.put(others, [&config_maps("old", 3), definition, thing].join("---\n"));
        world.submit(small(&[URL, others]));
        world.ready(SERVING, "1.23.0").await;
        assert!(find(&east, ("caching.internal.knative.dev", "Image", "knative-serving", "one")).is_some());
        world.stop_operator();
        world.delete(&east, config_map("old-1"));
        world.delete(
            &east,
            ("apiextensions.k8s.io", "CustomResourceDefinition", "", "images.caching.internal.knative.dev"),
        );
        world.pass(MINUTE).await;
        let spec = small(&[URL])["spec"].clone();
        world.edit(&world.hub, id(SERVING), |object| object["spec"] = spec);
        world.start_operator();
        world.pass(2 * MINUTE).await;
        world.ready(SERVING, "1.23.0").await;
        assert!(find(&east, config_map("old-0")).is_none() && find(&east, config_map("old-2")).is_none());
        let component = world.component(SERVING).expect("it is there");
        let record = component["status"]["annotations"]["operator.knative.dev/inventory"].to_string();
        assert!(!record.contains("old-") && !record.contains("Image."), "{record}");
        assert_eq!(log.panics(), [""; 0]);
        world.stop_operator();
    });
}

/// Answers every question for kinds with none.
struct NoKinds;

impl Meddler for NoKinds {
    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        if letter.address == address("east") && answer["kind"] == "APIResourceList" {
            answer["resources"] = json!([]);
        }
        if letter.address == address("east") && answer["kind"] == "APIGroupList" {
            answer["groups"] = json!([]);
        }
    }
}

#[test]
fn br78_neither_expired_credentials_nor_an_empty_discovery_after_a_restart_delete_anything() {
    run(|| async {
        let mut world = installed(2, "1.23.0").await;
        world.pass(20 * MINUTE).await;
        let (hub, east) = (world.hub.clone(), spoke(&world, "east"));
        let before = (inventory(&hub), inventory(&east));
        world.stop_operator();
        world.issuer.revoke_all(&address("east"));
        world.issuer.set_default(Behaviour::Overstate { said: HOUR, real: Duration::ZERO });
        let start = world.trace.len();
        world.start_operator();
        world.says(SERVING, "TargetClusterResolved", "False", "CredentialsRejected").await;
        world.pass(10 * MINUTE).await;
        // Then they are good, but nothing seems to be known there.
        world.network.set_meddler(Arc::new(NoKinds));
        world.issuer.recover();
        world.start_operator();
        world.pass(10 * MINUTE).await;
        assert_ne!(world.condition(SERVING, "Ready").0, "True");
        for site in ["hub", "east"] {
            let deleted =
                writes(&world, start, site).into_iter().filter(|request| request.method == "DELETE");
            assert_eq!(deleted.count(), 0, "on {site}");
        }
        assert_same(&before.0, &inventory(&hub));
        assert_same(&before.1, &inventory(&east));
        world.network.clear_company();
        world.start_operator();
        world.pass(5 * MINUTE).await;
        world.ready(SERVING, "1.23.0").await;
        assert_same(&before.1, &inventory(&east));
        world.stop_operator();
    });
}
