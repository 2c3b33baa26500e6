//! The [`Source`] of what custom resources name: URLs over HTTP, and files of allowed directories.
//!
//! Bounded in bytes, time and redirects. A URL that was read before is asked for only if it changed, and is asked
//! once at a time however many resources wait for it. Which of several copies counts is for the caller to decide.

mod locator;
mod policy;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use clap::Args;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::rt::TokioExecutor;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceExt};

use self::locator::Locator;
pub use self::policy::Policy;
use crate::manifest::Directory;
use crate::source::{Entry, Source, SourceError, shown};

/// Copies kept to be asked about again; the one that was not used for longest goes first.
const COPIES: usize = 64;

/// What is sent as `User-Agent`.
const USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("knative-operator/", env!("CARGO_PKG_VERSION")));

/// Flags of everything that reads manifests; each is an environment variable too.
#[derive(Clone, Debug, Args)]
pub struct FetchArgs {
    /// Schemes of URLs that custom resources may name, separated by commas.
    #[arg(long, env = "MANIFEST_SCHEMES", value_delimiter = ',', default_value = "https")]
    pub manifest_schemes: Vec<String>,
    /// Hosts that custom resources may name: names, addresses, `*.name`, or `*` for all with public addresses.
    #[arg(long, env = "MANIFEST_HOSTS", value_delimiter = ',', default_value = "*")]
    pub manifest_hosts: Vec<String>,
    /// Directories, beside the data root, with files that custom resources may name.
    #[arg(long, env = "MANIFEST_DIRS", value_delimiter = ',')]
    pub manifest_dirs: Vec<PathBuf>,
    /// Largest manifest, in bytes.
    #[arg(long, env = "MANIFEST_MAX_BYTES", default_value_t = Limits::default().bytes)]
    pub manifest_max_bytes: usize,
    /// Time for reading one manifest, redirects included.
    #[arg(long, env = "MANIFEST_TIMEOUT", default_value = "30s", value_parser = crate::args::duration)]
    pub manifest_timeout: Duration,
}

impl FetchArgs {
    /// A fetcher with these limits that may also ask the host of `url`, which an administrator named.
    pub fn fetcher_of(&self, url: &str) -> Fetcher {
        let uri: Uri = url.parse().unwrap_or_default();
        let mut args = self.clone();
        args.manifest_schemes.extend(uri.scheme_str().map(Into::into));
        args.manifest_hosts.extend(uri.host().map(Into::into));
        args.fetcher(None)
    }

    /// A fetcher with these limits, which may read files of the data root too.
    pub fn fetcher(&self, data_root: Option<&str>) -> Fetcher {
        let given =
            |list: &[String]| list.iter().filter(|item| !item.is_empty()).cloned().collect::<Vec<_>>();
        let directories = self.manifest_dirs.iter().cloned().chain(data_root.map(PathBuf::from));
        let policy = Policy {
            schemes: given(&self.manifest_schemes).into_iter().collect(),
            hosts: given(&self.manifest_hosts),
            directories: directories.filter(|directory| !directory.as_os_str().is_empty()).collect(),
        };
        let limits =
            Limits { bytes: self.manifest_max_bytes, time: self.manifest_timeout, ..Limits::default() };
        Fetcher::new(policy, limits)
    }
}

/// How much a manifest may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of its content.
    pub bytes: usize,
    /// From asking to the last byte.
    pub time: Duration,
    /// Redirects on the way.
    pub redirects: usize,
}

impl Default for Limits {
    fn default() -> Self {
        // The largest release file has less than two megabytes.
        Self { bytes: 32 << 20, time: Duration::from_secs(30), redirects: 5 }
    }
}

