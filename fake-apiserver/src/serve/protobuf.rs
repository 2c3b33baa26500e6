//! Bodies in the protobuf encoding, which typed Go clients prefer, turned into JSON before the cluster sees them.
//!
//! Only the kinds that such clients write by themselves are known: leases, events, tokens, reviews, roles and the like.
//! Others are refused as an unknown format. Answers are always JSON, which every such client takes.

use base64::Engine;
use jiff::Timestamp;
use serde_json::{Map, Value};

/// The media type.
pub(super) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What every body begins with.
const MAGIC: &[u8] = b"k8s\0";

/// The messages: a name, then its fields as `NUMBER name TYPE`. `*` after a type means a list, `?` that a zero value was
/// meant (elsewhere it stands for nothing, since the encoding has no other way to leave a field out).
const MESSAGES: &[(&str, &str)] = &[
    ("Unknown", "1 type TypeMeta, 2 raw bytes"),
    ("TypeMeta", "1 apiVersion string, 2 kind string"),
    (
        "ObjectMeta",
        "1 name string, 2 generateName string, 3 namespace string, 5 uid string, 6 resourceVersion string, \
         7 generation int, 8 creationTimestamp Time, 9 deletionTimestamp Time, 10 deletionGracePeriodSeconds int?, \
         11 labels map, 12 annotations map, 13 ownerReferences OwnerReference*, 14 finalizers string*",
    ),
    (
        "OwnerReference",
        "1 kind string, 3 name string, 4 uid string, 5 apiVersion string, 6 controller bool?, \
         7 blockOwnerDeletion bool?",
    ),
    ("LabelSelector", "1 matchLabels map, 2 matchExpressions Requirement*"),
    ("Requirement", "1 key string, 2 operator string, 3 values string*"),
    (
        "DeleteOptions",
        "1 gracePeriodSeconds int?, 2 preconditions Preconditions, 3 orphanDependents bool?, \
         4 propagationPolicy string, 5 dryRun string*",
    ),
    ("Preconditions", "1 uid string, 2 resourceVersion string"),
    ("Namespace", "1 metadata ObjectMeta, 2 spec NamespaceSpec"),
    ("NamespaceSpec", "1 finalizers string*"),
    ("ConfigMap", "1 metadata ObjectMeta, 2 data map, 3 binaryData bytesMap, 4 immutable bool?"),
    ("Secret", "1 metadata ObjectMeta, 2 data bytesMap, 3 type string, 4 stringData map, 5 immutable bool?"),
    (
        "ServiceAccount",
        "1 metadata ObjectMeta, 2 secrets ObjectReference*, 3 imagePullSecrets LocalReference*, \
         4 automountServiceAccountToken bool?",
    ),
    ("LocalReference", "1 name string"),
    (
        "ObjectReference",
        "1 kind string, 2 namespace string, 3 name string, 4 uid string, 5 apiVersion string, \
         6 resourceVersion string, 7 fieldPath string",
    ),
    (
        "Event",
        "1 metadata ObjectMeta, 2 involvedObject ObjectReference, 3 reason string, 4 message string, \
         5 source EventSource, 6 firstTimestamp Time, 7 lastTimestamp Time, 8 count int, 9 type string, \
         10 eventTime MicroTime, 11 series EventSeries, 12 action string, 13 related ObjectReference, \
         14 reportingComponent string, 15 reportingInstance string",
    ),
    ("EventSource", "1 component string, 2 host string"),
    ("EventSeries", "1 count int, 2 lastObservedTime MicroTime"),
    ("Lease", "1 metadata ObjectMeta, 2 spec LeaseSpec"),
    (
        "LeaseSpec",
        "1 holderIdentity string?, 2 leaseDurationSeconds int?, 3 acquireTime MicroTime, 4 renewTime MicroTime, \
         5 leaseTransitions int?, 6 strategy string, 7 preferredHolder string",
    ),
    ("TokenRequest", "1 metadata ObjectMeta, 2 spec TokenRequestSpec"),
    ("TokenRequestSpec", "1 audiences string*, 3 boundObjectRef BoundReference, 4 expirationSeconds int?"),
    ("BoundReference", "1 kind string, 2 apiVersion string, 3 name string, 4 uid string"),
    ("TokenReview", "1 metadata ObjectMeta, 2 spec TokenReviewSpec"),
    ("TokenReviewSpec", "1 token string, 2 audiences string*"),
    ("SelfSubjectReview", "1 metadata ObjectMeta"),
    ("SelfSubjectAccessReview", "1 metadata ObjectMeta, 2 spec AccessReviewSpec"),
    ("SubjectAccessReview", "1 metadata ObjectMeta, 2 spec AccessReviewSpec"),
    ("LocalSubjectAccessReview", "1 metadata ObjectMeta, 2 spec AccessReviewSpec"),
    (
        "AccessReviewSpec",
        "1 resourceAttributes ResourceAttributes, 2 nonResourceAttributes NonResourceAttributes, 3 user string, \
         4 groups string*, 6 uid string",
    ),
    (
        "ResourceAttributes",
        "1 namespace string, 2 verb string, 3 group string, 4 version string, 5 resource string, \
         6 subresource string, 7 name string",
    ),
    ("NonResourceAttributes", "1 path string, 2 verb string"),
    ("SelfSubjectRulesReview", "1 metadata ObjectMeta, 2 spec RulesReviewSpec"),
    ("RulesReviewSpec", "1 namespace string"),
    ("Role", "1 metadata ObjectMeta, 2 rules PolicyRule*"),
    ("ClusterRole", "1 metadata ObjectMeta, 2 rules PolicyRule*, 3 aggregationRule AggregationRule"),
    ("AggregationRule", "1 clusterRoleSelectors LabelSelector*"),
    (
        "PolicyRule",
        "1 verbs string*, 2 apiGroups string*, 3 resources string*, 4 resourceNames string*, \
         5 nonResourceURLs string*",
    ),
    ("RoleBinding", "1 metadata ObjectMeta, 2 subjects Subject*, 3 roleRef RoleRef"),
    ("ClusterRoleBinding", "1 metadata ObjectMeta, 2 subjects Subject*, 3 roleRef RoleRef"),
    ("Subject", "1 kind string, 2 apiGroup string, 3 name string, 4 namespace string"),
    ("RoleRef", "1 apiGroup string, 2 kind string, 3 name string"),
];

