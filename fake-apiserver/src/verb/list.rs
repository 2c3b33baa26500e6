//! Reading collections: selectors, exact revisions and pages. A page token holds the revision and the last key;
//! the state at that revision is rebuilt from the log, so that all pages show the same moment.

use std::ops::Bound;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::get::parse_version;
use crate::convert;
use crate::options::{ListOptions, Match};
use crate::represent::ListMeta;
use crate::state::{Call, State};
use crate::status::{Answer, Status};
use crate::storage::{Objects, Stored};

/// What a list found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) meta: ListMeta,
    pub(crate) items: Vec<Arc<Stored>>,
}

/// Lists the collection a call names.
pub(crate) fn list(state: &State, call: &Call, options: &ListOptions) -> Answer<Found> {
    find(state, call, &check_fields(call, options.clone())?)
}

/// Lists the collection a call names, by options that [`check_fields`] returned.
pub(crate) fn find(state: &State, call: &Call, options: &ListOptions) -> Answer<Found> {
    let (objects, revision, after) = select_revision(state, call, options)?;
    let (first, end) = bounds(&call.namespace);
    let start = after.as_deref().filter(|after| *after >= first.as_str());
    let start = start.map_or(Bound::Included(first.as_str()), Bound::Excluded);
    let end = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let selective = !options.labels.is_empty() || !options.fields.is_empty();
    let mut matching = (!is_past(start, end))
        .then(|| objects.range::<_, str>((start, end)))
        .into_iter()
        .flatten()
        .filter(|(_, stored)| !selective || matches(options, &stored.value));
    let mut found = Found { meta: ListMeta { revision, ..ListMeta::default() }, items: Vec::new() };
    // From the cache (version 0) the server ignores the limit.
    if options.limit == 0 || options.resource_version == "0" {
        found.items.reserve(if selective { 0 } else { objects.len() });
        found.items.extend(matching.map(|(_, stored)| stored.clone()));
        return Ok(found);
    }
    let mut last = String::new();
    for (key, stored) in matching.by_ref().take(options.limit) {
        last = key.to_string();
        found.items.push(stored.clone());
    }
    if matching.next().is_some() {
        found.meta.continue_token = write_token(revision, &last);
        // With selectors the server does not know.
        found.meta.remaining = (!selective).then(|| matching.count() + 1);
    }
    Ok(found)
}

/// The first key that an object of a namespace can have, and the first that none can have any more: `0` follows `/`.
fn bounds(namespace: &str) -> (String, Option<String>) {
    match namespace {
        "" => (String::new(), None),
        name => (format!("{name}/"), Some(format!("{name}0"))),
    }
}

/// Whether a range ends before it starts, as with a page token of another namespace.
fn is_past(start: Bound<&str>, end: Bound<&str>) -> bool {
    let (Bound::Included(start) | Bound::Excluded(start), Bound::Excluded(end)) = (start, end) else {
        return false;
    };
    start >= end
}

/// Whether an object satisfies both selectors.
pub(crate) fn matches(options: &ListOptions, object: &Value) -> bool {
    // Unselective lists need not look into objects at all.
    (options.labels.is_empty() || options.labels.matches(&object["metadata"]["labels"]))
        && (options.fields.is_empty() || options.fields.matches(object))
}

