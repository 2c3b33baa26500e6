//! The record: nothing is written to a cluster before the custom resource says that it will be there.
//!
//! Whenever a member is created or changed, the inventory in the status of its custom resource names it already, and the
//! finalizer is on. In the end the inventory names every member that is there. So a crash at any point, or the loss
//! of an anchor, leaves nothing that a later removal would not find.

use super::member::{key_of, members, set_of};
use super::{Oracle, Scene};
use crate::wire::Seen;

/// See the module.
#[derive(Debug)]
pub(super) struct Recorded;

impl Oracle for Recorded {
    fn name(&self) -> &'static str {
        "record"
    }

    fn seen(&mut self, seen: &Seen<'_>, scene: &Scene<'_>) -> Option<String> {
        if !seen.took_effect() || !seen.letter.is_write() || seen.info.verb == "delete" {
            return None;
        }
        let object = seen.object(&seen.after)?;
        let component = scene.view.of_set(set_of(&object)?)?;
        let key = key_of(&object);
        if !component.record.inventory.objects.contains_key(&key) {
            return Some(format!("{key} was written on {}, and {component} does not list it", seen.site));
        }
        (!component.has_finalizer())
            .then(|| format!("{key} was written on {}, and {component} has no finalizer", seen.site))
    }

    fn end(&mut self, scene: &Scene<'_>) -> Option<String> {
        scene.view.components.iter().find_map(|component| {
            let target = component.record.target.as_ref()?;
            if scene.facts.is_abandoned(&component.set) {
                return None;
            }
            let cluster = scene.by_uid(&target.cluster)?;
            let members = members(&cluster.snapshot, &component.set);
            let unlisted = members
                .iter()
                .map(|object| key_of(object))
                .find(|key| !component.record.inventory.objects.contains_key(key));
            unlisted.map(|key| format!("{key} is on {}, and {component} does not list it", cluster.site))
        })
    }
}
