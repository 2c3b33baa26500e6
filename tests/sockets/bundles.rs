//! `bundles fetch` from a mirror over HTTP, and what the other subcommands say of the data root that it makes.

use std::collections::BTreeMap;
use std::sync::Arc;

use knative_operator::process::fetch::sha256;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::process::Command;

use crate::fleet::Scratch;

/// Serves these files; the answer is the URL.
async fn mirror(files: BTreeMap<String, String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let files = Arc::new(files);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let files = files.clone();
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let Ok(byte) = stream.read_u8().await else { return };
                    head.push(byte);
                }
                let head = String::from_utf8(head).unwrap();
                let path = head.split(' ').nth(1).unwrap().trim_start_matches("/mirror/");
                let (status, body) = match files.get(path) {
                    Some(body) => ("200 OK", body.as_str()),
                    None => ("404 Not Found", ""),
                };
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            });
        }
    });
    format!("http://{address}/mirror")
}

async fn bundles(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_knative-operator"));
    let output = command.arg("bundles").args(arguments).env_remove("KO_DATA_PATH").output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn a_data_root_is_fetched_verified_and_listed() {
    let path = "knative-serving/1.23.0/1-core.yaml";
    let core = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n".to_owned();
    let sums = format!("{}  {path}\n", sha256(core.as_bytes()));
    let url = mirror([("SHA256SUMS".into(), sums), (path.into(), core)].into()).await;
    let files = Scratch::new("bundles");
    let root = files.path("data");
    let (code, out, err) = bundles(&["fetch", "--from", &url, "--data-path", &root]).await;
    assert_eq!(
        (code, out.as_str()),
        (Some(0), format!("{path}\n1 downloaded, 0 already there\n").as_str()),
        "{err}"
    );
    let (code, out, _) = bundles(&["verify", "--data-path", &root]).await;
    assert_eq!((code, out.as_str()), (Some(0), "1 files, all as listed\n"));
    let (_, out, _) = bundles(&["list", "--data-path", &root]).await;
    assert_eq!(out, "knative-serving   1.23.0\n");

    std::fs::write(format!("{root}/{path}"), "edited").unwrap();
    let (code, out, err) = bundles(&["verify", "--data-path", &root]).await;
    assert_eq!(code, Some(1));
    assert!(out.contains("its SHA-256 is") && err.contains("problems"), "{out} {err}");
}

#[tokio::test]
async fn a_mirror_without_a_list_is_an_error_that_names_it() {
    let url = mirror(BTreeMap::new()).await;
    let files = Scratch::new("no-list");
    let (code, out, err) = bundles(&["fetch", "--from", &url, "--data-path", &files.path("data")]).await;
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.contains("/mirror/SHA256SUMS") && err.contains("404"), "{err}");
}
