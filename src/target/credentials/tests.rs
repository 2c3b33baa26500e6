//! When a credential is fetched, shared, renewed and dropped.

use jiff::SignedDuration;
use parking_lot::Mutex as SyncMutex;
use secrecy::ExposeSecret;
use tokio::time::Instant;

use super::*;

/// A date that moves with tokio's paused time.
struct Date(Instant);

impl Clock for Date {
    fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.0.elapsed()).unwrap();
        Timestamp::constant(1_900_000_000, 0) + elapsed
    }
}

/// Numbers its tokens; each lives for `life`. Fails or hangs on request.
struct Plugin {
    clock: Arc<Date>,
    life: Option<Duration>,
    runs: SyncMutex<u32>,
    broken: SyncMutex<bool>,
    slow: Duration,
}

#[async_trait]
impl Credentials for Plugin {
    async fn issue(&self, request: &ExecRequest) -> Result<ExecCredential, CredentialError> {
        *self.runs.lock() += 1;
        let run = *self.runs.lock();
        tokio::time::sleep(self.slow).await;
        if *self.broken.lock() {
            let (provider, profile) = (request.provider.clone(), request.profile.clone());
            return Err(CredentialError::Failed { provider, profile, reason: "exit status 1".into() });
        }
        let life = self.life.map(|life| SignedDuration::try_from(life).unwrap());
        let expires = life.map(|life| self.clock.now() + life);
        Ok(ExecCredential { token: Some(format!("token-{run}").into()), identity: None, expires })
    }
}

fn request() -> ExecRequest {
    ExecRequest {
        provider: "p".into(),
        profile: "fleet/eu".into(),
        api_version: "client.authentication.k8s.io/v1".into(),
        command: "/plugin".into(),
        args: Vec::new(),
        env: BTreeMap::new(),
        install_hint: String::new(),
        cluster: None,
    }
}

fn cache(life_secs: Option<u64>, slow: Duration) -> (Arc<Plugin>, Arc<CredentialCache>) {
    let clock = Arc::new(Date(Instant::now()));
    let life = life_secs.map(Duration::from_secs);
    let (runs, broken) = (SyncMutex::new(0), SyncMutex::new(false));
    let plugin = Arc::new(Plugin { clock: clock.clone(), life, runs, broken, slow });
    let cache = CredentialCache::new(plugin.clone(), request(), clock, Duration::from_secs(10));
    (plugin, Arc::new(cache))
}

async fn token(cache: &CredentialCache) -> String {
    cache.lease().await.unwrap().token.unwrap().expose_secret().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_credential_is_used_until_shortly_before_it_expires() {
    let (_, cache) = cache(Some(900), Duration::ZERO);
    assert_eq!(token(&cache).await, "token-1");
    tokio::time::sleep(Duration::from_secs(839)).await;
    assert_eq!(token(&cache).await, "token-1");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(token(&cache).await, "token-2");
}

#[tokio::test(start_paused = true)]
async fn a_credential_without_expiry_is_used_until_it_is_refused() {
    let (_, cache) = cache(None, Duration::ZERO);
    assert_eq!(token(&cache).await, "token-1");
    tokio::time::sleep(Duration::from_secs(86_400)).await;
    let lease = cache.lease().await.unwrap();
    assert_eq!(lease.token.as_ref().unwrap().expose_secret(), "token-1");
    assert_eq!(cache.renew(lease.serial).await.unwrap().token.unwrap().expose_secret(), "token-2");
}

#[tokio::test(start_paused = true)]
async fn concurrent_callers_share_one_run_and_one_renewal() {
    let (plugin, cache) = cache(Some(900), Duration::from_secs(1));
    let tokens = futures::future::join_all((0..5).map(|_| token(&cache))).await;
    assert_eq!((tokens, *plugin.runs.lock()), (vec!["token-1".to_owned(); 5], 1));
    let renewals = futures::future::join_all((0..5).map(|_| cache.renew(1))).await;
    assert!(renewals.into_iter().all(|lease| lease.unwrap().serial == 2));
    assert_eq!(*plugin.runs.lock(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_refused_credential_is_never_used_again_even_when_the_plugin_fails() {
    let (plugin, cache) = cache(Some(900), Duration::ZERO);
    let lease = cache.lease().await.unwrap();
    *plugin.broken.lock() = true;
    assert!(cache.renew(lease.serial).await.is_err());
    assert!(cache.lease().await.is_err());
    *plugin.broken.lock() = false;
    assert_eq!(token(&cache).await, "token-4");
}

#[tokio::test(start_paused = true)]
async fn a_failing_plugin_does_not_take_a_valid_credential_away() {
    let (plugin, cache) = cache(Some(900), Duration::ZERO);
    assert_eq!(token(&cache).await, "token-1");
    *plugin.broken.lock() = true;
    tokio::time::sleep(Duration::from_secs(850)).await;
    assert_eq!(token(&cache).await, "token-1");
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert!(cache.lease().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_hangs_is_given_up() {
    let (_, cache) = cache(None, Duration::from_secs(3600));
    assert!(matches!(cache.lease().await, Err(CredentialError::TimedOut { .. })));
}

#[tokio::test(start_paused = true)]
async fn an_expired_credential_is_not_accepted() {
    let (_, cache) = cache(Some(0), Duration::ZERO);
    assert!(matches!(cache.lease().await, Err(CredentialError::Expired { .. })));
}

#[test]
fn nothing_shows_a_token() {
    let credential =
        ExecCredential { token: Some("s3cret".to_owned().into()), identity: None, expires: None };
    assert!(!format!("{credential:?}").contains("s3cret"));
    let request = ExecRequest { args: vec!["--key=s3cret".into()], ..request() };
    assert!(!format!("{request:?}").contains("s3cret"));
}
