//! Name and labels of the anchor: the ConfigMap on the target cluster that owns what a remote resource installs.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::api::ComponentKind;

/// Longest name of an object (RFC 1123 subdomain).
const MAX_NAME: usize = 253;

/// Longest value of a label.
const MAX_LABEL: usize = 63;

/// Name of the anchor of a resource: `knativeserving-<name>-root-owner`. A name that would be too long is shortened and
/// told apart by a hash.
pub fn anchor_name(kind: ComponentKind, name: &str) -> String {
    let prefix = kind.kind().to_ascii_lowercase();
    let suffix = "-root-owner";
    let room = MAX_NAME - prefix.len() - 1 - suffix.len();
    format!("{prefix}-{}{suffix}", shortened(name, room))
}

/// The text as the value of a label: as it is if it fits, else shortened and told apart by a hash.
pub fn label_value(text: &str) -> String {
    shortened(text, MAX_LABEL)
}

/// At most `room` bytes (more than 11 are needed), ending in a hash of the text if something had to go.
fn shortened(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.into();
    }
    let mut hash = String::new();
    for byte in &Sha256::digest(text)[..5] {
        write!(hash, "{byte:02x}").expect("writing to a string cannot fail");
    }
    let kept = text.floor_char_boundary(room - hash.len() - 1);
    format!("{}-{hash}", text[..kept].trim_end_matches(['-', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_anchor_is_named_after_kind_and_resource() {
        let name = anchor_name(ComponentKind::Serving, "knative-serving");
        assert_eq!(name, "knativeserving-knative-serving-root-owner");
    }

    #[test]
    fn w37_long_names_are_hashed_to_fit() {
        let (a, b) = ("x".repeat(253), format!("{}y", "x".repeat(252)));
        for kind in ComponentKind::ALL {
            assert!(anchor_name(kind, &a).len() <= MAX_NAME);
            assert_ne!(anchor_name(kind, &a), anchor_name(kind, &b));
        }
        assert_eq!(label_value(&a).len(), MAX_LABEL);
        assert_ne!(label_value(&a), label_value(&b));
        assert_eq!(label_value("short"), "short");
    }
}
