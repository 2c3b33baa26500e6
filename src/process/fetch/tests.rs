//! A fetcher against a scripted server on a socket of this machine.

use std::collections::BTreeSet;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::api::message::chain;

type Script = dyn Fn(usize, &str) -> String + Send + Sync;

/// Answers each request as a script says; an empty answer never comes.
struct Server {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// The script gets the number of the request and its head in lower case.
    async fn start(script: impl Fn(usize, &str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let (script, log): (Arc<Script>, _) = (Arc::new(script), requests.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, script.clone(), log.clone()));
            }
        });
        Self { address, requests }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn heads(&self) -> Vec<String> {
        self.requests.lock().clone()
    }
}

async fn serve(mut stream: TcpStream, script: Arc<Script>, log: Arc<Mutex<Vec<String>>>) {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let number = {
            let mut log = log.lock();
            log.push(head.clone());
            log.len() - 1
        };
        let answer = script(number, &head);
        if answer.is_empty() {
            return std::future::pending().await;
        }
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn ok(body: &str) -> String {
    answer("200 OK", "", body)
}

fn fetcher() -> Fetcher {
    let schemes: BTreeSet<_> = ["http".to_owned(), "https".to_owned()].into();
    let policy = Policy { schemes, hosts: vec!["127.0.0.1".into()], directories: Vec::new() };
    Fetcher::new(policy, Limits { bytes: 100, ..Limits::default() })
}

/// What a person reads about a failed read.
async fn complaint(fetcher: &Fetcher, location: &str) -> String {
    chain(&fetcher.read(location).await.unwrap_err())
}

#[tokio::test]
async fn a_manifest_is_read_and_asked_for_again_only_if_it_changed() {
    let server = Server::start(|_, head| match head {
        head if head.contains("if-none-match: \"1\"") => answer("304 Not Modified", "", ""),
        _ => answer("200 OK", "ETag: \"1\"\r\n", "kind: A"),
    })
    .await;
    let fetcher = fetcher();
    let url = server.url("/a.yaml");
    let (first, second) = (fetcher.read(&url).await.unwrap(), fetcher.read(&url).await.unwrap());
    assert_eq!((&first[..], first.as_ptr()), (&b"kind: A"[..], second.as_ptr()), "the copy is shared");
    let heads = server.heads();
    assert!(heads.len() == 2 && !heads[0].contains("if-none-match"), "{heads:?}");
    assert!(
        heads[0].starts_with("get /a.yaml http/1.1") && heads[0].contains("user-agent: knative-operator/")
    );
}

#[tokio::test]
async fn a_changed_manifest_replaces_the_copy() {
    let server = Server::start(|number, _| {
        let date = format!("Last-Modified: Mon, 01 Jan 2024 00:00:0{number} GMT\r\n");
        answer("200 OK", &date, &format!("v{number}"))
    })
    .await;
    let fetcher = fetcher();
    let url = server.url("/a");
    for version in ["v0", "v1", "v2"] {
        assert_eq!(fetcher.read(&url).await.unwrap(), version);
    }
    assert!(server.heads()[2].contains("if-modified-since: mon, 01 jan 2024 00:00:01 gmt"));
}

#[tokio::test]
async fn redirects_are_followed_and_validators_stay_with_the_place_they_came_from() {
    let server = Server::start(|number, head| match head {
        head if head.starts_with("get /old ") => {
            answer("302 Found", &format!("Location: /new{}\r\n", number / 2), "")
        }
        _ => answer("200 OK", "ETag: \"same\"\r\n", "x"),
    })
    .await;
    let fetcher = fetcher();
    for _ in 0..2 {
        assert_eq!(fetcher.read(&server.url("/old")).await.unwrap(), "x");
    }
    let heads = server.heads();
    assert!(heads[1].starts_with("get /new0") && heads[3].starts_with("get /new1"), "{heads:?}");
    assert!(!heads[3].contains("if-none-match"), "another place with the same tag is not the same content");
}

#[tokio::test]
async fn endless_redirects_and_those_to_forbidden_places_are_refused() {
    let server = Server::start(|_, head| {
        let target = match head {
            head if head.starts_with("get /loop") => "/loop",
            head if head.starts_with("get /metadata") => "http://169.254.169.254/latest",
            _ => "file:///etc/passwd",
        };
        answer("307 Temporary Redirect", &format!("Location: {target}\r\n"), "")
    })
    .await;
    let fetcher = fetcher();
    assert!(complaint(&fetcher, &server.url("/loop")).await.ends_with("it redirects more than 5 times"));
    assert_eq!(server.heads().len(), 6);
    let inside = complaint(&fetcher, &server.url("/metadata")).await;
    assert!(inside.contains("host 169.254.169.254 is not allowed; --manifest-hosts"), "{inside}");
    let file = complaint(&fetcher, &server.url("/file")).await;
    assert!(file.contains("which is no address"), "{file}");
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused_unless_it_is_listed() {
    let server = Server::start(|_, _| ok("x")).await;
    let url = server.url("/a").replace("127.0.0.1", "localhost");
    let policy = |hosts: &[&str]| Policy {
        schemes: ["http".to_owned()].into(),
        hosts: hosts.iter().map(ToString::to_string).collect(),
        directories: Vec::new(),
    };
    let open = Fetcher::new(policy(&["*"]), Limits::default());
    let text = complaint(&open, &url).await;
    assert!(
        text.ends_with(
            "host localhost has no public address; name it in --manifest-hosts if it may be asked"
        ),
        "{text}"
    );
    assert!(server.heads().is_empty(), "nothing was sent");
    let listed = Fetcher::new(policy(&["*", "localhost"]), Limits::default());
    assert_eq!(listed.read(&url).await.unwrap(), "x");
}

#[tokio::test]
async fn a_bad_answer_says_what_is_wrong_with_it() {
    let server = Server::start(|_, head| match head {
        head if head.starts_with("get /gone") => answer("404 Not Found", "", "kind: NotWhatYouWant"),
        head if head.starts_with("get /long") => ok(&"x".repeat(101)),
        head if head.starts_with("get /chunks") => {
            let chunk = format!("33\r\n{}\r\n", "x".repeat(0x33));
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}{chunk}0\r\n\r\n")
        }
        head if head.starts_with("get /zip") => answer("200 OK", "Content-Encoding: gzip\r\n", "x"),
        _ => "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nfull".into(),
    })
    .await;
    let fetcher = fetcher();
    for (path, text) in [
        ("/gone", "the server answers 404 Not Found"),
        ("/long", "it has more than 100 bytes; --manifest-max-bytes sets the limit"),
        ("/chunks", "it has more than 100 bytes; --manifest-max-bytes sets the limit"),
        ("/zip", "Content-Encoding gzip"),
    ] {
        let url = server.url(path);
        let said = complaint(&fetcher, &url).await;
        assert!(said.starts_with(&format!("cannot read {url}")) && said.contains(text), "{path}: {said}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_is_an_error_and_not_half_a_manifest() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/half", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 1024];
        let _ = stream.read(&mut head).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").await.unwrap();
    });
    assert!(complaint(&fetcher(), &url).await.contains("the connection failed"));
}

