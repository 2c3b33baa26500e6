//! The stage of a script: a world with its cast, and what the script has done to it so far.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fake_apiserver::Readiness;
use fake_apiserver::fault::RuleId;
use knative_operator::api::ComponentKind;
use knative_operator::manifest::ObjectKey;
use knative_operator::reconcile::record::Record;
use serde_json::{Value, json};

use super::cast::{ROLES, SPARE, SPOKES, Shape};
use super::kind::Kind;
use super::reference::References;
use crate::network::Site;
use crate::oracle::view::Component;
use crate::oracle::{Facts, ForeignKey, Jury, Oracle, all};
use crate::seed::Seed;
use crate::story::{component, id, inventory};
use crate::world::{FLEET, Options, PROFILE_GROUP, World, address, profile};

/// How often oracles look around while time passes.
const LOOK: Duration = Duration::from_secs(5);

/// What a profile says and what is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lead {
    /// Where the profile leads.
    pub address: String,
    /// What it says of the control plane.
    pub healthy: bool,
    /// Serial of the cluster's certificate authority.
    pub authority: u32,
    /// Serial of the one in the profile.
    pub published: u32,
}

/// See the module.
pub struct Stage {
    /// The world.
    pub world: World,
    /// What oracles must know.
    pub facts: Facts,
    /// The oracles.
    pub jury: Jury,
    /// What users last asked for, by role.
    pub shapes: BTreeMap<usize, Shape>,
    /// Roles that are created again as soon as they are gone.
    pub returning: BTreeMap<usize, Shape>,
    /// Roles whose objects may stay behind: by the user's word, or because the profile led elsewhere meanwhile.
    pub abandoned: BTreeSet<usize>,
    /// What they listed, by cluster.
    pub tolerated: BTreeSet<(String, ObjectKey)>,
    /// What profiles say.
    pub leads: BTreeMap<&'static str, Lead>,
    /// What was on each cluster before anything was installed.
    pub before: BTreeMap<String, BTreeSet<String>>,
    /// How often each kind of step was possible.
    pub hits: BTreeMap<Kind, u64>,
    /// Anchors of another hub, by cluster.
    pub claimed: BTreeSet<(String, ForeignKey)>,
    /// Foreign objects made so far.
    pub strangers: u32,
    /// Whether all faults have ended.
    pub healed: bool,
    /// Faults on links that still wait for requests, and how many each.
    pub pending: Vec<(Site, RuleId, u64)>,
}

impl Stage {
    /// A world in which nothing has happened yet, with its operator running.
    pub fn set(seed: Seed, references: &References) -> Self {
        let mut stage = Self::empty(seed, references);
        stage.world.start_operator();
        stage
    }

    /// A world in which nothing has happened yet, without an operator.
    pub fn empty(seed: Seed, references: &References) -> Self {
        let mut world = World::new(Self::options(seed, references));
        for spoke in SPOKES {
            world.attach_spoke(spoke);
        }
        world.attach_spoke(SPARE);
        for role in ROLES {
            world.create_namespace(&world.hub, role.id.1);
        }
        let home = |spoke| Lead { address: address(spoke), healthy: true, authority: 0, published: 0 };
        let leads = SPOKES.into_iter().map(|spoke| (spoke, home(spoke))).collect();
        let mut stage = Self::around(world, leads, all(references.usual_millis()));
        for spoke in SPOKES {
            stage.write_profile(spoke);
        }
        for site in stage.world.network.sites().values() {
            stage.note_beginning(site);
        }
        stage
    }

    pub(super) fn options(seed: Seed, references: &References) -> Options {
        Options { leases: true, library: references.library().clone(), ..Options::new(seed) }
    }

    /// A world as it is, with what profiles say in it, judged from now on.
    pub(super) fn around(
        world: World,
        leads: BTreeMap<&'static str, Lead>,
        oracles: Vec<Box<dyn Oracle>>,
    ) -> Self {
        world.network.remember_answers();
        world.network.set_authority(&address(SPARE), &authority(SPARE, 0));
        for (spoke, lead) in &leads {
            world.network.set_authority(&address(spoke), &authority(spoke, lead.authority));
        }
        let facts = Facts::default();
        let jury = Jury::watch(&world, facts.clone(), oracles);
        Self {
            world,
            facts,
            jury,
            shapes: BTreeMap::new(),
            returning: BTreeMap::new(),
            abandoned: BTreeSet::new(),
            tolerated: BTreeSet::new(),
            leads,
            before: BTreeMap::new(),
            hits: BTreeMap::new(),
            claimed: BTreeSet::new(),
            strangers: 0,
            healed: false,
            pending: Vec::new(),
        }
    }

    /// What is on a cluster now was there before anything was installed.
    pub fn note_beginning(&mut self, site: &Site) {
        self.before.insert(site.name.clone(), inventory(site).into_keys().collect());
    }

