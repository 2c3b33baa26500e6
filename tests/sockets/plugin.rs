//! Plugins that misbehave: each gets its own words in the condition, and the next good answer is used.

use knative_operator::api::Reason;
use knative_operator::target::resolve::Limits;
use serde_json::json;

use crate::fleet::{Fleet, TOKEN, serve, short};

#[tokio::test]
async fn every_failure_of_a_plugin_is_told_apart_and_none_outlasts_its_cause() {
    let (spoke, fleet) = (serve("spoke.internal").await, Fleet::new("failures", Limits::default()));
    fleet.point_to(&spoke.endpoint());
    let failures = [
        ("echo 'no such account' >&2; exit 7", "failed with exit code 7: no such account"),
        ("echo token=s3cret-in-the-open >&2; exit 1", "[redacted]"),
        ("kill -9 $$", "failed with a signal"),
        ("echo 's3cret garbage'", "not an ExecCredential at line 1"),
        ("printf '\\377\\376'", "not an ExecCredential"),
        ("true", "not an ExecCredential"),
        ("head -c 104857600 /dev/zero", "longer than 1048576 bytes"),
        (r#"echo '{"apiVersion":"client.authentication.k8s.io/v1"}'"#, "didn't return a status field"),
        (
            r#"echo '{"apiVersion":"client.authentication.k8s.io/v9","status":{"token":"s3cret"}}'"#,
            "returned version",
        ),
    ];
    for (script, words) in failures {
        fleet.plugin_is(script);
        Fleet::assert_refused(fleet.resolve().await, Reason::CredentialsFailed, &["fleet/spoke", words]);
        fleet.plugin_says(&json!({ "token": TOKEN }));
        assert_eq!(fleet.resolve().await.unwrap().uid, spoke.uid(), "after {script}");
    }
}

#[tokio::test]
async fn a_plugin_that_hangs_is_given_up() {
    let (spoke, fleet) = (serve("spoke.internal").await, Fleet::new("hangs", short()));
    fleet.point_to(&spoke.endpoint());
    fleet.plugin_is("exec sleep 1000");
    Fleet::assert_refused(
        fleet.resolve().await,
        Reason::CredentialsFailed,
        &["fleet/spoke", "no answer within"],
    );
}

#[tokio::test]
async fn a_credential_that_is_already_over_is_not_tried() {
    let (spoke, fleet) = (serve("spoke.internal").await, Fleet::new("expired", Limits::default()));
    fleet.point_to(&spoke.endpoint());
    fleet.plugin_says(&json!({ "token": TOKEN, "expirationTimestamp": "2001-01-01T00:00:00Z" }));
    Fleet::assert_refused(fleet.resolve().await, Reason::CredentialsFailed, &["expired credential"]);
}

#[tokio::test]
async fn a_token_that_the_spoke_does_not_know_is_rejected_not_unreachable() {
    let (spoke, fleet) = (serve("spoke.internal").await, Fleet::new("unknown", Limits::default()));
    fleet.point_to(&spoke.endpoint());
    fleet.plugin_says(&json!({ "token": "s3cret-of-another" }));
    Fleet::assert_refused(
        fleet.resolve().await,
        Reason::CredentialsRejected,
        &["fleet/spoke", "Unauthorized"],
    );
    fleet.plugin_says(&json!({ "token": "s3cret\nX-Header: smuggled" }));
    Fleet::assert_refused(
        fleet.resolve().await,
        Reason::CredentialsFailed,
        &["characters that no header may hold"],
    );
}
