//! Entries of ConfigMaps: `spec.config`.

use super::{Context, TransformError, tree};
use crate::api::{Component, ConfigName};
use crate::manifest::Object;

/// Sets the entries that the user overrides.
pub(super) fn set_entries(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    if !object.is("", "ConfigMap") {
        return Ok(());
    }
    let Some(entries) = context.component.spec.common.config_of(object.name()) else { return Ok(()) };
    if entries.is_empty() {
        return Ok(());
    }
    let data = tree::make_map(object.value_mut(), &["data"]).ok_or(TransformError::NotAMap("data"))?;
    for (key, text) in entries {
        data.insert(key.clone(), text.as_str().into());
    }
    Ok(())
}

/// The first ConfigMap that `spec.config` names both with and without `config-`, with different entries.
pub fn contradiction(component: &Component) -> Option<ConfigName> {
    let config = &component.spec.common.config;
    config.iter().find_map(|(short, entries)| {
        let full = format!("config-{short}");
        let other = config.get(&full)?;
        (other != entries).then(|| ConfigName { short: short.clone(), full })
    })
}
