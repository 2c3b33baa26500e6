//! Spokes behind an HTTP proxy.

use knative_operator::api::Reason;
use knative_operator::target::resolve::Limits;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::fleet::{Fleet, serve};

/// A proxy that opens each tunnel it is asked for to `port` when the password is right. Tells the heads of requests.
async fn proxy(port: u16) -> (String, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (told, heads) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(client.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            // `user:s3cret` in base64.
            let granted = head.to_lowercase().contains("proxy-authorization: basic dxnlcjpzm2nyzxq=");
            let _ = told.send(head);
            if !granted {
                let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
                let _ = client.write_all(refusal).await;
                continue;
            }
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            tokio::spawn(async move {
                let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    (address.to_string(), heads)
}

#[tokio::test]
async fn a_proxy_opens_a_tunnel_to_a_name_that_only_it_knows() {
    let (spoke, fleet) = (serve("spoke.internal").await, Fleet::new("tunnel", Limits::default()));
    let (proxy, mut heads) = proxy(spoke.port).await;
    let mut endpoint = spoke.endpoint();
    endpoint["server"] = json!("https://spoke.internal:6443");
    endpoint["proxy-url"] = json!(format!("http://user:s3cret@{proxy}"));
    fleet.point_to(&endpoint);
    assert_eq!(fleet.resolve().await.unwrap().uid, spoke.uid());
    let head = heads.recv().await.unwrap();
    assert!(head.starts_with("CONNECT spoke.internal:6443 HTTP/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn a_proxy_that_refuses_makes_the_cluster_unreachable() {
    let (spoke, fleet) = (serve("spoke.internal").await, Fleet::new("refused", Limits::default()));
    let (proxy, _heads) = proxy(spoke.port).await;
    let mut endpoint = spoke.endpoint();
    endpoint["proxy-url"] = json!(format!("http://user:s3cret-but-wrong@{proxy}"));
    fleet.point_to(&endpoint);
    Fleet::assert_refused(fleet.resolve().await, Reason::RemoteClusterUnreachable, &["fleet/spoke", "proxy"]);
}

#[tokio::test]
async fn an_unusable_proxy_is_named_without_its_password() {
    let (spoke, fleet) = (serve("spoke.internal").await, Fleet::new("scheme", Limits::default()));
    for proxy in ["ftp://user:s3cret@proxy:21", "user:s3cret@proxy", "http://user:s3cret@pro xy"] {
        let mut endpoint = spoke.endpoint();
        endpoint["proxy-url"] = json!(proxy);
        fleet.point_to(&endpoint);
        Fleet::assert_refused(fleet.resolve().await, Reason::RemoteClientCreationFailed, &["proxy-url"]);
    }
}
