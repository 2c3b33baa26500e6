//! Which cluster, and where on it.

use super::*;
use crate::runtime::run;

#[test]
fn br79_of_two_profiles_in_two_namespaces_that_lead_to_one_cluster_the_second_is_refused_and_removes_nothing()
{
    run(|| async {
        let mut world = World::new(Options::new(Seed(1)));
        let east = world.attach_spoke("east");
        world.start_operator();
        let ids = [("KnativeServing", "a", "knative"), ("KnativeServing", "b", "knative")];
        for (turn, component) in ids.into_iter().enumerate() {
            profile_in(&world, component.1, "m1", &address("east"));
            let mut spec = serving("1.23.0", Some("m1"))["spec"].clone();
            spec["clusterProfileRef"]["namespace"] = json!(component.1);
            world.submit(another(component.1, component.2, &spec));
            if turn == 0 {
                world.ready(component, "1.23.0").await;
                // Their objects would not even be in the same namespace.
                assert!(find(&east, ("apps", "Deployment", "a", "activator")).is_some());
            }
        }
        world.pass(20 * MINUTE).await;
        let before = inventory(&east);
        let text = world.says(ids[1], "TargetClusterResolved", "False", "TargetClusterInUse").await;
        assert!(text.contains("a/knative"), "{text}");
        world.delete(&world.hub, id(ids[1]));
        world.gone(ids[1]).await;
        world.pass(5 * MINUTE).await;
        assert_same(&before, &inventory(&east));
        assert!(world.is_ready(ids[0], "1.23.0"));
        world.stop_operator();
    });
}

#[test]
fn br80_an_annotation_says_where_on_the_spoke_and_a_later_one_moves_and_orphans_nothing() {
    run(|| async {
        let mut world = world(2);
        let east = spoke(&world, "east");
        let before = inventory(&east);
        let team = ("KnativeServing", "team-a", "knative");
        let mut resource = another(team.1, team.2, &serving("1.22.0", Some("east"))["spec"]);
        resource["metadata"]["annotations"]["operator.knative.dev/target-namespace"] =
            json!("knative-serving");
        world.submit(resource);
        world.ready(team, "1.22.0").await;
        assert!(find(&east, deployment("activator")).is_some());
        assert!(find(&east, ("", "Namespace", "", "team-a")).is_none());
        // Fixed by the first install.
        annotate(&world, team, "operator.knative.dev/target-namespace", "elsewhere");
        world.set_version(team, "1.23.0");
        world.ready(team, "1.23.0").await;
        assert!(find(&east, deployment("activator")).is_some());
        assert!(find(&east, ("", "Namespace", "", "elsewhere")).is_none());
        world.delete(&world.hub, id(team));
        world.gone(team).await;
        assert_eq!(leftovers(&before, &east), [""; 0]);
        world.stop_operator();
    });
}
