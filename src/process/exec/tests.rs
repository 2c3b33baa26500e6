//! Credential plugins as real processes that misbehave.

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::ExposeSecret;

use super::*;
use crate::target::credentials::ExecCluster;
use crate::target::endpoint::Endpoint;

const V1: &str = "client.authentication.k8s.io/v1";

fn shell(script: &str) -> ExecRequest {
    ExecRequest {
        provider: "p".into(),
        profile: "fleet/eu".into(),
        api_version: V1.into(),
        command: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        env: BTreeMap::from([("GIVEN".into(), "value".into())]),
        install_hint: String::new(),
        cluster: None,
    }
}

fn answer(status: &str) -> String {
    format!(r#"echo '{{"apiVersion":"{V1}","kind":"ExecCredential","status":{status}}}'"#)
}

async fn failure(request: &ExecRequest) -> String {
    match run(request).await {
        Ok(_) => "it succeeded".into(),
        Err(reason) => reason,
    }
}

#[tokio::test]
async fn a_token_and_its_expiry_are_read() {
    let script = answer(r#"{"token":"t0ken","expirationTimestamp":"2030-01-01T00:00:00Z"}"#);
    let credential = run(&shell(&script)).await.unwrap();
    assert_eq!(credential.token.unwrap().expose_secret(), "t0ken");
    assert_eq!(credential.expires.unwrap().to_string(), "2030-01-01T00:00:00Z");
}

#[tokio::test]
async fn a_plugin_gets_what_it_is_given_and_no_more_of_our_environment() {
    let script = r#"test "$GIVEN" = value && test -z "$CARGO_MANIFEST_DIR" && echo "$KUBERNETES_EXEC_INFO" >&2; exit 3"#;
    let endpoint = Endpoint {
        server: "https://eu".into(),
        certificate_authority: Some(b"pem".to_vec()),
        tls_server_name: None,
        insecure_skip_tls_verify: false,
        proxy_url: None,
        disable_compression: false,
    };
    let cluster = Some(ExecCluster { endpoint, config: Some(json!({"audience": "eu"})) });
    let reason = failure(&ExecRequest { cluster, ..shell(script) }).await;
    assert!(reason.starts_with("executable /bin/sh failed with exit code 3: "), "{reason}");
    assert!(
        reason.contains(
            r#""certificate-authority-data":"cGVt","config":{"audience":"eu"},"server":"https://eu""#
        ),
        "{reason}"
    );
}

#[tokio::test]
async fn every_bad_answer_has_its_own_words() {
    for (script, expected) in [
        ("exit 0", "decoding stdout: not an ExecCredential at line 1 column 0"),
        ("echo garbage", "decoding stdout: not an ExecCredential at line 1 column 1"),
        (&*answer("null"), "exec plugin didn't return a status field"),
        (&*answer("{}"), "exec plugin didn't return a token or cert/key pair"),
        (
            r#"echo '{"apiVersion":"v9","status":{"token":"t"}}'"#,
            "exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin returned version v9",
        ),
        ("kill -9 $$", "executable /bin/sh failed with a signal"),
    ] {
        assert_eq!(failure(&shell(script)).await, expected);
    }
    let missing = ExecRequest { command: "/no/such".into(), install_hint: "install it".into(), ..shell("") };
    assert_eq!(failure(&missing).await, "executable /no/such not found; install it");
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    assert_eq!(failure(&shell("yes")).await, "its answer is longer than 1048576 bytes");
    let noisy = failure(&shell("head -c 1000000 /dev/zero | tr '\\0' ' ' >&2; echo done >&2; exit 1")).await;
    assert!(noisy.starts_with("executable /bin/sh failed with exit code 1"), "{noisy}");
}

#[tokio::test]
async fn dropping_the_run_kills_the_plugin_and_its_children() {
    let directory = std::env::temp_dir().join(format!("exec-test-{}", std::process::id()));
    let marker = directory.display().to_string();
    // The child holds a lock on nothing but its own life: it reports its id, then hangs with its parent.
    let script = format!("sleep 600 & echo $! > {marker}; wait");
    let request = shell(&script);
    let pid = tokio::select! {
        biased;
        _ = run(&request) => None,
        pid = written(&directory) => Some(pid),
    };
    let pid: i32 = pid.expect("the plugin hangs").trim().parse().unwrap();
    let process = std::path::PathBuf::from(format!("/proc/{pid}/stat"));
    // The kernel needs a moment; a zombie is dead.
    while std::fs::read_to_string(&process).is_ok_and(|stat| !stat.contains(") Z ")) {
        tokio::task::yield_now().await;
    }
    std::fs::remove_file(directory).unwrap();
}

async fn written(path: &std::path::Path) -> String {
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

#[tokio::test]
async fn what_looks_like_a_secret_is_not_repeated() {
    let script = "echo 'login failed token=abc for eyJhbGciOiJSUzI1NiIsImtpZCI6InRlc3QifQ.eyJzdWIiOiJhIn0.c2ln' >&2; exit 1";
    let reason = failure(&shell(script)).await;
    assert_eq!(reason, "executable /bin/sh failed with exit code 1: login failed [redacted] for [redacted]");
}
