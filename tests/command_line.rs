//! The binary, from outside: statuses, streams, formats.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

const SERVING: &str = "apiVersion: operator.knative.dev/v1beta1\nkind: KnativeServing\n\
                       metadata: {name: knative-serving, namespace: ns}\nspec:\n  ingress: {kourier: {enabled: true}}\n";

/// Runs the binary with the built-in bundle.
fn operator(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knative-operator"));
    command.env_remove("KO_DATA_PATH").env_remove("KUBERNETES_MIN_VERSION").args(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn plan_prints_version_and_phases_as_json() {
    let output = operator(&["plan", "-f", "-", "-o", "json", "--uid", "u-1"], SERVING);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let phases: Vec<_> =
        plan["phases"].as_array().unwrap().iter().map(|phase| phase["name"].clone()).collect();
    assert_eq!(
        phases,
        ["roles", "bindings", "webhookConfigurations", "definitions", "resources", "webhookDependents"]
    );
    let fields: Vec<_> = plan.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["phases", "targetVersion"]);
    let role =
        &plan["phases"][0]["objects"].as_array().unwrap().iter().find(|role| role["kind"] == "Role").unwrap();
    let owner = &role["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["uid"]), (&"KnativeServing".into(), &"u-1".into()));
}

#[test]
fn a_remote_resource_is_owned_by_its_anchor() {
    let remote = format!("{SERVING}  clusterProfileRef: {{name: a, namespace: b}}\n");
    let output = operator(&["plan", "-f", "-", "-o", "json", "--anchor-uid", "u-2"], &remote);
    let text = text(&output.stdout);
    assert!(
        text.contains("\"name\":\"knativeserving-knative-serving-root-owner\",\"uid\":\"u-2\""),
        "{text}"
    );
}

#[test]
fn plan_prints_yaml_that_is_a_stream_of_objects_and_a_summary_of_it() {
    let yaml = operator(&["plan", "-f", "-"], SERVING);
    let objects = knative_operator::manifest::parse_yaml(&yaml.stdout).unwrap();
    let summary = operator(&["plan", "-f", "-", "-o", "summary"], SERVING);
    let first_line = format!("version 1.23.0, {} objects\n", objects.len());
    assert!(text(&summary.stdout).starts_with(&first_line), "{}", text(&summary.stdout));
}

#[test]
fn a_bad_resource_ends_with_status_1_and_the_whole_chain_of_causes() {
    let output = operator(&["plan", "-f", "-"], &SERVING.replace("spec:", "spec:\n  version: 1.23.9"));
    assert_eq!(output.status.code(), Some(1));
    let errors = text(&output.stderr);
    assert!(
        errors.starts_with("error: the manifests of the target version 1.23.9 are not available"),
        "{errors}"
    );
    assert!(errors.contains("caused by: knative-serving/1.23.9: no such file or directory"), "{errors}");
    for (input, message) in [
        ("spec: [", "cannot parse -"),
        ("", "- holds 0 documents"),
        ("kind: Pod\napiVersion: v1", "v1 Pod is neither"),
        (&SERVING.replace("namespace: ns", "a: b"), "KnativeServing without metadata.namespace"),
        (&SERVING.replace("true", "7"), "spec.ingress.kourier.enabled is malformed"),
    ] {
        let output = operator(&["plan", "-f", "-"], input);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
        assert!(text(&output.stderr).contains(message), "{}", text(&output.stderr));
    }
}

#[test]
fn an_old_target_is_refused_unless_the_minimum_is_lowered() {
    let old = ["plan", "-f", "-", "--kubernetes-version", "v1.30.1"];
    assert_eq!(operator(&old, SERVING).status.code(), Some(1));
    let lowered = [&old[..], &["--kubernetes-min-version", "v1.30.0"]].concat();
    assert!(operator(&lowered, SERVING).status.success());
}

#[test]
fn what_has_no_effect_is_warned_about_on_standard_error() {
    let output =
        operator(&["plan", "-f", "-", "-o", "json"], &SERVING.replace("spec:", "spec:\n  config: {odd: {}}"));
    assert!(output.status.success());
    assert_eq!(text(&output.stderr), "warning: without effect: spec.config: odd\n");
}

#[test]
fn wrong_usage_ends_with_status_2() {
    for arguments in [&["plan"][..], &["plan", "-f", "-", "-o", "xml"], &["nonsense"], &[], &["rbac", "hub"]]
    {
        let output = operator(arguments, "");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn definitions_permissions_and_releases_are_printed() {
    let definitions = knative_operator::manifest::parse_yaml(&operator(&["crds"], "").stdout).unwrap();
    let names: Vec<_> = definitions.iter().map(|definition| definition.name()).collect();
    assert_eq!(names, ["knativeservings.operator.knative.dev", "knativeeventings.operator.knative.dev"]);
    let permissions = |arguments: &[&str]| {
        let printed = knative_operator::manifest::parse_yaml(&operator(arguments, "").stdout).unwrap();
        printed.iter().map(|object| format!("{} {}", object.kind(), object.name())).collect::<Vec<_>>()
    };
    assert_eq!(
        permissions(&["rbac", "--spoke"])[2..],
        ["ClusterRole knative-operator-installer", "ClusterRoleBinding knative-operator-installer"]
    );
    assert_eq!(permissions(&["rbac"]).len(), 8);
    let listed = operator(&["bundles", "list"], "");
    let lines: Vec<_> = text(&listed.stdout).lines().collect();
    assert!(lines.starts_with(&["knative-serving   1.23.0", "knative-serving   1.22.0"]), "{lines:?}");
    assert!(lines.contains(&"ingress           1.23      contour gateway-api istio kourier"), "{lines:?}");
    let nowhere = operator(&["bundles", "list", "--data-path", "/nowhere"], "");
    assert_eq!(nowhere.status.code(), Some(1));
}

#[test]
fn images_are_printed_once_each_as_the_registry_rewrites_them() {
    let mirrored = format!("{SERVING}  registry: {{default: 'mirror.test/${{NAME}}:1'}}\n");
    let output = operator(&["images", "-f", "-"], &mirrored);
    let images: Vec<_> = text(&output.stdout).lines().collect();
    assert!(images.contains(&"mirror.test/activator:1"), "{images:?}");
    assert!(images.is_sorted() && images.windows(2).all(|pair| pair[0] != pair[1]), "{images:?}");
}

#[test]
fn a_plan_can_be_shown_as_its_difference_to_an_older_one() {
    let old = std::env::temp_dir().join(format!("knative-operator-{}.yaml", std::process::id()));
    std::fs::write(&old, SERVING).unwrap();
    let new = format!("{SERVING}  config: {{network: {{a: b}}}}\n");
    let output = operator(&["plan", "-f", "-", "--diff", old.to_str().unwrap()], &new);
    std::fs::remove_file(&old).unwrap();
    assert_eq!(
        text(&output.stdout),
        "0 added, 0 removed, 1 changed, 56 unchanged\n~ ConfigMap ns/config-network\n    /data/a: absent -> \"b\"\n"
    );
}

/// A directory that goes with the test.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("operator-command-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_named_and_not_quoted() {
    let files = Scratch::new("kubeconfig");
    let leads_to = |server: &str| {
        format!(
            "{{current-context: a, clusters: [{{name: a, cluster: {{server: '{server}'}}}}], \
             users: [{{name: a, user: {{token: s3cret}}}}], contexts: [{{name: a, context: {{cluster: a, user: a}}}}]}}"
        )
    };
    // Nobody listens on a port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let cases = [
        (
            files.write("nowhere", leads_to(&format!("https://127.0.0.1:{port}"))),
            "failed to reach the local cluster",
        ),
        (files.write("no-url", leads_to("not a url")), "no-url"),
        (files.write("no-context", "{current-context: s3}"), "no-context"),
        (files.write("no-yaml", "token: s3cret\n  - s3cret: ["), "no-yaml is malformed at line 2"),
        (files.write("no-shape", "users: s3cret"), "no-shape is malformed at line 1"),
        (files.write("no-text", b"\xff\xfe s3cret"), "no-text"),
        (files.0.join("absent").display().to_string(), "absent"),
    ];
    for (path, words) in cases {
        let output = operator(&["run", "--metrics-port=0", "--health-port=0", "--kubeconfig", &path], "");
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{path}: {error}");
        assert!(error.contains(words) && !error.contains("s3cret"), "{path}: {error}");
    }
}
