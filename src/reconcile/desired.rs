//! The plan of each custom resource, kept from pass to pass: at rest nothing it depends on changes, and planning a
//! release again would be most of the work of a pass.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::api::{Component, Status};
use crate::apply::install::{Digests, digests};
use crate::apply::shape::fingerprint;
use crate::manifest::Release;
use crate::plan::{self, Facts, Plan, PlanError};

/// A plan without `status` on its objects (some releases carry it, and it is not ours to write), and the digest of each
/// object.
pub(super) struct Desired {
    /// The plan.
    pub(super) plan: Plan,
    /// Digests by identity.
    pub(super) digests: Digests,
    /// Digest of the whole, whoever owns it: an anchor that was deleted and made again does not change what is wanted.
    pub(super) digest: String,
}

/// The last plan of each custom resource, by UID. It may be lost at any time.
#[derive(Default)]
pub(super) struct Plans(Mutex<BTreeMap<String, Kept>>);

struct Kept {
    inputs: Inputs,
    desired: Arc<Desired>,
}

/// Everything that `plan` takes.
struct Inputs {
    component: Component,
    release: Release,
    facts: Facts,
}

impl Inputs {
    fn new(component: &Component, release: &Release, facts: &Facts) -> Self {
        // What we write ourselves decides nothing.
        let mut component = Component { status: Status::default(), ..component.clone() };
        component.meta.managed_fields = None;
        component.meta.resource_version = None;
        Self { component, release: release.clone(), facts: facts.clone() }
    }

    /// Objects of a release are shared, so that the same ones are at the same place.
    fn is(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.release.parts, &other.release.parts);
        self.component == other.component
            && self.facts == other.facts
            && self.release.target_version == other.release.target_version
            && ours.len() == theirs.len()
            && ours.iter().zip(theirs).all(|(a, b)| a.role == b.role && Arc::ptr_eq(&a.objects, &b.objects))
    }
}

/// Half a digest is plenty to tell two plans of one resource apart.
fn digest(plan: &mut Plan, digests: &Digests) -> String {
    let mut all = Sha256::new();
    for object in plan.phases.iter_mut().flat_map(|phase| &mut phase.objects) {
        let key = object.key();
        let owners = object.value_mut()["metadata"].as_object_mut().and_then(|m| m.remove("ownerReferences"));
        let Some(owners) = owners else {
            all.update(digests[&key]);
            continue;
        };
        all.update(fingerprint(object.value()));
        object.value_mut()["metadata"]["ownerReferences"] = owners;
    }
    all.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Plans {
    /// The plan for these inputs; the last one if they have not changed.
    ///
    /// # Errors
    /// [`PlanError`].
    pub(super) fn desired(
        &self,
        component: &Component,
        release: &Release,
        facts: &Facts,
    ) -> Result<Arc<Desired>, PlanError> {
        let inputs = Inputs::new(component, release, facts);
        if let Some(kept) = self.0.lock().get(component.uid()).filter(|kept| kept.inputs.is(&inputs)) {
            return Ok(kept.desired.clone());
        }
        let mut plan = plan::plan(component, release, facts)?;
        for object in plan.phases.iter_mut().flat_map(|phase| &mut phase.objects) {
            if let Some(fields) = object.value_mut().as_object_mut() {
                fields.remove("status");
            }
        }
        let digests = digests(&plan);
        let digest = digest(&mut plan, &digests);
        let desired = Arc::new(Desired { plan, digests, digest });
        self.0.lock().insert(component.uid().into(), Kept { inputs, desired: desired.clone() });
        Ok(desired)
    }

    /// Drops the plan of a custom resource that is gone.
    pub(super) fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }
}
