//! The binary, as scripts use it.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// A directory that goes with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fake-apiserver-wire-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn binary(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fake-apiserver"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Starts the server; the answer is where it serves.
async fn start(arguments: &[&str]) -> (Child, String) {
    let mut child = binary(arguments).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
    let address = line.trim().strip_prefix("serving https://").map(str::to_owned);
    (child, address.unwrap_or_else(|| panic!("{line}")))
}

/// Asks the server to end, and gives its exit status.
async fn terminate(mut child: Child) -> Option<i32> {
    let id = child.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
    child.wait().await.unwrap().code()
}

/// Runs to the end: exit status and what was said on standard error.
async fn fail(arguments: &[&str]) -> (Option<i32>, String) {
    let output = binary(arguments).output().await.unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[tokio::test]
async fn a_signal_ends_it_with_status_0() {
    let (child, _) = start(&[]).await;
    assert_eq!(terminate(child).await, Some(0));
}

#[tokio::test]
async fn what_keeps_it_from_serving_is_one_line_and_status_2() {
    let (_child, address) = start(&[]).await;
    let wrong: [(&[&str], &str); 8] = [
        (&["--listen", &address], "in use"),
        (&["--listen", "nowhere"], "HOST:PORT"),
        (&["--load", "/does/not/exist"], "/does/not/exist"),
        (&["--restore", "/does/not/exist"], "/does/not/exist"),
        (&["--kubeconfig", "/does/not/exist"], "/does/not/exist"),
        (&["--controllers", "gc"], "\"gc\""),
        (&["--deployment-ready-after", "soon"], "500ms"),
        (&["--bogus"], "--bogus"),
    ];
    for (arguments, named) in wrong {
        let (code, text) = fail(arguments).await;
        assert_eq!((code, text.lines().count()), (Some(2), 1), "{text}");
        assert!(text.starts_with("fake-apiserver: ") && text.contains(named), "{text}");
    }
}

#[tokio::test]
async fn a_cluster_outlives_its_process_in_a_file() {
    let scratch = Scratch::new("restore");
    let (saved, manifest, again) = (scratch.file("saved"), scratch.file("manifest"), scratch.file("again"));
    let text = "apiVersion: v1\nkind: Namespace\nmetadata: { name: kept }\n";
    std::fs::write(&manifest, text).unwrap();
    let (child, _) = start(&["--load", &manifest, "--save-on-exit", &saved]).await;
    assert_eq!(terminate(child).await, Some(0));
    let (child, _) = start(&["--restore", &saved, "--save-on-exit", &again, "--controllers", "none"]).await;
    assert_eq!(terminate(child).await, Some(0));
    let text = std::fs::read_to_string(&again).unwrap();
    assert!(text.contains("\"kept\""));
    assert_eq!(text, std::fs::read_to_string(&saved).unwrap());
}

#[tokio::test]
async fn a_kubeconfig_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("kubeconfig");
    let file = scratch.file("kubeconfig");
    let (_child, address) = start(&["--kubeconfig", &file, "--admin-token", "secret"]).await;
    let config = kube::config::Kubeconfig::read_from(&file).unwrap();
    let server = config.clusters[0].cluster.as_ref().unwrap().server.clone();
    assert_eq!(server, Some(format!("https://{address}")));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}
