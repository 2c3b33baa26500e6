//! Manners: how the operator writes, whatever it writes.
//!
//! A member of an installation comes into being by server-side apply, under the operator's one field manager and with
//! force, so that it owns just the fields that it set (KEP-555). A deletion names the UID of the object that is there,
//! so that nothing is deleted that came later under the same name.

use http::header;

use super::member::set_of;
use super::{Oracle, Scene};
use crate::wire::Seen;

/// The one field manager.
const MANAGER: &str = "fieldManager=knative-operator";

/// See the module.
#[derive(Debug)]
pub(super) struct Manners;

impl Manners {
    fn deletion(seen: &Seen<'_>) -> Option<String> {
        let named = seen.letter.json()["preconditions"]["uid"].clone();
        let object = seen.object(&seen.before)?;
        (named != object["metadata"]["uid"]).then(|| {
            format!("DELETE {}{} does not name the UID of what is there", seen.site, seen.letter.path())
        })
    }

    fn creation(seen: &Seen<'_>) -> Option<String> {
        let created = seen.object(&seen.before).is_none();
        let object = seen.object(&seen.after).filter(|_| created)?;
        set_of(&object)?;
        let parts = &seen.letter.parts;
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let query = parts.uri.query().unwrap_or_default();
        let applied = kind.is_some_and(|kind| kind.starts_with("application/apply-patch"));
        let ours = query.contains(MANAGER) && query.contains("force=true");
        (!applied || !ours).then(|| {
            format!(
                "{} {}{} creates a member other than by its own apply",
                parts.method,
                seen.site,
                seen.letter.path()
            )
        })
    }
}

impl Oracle for Manners {
    fn name(&self) -> &'static str {
        "manners"
    }

    fn seen(&mut self, seen: &Seen<'_>, _: &Scene<'_>) -> Option<String> {
        if !seen.took_effect() || !seen.letter.is_write() || seen.letter.is_about_lease() {
            return None;
        }
        if seen.info.verb == "delete" { Self::deletion(seen) } else { Self::creation(seen) }
    }
}
