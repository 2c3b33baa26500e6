//! What happens to the links between the operator and its clusters.

use std::time::Duration;

use fake_apiserver::fault::{Action, Match, Rule};

use crate::search::cast::TROUBLED;
use crate::search::kind::Kind;
use crate::search::script::Step;
use crate::search::stage::Stage;
use crate::world::{HUB, address};

impl Stage {
    pub(super) fn disturb_wires(&mut self, step: &Step) -> bool {
        // One time in four it is the hub.
        let name = match step.whom % 4 {
            0 => "hub",
            n => TROUBLED[n as usize % TROUBLED.len()],
        };
        let site = self.site(name);
        let times = 1 + u64::from(step.amount % 40);
        let mut rule = |when: Match, then| {
            let id = site.link.add(Rule { when: when.times(times), then });
            self.pending.push((site.clone(), id, times));
        };
        match step.kind {
            Kind::Cut => {
                site.link.cut();
                self.facts.set_unruly(name, "cut", true);
            }
            Kind::BlackHole => {
                site.link.black_hole();
                self.facts.set_unruly(name, "cut", true);
            }
            Kind::Heal => {
                site.link.heal();
                self.facts.set_unruly(name, "cut", false);
            }
            Kind::Slow => rule(Match::any(), Action::Delay(Duration::from_millis(800))),
            Kind::LoseAnswers => {
                let mut when = Match::any();
                when.after = u64::from(step.amount % 7);
                rule(when, Action::LoseResponse);
            }
            Kind::Errors => rule(Match::any(), error(step.amount / 40, name)),
            Kind::DropWatches => site.link.drop_connections(),
            Kind::Compact => site.server.compact(),
            Kind::Stale => {
                let at = if name == "hub" { HUB.to_owned() } else { address(name) };
                self.world.network.serve_stale(&at, step.amount % 10 + 1);
            }
            _ => return false,
        }
        self.touch(name);
        true
    }
}

/// What a server or a proxy in front of it answers. The hub's own token cannot be renewed, so the hub accepts it.
fn error(which: u32, site: &str) -> Action {
    match which % 5 {
        0 if site != "hub" => Action::status(401, "Unauthorized"),
        1 => Action::status(429, "TooManyRequests"),
        2 => Action::status(503, "ServiceUnavailable"),
        3 => Action::status(409, "Conflict"),
        _ => Action::status(500, "InternalError"),
    }
}
