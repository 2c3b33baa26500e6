//! Which provider serves a profile, and what it may add.

use serde_json::json;

use super::*;

fn config(policies: [&str; 2]) -> AccessConfig {
    let [args, env] = policies;
    let file = json!({"providers": [
        {"name": "first", "execConfig": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "/plugins/first",
            "args": ["--fast"], "env": [{"name": "A", "value": "file"}], "provideClusterInfo": true,
            "interactiveMode": "Never"},
         "profileSourcedCLIArgsPolicy": args, "profileSourcedEnvVarsPolicy": env},
        {"name": "bare"},
    ]});
    let (config, unknown) = AccessConfig::from_json(file.to_string().as_bytes()).unwrap();
    assert_eq!(unknown, [""; 0]);
    config
}

fn profile(providers: Value) -> ClusterProfile {
    let object =
        json!({"metadata": {"namespace": "fleet", "name": "eu"}, "status": {"accessProviders": providers}});
    ClusterProfile::from_value(&object)
}

fn with_extensions(cluster: &str) -> ClusterProfile {
    profile(json!([{"name": "first", "cluster": {"server": "https://eu", "extensions": [
        {"name": "clusterprofiles.multicluster.x-k8s.io/exec/additional-args", "extension": ["--cluster", cluster]},
        {"name": "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs",
         "extension": {"A": "profile", "B": cluster}},
        {"name": "client.authentication.k8s.io/exec", "extension": {"audience": cluster}},
    ]}}]))
}

#[test]
fn the_order_of_the_file_decides_which_provider_is_used() {
    let both = profile(json!([
        {"name": "bare", "cluster": {"server": "https://b"}},
        {"name": "first", "cluster": {"server": "https://a"}},
    ]));
    assert_eq!(config(["", ""]).choose(&both).unwrap().endpoint.server, "https://a");
}

#[test]
fn policies_decide_what_a_profile_may_add() {
    let choose = |policies| config(policies).choose(&with_extensions("eu")).unwrap().exec;
    let env = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let ignored = choose(["Ignore", ""]);
    assert_eq!((ignored.args, ignored.env), (vec!["--fast".to_owned()], env(&[("A", "file")])));
    let appended = choose(["Append", "AppendIfNotExists"]);
    assert_eq!(appended.args, ["--fast", "--cluster", "eu"]);
    assert_eq!(appended.env, env(&[("A", "file"), ("B", "eu")]));
    assert_eq!(choose(["", "Replace"]).env, env(&[("A", "profile"), ("B", "eu")]));
}

#[test]
fn w30_what_one_profile_adds_never_reaches_another() {
    let config = config(["Append", "Replace"]);
    let before = config.choose(&with_extensions("b")).unwrap();
    config.choose(&with_extensions("a")).unwrap();
    assert_eq!(config.choose(&with_extensions("b")).unwrap(), before);
}

#[test]
fn the_plugin_hears_about_the_cluster_only_if_the_file_says_so() {
    let access = config(["", ""]).choose(&with_extensions("eu")).unwrap();
    let cluster = access.exec.cluster.unwrap();
    assert_eq!(cluster.config, Some(json!({"audience": "eu"})));
    assert_eq!(cluster.endpoint, access.endpoint);
}

#[test]
fn what_cannot_be_used_is_named() {
    let error = |config: AccessConfig, profile| config.choose(&profile).unwrap_err().to_string();
    let other = profile(json!([{"name": "other", "cluster": {"server": "https://x"}}]));
    assert_eq!(
        error(config(["", ""]), other),
        "no matching cluster accessor found for cluster profile \"fleet/eu\"; the file knows first, bare, the profile \
         offers other"
    );
    let bare = profile(json!([{"name": "bare", "cluster": {"server": "https://x"}}]));
    assert_eq!(error(config(["", ""]), bare), "no exec config found for provider \"bare\"");
    let no_server = profile(json!([{"name": "first", "cluster": {"server": ""}}]));
    assert_eq!(
        error(config(["", ""]), no_server),
        "cluster profile \"fleet/eu\" has no server for provider \"first\""
    );
    let policy = error(config(["Sometimes", ""]), with_extensions("eu"));
    assert_eq!(policy, "unsupported ProfileSourcedCLIArgsPolicy: \"Sometimes\" (provider \"first\")");
}

#[test]
fn a_partial_profile_gives_an_error_and_never_a_panic() {
    for providers in
        [json!(null), json!([]), json!([{}]), json!([{"name": "first"}]), json!([{"cluster": {}}])]
    {
        assert!(config(["Append", "Replace"]).choose(&profile(providers)).is_err());
    }
}

#[test]
fn unknown_keys_of_the_file_are_reported_and_malformed_files_refused() {
    let file = br#"{"providers":[{"name":"a","execConfig":{"apiVersion":"v","command":"c","cmd":1}}],"x":1}"#;
    let (_, unknown) = AccessConfig::from_json(file).unwrap();
    assert_eq!(unknown, ["x", "providers[0].execConfig.cmd"]);
    let error = AccessConfig::from_json(br#"{"providers":[{"name":7}]}"#).unwrap_err();
    assert_eq!(error.to_string(), "the access-provider file is malformed at providers[0].name");
    assert!(AccessConfig::from_json(b"{}}").is_err());
}

#[test]
fn w31_a_certificate_authority_may_be_a_file_beside_the_provider_file_and_nowhere_else() {
    let cluster = json!({"server": "https://eu", "certificate-authority": "eu.pem"});
    let named = profile(json!([{"name": "first", "cluster": cluster}]));
    let mut access = config(["", ""]).choose(&named).unwrap();
    assert_eq!(access.authority_file.as_deref(), Some("eu.pem"));
    access.trust(b"pem");
    let told = access.exec.cluster.expect("the plugin is told").endpoint;
    assert_eq!(
        [access.endpoint, told].map(|e| e.certificate_authority),
        [Some(b"pem".into()), Some(b"pem".into())]
    );

    let place = |file: &str| authority_path("/etc/inventory/config.json", file, "fleet/eu").ok();
    assert_eq!(place("ca/eu.pem").as_deref(), Some("/etc/inventory/ca/eu.pem"));
    assert_eq!(place("/etc/inventory/eu.pem").as_deref(), Some("/etc/inventory/eu.pem"));
    for file in ["/etc/passwd", "../passwd", "/etc/inventory/../passwd", "/etc/inventory2/x", "https://h/x"] {
        assert_eq!(place(file), None, "{file}");
    }
    let data = json!({"server": "https://eu", "certificate-authority": "eu.pem", "certificate-authority-data": "cGVt"});
    let both = config(["", ""]).choose(&profile(json!([{"name": "first", "cluster": data}]))).unwrap();
    assert_eq!((both.endpoint.certificate_authority, both.authority_file), (Some(b"pem".to_vec()), None));
}
