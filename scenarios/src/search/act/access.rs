//! What happens to the ways in which the operator finds and reaches its spokes.

use std::time::Duration;

use super::spoke_of;
use crate::issuer::Behaviour;
use crate::search::cast::{SPARE, TROUBLED};
use crate::search::kind::Kind;
use crate::search::script::Step;
use crate::search::stage::{Lead, Stage, authority};
use crate::world::{FLEET, PROFILE_GROUP, PROVIDER_FILE, address};

impl Stage {
    pub(super) fn change_access(&mut self, step: &Step) -> bool {
        let spoke = spoke_of(step);
        let at = address(spoke);
        self.touch(spoke);
        match step.kind {
            Kind::ProfileUnhealthy => return self.lead(spoke, |lead| lead.healthy = false),
            Kind::ProfileHealthy => {
                return TROUBLED.into_iter().any(|spoke| self.lead(spoke, |lead| lead.healthy = true));
            }
            Kind::ProfileElsewhere => {
                let there = if step.amount.is_multiple_of(2) { SPARE } else { "nowhere" };
                return self.lead(spoke, |lead| lead.address = address(there));
            }
            Kind::ProfileBack => {
                let home = |spoke| move |lead: &mut Lead| lead.address = address(spoke);
                return TROUBLED.into_iter().any(|spoke| self.lead(spoke, home(spoke)));
            }
            Kind::CaPublish => {
                self.facts.set_unruly(spoke, "authority", false);
                return self.lead(spoke, |lead| lead.published = lead.authority);
            }
            Kind::ProfileDelete => {
                if !self.has_profile(spoke) {
                    return false;
                }
                self.world.delete(&self.world.hub, (PROFILE_GROUP, "ClusterProfile", FLEET, spoke));
            }
            Kind::ProfileCreate => {
                let Some(spoke) = TROUBLED.into_iter().find(|spoke| !self.has_profile(spoke)) else {
                    return false;
                };
                self.write_profile(spoke);
            }
            Kind::CaRotate => {
                let Some(lead) = self.leads.get_mut(spoke) else { return false };
                lead.authority += 1;
                self.world.network.set_authority(&at, &authority(spoke, lead.authority));
                self.facts.set_unruly(spoke, "authority", true);
            }
            Kind::ProviderBreak => {
                self.world.files.break_file(PROVIDER_FILE, "permission denied");
                self.facts.set_unruly("hub", "provider", true);
            }
            Kind::ProviderChange => {
                self.repair_provider_file();
                self.facts.set_unruly("hub", "provider", false);
                self.touch("hub");
            }
            Kind::TokenShort => {
                let (said, real) = (Duration::from_secs(900), Duration::from_secs(3));
                self.world.issuer.set(&at, Behaviour::Overstate { said, real });
            }
            Kind::TokenRevoke => self.world.issuer.revoke_all(&at),
            Kind::PluginFail => {
                self.world.issuer.set(&at, Behaviour::Fail("exit status 1".into()));
                self.facts.set_unruly(spoke, "plugin", true);
            }
            Kind::PluginHang => {
                self.world.issuer.set(&at, Behaviour::Hang);
                self.facts.set_unruly(spoke, "plugin", true);
            }
            Kind::PluginRecover => {
                self.world.issuer.recover();
                for spoke in TROUBLED {
                    self.facts.set_unruly(spoke, "plugin", false);
                }
            }
            _ => return false,
        }
        true
    }

    fn has_profile(&self, spoke: &str) -> bool {
        self.world.hub.server.get(PROFILE_GROUP, "ClusterProfile", FLEET, spoke).is_some()
    }

    /// Changes what the profile of a spoke says; whether there is one and it says something else now.
    fn lead(&mut self, spoke: &'static str, change: impl FnOnce(&mut Lead)) -> bool {
        if !self.has_profile(spoke) {
            return false;
        }
        let Some(lead) = self.leads.get_mut(spoke) else { return false };
        let before = lead.clone();
        change(lead);
        let changed = *lead != before;
        if changed {
            self.write_profile(spoke);
        }
        changed
    }
}
