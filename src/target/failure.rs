//! What can become of a request to a cluster, sorted by what can be done about it.

use super::credentials::CredentialError;
use super::stack::DeadlineExceeded;

/// Words for what becomes of requests.
pub const OUTCOMES: [&str; 12] = [
    "ok",
    "unauthorized",
    "forbidden",
    "absent",
    "conflict",
    "rejected",
    "throttled",
    "server_error",
    "timeout",
    "connection",
    "credentials",
    "garbled",
];

/// A request to a cluster that did not succeed.
#[derive(Debug, thiserror::Error)]
#[error("failed to {action} on {cluster}")]
pub struct ClusterError {
    /// The cluster, for instance `fleet/spoke-eu` or `the local cluster`.
    pub cluster: String,
    /// Verb and object, for instance `apply Deployment.apps knative-serving/webhook`.
    pub action: String,
    /// What went wrong.
    #[source]
    pub failure: Failure,
}

/// What went wrong with a request.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The server answered with an error.
    #[error("{message} ({code} {reason})")]
    Refused {
        /// HTTP status.
        code: u16,
        /// Machine-readable reason, possibly empty.
        reason: String,
        /// The server's text.
        message: String,
    },
    /// The server does not serve this kind.
    #[error("no matches for kind {kind:?} in version {api_version:?}")]
    NoMatch {
        /// Kind asked for.
        kind: String,
        /// Version asked for.
        api_version: String,
    },
    /// There is no credential for the request.
    #[error("getting credentials")]
    Credentials(#[source] CredentialError),
    /// No complete answer in time.
    #[error(transparent)]
    Deadline(DeadlineExceeded),
    /// Nothing was sent: the cluster has not answered before, for the reason in the words of the last failure.
    #[error("{0}")]
    Suspended(String),
    /// The connection could not be made or broke.
    #[error("the connection failed")]
    Connection(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The answer is not what the API promises.
    #[error("the answer cannot be read")]
    Garbled(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Failure {
    /// The server says that there is no such object (or kind).
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::NoMatch { .. } | Self::Refused { code: 404, .. })
    }

    /// The operator may not do this.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused { code: 403, .. })
    }

    /// Another write came first, or a precondition does not hold.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { code: 409, reason, .. } if reason != "AlreadyExists")
    }

    /// The object exists already.
    pub fn is_already_exists(&self) -> bool {
        matches!(self, Self::Refused { code: 409, reason, .. } if reason == "AlreadyExists")
    }

    /// The server refused this object because of what it is (validation, admission), so that others may still pass.
    pub fn is_rejection(&self) -> bool {
        match self {
            Self::NoMatch { .. } => true,
            Self::Refused { code, reason, message } => {
                // A webhook that cannot be called is an internal error, and the text is the only mark of it. An apply
                // whose lists have the same key twice fails without any reason.
                matches!(code, 400 | 403 | 404 | 409 | 413 | 422)
                    || (*code == 500 && (message.contains("webhook") || reason.is_empty()))
            }
            _ => false,
        }
    }

    /// The object would not be valid.
    pub fn is_invalid(&self) -> bool {
        matches!(self, Self::Refused { code: 422, .. })
    }

    /// One of [`OUTCOMES`].
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Refused { code: 401, .. } => "unauthorized",
            Self::Refused { code: 403, .. } => "forbidden",
            Self::Refused { code: 404, .. } | Self::NoMatch { .. } => "absent",
            Self::Refused { code: 409, .. } => "conflict",
            Self::Refused { code: 429, .. } => "throttled",
            Self::Refused { code: 500.., .. } => "server_error",
            Self::Refused { .. } => "rejected",
            Self::Deadline(_) => "timeout",
            Self::Connection(_) | Self::Suspended(_) => "connection",
            Self::Credentials(_) => "credentials",
            Self::Garbled(_) => "garbled",
        }
    }

    /// The cluster could not be asked at all.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Deadline(_) | Self::Connection(_) | Self::Suspended(_))
    }
}

/// Sorts a client error by what can be done about it.
pub(super) fn failure_of(error: kube::Error) -> Failure {
    match error {
        kube::Error::Api(status) => {
            let kube::core::Status { code, reason, message, .. } = *status;
            Failure::Refused { code, reason, message }
        }
        kube::Error::Service(error) => match error.downcast::<CredentialError>() {
            Ok(error) => Failure::Credentials(*error),
            Err(error) => match error.downcast::<DeadlineExceeded>() {
                Ok(deadline) => Failure::Deadline(*deadline),
                Err(error) => Failure::Connection(error),
            },
        },
        kube::Error::HyperError(error) => Failure::Connection(error.into()),
        other => Failure::Garbled(other.into()),
    }
}
