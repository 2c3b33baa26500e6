//! Field ownership: server-side apply, and what every other write does to `metadata.managedFields`.
//!
//! Pure functions of (live object, request, merge facts). The rules are those of
//! `sigs.k8s.io/structured-merge-diff` and KEP-555. One simplification: an entry recorded for another `apiVersion`
//! is read as if its fields had the same shape in this one, which holds for custom resources without conversion
//! and for all built-in kinds but the oldest.

mod applied;
mod compare;
mod element;
mod field_set;
mod kubectl;
mod managers;
mod merge;
mod prune;
mod scale;
#[cfg(test)]
mod tests;
mod update;

pub use applied::apply;
pub use field_set::FieldSet;
pub use scale::{owners_from_scale, owners_to_scale};
pub use update::{keep_times, track_update};

/// Who writes, and how it is recorded in `metadata.managedFields`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// Field manager.
    pub manager: String,
    /// `apiVersion` of the request.
    pub api_version: String,
    /// `status`, `scale`, … for a subresource request.
    pub subresource: Option<String>,
    /// RFC 3339 time in whole seconds, UTC.
    pub time: String,
}

/// Why an apply is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// Other managers own fields with other values, and `force` was not given.
    Conflicts(Vec<Conflict>),
    /// The applied configuration cannot be read with these facts (for instance duplicate list keys):
    /// the server's message.
    Invalid(String),
}

/// One field that another manager owns with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The other manager as the server prints it, for instance `"kubectl" using apps/v1`.
    pub manager: String,
    /// Path as the server prints it, for instance `.spec.template.spec.containers[name="a"].image`.
    pub field: String,
}

/// The message of the Status that reports `conflicts`. The Status' causes are one for each conflict:
/// `conflict with {manager}` at `{field}`, reason `FieldManagerConflict`.
pub fn conflict_message(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        return format!("Apply failed with 1 conflict: conflict with {}: {}", only.manager, only.field);
    }
    let mut managers: Vec<&str> = conflicts.iter().map(|conflict| conflict.manager.as_str()).collect();
    managers.sort_unstable();
    managers.dedup();
    let mut lines = Vec::with_capacity(managers.len() + conflicts.len());
    for manager in managers {
        lines.push(format!("conflicts with {manager}:"));
        let fields = conflicts.iter().filter(|conflict| conflict.manager == manager);
        lines.extend(fields.map(|conflict| format!("- {}", conflict.field)));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}