    /// Milliseconds since the beginning.
    pub fn now(&self) -> u64 {
        self.jury.now()
    }

    /// A cluster that is always there.
    pub fn site(&self, name: &str) -> Site {
        self.world.site(name).unwrap_or_else(|| self.world.hub.clone())
    }

    /// Somebody does something to a cluster (or to `operator`) now.
    pub fn touch(&self, site: &str) {
        self.facts.touch(site, self.now());
    }

    /// Lets time pass, with oracles looking around. Ends early with the first broken promise.
    pub async fn pass(&mut self, time: Duration) {
        let mut left = time;
        while !left.is_zero() && self.jury.verdict().is_none() {
            let now = left.min(LOOK);
            self.world.pass(now).await;
            left -= now;
            self.look();
        }
    }

    /// Lets everybody look around, and users go on with what they wait for.
    pub fn look(&mut self) {
        let gone: Vec<_> = self.returning.keys().copied().filter(|role| !self.exists(*role)).collect();
        for role in gone {
            if let Some(shape) = self.returning.remove(&role) {
                self.create(role, shape);
            }
        }
        if self.healed {
            // A webhook whose backend is gone may have refused before.
            self.take_off_all_holds();
        }
        self.note_moves();
        self.note_abandoned();
        self.note_pending();
        self.jury.tick();
    }

    /// A fault that still waits for requests may strike at any time.
    fn note_pending(&mut self) {
        self.pending.retain(|(site, rule, times)| site.link.hits(*rule) < *times);
        for (site, ..) in &self.pending {
            self.touch(&site.name);
        }
    }

    /// A profile that leads elsewhere moves its resources there; what they had before is nobody's any more.
    fn note_moves(&mut self) {
        let spare = uid_of(&self.site(SPARE));
        for (index, role) in ROLES.iter().enumerate() {
            let Some(component) = self.world.component(role.id) else { continue };
            let target = component["status"]["annotations"]["operator.knative.dev/target"].as_str();
            if target.is_some_and(|target| target.contains(&spare)) {
                self.abandon(index);
            }
        }
    }

    /// What a role has installed so far may stay behind.
    pub fn abandon(&mut self, role: usize) {
        self.abandoned.insert(role);
        self.facts.abandon(&set_of_role(role));
        self.note_abandoned();
    }

    /// What abandoned resources list may stay behind, whatever becomes of its labels.
    fn note_abandoned(&mut self) {
        for role in &self.abandoned {
            let actor = &ROLES[*role];
            let component = self.world.component(actor.id).unwrap_or_default();
            if let Ok(record) = Record::read(&component["status"]["annotations"]) {
                let keys = record.inventory.objects.into_keys();
                self.tolerated.extend(keys.map(|key| (actor.site().to_owned(), key)));
            }
        }
    }

    /// Whether the custom resource of a role exists.
    pub fn exists(&self, role: usize) -> bool {
        self.world.component(ROLES[role].id).is_some()
    }

    /// Creates the custom resource of a role; whether that was possible.
    pub fn create(&mut self, role: usize, shape: Shape) -> bool {
        let actor = &ROLES[role];
        if self.exists(role) {
            return false;
        }
        self.shapes.insert(role, shape);
        self.facts.ask(actor.site(), self.now());
        self.world.create(&self.world.hub, component(actor.id, &actor.spec(shape)));
        true
    }

    /// Changes the custom resource of a role as a user; whether that was possible.
    pub fn edit(&self, role: usize, change: impl FnOnce(&mut Value)) -> bool {
        let actor = &ROLES[role];
        self.facts.ask(actor.site(), self.now());
        self.change(&self.world.hub, id(actor.id), change)
    }

    /// Changes an object as an administrator, if it is there and the cluster lets it be changed.
    pub fn change(
        &self,
        site: &Site,
        (group, kind, namespace, name): (&str, &str, &str, &str),
        change: impl FnOnce(&mut Value),
    ) -> bool {
        self.world.trace.note(format_args!("somebody edits {kind} {namespace}/{name} on {}", site.name));
        site.server.edit(group, kind, namespace, name, change).is_ok()
    }

    /// Writes what a profile is to say, creating it if it is not there.
    pub fn write_profile(&self, spoke: &'static str) {
        let lead = &self.leads[spoke];
        let mut wanted = profile(spoke, &lead.address, if lead.healthy { "True" } else { "False" });
        // Whoever is at the address, the profile has that one's authority, or an older one.
        let at = lead.address.trim_start_matches("https://");
        let serial = if lead.address == address(spoke) { lead.published } else { 0 };
        let data = STANDARD.encode(authority(at, serial));
        wanted["status"]["accessProviders"][0]["cluster"]["certificate-authority-data"] = json!(data);
        self.touch(spoke);
        let hub = &self.world.hub.server;
        if hub.get(PROFILE_GROUP, "ClusterProfile", FLEET, spoke).is_none() {
            self.world.create(&self.world.hub, wanted.clone());
        }
        self.world.set_profile(&wanted);
    }

