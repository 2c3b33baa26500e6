//! What the operator tells of itself: probes, metrics, when a cluster last answered, and what rest costs.

use std::time::Duration;

use fake_apiserver::fault::{Action, Match, Rule};
use knative_operator::reconcile::record::Record;

use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{SERVING, id, serving};
use crate::world::{Options, World};

fn liveness(world: &World) -> Result<(), String> {
    world.health.liveness(tokio::time::Instant::now())
}

#[test]
fn w48_readiness_waits_for_the_first_list_of_everything_and_so_does_all_work() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(1)));
        world.add_spoke("east");
        world.submit(serving("1.23.0", Some("east")));
        world.hub.link.add(Rule { when: Match::any().path("*/clusterprofiles"), then: Action::BlackHole });
        world.start_operator();
        world.pass(Duration::from_secs(120)).await;
        assert_eq!(world.health.readiness(), Err("not listed yet: ClusterProfile".into()));
        assert!(world.trace.requests_since(0).iter().all(|request| !request.is_write()));
        world.hub.link.clear();
        world
            .until(Duration::from_secs(60), |world| world.health.readiness().is_ok())
            .await
            .expect("it gets ready");
        world.ready(SERVING, "1.23.0").await;
    });
}

#[test]
fn local_resources_do_not_wait_for_a_kind_that_the_hub_does_not_have() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(2)));
        let definition =
            ("apiextensions.k8s.io", "CustomResourceDefinition", "", "clusterprofiles.multicluster.x-k8s.io");
        world.delete(&world.hub, definition);
        world.start_operator();
        world.submit(serving("1.23.0", None));
        world.ready(SERVING, "1.23.0").await;
        world.pass(Duration::from_secs(1800)).await;
        assert_eq!((world.health.readiness(), liveness(&world)), (Ok(()), Ok(())));
    });
}

#[test]
fn br53_watches_that_drop_together_again_and_again_recover_and_those_that_fail_for_good_end_the_process() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(3)));
        world.add_spoke("east");
        world.submit(serving("1.22.0", Some("east")));
        world.start_operator();
        world.ready(SERVING, "1.22.0").await;
        for _ in 0..30 {
            world.hub.link.drop_connections();
            world.pass(Duration::from_secs(20)).await;
            assert_eq!(liveness(&world), Ok(()));
        }
        world.set_version(SERVING, "1.23.0");
        world
            .until(Duration::from_secs(40), |world| world.is_ready(SERVING, "1.23.0"))
            .await
            .expect("it heard of it");

        let refuse = Rule { when: Match { watch: Some(true), ..Match::any() }, then: Action::Refuse };
        let refusal = world.hub.link.add(refuse);
        world.hub.link.drop_connections();
        let red = world.until(Duration::from_secs(480), |world| liveness(world).is_err()).await;
        assert!(red.expect("it turns red") > Duration::from_secs(300), "not for a short trouble");
        assert!(world.metrics.text().contains("watch_failures_total{kind=\"ClusterProfile\"}"));
        world.hub.link.remove(refusal);
        world.until(Duration::from_secs(180), |world| liveness(world).is_ok()).await.expect("it turns green");
    });
}

#[test]
fn w48_no_series_names_an_object_or_a_cluster_that_answers() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(4)));
        let (east, _) = (world.add_spoke("east"), world.add_spoke("west"));
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        let text = world.metrics.text();
        for name in ["east", "knative-serving", "activator"] {
            assert!(!text.contains(name), "{name} is in:\n{text}");
        }
        for line in [
            "knative_operator_resources{kind=\"KnativeServing\",state=\"ready\",reason=\"\"} 1",
            "knative_operator_clusters{state=\"answering\"} 1",
            "knative_operator_leading 1",
            "knative_operator_plugin_runs_total{outcome=\"ok\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line:?} is not in:\n{text}");
        }
        east.link.cut();
        let named =
            |world: &World| world.metrics.text().contains("suspended_cluster{cluster=\"fleet/east\"} 1");
        world.until(Duration::from_secs(180), named).await.expect("who does not answer is named");
        world.delete(&world.hub, id(SERVING));
        let deleting = "state=\"deleting\",reason=\"RemoteClusterUnreachable\"} 1";
        let told = |world: &World| world.metrics.text().contains(deleting);
        world.until(Duration::from_secs(180), told).await.expect("the deletion is counted");
        assert!(world.metrics.text().contains("oldest_deletion_timestamp_seconds 18934"));
    });
}

#[test]
fn the_last_contact_is_noted_with_the_trouble_and_goes_with_it() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(5)));
        let east = world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        world.pass(Duration::from_secs(100)).await;
        let contact = |world: &World| {
            let component = world.component(SERVING).unwrap_or_default();
            let noted = component["status"]["annotations"]["operator.knative.dev/last-contact"].as_str();
            noted.map(str::to_owned)
        };
        assert_eq!(contact(&world), None);
        let cut: jiff::Timestamp = knative_operator::clock::Clock::now(&world.clock);
        east.link.black_hole();
        world.says(SERVING, "TargetClusterResolved", "False", "RemoteClusterUnreachable").await;
        let noted: jiff::Timestamp = contact(&world).expect("it is noted").parse().expect("a time");
        let before = cut.duration_since(noted).as_secs();
        assert!((0..=66).contains(&before), "{before} s before the silence began");
        world.pass(Duration::from_secs(60)).await;
        let start = world.trace.len();
        world.pass(Duration::from_secs(1800)).await;
        let writes = world.trace.requests_since(start).into_iter().filter(crate::trace::Exchange::is_write);
        assert_eq!(
            writes.map(|request| request.path).collect::<Vec<_>>(),
            [""; 0],
            "half an hour of silence"
        );
        assert_eq!(contact(&world), Some(noted.to_string()));
        east.link.heal();
        world.ready(SERVING, "1.23.0").await;
        assert_eq!(contact(&world), None);
    });
}

#[test]
fn an_installation_at_rest_costs_few_reads_and_no_writes() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(6)));
        world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        world.pass(Duration::from_secs(140)).await;
        let start = world.trace.len();
        world.pass(Duration::from_secs(3600)).await;
        let sent = world.trace.requests_since(start);
        let on = |cluster: &str| sent.iter().filter(|request| request.cluster == cluster).count();
        let watches = sent.iter().filter(|request| request.path.contains("watch=true")).count();
        let looks = sent
            .iter()
            .filter(|request| request.cluster == "east" && request.path.contains("/kube-system "))
            .count();
        assert!((54..=60).contains(&looks), "{looks} looks in an hour");
        let component = world.component(SERVING).expect("it is there");
        let record = Record::read(&component["status"]["annotations"]).expect("it is readable");
        // The cluster, the namespace, the anchor; and one list for each kind.
        assert_eq!(on("east"), looks * (3 + record.inventory.kinds().len()));
        // The resource and its profile; and three watches for all resources together, each renewed every five minutes.
        assert_eq!((on("hub") - watches, watches), (looks * 2, 36));
        assert!(sent.iter().all(|request| !request.is_write()));
    });
}