/// Why a manifest could not be read. The location is in the [`SourceError`] around it; no text holds credentials.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Not a URL.
    #[error("not a URL with scheme and host")]
    Malformed,
    /// The fragment pins nothing.
    #[error("after # only sha256= and 64 hexadecimal digits are understood")]
    Pin,
    /// The scheme is not on the list.
    #[error("scheme {scheme} is not allowed; --manifest-schemes lists what is")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// The host is not on the list.
    #[error("host {host} is not allowed; --manifest-hosts lists what is")]
    Host {
        /// The host.
        host: String,
    },
    /// The host is inside, and `*` means outside.
    #[error("host {host} has no public address; name it in --manifest-hosts if it may be asked")]
    Address {
        /// The host.
        host: String,
    },
    /// The file is in no directory that is on the list.
    #[error("files are read only below the data root and the directories of --manifest-dirs")]
    Directory,
    /// A redirect leads nowhere.
    #[error("it redirects to {to:?}, which is no address")]
    Redirect {
        /// The header.
        to: String,
    },
    /// A redirect leaves TLS.
    #[error("it redirects from https to {to}")]
    Downgrade {
        /// The header.
        to: String,
    },
    /// Redirect after redirect.
    #[error("it redirects more than {limit} times")]
    Redirects {
        /// How often is fine.
        limit: usize,
    },
    /// The server says no.
    #[error("the server answers {status}")]
    Status {
        /// Its answer.
        status: StatusCode,
    },
    /// The content is encoded, though nobody asked for that.
    #[error("the server sends Content-Encoding {encoding}, which was not asked for")]
    Encoding {
        /// The encoding.
        encoding: String,
    },
    /// Too large.
    #[error("it has more than {limit} bytes; --manifest-max-bytes sets the limit")]
    Bytes {
        /// The limit.
        limit: usize,
    },
    /// Too slow.
    #[error("it did not arrive within {limit:?}; --manifest-timeout sets the limit")]
    Time {
        /// The limit.
        limit: Duration,
    },
    /// Not what the fragment pins.
    #[error("its sha256 is {found} instead of the {expected} that the URL pins")]
    Changed {
        /// Pinned.
        expected: String,
        /// Received.
        found: String,
    },
    /// The connection could not be made or broke.
    #[error("the connection failed")]
    Connection(#[source] BoxError),
    /// The system's root certificates cannot be loaded.
    #[error("cannot load the system's root certificates")]
    Roots(#[source] Arc<std::io::Error>),
}

/// Reads what custom resources name, within a policy and limits.
pub struct Fetcher {
    web: Arc<Web>,
    /// Requests on their way, by location.
    flying: Mutex<BTreeMap<String, WeakShared<Flight>>>,
}

type Flight = BoxFuture<'static, Result<Bytes, Arc<FetchError>>>;
type Resolver = BoxCloneSyncService<Name, std::vec::IntoIter<std::net::SocketAddr>, BoxError>;
type Http = Client<HttpsConnector<HttpConnector<Resolver>>, Empty<Bytes>>;

impl Fetcher {
    /// Nothing is read yet.
    pub fn new(policy: Policy, limits: Limits) -> Self {
        let web = Web { policy: Arc::new(policy), limits, http: OnceLock::new(), copies: Mutex::default() };
        Self { web: Arc::new(web), flying: Mutex::default() }
    }

    /// The content of a URL; whoever asks for one that is on its way waits for the same answer.
    async fn fetch(&self, url: &str) -> Result<Bytes, Arc<FetchError>> {
        let flight = {
            let mut flying = self.flying.lock();
            flying.retain(|_, flight| flight.upgrade().is_some());
            match flying.get(url).and_then(WeakShared::upgrade) {
                Some(flight) => flight,
                None => {
                    let (web, location) = (self.web.clone(), url.to_owned());
                    let flight: Shared<Flight> =
                        async move { web.get(&location).await.map_err(Arc::new) }.boxed().shared();
                    flying.extend(flight.downgrade().map(|weak| (url.to_owned(), weak)));
                    flight
                }
            }
        };
        flight.await
    }
}

#[async_trait]
impl Source for Fetcher {
    async fn list(&self, directory: &str) -> Result<Vec<Entry>, SourceError> {
        let real =
            self.web.policy.check_path(directory).map_err(|cause| unreadable(directory, Arc::new(cause)))?;
        Directory.list(&real.to_string_lossy()).await
    }

    async fn read(&self, location: &str) -> Result<Bytes, SourceError> {
        let failed = |cause| unreadable(location, cause);
        if location.contains("://") {
            return self.fetch(location).await.map_err(failed);
        }
        let real = self.web.policy.check_path(location).map_err(|cause| failed(Arc::new(cause)))?;
        let limit = self.web.limits.bytes;
        if std::fs::metadata(&real).is_ok_and(|metadata| metadata.len() > limit as u64) {
            return Err(failed(Arc::new(FetchError::Bytes { limit })));
        }
        Directory.read(&real.to_string_lossy()).await
    }
}

fn unreadable(location: &str, cause: Arc<FetchError>) -> SourceError {
    SourceError::Unreadable { location: shown(location), cause }
}

/// The network as custom resources may see it.
struct Web {
    policy: Arc<Policy>,
    limits: Limits,
    /// Made for the first URL: a machine without root certificates can still read files.
    http: OnceLock<Result<Http, Arc<std::io::Error>>>,
    /// Latest use last.
    copies: Mutex<VecDeque<Kept>>,
}

/// Content that a server gave, with what it needs to tell whether it changed.
#[derive(Clone)]
struct Kept {
    url: String,
    /// Where redirects led to; validators mean nothing anywhere else.
    uri: Uri,
    validators: HeaderMap,
    content: Bytes,
}

/// An answer on the way to the content.
enum Answer {
    Content(Bytes),
    Redirect(Locator),
}

impl Web {
    async fn get(&self, url: &str) -> Result<Bytes, FetchError> {
        let locator = Locator::parse(url)?;
        let expected = locator.sha256.clone();
        let limit = self.limits.time;
        let content = tokio::time::timeout(limit, self.follow(url, locator))
            .await
            .map_err(|_| FetchError::Time { limit })??;
        let Some(expected) = expected else { return Ok(content) };
        let found = sha256(&content);
        if found == expected { Ok(content) } else { Err(FetchError::Changed { expected, found }) }
    }

    async fn follow(&self, url: &str, mut locator: Locator) -> Result<Bytes, FetchError> {
        for _ in 0..=self.limits.redirects {
            match self.ask(url, &locator).await? {
                Answer::Content(content) => return Ok(content),
                Answer::Redirect(next) => locator = next,
            }
        }
        Err(FetchError::Redirects { limit: self.limits.redirects })
    }

    /// One request.
    async fn ask(&self, url: &str, locator: &Locator) -> Result<Answer, FetchError> {
        self.policy.check(locator)?;
        let known =
            self.copies.lock().iter().find(|copy| copy.url == url && copy.uri == locator.uri).cloned();
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = locator.uri.clone();
        let headers = request.headers_mut();
        headers.insert(header::USER_AGENT, USER_AGENT);
        headers.extend(locator.authorization.clone().map(|value| (header::AUTHORIZATION, value)));
        headers.extend(known.iter().flat_map(|copy| copy.validators.clone()));
        let response = self.http()?.request(request).await.map_err(connection)?;
        let status = response.status();
        match (status, known) {
            (StatusCode::NOT_MODIFIED, Some(copy)) => {
                let content = copy.content.clone();
                self.keep(copy);
                Ok(Answer::Content(content))
            }
            _ if status.is_redirection() && response.headers().contains_key(header::LOCATION) => {
                let to = response.headers()[header::LOCATION].to_str().unwrap_or_default();
                locator.redirected(to).map(Answer::Redirect)
            }
            (StatusCode::OK, _) => {
                let validators = validators(response.headers());
                let content = self.content(response).await?;
                let (url, uri) = (url.to_owned(), locator.uri.clone());
                if !validators.is_empty() {
                    self.keep(Kept { url, uri, validators, content: content.clone() });
                }
                Ok(Answer::Content(content))
            }
            _ => Err(FetchError::Status { status }),
        }
    }

    async fn content<B>(&self, response: Response<B>) -> Result<Bytes, FetchError>
    where
        B: http_body::Body<Data = Bytes> + Unpin,
        B::Error: Into<BoxError>,
    {
        let limit = self.limits.bytes;
        if let Some(encoding) = response.headers().get(header::CONTENT_ENCODING).filter(|e| *e != "identity")
        {
            let encoding = encoding.to_str().unwrap_or_default().into();
            return Err(FetchError::Encoding { encoding });
        }
        let mut body = response.into_body();
        let mut content = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| FetchError::Connection(error.into()))?;
            let Ok(data) = frame.into_data() else { continue };
            if content.len() + data.len() > limit {
                return Err(FetchError::Bytes { limit });
            }
            content.extend_from_slice(&data);
        }
        Ok(content.freeze())
    }

    /// Keeps a copy as the latest one.
    fn keep(&self, copy: Kept) {
        let mut copies = self.copies.lock();
        copies.retain(|known| known.url != copy.url);
        copies.push_back(copy);
        if copies.len() > COPIES {
            copies.pop_front();
        }
    }

    fn http(&self) -> Result<&Http, FetchError> {
        let made = self.http.get_or_init(|| client(self.policy.clone()).map_err(Arc::new));
        made.as_ref().map_err(|error| FetchError::Roots(error.clone()))
    }
}

