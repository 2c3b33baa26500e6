//! The flows that are swept: one thing that a user does, in a world that is otherwise left alone, or in which one thing
//! happens that operators must always expect: another leader, other credentials.

use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use crate::issuer::Behaviour;
use crate::search::cast::{ROLES, Shape};
use crate::search::stage::{Stage, authority};
use crate::story::id;
use crate::strike::OUTAGE;
use crate::world::address;

/// What the user does, and what happens meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Creates a custom resource.
    Install,
    /// Changes its version.
    Upgrade,
    /// Changes its configuration.
    Reconfigure,
    /// Deletes it.
    Delete,
    /// Creates it; in the middle of the work the leader loses the hub, and only the hub, and another replica takes over.
    Failover,
    /// Creates it; tokens live for seconds, and in the middle of the work all of them are revoked and the spoke gets
    /// another certificate authority, of which the profile tells later.
    Rotation,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Install, Self::Upgrade, Self::Reconfigure, Self::Delete, Self::Failover, Self::Rotation];

    /// The first part of the names of its flows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Upgrade => "upgrade",
            Self::Reconfigure => "reconfigure",
            Self::Delete => "delete",
            Self::Failover => "failover",
            Self::Rotation => "rotation",
        }
    }
}

/// An action on one of the two kinds, on a spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Flow {
    /// What the user does.
    pub action: Action,
    /// The role it is done to.
    pub role: usize,
}

/// What is installed before everything but an install.
pub(super) const BEFORE: Shape = Shape { version: 0, variant: 0 };
/// How long operators take to open their watches and to look at what is installed.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// How many requests are the middle of an install.
const MIDDLE: usize = 60;
/// How long tokens live while credentials rotate.
const TOKEN_LIFE: Duration = Duration::from_secs(5);
/// How long a profile speaks of an authority that the cluster has no more.
const PUBLISHED_AFTER: Duration = Duration::from_secs(5);

impl Flow {
    /// All of them.
    pub fn all() -> Vec<Self> {
        Action::ALL.into_iter().flat_map(|action| [0, 1].map(|role| Self { action, role })).collect()
    }

    /// Those that are called `name`, or whose action is; `all` is every one.
    pub fn named(name: &str) -> Vec<Self> {
        let is_meant = |flow: &Self| name == "all" || flow.name() == name || flow.action.name() == name;
        Self::all().into_iter().filter(is_meant).collect()
    }

    /// `install-serving`, `delete-eventing` ...
    pub fn name(&self) -> String {
        let kind = if ROLES[self.role].id.0 == "KnativeServing" { "serving" } else { "eventing" };
        format!("{}-{kind}", self.action.name())
    }

    /// The role that is installed when the flow begins.
    pub fn installed(&self) -> Option<usize> {
        let before = matches!(self.action, Action::Upgrade | Action::Reconfigure | Action::Delete);
        before.then_some(self.role)
    }

    /// Starts the operators, and lets them look at what is there.
    pub async fn prepare(&self, stage: &mut Stage) {
        stage.world.start_operator();
        match self.action {
            Action::Failover => stage.world.start_rival(),
            Action::Rotation => stage.world.issuer.set_default(Behaviour::Issue(TOKEN_LIFE)),
            _ => {}
        }
        stage.pass(FIRST_LOOK).await;
    }

    /// Does what the user does.
    pub fn begin(&self, stage: &mut Stage) {
        let actor = &ROLES[self.role];
        match self.action {
            Action::Install | Action::Failover | Action::Rotation => {
                stage.create(self.role, Shape { version: 1, variant: 0 });
            }
            Action::Upgrade => self.reshape(stage, Shape { version: 1, ..BEFORE }),
            Action::Reconfigure => self.reshape(stage, Shape { variant: 1, ..BEFORE }),
            Action::Delete => {
                stage.touch(actor.site());
                stage.world.delete(&stage.world.hub, id(actor.id));
            }
        }
    }

    /// After how many requests something happens besides.
    pub fn turns_at(&self) -> Option<usize> {
        matches!(self.action, Action::Failover | Action::Rotation).then_some(MIDDLE)
    }

    /// What happens then; how long until [`Flow::calm_down`].
    pub fn turn(&self, stage: &mut Stage) -> Duration {
        match self.action {
            Action::Failover => {
                stage.touch("operator");
                stage.facts.set_unruly("operator", "severed", true);
                if let Some(leader) = stage.world.leader() {
                    stage.world.sever(leader);
                }
                OUTAGE
            }
            Action::Rotation => {
                let spoke = self.spoke();
                stage.touch(spoke);
                stage.facts.set_unruly(spoke, "authority", true);
                stage.world.issuer.revoke_all(&address(spoke));
                if let Some(lead) = stage.leads.get_mut(spoke) {
                    lead.authority += 1;
                    let wanted = authority(spoke, lead.authority);
                    stage.world.network.set_authority(&address(spoke), &wanted);
                }
                PUBLISHED_AFTER
            }
            _ => Duration::ZERO,
        }
    }

    /// Ends what [`Flow::turn`] began.
    pub fn calm_down(&self, stage: &mut Stage) {
        match self.action {
            Action::Failover => {
                stage.world.mend();
                stage.facts.set_unruly("operator", "severed", false);
                stage.touch("operator");
            }
            Action::Rotation => {
                let spoke = self.spoke();
                if let Some(lead) = stage.leads.get_mut(spoke) {
                    lead.published = lead.authority;
                }
                stage.write_profile(spoke);
                stage.facts.set_unruly(spoke, "authority", false);
            }
            _ => {}
        }
    }

    fn spoke(&self) -> &'static str {
        ROLES[self.role].site()
    }

    fn reshape(&self, stage: &mut Stage, shape: Shape) {
        stage.shapes.insert(self.role, shape);
        let spec = ROLES[self.role].spec(shape);
        stage.edit(self.role, |object| object["spec"] = json!(spec));
    }
}