/// The kinds that a body may have, with the groups that mean them.
const KINDS: &[(&str, &[&str])] = &[
    ("v1", &["Namespace", "ConfigMap", "Secret", "ServiceAccount", "Event"]),
    ("coordination.k8s.io/v1", &["Lease"]),
    ("authentication.k8s.io/v1", &["TokenRequest", "TokenReview", "SelfSubjectReview"]),
    (
        "authorization.k8s.io/v1",
        &[
            "SelfSubjectAccessReview",
            "SubjectAccessReview",
            "LocalSubjectAccessReview",
            "SelfSubjectRulesReview",
        ],
    ),
    ("rbac.authorization.k8s.io/v1", &["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"]),
];

/// The JSON of a body; `None` when it is broken or of a kind that is not known here.
pub(super) fn to_json(body: &[u8]) -> Option<Vec<u8>> {
    let envelope = message("Unknown", body.strip_prefix(MAGIC)?)?;
    let text = |name: &str| envelope.get("type")?.get(name)?.as_str();
    let (version, kind) = (text("apiVersion")?, text("kind")?);
    let known = KINDS.iter().any(|(group, kinds)| *group == version && kinds.contains(&kind));
    // Options of deletes carry the version of what they delete.
    if !known && kind != "DeleteOptions" {
        return None;
    }
    let raw = envelope.get("raw").and_then(Value::as_str).unwrap_or_default();
    let mut object = message(kind, &base64::engine::general_purpose::STANDARD.decode(raw).ok()?)?;
    object.insert("apiVersion".into(), version.into());
    object.insert("kind".into(), kind.into());
    serde_json::to_vec(&object).ok()
}

/// One field on the wire.
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Eight or four bytes; no known field is encoded so.
    Fixed,
}

fn message(name: &str, mut bytes: &[u8]) -> Option<Map<String, Value>> {
    let (_, fields) = MESSAGES.iter().find(|(known, _)| *known == name)?;
    let mut object = Map::new();
    while !bytes.is_empty() {
        let (number, value) = field(&mut bytes)?;
        let known = fields.split(", ").map(|field| field.split(' ')).find_map(|mut parts| {
            (parts.next()?.parse() == Ok(number)).then_some((parts.next()?, parts.next()?))
        });
        // A field that is not known is not needed, as in every decoder.
        if let Some((name, kind)) = known {
            put(&mut object, name, kind, &value)?;
        }
    }
    Some(object)
}

fn put(object: &mut Map<String, Value>, name: &str, kind: &str, value: &Wire<'_>) -> Option<()> {
    if let Some(kind) = kind.strip_suffix('*') {
        let item = single(kind, value)?.unwrap_or_else(|| "".into());
        if let Some(items) = object.entry(name).or_insert_with(|| Value::Array(Vec::new())).as_array_mut() {
            items.push(item);
        }
        return Some(());
    }
    if let "map" | "bytesMap" = kind {
        let Wire::Bytes(mut entry) = *value else { return None };
        let (mut key, mut content) = ("", &b""[..]);
        while !entry.is_empty() {
            match field(&mut entry)? {
                (1, Wire::Bytes(bytes)) => key = std::str::from_utf8(bytes).ok()?,
                (2, Wire::Bytes(bytes)) => content = bytes,
                _ => {}
            }
        }
        let content = if kind == "map" { text(content)? } else { encoded(content) };
        let entries = object.entry(name).or_insert_with(|| Value::Object(Map::new()));
        entries.as_object_mut()?.insert(key.to_owned(), content);
        return Some(());
    }
    let (kind, zero_counts) = kind.strip_suffix('?').map_or((kind, false), |kind| (kind, true));
    if let Some(value) = single(kind, value)? {
        let zero = value == "" || value == 0 || value == false;
        if zero_counts || !zero {
            object.insert(name.to_owned(), value);
        }
    }
    Some(())
}

