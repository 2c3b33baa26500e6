//! One line for each request, written away from the requests so that a slow terminal holds up none of them.

use std::io::Write;

use tokio::sync::mpsc;

use crate::{FakeApiServer, RequestRecord};

/// Lines that wait to be written; when there are more, some are left out.
const WAITING: usize = 10_000;

/// Writes a line for each request of `cluster` from now on: user, verb, path and status code.
pub(super) fn print_requests(cluster: &FakeApiServer, mut to: impl Write + Send + 'static) {
    let (lines, mut waiting) = mpsc::channel::<String>(WAITING);
    cluster.on_request(move |record| {
        let _ = lines.try_send(line(record));
    });
    tokio::task::spawn_blocking(move || {
        while let Some(line) = waiting.blocking_recv() {
            let _ = to.write_all(line.as_bytes());
        }
    });
}

/// Never holds a header or query, where secrets are, nor a control character.
fn line(record: &RequestRecord) -> String {
    let user = if record.user.is_empty() { "-".into() } else { record.user.escape_debug().to_string() };
    let (verb, path) = (&record.info.verb, record.info.path.escape_debug());
    format!("{user} {verb} {path} {}\n", record.code)
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::RequestInfo;

    #[test]
    fn a_line_has_no_query_and_is_one_line() {
        let cluster = FakeApiServer::builder().build();
        let info = RequestInfo::parse(&Method::GET, "/api/v1/pods", "token=secret");
        let record = RequestRecord { at: cluster.now(), user: "a\nb".into(), info, code: 200, revision: 1 };
        assert_eq!(line(&record), "a\\nb list /api/v1/pods 200\n");
    }
}
