//! From a case to what the operator would apply.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use knative_operator::api::Component;
use knative_operator::manifest::{Catalog, Embedded, Object};
use knative_operator::plan::{self, Facts, Owner, Plan};
use knative_operator::source::{Entry, Source, SourceError};
use serde_json::{Value, json};

use crate::Case;
use crate::diff::{self, Pair};

/// UID of every resource.
const UID: &str = "11111111-1111-4111-8111-111111111111";
/// UID of every anchor.
const ANCHOR_UID: &str = "22222222-2222-4222-8222-222222222222";
/// Where the files of `manifests/` are published, as far as a case can tell.
const PUBLISHED: &str = "https://manifests.example/";

/// What becomes of a resource.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// This is applied.
    Planned(Plan),
    /// Nothing is applied, for this reason.
    Refused(String),
}

impl Outcome {
    /// The objects, in the order they are applied.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.plan().into_iter().flat_map(Plan::objects)
    }

    /// The plan, if there is one.
    pub const fn plan(&self) -> Option<&Plan> {
        match self {
            Self::Planned(plan) => Some(plan),
            Self::Refused(_) => None,
        }
    }

    /// `version` and `withoutEffect` of a plan or the `error`; and against what it is compared with the `KIND/NAME` of
    /// everything `added`, `removed` and `changed`, sorted.
    pub fn summary(&self, compared: Option<&Self>) -> Value {
        let mut summary = match self {
            Self::Planned(plan) => {
                json!({"version": plan.target_version, "withoutEffect": plan.unknown_names})
            }
            Self::Refused(error) => json!({"error": error}),
        };
        if let Some(compared) = compared {
            let pairs = diff::pairs(compared.objects(), self.objects());
            let labels = |keep: &dyn Fn(&Pair<'_>) -> bool| -> Vec<String> {
                let mut labels: Vec<_> =
                    pairs.iter().filter(|pair| keep(pair)).map(|pair| label(pair.object())).collect();
                labels.sort();
                labels
            };
            summary["added"] = labels(&|pair| matches!(pair, Pair::Added(_))).into();
            summary["removed"] = labels(&|pair| matches!(pair, Pair::Removed(_))).into();
            summary["changed"] =
                labels(&|pair| matches!(pair, Pair::Both(before, after) if before != after)).into();
        }
        summary
    }
}

/// `KIND/NAME`.
pub(crate) fn label(object: &Object) -> String {
    format!("{}/{}", object.kind(), object.name())
}

/// Plans cases.
pub struct Workbench {
    catalog: Catalog,
}

impl Default for Workbench {
    fn default() -> Self {
        Self { catalog: Catalog::new(Arc::new(Published), "") }
    }
}

impl Workbench {
    /// What becomes of a case.
    pub async fn outcome(&self, case: &Case) -> Outcome {
        match self.plan(case).await {
            Ok(plan) => Outcome::Planned(plan),
            Err(error) => Outcome::Refused(with_causes(&*error)),
        }
    }

    async fn plan(&self, case: &Case) -> Result<Plan, Box<dyn std::error::Error>> {
        let mut component = Component::from_value(&case.resource)?;
        component.meta.uid = Some(UID.into());
        let release = self.catalog.release(&component).await?;
        let owner = match component.is_remote() {
            true => Owner::anchor(&component, ANCHOR_UID),
            false => Owner::component(&component),
        };
        let namespace = plan::target_namespace(&component).to_owned();
        let adapter = plan::pingsource_adapter(&component, &release);
        let facts = Facts {
            apply_set: Some(plan::apply_set_id(&owner.group_kind(), &namespace, &owner.name)),
            owner: Some(owner),
            namespace,
            kubernetes_min_version: case.environment.get("KUBERNETES_MIN_VERSION").cloned(),
            pingsource_adapter: case.live.iter().find(|object| Some(object.name()) == adapter).cloned(),
            ..Facts::default()
        };
        Ok(plan::plan(&component, &release, &facts)?)
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The embedded bundle, and the files of `manifests/` as if they were on the network.
struct Published;

#[async_trait]
impl Source for Published {
    async fn list(&self, directory: &str) -> Result<Vec<Entry>, SourceError> {
        Embedded.list(directory).await
    }

    async fn read(&self, location: &str) -> Result<Bytes, SourceError> {
        let Some(name) = location.strip_prefix(PUBLISHED) else { return Embedded.read(location).await };
        let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "manifests", name].iter().collect();
        let read = std::fs::read(path).map(Bytes::from);
        read.map_err(|_| SourceError::NotFound { location: location.into() })
    }
}