/// Refuses field selectors that the kind does not support; returns options that select fields as they are stored.
pub(crate) fn check_fields(call: &Call, mut options: ListOptions) -> Answer<ListOptions> {
    let resource = call.resource();
    for field in options.fields.fields() {
        let common = matches!(field, "metadata.name")
            || (field == "metadata.namespace" && (resource.namespaced || !resource.traits.custom));
        if common || resource.selectable.iter().any(|selectable| selectable == field) {
            continue;
        }
        return Err(Status::bad_request(if resource.traits.custom || !resource.selectable.is_empty() {
            format!("field label not supported: {field}")
        } else {
            format!(
                "\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            )
        }));
    }
    options.fields = options.fields.renamed(|label| convert::stored_field(resource, label));
    Ok(options)
}

type AtRevision = (Objects, u64, Option<String>);

fn select_revision(state: &State, call: &Call, options: &ListOptions) -> Answer<AtRevision> {
    let current = state.storage.revision();
    let id = &call.resource().storage;
    if !options.continue_token.is_empty() {
        if !matches!(options.resource_version.as_str(), "" | "0") {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let (revision, after) = read_token(&options.continue_token).map_err(|why| {
            Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        })?;
        // Revision -1 stands for an inconsistent continuation after expiry.
        let Some(revision) = revision else { return Ok((state.storage.objects(id), current, Some(after))) };
        return match state.storage.objects_at(id, revision) {
            Ok(objects) => Ok((objects, revision, Some(after))),
            Err(_) => Err(expired_token(&after)),
        };
    }
    if options.resource_version.is_empty() {
        return Ok((state.storage.objects(id), current, None));
    }
    let asked = parse_version(&options.resource_version)
        .map_err(|why| Status::bad_request(format!("invalid resource version: {why}")))?;
    if asked > current {
        return Err(Status::too_large_version(asked, current));
    }
    // A limit without a match means exactly that version, as it did before matches existed.
    let legacy_exact = options.limit > 0 && options.version_match.is_none() && asked > 0;
    if options.version_match == Some(Match::Exact) || legacy_exact {
        let objects = state
            .storage
            .objects_at(id, asked)
            .map_err(|_| Status::expired("The resourceVersion for the provided list is too old."))?;
        return Ok((objects, asked, None));
    }
    Ok((state.storage.objects(id), current, None))
}

fn expired_token(after: &str) -> Box<Status> {
    let mut status = Status::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of \
         the results. Continuing with the provided token results in an inconsistent list - objects that were \
         created, modified, or deleted between the time the first chunk was returned and now may show up in the \
         list.",
    );
    status.continue_token = Some(encode_token(&json!({ "v": "meta.k8s.io/v1", "rv": -1, "start": after })));
    status
}

fn write_token(revision: u64, last: &str) -> String {
    encode_token(&json!({ "v": "meta.k8s.io/v1", "rv": revision, "start": last }))
}

fn encode_token(token: &Value) -> String {
    URL_SAFE_NO_PAD.encode(token.to_string())
}

fn read_token(text: &str) -> Result<(Option<u64>, String), String> {
    // As lenient as Go's decoder.
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(base64::engine::DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true);
    let decoded = GeneralPurpose::new(&base64::alphabet::URL_SAFE, config)
        .decode(text)
        .map_err(|why| why.to_string())?;
    let token: Value = serde_json::from_slice(&decoded).map_err(|_| {
        let first = decoded.first().copied().map(char::from).unwrap_or_default();
        format!("invalid character {} looking for beginning of value", quoted(first))
    })?;
    match token["v"].as_str() {
        Some("meta.k8s.io/v1") => {}
        other => {
            let version = other.unwrap_or_default();
            return Err(format!("server does not recognize this encoded version {version}"));
        }
    }
    Ok((token["rv"].as_u64(), token["start"].as_str().unwrap_or_default().to_owned()))
}

/// A character as Go's JSON decoder quotes it.
fn quoted(c: char) -> String {
    if c.is_ascii_graphic() || c == ' ' { format!("'{c}'") } else { format!("'\\u{:04x}'", u32::from(c)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_token_survives_the_round_trip() {
        assert_eq!(read_token(&write_token(42, "ns/a")), Ok((Some(42), "ns/a".into())));
    }

    #[test]
    fn tokens_of_another_encoding_are_refused() {
        let token = encode_token(&json!({"v": "meta.k8s.io/v9"}));
        assert_eq!(
            read_token(&token).unwrap_err(),
            "server does not recognize this encoded version meta.k8s.io/v9"
        );
        assert!(read_token("garbage").unwrap_err().starts_with("invalid character"));
    }
}
