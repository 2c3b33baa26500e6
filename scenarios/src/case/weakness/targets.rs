//! From a profile to its cluster: what it says now counts, all of it, and nothing is claimed of a cluster that has not
//! answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fake_apiserver::FakeApiServer;
use serde_json::{Value, json};

use super::{east, world};
use crate::issuer::Behaviour;
use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{EVENTING, SERVING, component, eventing, serving};
use crate::wire::{Letter, Seen, Tap};
use crate::world::{FLEET, Options, PROFILE_GROUP, PROVIDER_FILE, World, address, profile, provider_file};

/// The profile `east` with changed connection data.
fn east_with(cluster: &Value) -> Value {
    let mut profile = profile("east", &address("east"), "True");
    let data = &mut profile["status"]["accessProviders"][0]["cluster"];
    for (key, value) in cluster.as_object().expect("fields of a cluster") {
        data[key] = value.clone();
    }
    profile
}

#[test]
fn w01_a_profile_that_changes_address_and_authority_is_followed_at_once() {
    run(|| async {
        let world = world(1);
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        let site = east(&world);
        world.network.detach(&address("east"));
        world.network.attach("https://east-2", site);
        world.network.set_authority("https://east-2", b"new");
        let start = world.trace.len();
        world.set_profile(&east_with(&json!({
            "server": "https://east-2", "certificate-authority-data": BASE64_STANDARD.encode("new"),
        })));
        world.pass(Duration::from_secs(120)).await;
        let sent = world.trace.requests_since(start);
        assert!(sent.iter().any(|request| request.cluster == "east" && request.code == 200));
        let astray = sent.iter().filter(|request| request.cluster == address("east")).count();
        assert_eq!(astray, 0, "the old address is still asked");
        world.ready(SERVING, "1.23.0").await;
    });
}

#[test]
fn w08_a_target_counts_as_resolved_only_when_the_cluster_has_answered() {
    run(|| async {
        for reason in ["CredentialsFailed", "RemoteClusterUnreachable", "RemoteClusterForbidden"] {
            let mut world = World::new(Options::new(Seed(2)));
            let spoke = world.add_spoke("east");
            match reason {
                "CredentialsFailed" => world.issuer.set_default(Behaviour::Fail("exit status 1".into())),
                "RemoteClusterUnreachable" => spoke.link.black_hole(),
                _ => world.delete(
                    &spoke,
                    ("rbac.authorization.k8s.io", "ClusterRoleBinding", "", "knative-operator-installer"),
                ),
            }
            world.submit(serving("1.23.0", Some("east")));
            world.start_operator();
            let claims = |world: &World| world.condition(SERVING, "TargetClusterResolved").0 == "True";
            assert_eq!(world.until(Duration::from_secs(120), claims).await, None, "{reason}");
            let (status, found, _) = world.condition(SERVING, "TargetClusterResolved");
            assert_eq!((&*status, &*found), ("False", reason));
            assert_eq!(world.condition(SERVING, "Ready").0, "False");
        }
    });
}

#[test]
fn w24_profiles_are_followed_although_their_definition_came_after_the_operator() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(3)));
        world.attach_spoke("east");
        let crd =
            ("apiextensions.k8s.io", "CustomResourceDefinition", "", "clusterprofiles.multicluster.x-k8s.io");
        let definition = world.hub.server.get(crd.0, crd.1, crd.2, crd.3).expect("every hub has it");
        world.delete(&world.hub, crd);
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.says(SERVING, "TargetClusterResolved", "False", "ClusterProfileNotFound").await;
        world.pass(Duration::from_secs(600)).await;
        let mut fresh = (*definition).clone();
        fresh["metadata"] = json!({"name": crd.3, "annotations": definition["metadata"]["annotations"]});
        world.create(&world.hub, fresh);
        world.pass(Duration::from_secs(1)).await;
        world.create_profile("east", &address("east"));
        world.ready(SERVING, "1.23.0").await;
        world.pass(Duration::from_secs(60)).await;
        // What the profile says from now on is heard, not found at the next round.
        world.set_profile(&profile("east", &address("east"), "False"));
        let told =
            |world: &World| world.condition(SERVING, "TargetClusterResolved").1 == "ClusterProfileNotReady";
        assert!(world.until(Duration::from_secs(3), told).await.is_some());
        world.delete(&world.hub, (PROFILE_GROUP, "ClusterProfile", FLEET, "east"));
        let told =
            |world: &World| world.condition(SERVING, "TargetClusterResolved").1 == "ClusterProfileNotFound";
        assert!(world.until(Duration::from_secs(3), told).await.is_some());
    });
}

