//! Request lines, selectors and pages.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::engine::run;
use crate::mutate;
use crate::source::Source;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A cluster with some ConfigMaps.
fn filled(source: &mut Source) -> Bench {
    let bench = Bench::quiet();
    for index in 0..8 {
        let labels = match index % 4 {
            0 => json!({}),
            1 => json!({ "a": "x" }),
            2 => json!({ "a": "y", "b": "7" }),
            _ => json!({ "a": "", "b": "x" }),
        };
        let object = json!({ "metadata": { "name": format!("m{index}"), "labels": labels } });
        assert_eq!(bench.send(source, "POST", MAPS, &object.to_string()).code, 201);
    }
    bench
}

/// Any text as part of a query.
fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn request_lines() {
    const PATHS: &[&str] = &[
        "/api",
        "/apis",
        "/api/v1",
        "/apis/apps/v1",
        "/version",
        "/healthz",
        "/openapi/v2",
        "/openapi/v3",
        "/metrics",
        "/api/v1/namespaces/default",
        "/api/v1/namespaces/default/configmaps/m1",
        "/api/v1/watch/namespaces/default/configmaps/m1",
        "/api/v1/namespaces/default/pods/a/log",
        "/api/v1/namespaces/default/pods/a/exec",
        "/apis/apps/v1/deployments",
        "/apis/apps/v1/namespaces/default/deployments/a/scale",
        "/api/v1/namespaces/default/finalize",
        "/api/v1/componentstatuses",
        MAPS,
    ];
    const PARAMETERS: &[&str] = &[
        "watch=true",
        "limit=1",
        "limit=-1",
        "limit=9223372036854775807",
        "continue=x",
        "resourceVersion=0",
        "resourceVersion=5",
        "resourceVersion=18446744073709551615",
        "resourceVersionMatch=Exact",
        "resourceVersionMatch=NotOlderThan",
        "timeoutSeconds=9223372036854775807",
        "timeoutSeconds=1",
        "allowWatchBookmarks=1",
        "sendInitialEvents=true",
        "pretty=1",
        "labelSelector=a",
        "fieldSelector=metadata.name%3Dm1",
        "dryRun=All",
        "gracePeriodSeconds=-1",
        "gracePeriodSeconds=99999999999",
        "gracePeriodSeconds=9223372036854775807",
        "propagationPolicy=Orphan",
        "fieldManager=m",
        "force=1",
        "container=c",
        "includeObject=None",
        "includeObject=Object",
        "fieldValidation=Strict",
        "orphanDependents=true",
    ];
    const HEADERS: &[(&str, &str)] = &[
        ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),
        ("accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"),
        ("accept", "application/yaml"),
        ("accept", ",;,=,"),
        ("accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
        ("content-type", "application/json;;"),
        ("content-type", "application/yaml"),
        ("content-type", "application/merge-patch+json"),
        ("content-type", "application/apply-patch+yaml"),
        ("authorization", "Bearer"),
        ("authorization", "bearer  x"),
        ("user-agent", "/"),
        ("impersonate-user", ""),
        ("impersonate-user", "system:serviceaccount:default:x"),
        ("impersonate-group", "g"),
    ];
    run("request_lines", 60, |source| {
        let bench = filled(source);
        for _ in 0..6 {
            let mut path = source.pick(PATHS).to_owned();
            if source.one_in(2) {
                mutate::text(source, &mut path);
            }
            let mut query: Vec<String> =
                (0..source.below(4)).map(|_| source.pick(PARAMETERS).to_owned()).collect();
            if source.one_in(4) {
                query.iter_mut().for_each(|parameter| mutate::text(source, parameter));
            }
            let method = source
                .pick(&["GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "FROB"]);
            let headers: Vec<_> = (0..source.below(3)).map(|_| source.pick(HEADERS)).collect();
            let mut body = mutate::any_json(source, 2);
            mutate::json(source, &mut body, 2);
            let body = if source.one_in(2) { String::new() } else { mutate::render(source, &body) };
            let target = format!("{path}?{}", query.join("&"));
            bench.send_as(source, method, &target, &headers, body.as_bytes());
        }
        bench.still_answers(source, MAPS);
    });
}

#[test]
fn selectors() {
    run("selectors", 60, |source| {
        let bench = filled(source);
        let all = names(&bench.send(source, "GET", MAPS, "").body);
        for _ in 0..6 {
            let mut chosen = Vec::new();
            let (one, other) = complements(source);
            for selector in [one, other] {
                let answer =
                    bench.send(source, "GET", &format!("{MAPS}?labelSelector={}", escaped(&selector)), "");
                assert_eq!(answer.code, 200, "{selector}");
                chosen.extend(names(&answer.body));
            }
            chosen.sort();
            assert_eq!(chosen, all, "two selectors that exclude each other do not choose everything");
            let mut text = labels(source);
            mutate::text(source, &mut text);
            let fields = fields(source);
            let query = format!("labelSelector={}&fieldSelector={}", escaped(&text), escaped(&fields));
            bench.send(source, "GET", &format!("{MAPS}?{query}"), "");
            bench.send(source, "GET", &format!("{MAPS}?{query}&watch=1&timeoutSeconds=1"), "");
            bench.send(source, "DELETE", &format!("{MAPS}?{query}&dryRun=All"), "");
        }
    });
}

/// A requirement and its contrary.
fn complements(source: &mut Source) -> (String, String) {
    let key = source.pick(&["a", "b", "c", "example.com/a"]);
    let value = source.pick(&["x", "y", "", "7"]);
    let space = source.pick(&["", " ", "  "]);
    match source.below(3) {
        0 => (format!("{space}{key}{space}"), format!("!{space}{key}")),
        1 => (format!("{key}{space}={space}{value}"), format!("{key}!={space}{value}")),
        _ => (format!("{key} in ({value},{space}y)"), format!("{key}  notin({value}{space},y)")),
    }
}

fn labels(source: &mut Source) -> String {
    let terms: Vec<String> = (0..1 + source.below(3))
        .map(|_| match source.below(4) {
            0 => format!(
                "b{}{}",
                source.pick(&[">", "<"]),
                source.pick(&["5", "-1", "x", "99999999999999999999"])
            ),
            _ => complements(source).0,
        })
        .collect();
    terms.join(",")
}

fn fields(source: &mut Source) -> String {
    let mut text = source
        .pick(&[
            "",
            "metadata.name=m1",
            "metadata.name!=m1,metadata.namespace=default",
            "metadata.name==m\\,1",
            "metadata.name=a\\",
            "=",
            "!=x",
            ",",
        ])
        .to_owned();
    if source.one_in(3) {
        mutate::text(source, &mut text);
    }
    text
}

#[test]
fn continue_tokens() {
    run("continue_tokens", 60, |source| {
        let bench = filled(source);
        let all = names(&bench.send(source, "GET", MAPS, "").body);
        let limit = 1 + source.below(5);
        let (mut seen, mut token) = (Vec::new(), String::new());
        loop {
            let page = bench.send(source, "GET", &format!("{MAPS}?limit={limit}&continue={token}"), "");
            seen.extend(names(&page.body));
            let next = page.body["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
            let broken = if source.one_in(2) { inside_out(source, &next) } else { outside_in(source, &next) };
            let rest =
                bench.send(source, "GET", &format!("{MAPS}?limit={limit}&continue={}", escaped(&broken)), "");
            if rest.accepted() {
                assert!(
                    names(&rest.body).len() <= limit || broken.is_empty(),
                    "a page has more than was asked for"
                );
            }
            if next.is_empty() {
                break;
            }
            token = next;
        }
        assert_eq!(seen, all, "the pages are not the list");
    });
}

/// A token whose content is changed.
fn inside_out(source: &mut Source, token: &str) -> String {
    let content = URL_SAFE_NO_PAD.decode(token).unwrap_or_default();
    let mut content: Value = serde_json::from_slice(&content).unwrap_or_default();
    mutate::json(source, &mut content, 2);
    URL_SAFE_NO_PAD.encode(mutate::render(source, &content))
}

/// A token whose encoding is changed.
fn outside_in(source: &mut Source, token: &str) -> String {
    let mut token = token.to_owned();
    mutate::text(source, &mut token);
    token
}
