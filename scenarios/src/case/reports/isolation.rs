//! What dead clusters cost, and what rest costs.

use super::*;
use crate::runtime::run;

const URL: &str = "https://example.org/a.yaml";

/// Times until so many spokes are ready of which some are dead, sorted: those of the others.
async fn times(spokes: usize, dead: usize) -> Vec<Duration> {
    let mut world = World::new(Options::new(Seed(1)));
    world.files.put(URL, map_and_role("a"));
    for i in 0..spokes {
        let name = format!("spoke-{i}");
        let site = world.add_spoke(&name);
        if i % (spokes / dead.max(1)) == 0 && dead > 0 {
            site.link.black_hole();
        }
        let mut spec = small(&[URL])["spec"].clone();
        spec["clusterProfileRef"]["name"] = json!(name);
        world.submit(another(&format!("team-{i}"), "knative", &spec));
    }
    world.start_operator();
    let mut times = BTreeMap::new();
    let all = |world: &World| {
        for i in 0..spokes {
            if !times.contains_key(&i)
                && world.is_ready(("KnativeServing", &format!("team-{i}"), "knative"), "1.23.0")
            {
                times.insert(i, Duration::from_millis(world.clock.millis() as u64));
            }
        }
        times.len() >= spokes - dead
    };
    world.until(10 * MINUTE, all).await.expect("the healthy ones get ready");
    world.stop_operator();
    let mut times: Vec<_> = times.into_values().collect();
    times.sort_unstable();
    times
}

#[test]
fn br71_of_100_spokes_10_silent_ones_leave_the_slowest_of_the_others_within_twice_its_usual_time() {
    run(|| async {
        let p99 = |times: Vec<Duration>| times[times.len() * 99 / 100];
        let usual = p99(times(100, 0).await);
        let beside = p99(times(100, 10).await);
        assert!(beside <= 2 * usual, "{beside:?} instead of {usual:?}");
    });
}

#[test]
fn br73_an_hour_at_rest_takes_no_write_to_the_hub_nor_to_a_spoke() {
    run(|| async {
        let mut world = installed(2, "1.23.0").await;
        world.pass(5 * MINUTE).await;
        let start = world.trace.len();
        world.pass(HOUR).await;
        assert_eq!(writes(&world, start, "hub"), []);
        assert_eq!(writes(&world, start, "east"), []);
        let looks = requests(&world, start, "hub", "/knativeservings/knative-serving");
        assert!((40..=70).contains(&looks), "{looks} looks in an hour");
        world.stop_operator();
    });
}

#[test]
fn br74_applying_the_same_again_changes_no_version_and_is_not_even_sent() {
    run(|| async {
        let mut world = installed(3, "1.23.0").await;
        let east = spoke(&world, "east");
        world.pass(20 * MINUTE).await;
        let start = world.trace.len();
        let revision = east.server.revision();
        // A new generation that asks for the same.
        world.edit(&world.hub, id(SERVING), |object| object["spec"]["config"] = json!({}));
        world.pass(10 * MINUTE).await;
        assert!(world.is_ready(SERVING, "1.23.0"));
        assert_eq!(writes(&world, start, "east"), []);
        // And what is sent all the same is no write.
        let live = find(&east, config_map("config-network")).expect("installed");
        let same = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config-network",
            "namespace": "knative-serving", "labels": live["metadata"]["labels"],
            "annotations": live["metadata"]["annotations"], "ownerReferences": live["metadata"]["ownerReferences"]},
            "data": live["data"]});
        let api: kube::Api<kube::api::DynamicObject> = kube::Api::namespaced_with(
            east.server.client(),
            "knative-serving",
            &kube::core::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk("", "v1", "ConfigMap")),
        );
        let params = kube::api::PatchParams::apply("knative-operator").force();
        for _ in 0..2 {
            let answer = api.patch("config-network", &params, &kube::api::Patch::Apply(&same)).await;
            let version = answer.expect("it may be applied").metadata.resource_version;
            assert_eq!(json!(version), live["metadata"]["resourceVersion"]);
        }
        assert_eq!(east.server.revision(), revision);
        world.stop_operator();
    });
}