#[test]
fn w30_what_one_profile_tells_the_plugin_never_reaches_another() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(4)));
        let mut file = provider_file();
        file["providers"][0]["profileSourcedCLIArgsPolicy"] = json!("Append");
        file["providers"][0]["profileSourcedEnvVarsPolicy"] = json!("AppendIfNotExists");
        world.files.put(PROVIDER_FILE, file.to_string());
        // Tokens of a minute, so that the plugin runs often.
        world.issuer.set_default(Behaviour::Issue(Duration::from_secs(60)));
        for name in ["east", "west"] {
            world.add_spoke(name);
            let prefix = "clusterprofiles.multicluster.x-k8s.io/exec";
            let mut profile = profile(name, &address(name), "True");
            profile["status"]["accessProviders"][0]["cluster"]["extensions"] = json!([
                {"name": format!("{prefix}/additional-args"), "extension": ["--cluster", name]},
                {"name": format!("{prefix}/additional-envs"), "extension": {"CLUSTER": name}},
            ]);
            world.set_profile(&profile);
            world.submit(component(
                ("KnativeServing", name, "serving"),
                &serving("1.23.0", Some(name))["spec"],
            ));
        }
        world.start_operator();
        world.pass(Duration::from_secs(600)).await;
        for name in ["east", "west"] {
            let runs = world.issuer.requests(&format!("{FLEET}/{name}"));
            assert!(runs.len() > 5, "the plugin ran {} times", runs.len());
            for run in runs {
                assert_eq!(run.args, ["--cluster", name]);
                assert_eq!(run.env, [("CLUSTER".to_owned(), name.to_owned())].into());
            }
        }
    });
}

#[test]
fn w31_every_connection_setting_of_a_profile_arrives_and_a_change_of_any_one_is_followed() {
    run(|| async {
        let world = world(5);
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        world.files.put("/etc/cluster-inventory/east.pem", "from a file");
        let mut settings = json!({});
        for (field, value) in [
            ("tls-server-name", json!("east.example")),
            ("insecure-skip-tls-verify", json!(true)),
            ("proxy-url", json!("socks5://proxy.example:1080")),
            ("disable-compression", json!(true)),
            ("certificate-authority", json!("east.pem")),
            ("certificate-authority-data", json!(BASE64_STANDARD.encode("inline"))),
        ] {
            let before = world.network.opened().len();
            settings[field] = value;
            world.set_profile(&east_with(&settings));
            world.pass(Duration::from_secs(5)).await;
            assert_eq!(world.network.opened().len(), before + 1, "no new connection for {field}");
            if field == "certificate-authority" {
                let last = world.network.opened().pop().expect("one was opened");
                assert_eq!(last.certificate_authority.as_deref(), Some(&b"from a file"[..]));
            }
        }
        let last = world.network.opened().pop().expect("one was opened");
        assert_eq!(last.tls_server_name.as_deref(), Some("east.example"));
        assert_eq!(last.proxy_url.as_deref(), Some("socks5://proxy.example:1080"));
        assert!(last.insecure_skip_tls_verify && last.disable_compression);
        assert_eq!(last.certificate_authority.as_deref(), Some(&b"inline"[..]));
        let told = world.issuer.requests("fleet/east").pop().and_then(|run| run.cluster).expect("told");
        assert!(told.endpoint == last, "the plugin is told something else");
        world.ready(SERVING, "1.23.0").await;
    });
}

