//! The flows that are swept: one thing that a user does, in a world that is otherwise left alone.

use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use crate::search::cast::{ROLES, Shape};
use crate::search::stage::Stage;
use crate::story::id;

/// What the user does.
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
}

/// An action on one of the two kinds, on a spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Flow {
    /// What the user does.
    pub action: Action,
    /// The role it is done to.
    pub role: usize,
}

/// All of them.
pub const FLOWS: [Flow; 8] = [
    Flow { action: Action::Install, role: 0 },
    Flow { action: Action::Install, role: 1 },
    Flow { action: Action::Upgrade, role: 0 },
    Flow { action: Action::Upgrade, role: 1 },
    Flow { action: Action::Reconfigure, role: 0 },
    Flow { action: Action::Reconfigure, role: 1 },
    Flow { action: Action::Delete, role: 0 },
    Flow { action: Action::Delete, role: 1 },
];

/// What is installed before everything but an install.
const BEFORE: Shape = Shape { version: 0, variant: 0 };

impl Flow {
    /// `install-serving`, `delete-eventing` ...
    pub fn name(&self) -> String {
        let kind = if ROLES[self.role].id.0 == "KnativeServing" { "serving" } else { "eventing" };
        let action = match self.action {
            Action::Install => "install",
            Action::Upgrade => "upgrade",
            Action::Reconfigure => "reconfigure",
            Action::Delete => "delete",
        };
        format!("{action}-{kind}")
    }

    /// Brings the stage to where the flow begins.
    pub async fn prepare(&self, stage: &mut Stage) {
        if self.action == Action::Install {
            // Watches open.
            stage.pass(Duration::from_secs(1)).await;
            return;
        }
        stage.create(self.role, BEFORE);
        stage.world.ready(ROLES[self.role].id, BEFORE.version()).await;
        // Its last status is written, its Jobs are recorded as finished.
        stage.pass(Duration::from_secs(70)).await;
    }

    /// Does what the user does.
    pub fn begin(&self, stage: &mut Stage) {
        let actor = &ROLES[self.role];
        match self.action {
            Action::Install => drop(stage.create(self.role, Shape { version: 1, variant: 0 })),
            Action::Upgrade => self.reshape(stage, Shape { version: 1, ..BEFORE }),
            Action::Reconfigure => self.reshape(stage, Shape { variant: 1, ..BEFORE }),
            Action::Delete => {
                stage.touch(actor.site());
                stage.world.delete(&stage.world.hub, id(actor.id));
            }
        }
    }

    fn reshape(&self, stage: &mut Stage, shape: Shape) {
        stage.shapes.insert(self.role, shape);
        let spec = ROLES[self.role].spec(shape);
        stage.edit(self.role, |object| object["spec"] = json!(spec));
    }
}