/// A client that connects to nothing but what the policy allows. Names are judged by the addresses that are then
/// connected to, so that a name cannot change its meaning in between.
fn client(policy: Arc<Policy>) -> std::io::Result<Http> {
    let resolver = tower::service_fn(move |name: Name| {
        let policy = policy.clone();
        async move {
            let found = GaiResolver::new().oneshot(name.clone()).await?;
            let checked =
                found.map(|address| policy.check_address(name.as_str(), address.ip()).map(|()| address));
            // One address inside makes the name one of the inside.
            let addresses: Vec<_> = checked.collect::<Result<_, _>>()?;
            Ok::<_, BoxError>(addresses.into_iter())
        }
    });
    let mut http = HttpConnector::new_with_resolver(Resolver::new(resolver));
    http.enforce_http(false);
    let https =
        HttpsConnectorBuilder::new().with_native_roots()?.https_or_http().enable_http1().wrap_connector(http);
    Ok(Client::builder(TokioExecutor::new()).build(https))
}

/// A refusal of ours comes back from inside the client; there it is the innermost cause and worth more than the rest.
fn connection(error: hyper_util::client::legacy::Error) -> FetchError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(inner) = cause {
        if let Some(FetchError::Host { host }) = inner.downcast_ref() {
            return FetchError::Host { host: host.clone() };
        }
        if let Some(FetchError::Address { host }) = inner.downcast_ref() {
            return FetchError::Address { host: host.clone() };
        }
        cause = inner.source();
    }
    FetchError::Connection(error.into())
}

/// What to send along when asking for the same again.
fn validators(answer: &HeaderMap) -> HeaderMap {
    let pairs = [(header::ETAG, header::IF_NONE_MATCH), (header::LAST_MODIFIED, header::IF_MODIFIED_SINCE)];
    pairs.into_iter().filter_map(|(from, to)| Some((to, answer.get(from)?.clone()))).collect()
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