/// One value; `Some(None)` for a time that is not set, `None` when the encoding is wrong.
fn single(kind: &str, value: &Wire<'_>) -> Option<Option<Value>> {
    Some(match (kind, value) {
        ("int", Wire::Number(number)) => Some(number.cast_signed().into()),
        ("bool", Wire::Number(number)) => Some((*number != 0).into()),
        ("string", Wire::Bytes(bytes)) => Some(text(bytes)?),
        ("bytes", Wire::Bytes(bytes)) => Some(encoded(bytes)),
        ("Time" | "MicroTime", Wire::Bytes(bytes)) => time(bytes, kind == "MicroTime")?,
        (name, Wire::Bytes(bytes)) => Some(Value::Object(message(name, bytes)?)),
        _ => return None,
    })
}

fn time(mut bytes: &[u8], micros: bool) -> Option<Option<Value>> {
    let (mut seconds, mut nanos) = (0_i64, 0_i32);
    while !bytes.is_empty() {
        match field(&mut bytes)? {
            (1, Wire::Number(number)) => seconds = number.cast_signed(),
            (2, Wire::Number(number)) => nanos = i32::try_from(number).ok()?,
            _ => {}
        }
    }
    if (seconds, nanos) == (0, 0) {
        return Some(None);
    }
    let format = if micros { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    let time = Timestamp::new(seconds, nanos).ok()?;
    Some(Some(time.strftime(format).to_string().into()))
}

fn text(bytes: &[u8]) -> Option<Value> {
    Some(std::str::from_utf8(bytes).ok()?.into())
}

fn encoded(bytes: &[u8]) -> Value {
    base64::engine::general_purpose::STANDARD.encode(bytes).into()
}

/// Takes the next field: its number and what it holds.
fn field<'a>(bytes: &mut &'a [u8]) -> Option<(u64, Wire<'a>)> {
    let tag = varint(bytes)?;
    let value = match tag & 7 {
        0 => Wire::Number(varint(bytes)?),
        1 => take(bytes, 8).map(|_| Wire::Fixed)?,
        2 => {
            let length = usize::try_from(varint(bytes)?).ok()?;
            Wire::Bytes(take(bytes, length)?)
        }
        5 => take(bytes, 4).map(|_| Wire::Fixed)?,
        _ => return None,
    };
    Some((tag >> 3, value))
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(head)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *take(bytes, 1)?.first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
    }

    fn body(version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let meta = [bytes(1, version.as_bytes()), bytes(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), bytes(1, &meta), bytes(2, raw), bytes(3, b""), bytes(4, b"")].concat()
    }

    fn decode(body: &[u8]) -> Option<Value> {
        to_json(body).map(|json| serde_json::from_slice(&json).unwrap())
    }

    #[test]
    fn what_is_not_set_is_left_out_and_what_is_set_to_nothing_is_kept() {
        let zero_time = bytes(8, &[0x08, 0, 0x10, 0]);
        let metadata = [bytes(1, b"settings"), bytes(2, b""), zero_time, vec![0x38, 0]].concat();
        let entry = bytes(2, &[bytes(1, b"key"), bytes(2, b"")].concat());
        let raw = [bytes(1, &metadata), entry, vec![0x20, 0]].concat();
        let expected = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" },
            "data": { "key": "" }, "immutable": false,
        });
        assert_eq!(decode(&body("v1", "ConfigMap", &raw)), Some(expected));
    }

    #[test]
    fn times_of_a_lease_have_microseconds() {
        let renewed = bytes(4, &[0x08, 0x01, 0x10, 0xe8, 0x07]);
        let object = decode(&body("coordination.k8s.io/v1", "Lease", &bytes(2, &renewed))).unwrap();
        assert_eq!(object["spec"], json!({ "renewTime": "1970-01-01T00:00:01.000001Z" }));
    }

    #[test]
    fn kinds_are_told_apart_by_group() {
        assert!(decode(&body("v1", "Namespace", b"")).is_some());
        assert!(decode(&body("v1", "Role", b"")).is_none());
        assert!(decode(&body("v1", "ObjectMeta", b"")).is_none());
        assert!(decode(&body("apps/v1", "DeleteOptions", b"")).is_some());
    }

    #[test]
    fn every_type_of_the_table_is_known() {
        let scalars = ["string", "int", "bool", "bytes", "map", "bytesMap", "Time", "MicroTime"];
        for (name, fields) in MESSAGES {
            for field in fields.split(", ") {
                let parts: Vec<&str> = field.split(' ').collect();
                let kind = parts[2].trim_end_matches(['*', '?']);
                let known = scalars.contains(&kind) || MESSAGES.iter().any(|(other, _)| *other == kind);
                assert!(parts.len() == 3 && parts[0].parse::<u64>().is_ok() && known, "{name}: {field}");
            }
        }
        for (_, kinds) in KINDS {
            assert!(kinds.iter().all(|kind| MESSAGES.iter().any(|(name, _)| name == kind)));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(raw: Vec<u8>) {
            let _ = to_json(&raw);
            for (name, _) in MESSAGES {
                let _ = message(name, &raw);
            }
        }
    }
}
