//! Every permission that `knative-operator rbac` prints is needed: without any one of them something cannot be done.

use std::time::Duration;

use knative_operator::lead::{Election, Fence, Timing};
use knative_operator::rbac::{HUB, LEADER, Rule, SPOKE};
use knative_operator::target::grant::ProfileAccess;
use serde_json::json;

use crate::runtime::run;
use crate::search::campaign::in_parallel;
use crate::seed::Seed;
use crate::story::{
    EVENTING, GRANTS, SERVING, added, component, definition, eventing, grant, id, inventory, serving,
};
use crate::world::{Options, World};

/// Longest time for any one thing.
const LIMIT: Duration = Duration::from_secs(60);
const EXTRA: &str = "https://example.com/extra.yaml";

/// Kinds of which the small bundle installs none, but the real releases do.
const INSTALLED: &[(&str, &str, &str)] = &[
    ("cert-manager.io", "Certificate", "certificates"),
    ("networking.istio.io", "Gateway", "gateways"),
    ("security.istio.io", "PeerAuthentication", "peerauthentications"),
    ("projectcontour.io", "TLSCertificateDelegation", "tlscertificatedelegations"),
];

/// Defines on a spoke whatever the rules speak of and nobody has defined.
fn define_the_rest(world: &World) {
    let spoke = world.site("east").expect("it was added");
    let own = |rule: &&Rule| rule.group.ends_with("knative.dev");
    let named =
        SPOKE.iter().filter(own).flat_map(|rule| rule.resources.iter().map(|plural| (rule.group, *plural)));
    let bundled = |(group, plural): &(&str, &str)| {
        let name = format!("{plural}.{group}");
        spoke.server.get("apiextensions.k8s.io", "CustomResourceDefinition", "", &name).is_some()
    };
    for (group, plural) in named.collect::<Vec<_>>().into_iter().filter(|name| !bundled(name)) {
        let kind = format!("{}{}", plural[..1].to_uppercase(), &plural[1..plural.len() - 1]);
        world.create(&spoke, definition((group, &kind, plural), "Namespaced"));
    }
}

fn extra() -> String {
    let objects = INSTALLED.iter().map(|(group, kind, _)| {
        format!(
            "apiVersion: {group}/v1\nkind: {kind}\nmetadata: {{name: extra, namespace: knative-serving}}\n"
        )
    });
    objects.collect::<Vec<_>>().join("---\n")
}

/// Whether one replica leads with the permissions of the operator.
async fn leads(world: &World) -> bool {
    let election = Election {
        hub: world.operator_client(),
        namespace: "knative-operator".into(),
        name: "knative-operator".into(),
        identity: "one".into(),
        timing: Timing::default(),
        clock: std::sync::Arc::new(world.clock),
    };
    let fence = Fence::default();
    let renewals = election.run(&fence, std::future::pending);
    let _ = tokio::time::timeout(Duration::from_secs(16), renewals).await;
    fence.is_open()
}

/// A whole life: install both on a spoke and one on the hub, upgrade, repair, tell, remove. What was not done, if
/// anything.
async fn life(missing: Option<Rule>) -> Option<&'static str> {
    let access = ProfileAccess::Granted;
    let mut world = World::new(Options { missing, access, ..Options::new(Seed(1)) });
    world.add_spoke("east");
    world.create(&world.hub, definition(GRANTS, "Namespaced"));
    for (kind, namespace, _) in [SERVING, EVENTING] {
        world.create(&world.hub, grant((kind, namespace), "east"));
    }
    let spoke = world.site("east").expect("added above");
    world.files.put(EXTRA, extra());
    if !leads(&world).await {
        return Some("lead");
    }
    world.start_operator();
    let local = ("KnativeServing", "local", "ks");
    let before = inventory(&spoke);
    let mut remote = serving("1.22.0", Some("east"));
    remote["spec"]["additionalManifests"] = json!([{"URL": EXTRA}]);
    for (group, kind, plural) in INSTALLED {
        world.create(&spoke, definition((group, kind, plural), "Namespaced"));
    }
    for component in [remote, eventing("1.22.0", Some("east"))] {
        world.submit(component);
    }
    world.submit(component(local, &serving("1.22.0", None)["spec"]));
    let all_ready = |version: &'static str| {
        move |world: &World| [SERVING, EVENTING, local].into_iter().all(|id| world.is_ready(id, version))
    };
    if world.until(LIMIT, all_ready("1.22.0")).await.is_none() {
        return Some("install");
    }
    for component in [SERVING, EVENTING, local] {
        world.set_version(component, "1.23.0");
    }
    if world.until(LIMIT, all_ready("1.23.0")).await.is_none() {
        return Some("upgrade");
    }
    let told = world.hub.server.snapshot().objects().any(|object| object.resource == "events");
    if !told {
        return Some("tell what happened");
    }
    define_the_rest(&world);
    for component in [SERVING, EVENTING, local] {
        world.delete(&world.hub, id(component));
    }
    let gone = |world: &World| [SERVING, EVENTING, local].into_iter().all(|id| world.component(id).is_none());
    if world.until(LIMIT, gone).await.is_none() {
        return Some("remove");
    }
    world.pass(Duration::from_secs(10)).await;
    let left = added(&before, &inventory(&spoke));
    let left = left.iter().any(|key| !key.starts_with("CustomResourceDefinition."));
    left.then_some("leave nothing behind")
}

#[test]
fn all_permissions_together_are_enough() {
    assert_eq!(run(|| life(None)), None);
}

#[test]
fn w47_without_any_one_rule_something_cannot_be_done() {
    let unneeded = parking_lot::Mutex::new(Vec::new());
    let rules = HUB.iter().chain(LEADER).chain(SPOKE);
    in_parallel(2, rules.copied().collect::<Vec<_>>(), |rule| {
        if run(move || life(Some(rule))).is_none() {
            unneeded.lock().push(rule);
        }
    });
    let unneeded = unneeded.into_inner();
    assert!(unneeded.is_empty(), "nobody misses {unneeded:#?}");
}
