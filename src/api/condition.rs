//! Conditions, and the rule that keeps `Ready` in step with the others (the living set of Knative's `apis` package).
//!
//! Everything is pure: the time comes in as an argument. Types that a newer operator may have written are dropped
//! when a status is read.

use std::fmt;

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::Reason;

/// Longest message in bytes; the API server accepts no more than 32 KiB in a condition of its own types.
pub const MESSAGE_LIMIT: usize = 32 * 1024;

macro_rules! conditions {
    ($($name:ident: $meaning:literal;)*) => {
        /// Type of a condition.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ConditionType {
            $(#[doc = concat!("It says that ", $meaning, ".")] $name,)*
        }

        impl ConditionType {
            /// Every type.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The text in the status.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// What it says when it is True.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning,)* }
            }
        }
    };
}

conditions! {
    DependenciesInstalled: "what the component depends on is there";
    DeploymentsAvailable: "all workloads are rolled out";
    DeletionBlocked: "the deletion cannot proceed";
    Drifted: "objects on the cluster had been changed by somebody else";
    InstallSucceeded: "all objects of the release are applied";
    ManifestsCurrent: "every manifest that the resource names is as it was read last";
    OverridesApplied: "every override names something in the release";
    Paused: "nothing is written at the moment";
    Ready: "the component is installed as asked for, and works";
    TargetClusterResolved: "the cluster to install to is known and answers";
    UpgradeHeld: "there is a newer release, and a rollout does not let the resource move to it yet";
    VersionMigrationEligible: "the requested release may follow the installed one";
}

impl ConditionType {
    /// The types that `Ready` sums up.
    pub const DEPENDENTS: [Self; 5] = [
        Self::DependenciesInstalled,
        Self::DeploymentsAvailable,
        Self::InstallSucceeded,
        Self::VersionMigrationEligible,
        Self::TargetClusterResolved,
    ];

    /// Whether `Ready` depends on it.
    pub fn is_dependent(self) -> bool {
        Self::DEPENDENTS.contains(&self)
    }

    /// Whether it counts neither as `Ready` nor for it.
    pub fn is_informational(self) -> bool {
        self != Self::Ready && !self.is_dependent()
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.as_str() == text)
    }
}

impl fmt::Display for ConditionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ConditionType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Value of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Not known yet.
    Unknown,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ConditionType,
    /// Its value.
    pub status: ConditionStatus,
    /// `Info` for informational conditions, otherwise empty, which means `Error`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub severity: String,
    /// When status, reason, message or severity last changed, in whole seconds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_rfc3339")]
    pub last_transition_time: Option<Timestamp>,
    /// Reason; empty for a condition that needs none. Text, because older operators wrote others than [`Reason`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Message for people; empty for a condition that needs none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

fn as_rfc3339<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.serialize_str(&time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        None => serializer.serialize_none(),
    }
}

impl Condition {
    fn from_value(value: &Value) -> Option<Self> {
        let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
        Some(Self {
            kind: ConditionType::parse(text("type"))?,
            status: match text("status") {
                "True" => ConditionStatus::True,
                "False" => ConditionStatus::False,
                _ => ConditionStatus::Unknown,
            },
            severity: text("severity").into(),
            last_transition_time: text("lastTransitionTime").parse().ok().map(whole_seconds),
            reason: text("reason").into(),
            message: text("message").into(),
        })
    }
}

/// All conditions of a status, sorted by the text of their type, each type at most once.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Conditions(Vec<Condition>);

impl<'a> FromIterator<&'a Value> for Conditions {
    fn from_iter<I: IntoIterator<Item = &'a Value>>(values: I) -> Self {
        let mut conditions = Self::default();
        values.into_iter().filter_map(Condition::from_value).for_each(|condition| conditions.put(condition));
        conditions
    }
}

impl Conditions {
    /// The start of every reconcile: makes `Ready` if it is missing, then the missing dependents (True if `Ready` is,
    /// else Unknown). What is there stays.
    pub fn initialize(&mut self, now: Timestamp) {
        if self.get(ConditionType::Ready).is_none() {
            self.set(ConditionType::Ready, ConditionStatus::Unknown, "", "", now);
        }
        let status = if self.is_ready() { ConditionStatus::True } else { ConditionStatus::Unknown };
        for kind in ConditionType::DEPENDENTS {
            if self.get(kind).is_none() {
                self.set(kind, status, "", "", now);
            }
        }
    }

    /// Marks a condition True, without reason and message, and recomputes `Ready` from its dependents.
    pub fn mark_true(&mut self, kind: ConditionType, now: Timestamp) {
        self.set(kind, ConditionStatus::True, "", "", now);
        if !kind.is_informational() {
            self.recompute(now);
        }
    }

    /// Marks a condition False; `Ready` gets the same reason and message unless the condition is informational.
    pub fn mark_false(&mut self, kind: ConditionType, reason: Reason, message: &str, now: Timestamp) {
        if !kind.is_informational() {
            self.set(ConditionType::Ready, ConditionStatus::False, reason.as_str(), message, now);
        }
        self.set(kind, ConditionStatus::False, reason.as_str(), message, now);
    }

