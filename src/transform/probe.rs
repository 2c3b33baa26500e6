//! Numbers of probes, by container name.

use serde_json::{Map, Value};

use super::pods;
use crate::api::ContainerProbe;

/// Applies the first entry for the container to its probe in `field`. All numbers absent: the probe goes. A container
/// without that probe gets none: it would lack a handler and be refused.
pub(super) fn merge(container: &mut Map<String, Value>, field: &str, wanted: &[ContainerProbe]) {
    let Some(wanted) = wanted.iter().find(|entry| entry.container == pods::name(container)) else { return };
    if wanted.numbers().next().is_none() {
        container.remove(field);
    } else if let Some(probe) = container.get_mut(field).and_then(Value::as_object_mut) {
        probe.extend(wanted.numbers().map(|(name, number)| (name.to_owned(), number.into())));
    }
}
