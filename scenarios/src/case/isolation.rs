//! A dead spoke costs its own resources only.

use std::time::Duration;

use crate::fleet::{Size, install, percentile};
use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{component, serving};
use crate::world::{Options, World, address};

/// Time until `count` healthy spokes are ready, beside `dead` ones that never answer.
async fn time_to_ready(seed: u64, healthy: usize, dead: usize) -> Duration {
    let mut world = World::new(Options::new(Seed(seed)));
    for i in 0..healthy + dead {
        let name = format!("spoke-{i}");
        let spoke = world.add_spoke(&name);
        if i >= healthy {
            spoke.link.black_hole();
        }
        let spec = &serving("1.23.0", Some(&name))["spec"];
        let id = ("KnativeServing", &*format!("ks-{i}"), "ks");
        world.submit(component(id, spec));
    }
    world.start_operator();
    let all_ready = |world: &World| {
        (0..healthy).all(|i| world.is_ready(("KnativeServing", &format!("ks-{i}"), "ks"), "1.23.0"))
    };
    world.until(Duration::from_secs(600), all_ready).await.expect("healthy spokes get ready")
}

#[test]
fn w28_dead_spokes_do_not_delay_healthy_ones() {
    run(|| async {
        let alone = time_to_ready(1, 4, 0).await;
        let beside = time_to_ready(1, 4, 12).await;
        assert!(beside <= alone * 2, "alone {alone:?}, beside dead ones {beside:?}");
    });
}

#[test]
fn a_spoke_behind_a_new_address_is_found_without_a_restart() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(2)));
        world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.ready(crate::story::SERVING, "1.23.0").await;
        let site = world.network.site(&address("east")).expect("added above");
        world.network.detach(&address("east"));
        world.network.attach("https://east-2", site);
        world.set_profile(&crate::world::profile("east", "https://east-2", "True"));
        world.set_version(crate::story::SERVING, "1.22.0");
        world.ready(crate::story::SERVING, "1.22.0").await;
    });
}

/// A release of three objects, which installs in no time: this is about waiting, not about installing.
const SMALL: &str = "https://example.com/small.yaml";

fn small() -> String {
    let labels = "labels: {app.kubernetes.io/version: '1.23.0'}";
    let selector = "{matchLabels: {app: a}}";
    let template = "{metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a.test/a}]}}";
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings, namespace: ns, {labels}}}\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: role, {labels}}}\nrules: []\n---\n\
         apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: a, namespace: ns, {labels}}}\n\
         spec: {{selector: {selector}, template: {template}}}\n"
    )
}

fn small_on(spoke: &str, kind: &str, namespace: &str) -> serde_json::Value {
    let spec = serde_json::json!({
        "version": "1.23.0", "manifests": [{"URL": SMALL}], "ingress": {"kourier": {"enabled": false}},
        "clusterProfileRef": {"namespace": crate::world::FLEET, "name": spoke},
    });
    component((kind, namespace, "ks"), &spec)
}

#[test]
fn w28_with_a_tenth_of_two_hundred_spokes_dark_the_others_take_no_longer_than_twice_the_time() {
    let p99 = |dark| {
        run(move || async move {
            let mut world = World::new(Options::new(Seed(3)));
            world.files.put(SMALL, small());
            let spec = |spoke: &str| small_on(spoke, "KnativeServing", "ns")["spec"].clone();
            let times = install(&mut world, Size { spokes: 200, dark }, &spec).await.expect("they get ready");
            percentile(&times, 0.99)
        })
    };
    let (alone, beside) = (p99(0), p99(20));
    assert!(beside <= alone * 2.0, "alone {alone} s, beside dark ones {beside} s");
}

#[test]
fn w28_more_silent_spokes_than_workers_leave_workers_for_the_others() {
    /// How long ten spokes take to get ready, after so many silent ones have been tried for a while.
    async fn time_beside(silent: usize) -> Duration {
        let mut world = World::new(Options::new(Seed(5)));
        world.files.put(SMALL, small());
        for spoke in 0..silent {
            let name = format!("silent-{spoke}");
            world.add_spoke(&name).link.black_hole();
            world.submit(small_on(&name, "KnativeServing", &name));
        }
        world.start_operator();
        world.pass(Duration::from_secs(30)).await;
        let names: Vec<_> = (0..10).map(|spoke| format!("spoke-{spoke}")).collect();
        for name in &names {
            world.add_spoke(name);
            world.submit(small_on(name, "KnativeServing", name));
        }
        let ready =
            |world: &World| names.iter().all(|name| world.is_ready(("KnativeServing", name, "ks"), "1.23.0"));
        world.until(Duration::from_secs(600), ready).await.expect("healthy spokes get ready")
    }
    let alone = run(|| time_beside(0));
    let beside = run(|| time_beside(150));
    assert!(beside <= alone * 2, "alone {alone:?}, beside silent ones {beside:?}");
}

#[test]
fn resources_of_one_silent_spoke_share_what_its_silence_costs_and_all_go_on_when_it_ends() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(4)));
        world.files.put(SMALL, small());
        let east = world.add_spoke("east");
        east.link.black_hole();
        world.start_operator();
        let kinds = ["KnativeServing", "KnativeEventing"];
        // Of one kind only the oldest installs; the others ask the cluster all the same.
        let namespaces = ["a", "b", "c", "d", "e"];
        for kind in kinds {
            for namespace in namespaces {
                world.submit(small_on("east", kind, namespace));
            }
        }
        world.pass(Duration::from_secs(600)).await;
        assert!(world.metrics.text().contains("suspended_cluster{cluster=\"fleet/east\"} 1"));
        let start = world.trace.len();
        world.pass(Duration::from_secs(600)).await;
        let sent = world.trace.requests_since(start);
        // A request that is never answered is in no trace; what the hub is asked meanwhile is.
        let writes: Vec<_> = sent.iter().filter(|request| request.is_write()).collect();
        assert!(writes.is_empty(), "a silence that lasts is told once: {writes:?}");
        let asked = "knative_operator_requests_total{cluster=\"spoke\",verb=\"read\",outcome=\"timeout\"} ";
        let text = world.metrics.text();
        let asked: u32 =
            text.lines().find_map(|line| line.strip_prefix(asked)?.parse().ok()).unwrap_or_default();
        assert!((10..40).contains(&asked), "{asked} requests to a silent spoke in twenty minutes");
        east.link.heal();
        let ready = |world: &World| {
            let one =
                |kind| namespaces.iter().any(|namespace| world.is_ready((kind, namespace, "ks"), "1.23.0"));
            kinds.into_iter().all(one)
        };
        world.until(Duration::from_secs(110), ready).await.expect("ready soon after the silence");
        assert!(world.metrics.text().contains("clusters{state=\"answering\"} 1"));
    });
}
