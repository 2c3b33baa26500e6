//! Several replicas, one leader.

use std::time::Duration;

use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{EVENTING, SERVING, SOON, eventing, id, serving};
use crate::world::{LEASE, Options, World};

fn leader(world: &World) -> String {
    let lease = world.hub.server.get("coordination.k8s.io", "Lease", LEASE, LEASE).unwrap_or_default();
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_second_replica_goes_on_within_twenty_seconds_where_the_first_one_died() {
    run(|| async {
        let mut world = World::new(Options { leases: true, ..Options::new(Seed(1)) });
        world.add_spoke("east");
        world.start_operator();
        world.pass(Duration::from_secs(1)).await;
        world.start_rival();
        world.submit(serving("1.22.0", Some("east")));
        world.ready(SERVING, "1.22.0").await;
        world.set_version(SERVING, "1.23.0");
        world.pass(Duration::from_millis(500)).await;
        world.stop_operator();
        assert_eq!(leader(&world), "operator-1");
        let taken = world.until(Duration::from_secs(20), |world| leader(world) == "operator-2").await;
        assert!(taken.is_some());
        world.ready(SERVING, "1.23.0").await;
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
    });
}

#[test]
fn a_leader_that_returns_writes_nothing_where_another_has_finished() {
    run(|| async {
        let mut world = World::new(Options { leases: true, ..Options::new(Seed(3)) });
        let east = world.add_spoke("east");
        world.start_operator();
        world.pass(Duration::from_secs(1)).await;
        world.start_rival();
        world.submit(eventing("1.23.0", Some("east")));
        // The first one has applied this one as it was before there was a live one to look at.
        let adapter = ("apps", "Deployment", "knative-eventing", "pingsource-mt-adapter");
        let (group, kind, namespace, name) = adapter;
        for _ in 0..5_000 {
            if east.server.get(group, kind, namespace, name).is_some() {
                break;
            }
            world.pass(Duration::from_millis(1)).await;
        }
        world.sever(1);
        world.ready(EVENTING, "1.23.0").await;
        assert_eq!(leader(&world), "operator-2");
        world.mend();
        world.pass(Duration::from_secs(70)).await;
        let start = world.trace.len();
        world.stop_rival();
        assert!(world.until(SOON, |world| leader(world) == "operator-1").await.is_some());
        world.pass(Duration::from_secs(70)).await;
        let sent = world.trace.requests_since(start);
        let writes = sent.iter().filter(|request| request.is_write() && !request.path.contains("/leases/"));
        assert_eq!(writes.map(|request| request.path.clone()).collect::<Vec<_>>(), [""; 0]);
        assert!(sent.iter().any(|request| request.path.contains("/deployments?")), "it has looked");
    });
}

#[test]
fn an_hour_with_two_replicas_takes_no_write_but_those_to_the_lease() {
    run(|| async {
        let mut world = World::new(Options { leases: true, ..Options::new(Seed(2)) });
        world.add_spoke("east");
        world.start_operator();
        world.start_rival();
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        world.pass(Duration::from_secs(60)).await;
        let start = world.trace.len();
        world.pass(Duration::from_secs(3600)).await;
        let sent = world.trace.requests_since(start);
        let others =
            sent.iter().filter(|request| request.method != "GET" && !request.path.contains("/leases/"));
        assert_eq!(others.map(|request| request.path.clone()).collect::<Vec<_>>(), [""; 0]);
        assert!(sent.iter().any(|request| request.method == "PUT"), "the leader renews");
    });
}
