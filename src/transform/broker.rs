//! The default broker class: `spec.defaultBrokerClass`.

use serde_json::Value;

use super::{Context, TransformError, tree};
use crate::manifest::{Object, parse};

/// ConfigMap with the defaults of brokers.
const DEFAULTS: &str = "config-br-defaults";

/// Its one key.
const KEY: &str = "default-br-config";

/// Class of brokers unless the user says otherwise.
const DEFAULT_CLASS: &str = "MTChannelBasedBroker";

/// Sets the class, and lets the reference to the channel's ConfigMap follow the component's namespace. A user who
/// writes the defaults with a class of their own has the last word.
pub(super) fn set_class(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    let Some(eventing) = context.component.eventing() else { return Ok(()) };
    if !object.is("", "ConfigMap") || object.name() != DEFAULTS {
        return Ok(());
    }
    let own = context.component.spec.common.config_of(DEFAULTS).and_then(|config| config.get(KEY));
    if own.is_some_and(|text| text.contains("brokerClass:")) {
        return Ok(());
    }
    let Some(Value::String(text)) = tree::value(object.value_mut(), &["data", KEY]) else {
        return Err(TransformError::NoBrokerDefaults);
    };
    let malformed = |cause| TransformError::MalformedBrokerDefaults(cause);
    let documents = parse::parse_documents(text.as_bytes()).map_err(|cause| malformed(Some(cause)))?;
    let mut defaults = documents.into_iter().next().ok_or(TransformError::NoBrokerDefaults)?;
    let cluster = tree::make_map(&mut defaults, &["clusterDefault"]).ok_or_else(|| malformed(None))?;
    let class = match eventing.default_broker_class.as_str() {
        "" => DEFAULT_CLASS,
        class => class,
    };
    cluster.insert("brokerClass".into(), class.into());
    let released = context.component.kind.component_label();
    if own.is_none() && tree::text(cluster, "namespace") == released {
        cluster.insert("namespace".into(), context.facts.namespace.as_str().into());
    }
    *text = serde_saphyr::to_string(&defaults).map_err(|_| malformed(None))?;
    Ok(())
}
