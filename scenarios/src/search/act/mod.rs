//! What each kind of step does to the stage.

mod access;
mod spokes;
mod users;
mod wires;

use super::cast::{ROLES, TROUBLED};
use super::kind::{Family, Kind};
use super::script::Step;
use super::stage::Stage;

impl Stage {
    /// Does what a step says, if it is possible now; whether it was.
    pub async fn act(&mut self, step: &Step) -> bool {
        let possible = match step.kind.family() {
            Family::Users => self.act_as_user(step).await,
            Family::Profiles | Family::Provider | Family::Credentials | Family::Authorities => {
                self.change_access(step)
            }
            Family::Partitions
            | Family::Slowness
            | Family::LostAnswers
            | Family::Errors
            | Family::Watches
            | Family::StaleReads => self.disturb_wires(step),
            Family::Crashes | Family::Rivals => self.disturb_operator(step.kind),
            Family::Hands
            | Family::Finalizers
            | Family::Collector
            | Family::Workloads
            | Family::Replacements => self.disturb_spokes(step),
        };
        let note = if possible { "" } else { " (not possible now)" };
        self.world.trace.note(format_args!("step {step}{note}"));
        *self.hits.entry(step.kind).or_default() += u64::from(possible);
        possible
    }

    fn disturb_operator(&mut self, kind: Kind) -> bool {
        let runs = self.world.operator_runs();
        match kind {
            Kind::Crash if runs => self.world.stop_operator(),
            Kind::Restart => self.world.start_operator(),
            Kind::Rival if runs => self.world.start_rival(),
            Kind::RivalGone if self.world.rival_runs() => self.world.stop_rival(),
            _ => return false,
        }
        self.facts.set_unruly("operator", "down", !self.world.operator_runs());
        self.touch("operator");
        true
    }
}

/// The spoke that a step is about.
fn spoke_of(step: &Step) -> &'static str {
    TROUBLED[step.whom as usize % TROUBLED.len()]
}

/// The role that a step is about: anybody's turn to be created, otherwise one that exists, if any does.
fn role_of(stage: &Stage, step: &Step) -> usize {
    let there: Vec<usize> = (0..ROLES.len()).filter(|role| stage.exists(*role)).collect();
    match there.get(step.whom as usize % there.len().max(1)) {
        Some(role) if step.kind != Kind::Create => *role,
        _ => step.whom as usize % ROLES.len(),
    }
}
