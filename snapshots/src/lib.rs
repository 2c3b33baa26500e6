//! What custom resources become, rendered for people to review.
//!
//! Each file of `inputs/` is a custom resource as a user writes it; its first comment says what a reviewer should see.
//! The snapshots beside the tests hold the plan for it from the embedded bundle.

#![forbid(unsafe_code)]

use std::fmt::Write;
use std::sync::Arc;

use knative_operator::api::Component;
use knative_operator::manifest::{Catalog, Embedded, GroupKind};
use knative_operator::plan::{self, Facts, Owner};

/// UID of every resource in a snapshot.
const UID: &str = "11111111-1111-4111-8111-111111111111";
/// UID of every anchor in a snapshot.
const ANCHOR_UID: &str = "22222222-2222-4222-8222-222222222222";

/// The plan for a custom resource, as text with a stable order.
///
/// # Errors
/// Whatever keeps the resource from being planned, as text.
pub async fn render(resource: &str) -> Result<String, String> {
    let value: serde_json::Value = serde_saphyr::from_str(resource).map_err(|error| error.to_string())?;
    let component = Component::from_value(&value).map_err(|error| error.to_string())?;
    let catalog = Catalog::new(Arc::new(Embedded), "");
    let release = catalog.release(&component).await.map_err(|error| error.to_string())?;
    let plan = plan::plan(&component, &release, &facts(&component)).map_err(|error| error.to_string())?;
    let mut text = format!("release {}\n", plan.target_version);
    for phase in &plan.phases {
        let _ = writeln!(text, "\n# phase {:?}: {} objects", phase.name, phase.objects.len());
        for object in &phase.objects {
            let yaml = serde_saphyr::to_string(object.value()).map_err(|error| error.to_string())?;
            let _ = writeln!(text, "\n--- {}\n{}", object.key(), yaml.trim_end());
        }
    }
    Ok(text)
}

fn facts(component: &Component) -> Facts {
    let (kind, name) = (component.kind, component.name());
    let (owner, parent) = if component.is_remote() {
        let anchor = plan::anchor_name(kind, name);
        let owner = Owner {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            name: anchor.clone(),
            uid: ANCHOR_UID.into(),
        };
        (owner, (GroupKind::new("", "ConfigMap"), anchor))
    } else {
        let (api_version, kind) = (kind.api_version().into(), kind.kind().into());
        let owner = Owner { api_version, kind, name: name.into(), uid: UID.into() };
        (owner, (GroupKind::new(component.kind.group(), component.kind.kind()), name.to_owned()))
    };
    let namespace = component.namespace().to_owned();
    let apply_set = Some(plan::apply_set_id(&parent.0, &namespace, &parent.1));
    Facts { owner: Some(owner), namespace, apply_set, ..Facts::default() }
}