    /// Ends every fault: what can be repaired is repaired, an operator runs, profiles lead home. A second operator stays:
    /// two must come to rest as one does.
    pub fn heal(&mut self) {
        self.world.trace.note("faults end");
        self.healed = true;
        self.pending.clear();
        self.withdraw_claims();
        for site in self.world.network.sites().into_values() {
            site.link.clear();
            site.link.heal();
            site.server.resume_gc();
            site.server.workloads().script("*", Readiness::After(self.world.options().rollout));
            self.world.network.serve_stale(&address(&site.name), 0);
            self.facts.calm_down(&site.name);
            self.touch(&site.name);
        }
        self.world.network.serve_stale(crate::world::HUB, 0);
        self.take_off_all_holds();
        self.world.issuer.recover();
        self.repair_provider_file();
        for spoke in SPOKES {
            if let Some(lead) = self.leads.get_mut(spoke) {
                *lead = Lead {
                    address: address(spoke),
                    healthy: true,
                    authority: lead.authority,
                    published: lead.authority,
                };
            }
            self.write_profile(spoke);
        }
        for role in 0..ROLES.len() {
            self.release_lost(role);
            self.edit(role, |object| {
                if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
                    annotations.remove("operator.knative.dev/paused");
                }
            });
        }
        if !self.world.operator_runs() {
            self.world.start_operator();
        }
        self.facts.calm_down("operator");
        self.touch("operator");
    }

    /// A deletion on a cluster that is gone, or that the profile led to only for a time, needs the user's word.
    fn release_lost(&mut self, role: usize) {
        let actor = &ROLES[role];
        let Some(component) = self.world.component(actor.id) else { return };
        let home = uid_of(&self.site(actor.site()));
        let target = component["status"]["annotations"]["operator.knative.dev/target"].as_str();
        let lost = target.is_some_and(|target| !target.contains(&home));
        if lost && component["metadata"]["deletionTimestamp"].is_string() {
            self.abandon(role);
            self.edit(role, |object| {
                object["metadata"]["annotations"]["operator.knative.dev/deletion-policy"] = json!("orphan");
            });
        }
    }

    fn take_off_all_holds(&self) {
        if self.hits.get(&Kind::Hold).is_some_and(|hits| *hits > 0) {
            for site in self.world.network.sites().values() {
                self.take_off_holds(site);
            }
        }
    }

    /// Takes the finalizers of others off everything.
    pub fn take_off_holds(&self, site: &Site) -> bool {
        let mut any = false;
        for object in site.server.snapshot().objects() {
            let finalizers = object.value["metadata"]["finalizers"].as_array();
            if finalizers.into_iter().flatten().any(|finalizer| finalizer == HOLD) {
                let key = crate::oracle::member::key_of(object.value);
                any |= self.change(
                    site,
                    (&key.kind.group, &key.kind.kind, &key.namespace, &key.name),
                    |object| {
                        if let Some(finalizers) = object["metadata"]["finalizers"].as_array_mut() {
                            finalizers.retain(|finalizer| finalizer != HOLD);
                        }
                    },
                );
            }
        }
        any
    }

    /// Writes a provider file that works, with other bytes than the one before.
    pub fn repair_provider_file(&self) {
        let text = crate::world::provider_file().to_string();
        let serial = self.now();
        self.world
            .files
            .put(crate::world::PROVIDER_FILE, format!("{text}{}", " ".repeat((serial % 50) as usize)));
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.world.network.clear_company();
    }
}

/// The ApplySet of what a role installs.
pub fn set_of_role(role: usize) -> String {
    let actor = &ROLES[role];
    let kind = ComponentKind::ALL.into_iter().find(|kind| kind.kind() == actor.id.0);
    let value = json!({
        "metadata": {"namespace": actor.id.1, "name": actor.id.2},
        "spec": {"clusterProfileRef": actor.spoke.map(|spoke| json!({"name": spoke}))},
    });
    let component = kind.and_then(|kind| Component::read(kind, &Arc::new(value)));
    component.map(|component| component.set).unwrap_or_default()
}

/// A finalizer of somebody else.
pub const HOLD: &str = "example.org/hold";

/// The certificate authority of a cluster, by serial.
pub fn authority(site: &str, serial: u32) -> Vec<u8> {
    format!("authority {serial} of {site}").into_bytes()
}

/// UID of a cluster's kube-system namespace.
pub fn uid_of(site: &Site) -> String {
    let system = site.server.get("", "Namespace", "", "kube-system").unwrap_or_default();
    system["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}
