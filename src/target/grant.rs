//! Who may use which ClusterProfile: everybody, or whom a ReferenceGrant of the Gateway API lets.
//!
//! Whoever may create a custom resource has what it names installed with the operator's rights. Where that is not meant
//! for every cluster of the fleet, the namespace of the profiles says who may use them.

use std::fmt;

use clap::ValueEnum;
use serde_json::Value;

use crate::api::{ClusterProfileRef, ComponentKind};
use crate::manifest::Object;

/// API of ReferenceGrants (Gateway API).
pub const GRANT_API: &str = "gateway.networking.k8s.io/v1beta1";

/// Who may use which profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProfileAccess {
    /// Every custom resource may use every profile.
    #[default]
    Any,
    /// Those of the profile's namespace, and those that a ReferenceGrant there lets.
    Granted,
}

/// Who wants to use a profile: custom resources of one kind in one namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applicant {
    /// KnativeServing or KnativeEventing.
    pub kind: ComponentKind,
    /// Their namespace.
    pub namespace: String,
}

/// `KnativeServing in namespace team-a`.
impl fmt::Display for Applicant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in namespace {}", self.kind.kind(), self.namespace)
    }
}

/// Whether the applicant may use the profile by itself or by one of these ReferenceGrants.
pub fn permits(applicant: &Applicant, profile: &ClusterProfileRef, grants: &[Object]) -> bool {
    applicant.namespace == profile.namespace
        || grants
            .iter()
            .any(|grant| grant.namespace() == profile.namespace && lets(grant, applicant, profile))
}

fn lets(grant: &Object, applicant: &Applicant, profile: &ClusterProfileRef) -> bool {
    let list = |field: &str| {
        let list = grant.value()["spec"][field].as_array();
        list.map(Vec::as_slice).unwrap_or_default()
    };
    let is = |entry: &Value, field: &str, wanted: &str| entry[field].as_str().unwrap_or_default() == wanted;
    let from = list("from").iter().any(|from| {
        is(from, "group", applicant.kind.group())
            && is(from, "kind", applicant.kind.kind())
            && is(from, "namespace", &applicant.namespace)
    });
    let to = list("to").iter().any(|to| {
        is(to, "group", "multicluster.x-k8s.io")
            && is(to, "kind", "ClusterProfile")
            // Without a name: all of them.
            && (is(to, "name", "") || is(to, "name", &profile.name))
    });
    from && to
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn grant(from: Value, to: Value) -> Object {
        let object = json!({"apiVersion": GRANT_API, "kind": "ReferenceGrant",
            "metadata": {"namespace": "fleet", "name": "x"}, "spec": {"from": [from], "to": [to]}});
        Object::try_from(object).unwrap()
    }

    fn from(kind: &str, namespace: &str) -> Value {
        json!({"group": "operator.knative.dev", "kind": kind, "namespace": namespace})
    }

    fn to(name: Option<&str>) -> Value {
        json!({"group": "multicluster.x-k8s.io", "kind": "ClusterProfile", "name": name})
    }

    #[test]
    fn w47_a_profile_is_for_its_own_namespace_and_for_whom_a_grant_beside_it_names() {
        let applicant = Applicant { kind: ComponentKind::Serving, namespace: "team-a".into() };
        let profile = ClusterProfileRef { namespace: "fleet".into(), name: "east".into() };
        let may = |grants: &[Object]| permits(&applicant, &profile, grants);
        assert!(!may(&[]));
        assert!(permits(&Applicant { namespace: "fleet".into(), ..applicant.clone() }, &profile, &[]));
        for granted in [to(None), to(Some("east"))] {
            assert!(may(&[grant(from("KnativeServing", "team-a"), granted)]));
        }
        for (wrong_from, wrong_to) in [
            (from("KnativeEventing", "team-a"), to(None)),
            (from("KnativeServing", "team-b"), to(None)),
            (from("KnativeServing", "team-a"), to(Some("west"))),
            (json!({"kind": "KnativeServing", "namespace": "team-a"}), to(None)),
            (from("KnativeServing", "team-a"), json!({"group": "", "kind": "Secret"})),
        ] {
            assert!(!may(&[grant(wrong_from.clone(), wrong_to.clone())]), "{wrong_from} {wrong_to}");
        }
        let mut elsewhere = grant(from("KnativeServing", "team-a"), to(None));
        elsewhere.metadata_mut().insert("namespace".into(), json!("team-a"));
        assert!(!may(&[elsewhere]), "nobody grants himself what is not his");
    }
}
