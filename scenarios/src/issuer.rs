//! The credential plugin of a world: issues tokens of the cluster that it is told about.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::SignedDuration;
use knative_operator::clock::Clock;
use knative_operator::target::credentials::{CredentialError, Credentials, ExecCredential, ExecRequest};
use parking_lot::Mutex;

use crate::network::Network;
use crate::time::SimulatedClock;
use crate::trace::Trace;
use crate::world::{GROUPS, OPERATOR};

/// How the plugin behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Issues a token with this life.
    Issue(Duration),
    /// Issues a token that is accepted for less time than it says.
    Overstate {
        /// What it says.
        said: Duration,
        /// What is true.
        real: Duration,
    },
    /// Exits with an error.
    Fail(String),
    /// Never answers.
    Hang,
}

/// The [`Credentials`] of a world.
#[derive(Clone)]
pub struct Issuer {
    network: Network,
    clock: SimulatedClock,
    trace: Trace,
    state: Arc<Mutex<State>>,
}

struct State {
    default: Behaviour,
    by_address: BTreeMap<String, Behaviour>,
    /// Tokens issued so far.
    issued: BTreeMap<String, Vec<String>>,
    requests: Vec<ExecRequest>,
}

impl Issuer {
    /// A plugin that issues tokens of a quarter of an hour.
    pub fn new(network: Network, clock: SimulatedClock, trace: Trace) -> Self {
        let default = Behaviour::Issue(Duration::from_secs(15 * 60));
        let state = Arc::new(Mutex::new(State {
            default,
            by_address: BTreeMap::new(),
            issued: BTreeMap::new(),
            requests: Vec::new(),
        }));
        Self { network, clock, trace, state }
    }

    /// Sets the behaviour for one cluster.
    pub fn set(&self, address: &str, behaviour: Behaviour) {
        self.state.lock().by_address.insert(address.into(), behaviour);
    }

    /// Sets the behaviour for clusters without one of their own.
    pub fn set_default(&self, behaviour: Behaviour) {
        self.state.lock().default = behaviour;
    }

    /// Goes back to issuing tokens of a quarter of an hour for everybody.
    pub fn recover(&self) {
        let mut state = self.state.lock();
        state.default = Behaviour::Issue(Duration::from_secs(15 * 60));
        state.by_address.clear();
    }

    /// Revokes every token that was issued for a cluster.
    pub fn revoke_all(&self, address: &str) {
        let tokens = self.state.lock().issued.remove(address).unwrap_or_default();
        if let Some(site) = self.network.site(address) {
            for token in tokens {
                site.server.tokens().revoke(&token);
            }
        }
    }

    /// What the plugin was run with for a profile (`namespace/name`), each time.
    pub fn requests(&self, profile: &str) -> Vec<ExecRequest> {
        let state = self.state.lock();
        state.requests.iter().filter(|request| request.profile == profile).cloned().collect()
    }

    /// How often the plugin was run.
    pub fn runs(&self) -> usize {
        self.state.lock().requests.len()
    }
}

#[async_trait]
impl Credentials for Issuer {
    async fn issue(&self, request: &ExecRequest) -> Result<ExecCredential, CredentialError> {
        let address =
            request.cluster.as_ref().map(|cluster| cluster.endpoint.server.clone()).unwrap_or_default();
        let behaviour = {
            let mut state = self.state.lock();
            state.requests.push(request.clone());
            state.by_address.get(&address).unwrap_or(&state.default).clone()
        };
        self.trace.note(format_args!("plugin for {address}: {behaviour:?}"));
        let failed = |reason: &str| CredentialError::Failed {
            provider: request.provider.clone(),
            profile: request.profile.clone(),
            reason: reason.into(),
        };
        tokio::time::sleep(Duration::from_millis(20)).await;
        let (said, real) = match behaviour {
            Behaviour::Issue(life) => (life, life),
            Behaviour::Overstate { said, real } => (said, real),
            Behaviour::Fail(reason) => return Err(failed(&reason)),
            Behaviour::Hang => std::future::pending().await,
        };
        let site = self.network.site(&address).ok_or_else(|| failed("no such cluster"))?;
        let token = site.server.tokens().issue(OPERATOR, GROUPS, Some(real));
        self.state.lock().issued.entry(address).or_default().push(token.clone());
        let said = SignedDuration::try_from(said).map_err(|_| failed("the life is too long"))?;
        Ok(ExecCredential {
            token: Some(token.into()),
            identity: None,
            expires: Some(self.clock.now() + said),
        })
    }
}
