//! Names of the ApplySet specification (KEP-3659) that say which set an object belongs to.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::manifest::GroupKind;

/// Label of the parent of a set; its value is the set's id.
pub const ID_LABEL: &str = "applyset.kubernetes.io/id";

/// Label of the members of a set; its value is the set's id.
pub const PART_OF_LABEL: &str = "applyset.kubernetes.io/part-of";

/// The id of the set whose parent is the named object.
pub fn apply_set_id(parent: &GroupKind, namespace: &str, name: &str) -> String {
    let GroupKind { group, kind } = parent;
    let digest = Sha256::digest(format!("{name}.{namespace}.{kind}.{group}"));
    format!("applyset-{}-v1", URL_SAFE_NO_PAD.encode(digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_fits_a_label_and_tells_parents_apart() {
        let id = |kind: &str| apply_set_id(&GroupKind::new("", kind), "ns", "a");
        assert_eq!(id("ConfigMap").len(), "applyset-".len() + 43 + "-v1".len());
        assert_ne!(id("ConfigMap"), id("Secret"));
    }

    #[test]
    fn the_id_is_the_one_of_the_specification() {
        // printf 'a.ns.ConfigMap.' | sha256sum | xxd -r -p | base64 | tr '+/' '-_' | tr -d '='
        let id = apply_set_id(&GroupKind::new("", "ConfigMap"), "ns", "a");
        assert_eq!(id, "applyset-8g4I7qLAc3WBOF2UAWtxAu5LSmIwEI8Zr5bKZD7PM9k-v1");
    }
}