#[test]
fn w32_another_provider_file_is_in_force_without_a_restart() {
    run(|| async {
        let world = world(6);
        let mut other = profile("east", &address("east"), "True");
        other["status"]["accessProviders"][0]["name"] = json!("new");
        world.set_profile(&other);
        world.submit(serving("1.23.0", Some("east")));
        world.says(SERVING, "TargetClusterResolved", "False", "AccessProviderFailed").await;
        let mut file = provider_file();
        file["providers"][0]["name"] = json!("new");
        file["providers"][0]["execConfig"]["command"] = json!("/plugins/new");
        world.files.put(PROVIDER_FILE, file.to_string());
        world.ready(SERVING, "1.23.0").await;
        let commands = world.issuer.requests("fleet/east").into_iter().map(|run| run.command);
        assert_eq!(commands.collect::<Vec<_>>(), ["/plugins/new"]);
    });
}

#[test]
fn w32_a_malformed_provider_file_stops_neither_the_operator_nor_local_resources() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(7)));
        world.add_spoke("east");
        world.files.put(PROVIDER_FILE, r#"{"providers": "none"}"#);
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.submit(eventing("1.23.0", None));
        let text = world.says(SERVING, "TargetClusterResolved", "False", "AccessProviderFailed").await;
        assert!(text.contains(PROVIDER_FILE) && text.contains("providers"), "{text}");
        world.ready(EVENTING, "1.23.0").await;
    });
}

#[test]
fn w35_the_words_of_a_failing_plugin_are_repeated_as_they_are_and_not_without_end() {
    run(|| async {
        let world = world(8);
        world.issuer.set_default(Behaviour::Fail("GET /a%2Fb: 100%".into()));
        world.submit(serving("1.23.0", Some("east")));
        let text = world.says(SERVING, "TargetClusterResolved", "False", "CredentialsFailed").await;
        assert!(text.contains("GET /a%2Fb: 100%"), "{text}");
        world.issuer.set_default(Behaviour::Fail("é".repeat(100_000)));
        let long = |world: &World| world.condition(SERVING, "TargetClusterResolved").2.contains('é');
        assert!(world.until(Duration::from_secs(300), long).await.is_some());
        let length = world.condition(SERVING, "TargetClusterResolved").2.len();
        assert!((30_000..=32 * 1024).contains(&length), "{length} bytes");
    });
}

/// Deletes a profile in the middle of the first pass that finds everything rolled out.
struct Deleter {
    hub: FakeApiServer,
    done: AtomicBool,
}

impl Tap for Deleter {
    fn sent(&self, _: &Letter) {}

    fn seen(&self, seen: &Seen<'_>) {
        let deployments = seen.after.list("apps", "Deployment", "knative-serving");
        let rolled_out = |deployment: &Arc<Value>| {
            deployment["status"]["availableReplicas"] == deployment["spec"]["replicas"]
        };
        let last = seen.site == "east"
            && seen.resource() == "deployments.apps"
            && deployments.len() > 5
            && deployments.iter().all(rolled_out);
        if last && !self.done.swap(true, Ordering::Relaxed) {
            self.hub.remove(PROFILE_GROUP, "ClusterProfile", FLEET, "east").expect("it is there");
        }
    }

    fn answered(&self, _: &Letter, _: u16) {}
}

#[test]
fn w52_nothing_is_called_ready_on_a_cluster_whose_profile_went_meanwhile() {
    run(|| async {
        let world = world(9);
        let deleter = Arc::new(Deleter { hub: world.hub.server.clone(), done: AtomicBool::new(false) });
        world.network.set_tap(deleter.clone());
        world.submit(serving("1.23.0", Some("east")));
        for _ in 0..60_000 {
            world.pass(Duration::from_millis(1)).await;
            assert_ne!(world.condition(SERVING, "Ready").0, "True");
        }
        assert!(deleter.done.load(Ordering::Relaxed), "no pass was met in the middle");
        assert_eq!(world.condition(SERVING, "TargetClusterResolved").1, "ClusterProfileNotFound");
        world.create_profile("east", &address("east"));
        world.ready(SERVING, "1.23.0").await;
    });
}
