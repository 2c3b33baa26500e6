//! Who is at the other end of the connection.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use knative_operator::api::Reason;
use knative_operator::target::resolve::Limits;
use serde_json::json;

use crate::fleet::{Fleet, serve};

#[tokio::test]
async fn profile_and_plugin_lead_to_the_spoke() {
    let (spoke, fleet) = (serve("spoke.internal").await, Fleet::new("plain", Limits::default()));
    fleet.point_to(&spoke.endpoint());
    assert_eq!(fleet.resolve().await.unwrap().uid, spoke.uid());
}

#[tokio::test]
async fn a_server_of_another_authority_is_not_spoken_to() {
    let (spoke, other) = (serve("spoke.internal").await, serve("other.internal").await);
    let fleet = Fleet::new("authority", Limits::default());
    let mut endpoint = spoke.endpoint();
    endpoint["certificate-authority-data"] = json!(BASE64_STANDARD.encode(&other.ca));
    fleet.point_to(&endpoint);
    let outcome = fleet.resolve().await;
    Fleet::assert_refused(outcome, Reason::RemoteClusterUnreachable, &["fleet/spoke", "certificate"]);

    fleet.point_to(&spoke.endpoint());
    assert_eq!(fleet.resolve().await.unwrap().uid, spoke.uid(), "the corrected profile counts at once");
}

#[tokio::test]
async fn the_name_in_the_certificate_is_the_servers_or_the_one_the_profile_gives() {
    let (spoke, fleet) = (serve("spoke.internal").await, Fleet::new("name", Limits::default()));
    let named = |name: &str| {
        let mut endpoint = spoke.endpoint();
        endpoint["tls-server-name"] = json!(name);
        endpoint
    };
    fleet.point_to(&named("spoke.internal"));
    assert_eq!(fleet.resolve().await.unwrap().uid, spoke.uid());
    fleet.point_to(&named("elsewhere.internal"));
    Fleet::assert_refused(
        fleet.resolve().await,
        Reason::RemoteClusterUnreachable,
        &["fleet/spoke", "certificate"],
    );
    fleet.point_to(&named("no name at all"));
    Fleet::assert_refused(
        fleet.resolve().await,
        Reason::RemoteClientCreationFailed,
        &["invalid server name"],
    );
}

#[tokio::test]
async fn an_authority_that_is_no_certificate_is_said_before_anything_is_sent() {
    let (spoke, fleet) = (serve("spoke.internal").await, Fleet::new("garbage", Limits::default()));
    let mut endpoint = spoke.endpoint();
    endpoint["certificate-authority-data"] = json!(BASE64_STANDARD.encode("no certificate"));
    fleet.point_to(&endpoint);
    let words = ["certificate-authority-data", "no certificate"];
    Fleet::assert_refused(fleet.resolve().await, Reason::RemoteClientCreationFailed, &words);
    endpoint["certificate-authority-data"] = json!("%%%");
    fleet.point_to(&endpoint);
    let words = ["certificate-authority-data", "not base64"];
    Fleet::assert_refused(fleet.resolve().await, Reason::AccessProviderFailed, &words);
}

#[tokio::test]
async fn a_profile_to_nowhere_is_unreachable_and_says_where() {
    let fleet = Fleet::new("nowhere", Limits::default());
    // Nobody listens on a port that was free a moment ago.
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    fleet.point_to(&json!({ "server": format!("https://127.0.0.1:{port}") }));
    Fleet::assert_refused(
        fleet.resolve().await,
        Reason::RemoteClusterUnreachable,
        &["fleet/spoke", "refused"],
    );
    for server in ["ftp://spoke", "not a url", "https://"] {
        fleet.point_to(&json!({ "server": server }));
        Fleet::assert_refused(
            fleet.resolve().await,
            Reason::RemoteClientCreationFailed,
            &["fleet/spoke", server],
        );
    }
}