#[tokio::test(start_paused = true)]
async fn w25_a_server_that_never_answers_costs_a_bounded_time() {
    let server = Server::start(|_, _| String::new()).await;
    let text = complaint(&fetcher(), &server.url("/a")).await;
    assert!(text.ends_with("it did not arrive within 30s; --manifest-timeout sets the limit"), "{text}");
}

#[tokio::test]
async fn whoever_asks_for_what_is_on_its_way_waits_for_the_same_answer() {
    let server = Server::start(|_, _| ok("x")).await;
    let (fetcher, url) = (fetcher(), server.url("/a"));
    let answers = futures::future::join_all((0..10).map(|_| fetcher.read(&url))).await;
    assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|content| content == "x")));
    assert_eq!(server.heads().len(), 1);
    fetcher.read(&url).await.unwrap();
    assert_eq!(server.heads().len(), 2, "a later question is a new one");
}

#[tokio::test]
async fn a_pinned_manifest_must_have_the_digest_of_its_url() {
    let server = Server::start(|_, _| ok("x")).await;
    // printf x | sha256sum
    let digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    let pinned = |digest: &str| server.url(&format!("/a#sha256={digest}"));
    assert_eq!(fetcher().read(&pinned(digest)).await.unwrap(), "x");
    let other = "0".repeat(64);
    let text = complaint(&fetcher(), &pinned(&other)).await;
    assert!(
        text.ends_with(&format!("its sha256 is {digest} instead of the {other} that the URL pins")),
        "{text}"
    );
}

#[tokio::test]
async fn credentials_are_sent_and_never_shown() {
    let server = Server::start(|_, _| answer("403 Forbidden", "", "")).await;
    let url = server.url("/a?signature=hush").replace("http://", "http://ann:hush@");
    let fetcher = fetcher();
    let error = fetcher.read(&url).await.unwrap_err();
    assert!(server.heads()[0].contains("authorization: basic yw5uomh1c2g="), "{:?}", server.heads());
    let told = format!("{} {error:?}", chain(&error));
    assert!(!told.contains("hush") && told.contains("/a?[redacted]"), "{told}");
}

#[tokio::test]
async fn files_outside_the_allowed_directories_are_not_read() {
    let directory = std::env::temp_dir().join(format!("fetch-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("a.yaml"), "kind: A").unwrap();
    std::fs::write(directory.join("long.yaml"), "x".repeat(101)).unwrap();
    let policy = Policy { directories: vec![directory.clone()], ..Policy::default() };
    let fetcher = Fetcher::new(policy, Limits { bytes: 100, ..Limits::default() });
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    assert_eq!(fetcher.read(&path("a.yaml")).await.unwrap(), "kind: A");
    assert_eq!(fetcher.list(directory.to_str().unwrap()).await.unwrap().len(), 2);
    assert!(complaint(&fetcher, &path("long.yaml")).await.contains("more than 100 bytes"));
    assert!(complaint(&fetcher, "/etc/passwd").await.contains("--manifest-dirs"));
    assert!(fetcher.list("/etc").await.is_err());
    assert!(matches!(fetcher.read(&path("none.yaml")).await, Err(SourceError::NotFound { .. })));
    std::fs::remove_dir_all(&directory).unwrap();
}
