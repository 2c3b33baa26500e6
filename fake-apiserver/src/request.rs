//! Method, path and query -> [`RequestInfo`]: pure, after `k8s.io/apiserver/pkg/endpoints/request`.

use http::Method;

/// What a request asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestInfo {
    /// The verb as RBAC knows it: `get`, `list`, `watch`, `create`, …; the lower-case method for other paths.
    pub verb: String,
    /// The path without query.
    pub path: String,
    /// Whether the path is under `/api/v1` or `/apis/GROUP/VERSION` and names a resource.
    pub is_resource: bool,
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Plural resource name.
    pub resource: String,
    /// `status`, `scale`, …; with further path segments joined by `/`.
    pub subresource: String,
    /// Namespace, or empty.
    pub namespace: String,
    /// Object name, or empty.
    pub name: String,
    /// Decoded query parameters, in order.
    pub query: Query,
}

/// Decoded query parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Decodes the part of a URL after `?`.
    pub fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (percent_decode(key, true), percent_decode(value, true))
        });
        Self(pairs.collect())
    }

    /// The first value of a parameter.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Every value of a parameter.
    pub fn all<'a>(&'a self, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let key = key.to_owned();
        self.0.iter().filter(move |(name, _)| *name == key).map(|(_, value)| value.as_str())
    }

    /// Whether a boolean parameter is set, as the server reads booleans: anything but absent, `0` and `false`.
    pub fn flag(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| !matches!(value, "0" | "false"))
    }
}

impl RequestInfo {
    /// Reads a request line. `target` is the path with its query.
    pub fn parse(method: &Method, path: &str, query: &str) -> Self {
        let mut info = Self { path: path.to_owned(), query: Query::parse(query), ..Self::default() };
        info.verb = method.as_str().to_lowercase();
        let decoded: Vec<String> =
            path.split('/').filter(|part| !part.is_empty()).map(|part| percent_decode(part, false)).collect();
        let parts: Vec<&str> = decoded.iter().map(String::as_str).collect();
        let rest = match parts.as_slice() {
            ["api", version, rest @ ..] => {
                info.version = (*version).into();
                rest
            }
            ["apis", group, version, rest @ ..] => {
                info.group = (*group).into();
                info.version = (*version).into();
                rest
            }
            _ => return info,
        };
        let (watching, rest) = match rest {
            ["watch", rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let rest = match rest {
            [] => return info,
            // `namespaces/NAME` and its subresources are the Namespace itself.
            ["namespaces", name] => {
                info.namespace = (*name).into();
                rest
            }
            ["namespaces", name, "status" | "finalize"] => {
                info.namespace = (*name).into();
                rest
            }
            ["namespaces", namespace, rest @ ..] => {
                info.namespace = (*namespace).into();
                rest
            }
            rest => rest,
        };
        info.is_resource = true;
        info.resource = rest.first().copied().unwrap_or_default().into();
        info.name = rest.get(1).copied().unwrap_or_default().into();
        info.subresource = rest.get(2..).unwrap_or_default().join("/");
        info.verb = verb(method, &info, watching).into();
        if watching && !info.name.is_empty() {
            let selector = format!("metadata.name={}", std::mem::take(&mut info.name));
            info.query.0.insert(0, ("fieldSelector".into(), selector));
        }
        info
    }
}

fn verb(method: &Method, info: &RequestInfo, watching: bool) -> &'static str {
    let named = !info.name.is_empty();
    match *method {
        _ if watching => "watch",
        Method::GET | Method::HEAD if named => "get",
        Method::GET | Method::HEAD if info.query.flag("watch") => "watch",
        Method::GET | Method::HEAD => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if named => "delete",
        Method::DELETE => "deletecollection",
        _ => "",
    }
}

/// Undoes percent encoding; invalid sequences stay as they are.
fn percent_decode(text: &str, plus_is_space: bool) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%')
            .then(|| bytes.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match (escaped, bytes[at]) {
            (Some(byte), _) => {
                out.push(byte);
                at += 2;
            }
            (None, b'+') if plus_is_space => out.push(b' '),
            (None, byte) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &Method, target: &str, expected: [&str; 6]) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let info = RequestInfo::parse(method, path, query);
        let actual =
            [&info.verb, &info.group, &info.namespace, &info.resource, &info.name, &info.subresource];
        assert_eq!(actual.map(String::as_str), expected, "{target}");
    }

    #[test]
    fn paths_name_resources() {
        check(&Method::GET, "/api/v1/pods", ["list", "", "", "pods", "", ""]);
        check(&Method::GET, "/api/v1/namespaces/a/pods/b/log", ["get", "", "a", "pods", "b", "log"]);
        check(&Method::GET, "/api/v1/namespaces", ["list", "", "", "namespaces", "", ""]);
        check(&Method::GET, "/api/v1/namespaces/a", ["get", "", "a", "namespaces", "a", ""]);
        check(
            &Method::PUT,
            "/api/v1/namespaces/a/finalize",
            ["update", "", "a", "namespaces", "a", "finalize"],
        );
        check(
            &Method::DELETE,
            "/apis/apps/v1/namespaces/a/deployments",
            ["deletecollection", "apps", "a", "deployments", "", ""],
        );
        check(
            &Method::PATCH,
            "/apis/x.io/v1/things/t/status",
            ["patch", "x.io", "", "things", "t", "status"],
        );
    }

    #[test]
    fn watches_are_told_by_query_or_by_path() {
        check(&Method::GET, "/api/v1/pods?watch=true", ["watch", "", "", "pods", "", ""]);
        check(&Method::GET, "/api/v1/pods?watch=0", ["list", "", "", "pods", "", ""]);
        check(&Method::GET, "/api/v1/namespaces/a/pods/b?watch=true", ["get", "", "a", "pods", "b", ""]);
        check(&Method::GET, "/api/v1/watch/namespaces/a/pods/b", ["watch", "", "a", "pods", "", ""]);
    }

    #[test]
    fn query_parameters_are_decoded() {
        let query = Query::parse("labelSelector=a%3Db%2Cc+in+(d)&dryRun=All&x=%zz");
        assert_eq!(query.get("labelSelector"), Some("a=b,c in (d)"));
        assert_eq!(query.get("x"), Some("%zz"));
    }
}