    /// Marks a condition Unknown; so becomes `Ready`, unless a dependent is False (that one has said why).
    pub fn mark_unknown(&mut self, kind: ConditionType, reason: Reason, message: &str, now: Timestamp) {
        self.set(kind, ConditionStatus::Unknown, reason.as_str(), message, now);
        if kind.is_informational() {
            return;
        }
        let failed = self.dependents().any(|condition| condition.status == ConditionStatus::False);
        if !failed {
            self.set(ConditionType::Ready, ConditionStatus::Unknown, reason.as_str(), message, now);
        } else if self.get(ConditionType::Ready).is_none_or(|ready| ready.status != ConditionStatus::False) {
            self.set(ConditionType::Ready, ConditionStatus::False, reason.as_str(), message, now);
        }
    }

    /// Sets an informational condition True with a reason, for those where True is what needs attention. It is ignored
    /// for any other condition: they carry no reason when they are True.
    pub fn note(&mut self, kind: ConditionType, reason: Reason, message: &str, now: Timestamp) {
        if kind.is_informational() {
            self.set(kind, ConditionStatus::True, reason.as_str(), message, now);
        }
    }

    /// Removes an informational condition that has nothing to say any more.
    pub fn clear(&mut self, kind: ConditionType) {
        if kind.is_informational() {
            self.0.retain(|condition| condition.kind != kind);
        }
    }

    /// The end of every reconcile: a condition that went to and fro and ended as it is `stored` has not changed.
    pub fn settle(&mut self, stored: &Self) {
        for condition in &mut self.0 {
            let Some(before) = stored.get(condition.kind) else { continue };
            let time = before.last_transition_time;
            if time.is_some() && (Condition { last_transition_time: time, ..condition.clone() } == *before) {
                condition.last_transition_time = time;
            }
        }
    }

    /// The condition of a type.
    pub fn get(&self, kind: ConditionType) -> Option<&Condition> {
        self.0.iter().find(|condition| condition.kind == kind)
    }

    /// The value of a condition; Unknown when it is missing.
    pub fn status(&self, kind: ConditionType) -> ConditionStatus {
        self.get(kind).map_or(ConditionStatus::Unknown, |condition| condition.status)
    }

    /// Whether `Ready` is True.
    pub fn is_ready(&self) -> bool {
        self.status(ConditionType::Ready) == ConditionStatus::True
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, sorted by type.
    pub fn iter(&self) -> impl Iterator<Item = &Condition> {
        self.0.iter()
    }

    fn dependents(&self) -> impl Iterator<Item = &Condition> {
        self.0.iter().filter(|condition| condition.kind.is_dependent())
    }

    /// `Ready` follows the most recent False dependent, else the most recent Unknown one, else it is True.
    fn recompute(&mut self, now: Timestamp) {
        // Of equally recent ones the first, as a stable sort by descending time would have it.
        let latest = |status| {
            self.dependents().filter(|condition| condition.status == status).reduce(|best, next| {
                if next.last_transition_time > best.last_transition_time { next } else { best }
            })
        };
        let unhappy = latest(ConditionStatus::False).or_else(|| latest(ConditionStatus::Unknown)).cloned();
        let complete = self.dependents().count() == ConditionType::DEPENDENTS.len();
        match unhappy {
            Some(found) => self.set(ConditionType::Ready, found.status, &found.reason, &found.message, now),
            None if complete => self.set(ConditionType::Ready, ConditionStatus::True, "", "", now),
            None => self.set(ConditionType::Ready, ConditionStatus::Unknown, "", "", now),
        }
    }

    /// Writes a condition. If nothing but the time would change, the old one stays.
    fn set(
        &mut self,
        kind: ConditionType,
        status: ConditionStatus,
        reason: &str,
        message: &str,
        now: Timestamp,
    ) {
        let mut new = Condition {
            kind,
            status,
            severity: if kind.is_informational() { "Info".into() } else { String::new() },
            last_transition_time: Some(whole_seconds(now)),
            reason: reason.into(),
            message: capped(message).into(),
        };
        if let Some(old) = self.get(kind) {
            let time = new.last_transition_time;
            new.last_transition_time = old.last_transition_time;
            if &new == old && old.last_transition_time.is_some() {
                return;
            }
            new.last_transition_time = time;
        }
        self.put(new);
    }

    fn put(&mut self, condition: Condition) {
        match self.0.binary_search_by(|c| c.kind.as_str().cmp(condition.kind.as_str())) {
            Ok(index) => self.0[index] = condition,
            Err(index) => self.0.insert(index, condition),
        }
    }
}

/// Times in a status have whole seconds; more would differ from what is read back.
fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

/// At most [`MESSAGE_LIMIT`] bytes of the text, cut between characters.
fn capped(text: &str) -> &str {
    &text[..text.floor_char_boundary(MESSAGE_LIMIT)]
}

#[cfg(test)]
mod tests;
