//! What a status points to.

use super::*;
use crate::runtime::run;

const ANCHOR: &str = "knativeserving-knative-serving-root-owner";

#[test]
fn br82_anchor_and_record_are_made_again_within_a_pass_of_their_loss() {
    run(|| async {
        let mut world = installed(1, "1.23.0").await;
        world.pass(20 * MINUTE).await;
        let east = spoke(&world, "east");
        // The record in the status.
        let before = inventory(&east);
        let record =
            |world: &World| world.component(SERVING).expect("it is there")["status"]["annotations"].clone();
        let kept = record(&world);
        let (group, kind, namespace, name) = id(SERVING);
        let lost = world.hub.server.edit_status(group, kind, namespace, name, |object| {
            object["status"]["annotations"] = json!({});
        });
        assert!(lost.is_ok(), "{lost:?}");
        let target = |record: &Value| record["operator.knative.dev/target"].clone();
        let again =
            world.until(70 * Duration::from_secs(1), |world| target(&record(world)) == target(&kept)).await;
        assert!(again.is_some(), "{}", record(&world));
        world.pass(MINUTE).await;
        assert!(world.is_ready(SERVING, "1.23.0"));
        let mut now = inventory(&east);
        // Without a record it is not known that they have run.
        now.retain(|key, _| !key.starts_with("Job."));
        assert_same(&before, &now);
        // The anchor, and with it everything that it owns.
        world.delete(&east, config_map(ANCHOR));
        let again =
            world.until(70 * Duration::from_secs(1), |_| find(&east, config_map(ANCHOR)).is_some()).await;
        assert!(again.is_some());
        world.pass(2 * MINUTE).await;
        assert!(world.is_ready(SERVING, "1.23.0"), "{}", conditions(&world, SERVING));
        let mut now = inventory(&east);
        now.retain(|key, _| !key.starts_with("Job."));
        assert_eq!(now.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
        let start = world.trace.len();
        world.pass(HOUR).await;
        assert_eq!(writes(&world, start, "east"), []);
        world.stop_operator();
    });
}
