//! The labels by which a namespace chooses its pod security standards.

use std::fmt;

use serde_json::{Value, json};

use crate::schema::FieldError;

/// How much a Pod may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub(super) enum Level {
    /// Everything.
    #[default]
    Privileged,
    /// Nothing by which a Pod is known to take over its node.
    Baseline,
    /// What hardened Pods need.
    Restricted,
}

impl Level {
    const NAMES: [(&'static str, Self); 3] =
        [("privileged", Self::Privileged), ("baseline", Self::Baseline), ("restricted", Self::Restricted)];
}

/// A level as it was defined in some minor version of Kubernetes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Policy {
    pub(super) level: Level,
    /// `None` is the latest.
    minor: Option<u32>,
}

impl Policy {
    /// The minor version by whose rules is judged; the latest is above all.
    pub(super) fn minor(&self) -> u32 {
        self.minor.unwrap_or(u32::MAX)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Level::NAMES.iter().find(|(_, level)| *level == self.level).map_or("", |(name, _)| name);
        match self.minor {
            Some(minor) => write!(f, "{name}:v1.{minor}"),
            None => write!(f, "{name}:latest"),
        }
    }
}

/// What a namespace asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Setting {
    pub(super) enforce: Policy,
    pub(super) warn: Policy,
}

/// Reads the labels of a namespace. A level that is unknown counts as the strictest where it is enforced.
pub(super) fn read(labels: &Value) -> (Setting, Vec<FieldError>) {
    let mut errors = Vec::new();
    let mut policy = |mode: &str, broken: Level| {
        let level = format!("pod-security.kubernetes.io/{mode}");
        let version = format!("{level}-version");
        let found = labels[&level].as_str().map(|text| {
            let known = Level::NAMES.iter().find(|(name, _)| *name == text);
            known.map_or_else(
                || {
                    errors.push(wrong(&level, text, "must be one of privileged, baseline, restricted"));
                    broken
                },
                |(_, level)| *level,
            )
        });
        let minor = labels[&version].as_str().and_then(|text| {
            minor_of(text).unwrap_or_else(|| {
                errors.push(wrong(&version, text, "must be \"latest\" or \"v1.x\""));
                None
            })
        });
        Policy { level: found.unwrap_or_default(), minor }
    };
    let enforce = policy("enforce", Level::Restricted);
    policy("audit", Level::Privileged);
    let warn = policy("warn", Level::Privileged);
    (Setting { enforce, warn }, errors)
}

fn wrong(label: &str, value: &str, why: &str) -> FieldError {
    FieldError::invalid(format!("metadata.labels[{label}]"), &json!(value), why)
}

fn minor_of(text: &str) -> Option<Option<u32>> {
    if text == "latest" {
        return Some(None);
    }
    let digits = text.strip_prefix("v1.")?;
    let plain = digits == "0" || !digits.starts_with('0');
    digits.parse().ok().filter(|_| plain && digits.bytes().all(|byte| byte.is_ascii_digit())).map(Some)
}
