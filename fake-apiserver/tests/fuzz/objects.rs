//! Writes of objects: documents of all sorts, patches, applies, quantities and times.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::{Bench, PATCHES};
use crate::corpus::{Corpus, Seed};
use crate::engine::run;
use crate::mutate;
use crate::source::Source;

/// The path of an object.
fn path(seed: &Seed) -> String {
    format!("{}/{}", seed.at, seed.object["metadata"]["name"].as_str().unwrap())
}

/// A query of a write.
fn query(source: &mut Source) -> &'static str {
    source.pick(&[
        "?fieldManager=m",
        "?fieldManager=m",
        "?fieldManager=n",
        "?dryRun=All&fieldManager=m",
        "?fieldValidation=Strict",
        "?fieldValidation=Ignore",
        "?force=true&fieldManager=f",
        "?pretty=true",
    ])
}

fn create(bench: &Bench, source: &mut Source, seed: &Seed) {
    bench.write(
        source,
        "POST",
        &seed.at,
        &[("content-type", "application/json")],
        seed.object.to_string().as_bytes(),
    );
}

#[test]
fn documents() {
    let corpus = Corpus::new();
    run("documents", 60, |source| {
        let bench = Bench::quiet();
        let mut seed = corpus.any(source);
        mutate::json(source, &mut seed.object, 3);
        let (media, mut text) = if source.one_in(3) {
            ("application/yaml", serde_saphyr::to_string(&seed.object).unwrap_or_default().into_bytes())
        } else {
            ("application/json", mutate::render(source, &seed.object).into_bytes())
        };
        if source.one_in(3) {
            mutate::bytes(source, &mut text, 3);
        }
        let target = format!("{}{}", seed.at, query(source));
        bench.write(source, "POST", &target, &[("content-type", media)], &text);
        if !seed.at.contains("/default/token") {
            let target = format!("{}/a{}", seed.at, query(source));
            bench.write(source, "PUT", &target, &[("content-type", media)], &text);
        }
        bench.still_answers(source, "/api/v1/namespaces/default/configmaps");
    });
}

#[test]
fn patches() {
    let corpus = Corpus::new();
    run("patches", 60, |source| {
        let bench = Bench::quiet();
        let seed = corpus.stored(source);
        create(&bench, source, &seed);
        for _ in 0..3 {
            let media = source.pick(&PATCHES);
            let body = match media {
                "application/json-patch+json" => operations(source, &seed.object),
                _ => configuration(source, &seed.object),
            };
            let part = source.pick(&["", "", "", "/status", "/scale", "/finalize", "/ephemeralcontainers"]);
            let target = format!("{}{part}{}", path(&seed), query(source));
            let text = mutate::render(source, &body);
            if part.is_empty() {
                bench.write(source, "PATCH", &target, &[("content-type", media)], text.as_bytes());
            } else {
                bench.patch(source, media, &target, &text);
            }
        }
        nothing_changes_nothing(&bench, source, &path(&seed));
        bench.still_answers(source, &seed.at);
    });
}

/// Patches that say nothing keep the revision.
fn nothing_changes_nothing(bench: &Bench, source: &mut Source, target: &str) {
    let revision = bench.revision();
    for (media, body) in PATCHES.iter().zip(["{}", "[]", "{}"]) {
        bench.patch(source, media, target, body);
        assert_eq!(bench.revision(), revision, "an empty patch made a revision: {media}");
    }
}

/// Part of an object as a client would send it, somewhat changed.
fn configuration(source: &mut Source, object: &Value) -> Value {
    let mut body = object.clone();
    if source.one_in(2) {
        let kept = source.pick(&["metadata", "spec", "data", "status", "webhooks", "rules"]);
        if let Some(members) = body.as_object_mut() {
            members.retain(|name, _| name == kept || name == "apiVersion" || name == "kind");
            members.entry("metadata").or_insert_with(|| json!({ "name": object.pointer("/metadata/name") }));
        }
    }
    mutate::json(source, &mut body, 3);
    body
}

/// A JSON patch with paths that mostly exist.
fn operations(source: &mut Source, object: &Value) -> Value {
    let mut paths =
        vec![String::new(), "/metadata/labels/a".to_owned(), "/metadata/managedFields".to_owned()];
    pointers(object, "", &mut paths);
    let list = (0..source.below(5)).map(|_| {
        let name = source.pick(&["add", "remove", "replace", "move", "copy", "test", "add"]);
        let (mut to, mut from) =
            (paths[source.below(paths.len())].clone(), paths[source.below(paths.len())].clone());
        if source.one_in(6) {
            to.push_str(source.pick(&[
                "/-",
                "/0",
                "/x",
                "/01",
                "/-1",
                "/18446744073709551616",
                "/~1",
                "/~2",
                "/",
            ]));
        }
        if source.one_in(8) {
            mutate::text(source, &mut from);
        }
        json!({ "op": name, "path": to, "from": from, "value": mutate::any_json(source, 2) })
    });
    let mut patch: Value = list.collect();
    if source.one_in(5) {
        mutate::json(source, &mut patch, 2);
    }
    patch
}

fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
        }
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.replace('~', "~0").replace('/', "~1"), member))
            .collect(),
        _ => Vec::new(),
    };
    for (name, value) in below {
        let path = format!("{at}/{name}");
        found.push(path.clone());
        pointers(value, &path, found);
    }
}

#[test]
fn applies() {
    let corpus = Corpus::new();
    run("applies", 60, |source| {
        let bench = Bench::quiet();
        let seed = corpus.stored(source);
        if source.one_in(2) {
            create(&bench, source, &seed);
        }
        for _ in 0..3 {
            let body = configuration(source, &seed.object).to_string();
            let target = format!(
                "{}?fieldManager={}{}",
                path(&seed),
                source.pick(&["m", "n", "before-first-apply", "kubectl"]),
                source.pick(&["", "&force=true"]),
            );
            let headers = [("content-type", PATCHES[3])];
            let once = bench.write(source, "PATCH", &target, &headers, body.as_bytes());
            let metadata = &once.body["metadata"];
            // What nobody owns anything of is given to somebody by the next apply.
            // An element of a list whose key is null is stored without a key, and so never found again.
            let owned = metadata["managedFields"].is_array() && !body.contains("null");
            if once.accepted() && owned && !metadata["deletionTimestamp"].is_string() {
                let revision = bench.revision();
                let twice = bench.write(source, "PATCH", &target, &headers, body.as_bytes());
                // Of a definition, the first answer does not have the status yet.
                if once.body["kind"] != "CustomResourceDefinition" {
                    assert_eq!(twice.body, once.body, "the same apply again changed something");
                }
                assert_eq!(bench.revision(), revision, "the same apply again made a revision");
            }
        }
        bench.still_answers(source, &seed.at);
    });
}

#[test]
fn quantities_and_times() {
    const KINDS: &[&str] =
        &["Pod", "ResourceQuota", "LimitRange", "PersistentVolumeClaim", "Event", "Lease", "Node"];
    let corpus = Corpus::new();
    run("quantities_and_times", 60, |source| {
        let bench = Bench::quiet();
        let mut seed = corpus.of(source, KINDS);
        change_scalars(source, &mut seed.object);
        create(&bench, source, &seed);
        bench.still_answers(source, &seed.at);
    });
}

/// Changes some texts that look like numbers or times.
fn change_scalars(source: &mut Source, value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| change_scalars(source, item)),
        Value::Object(members) => {
            for (name, member) in
                members.iter_mut().filter(|(name, _)| *name != "apiVersion" && *name != "name")
            {
                if name != "metadata" {
                    change_scalars(source, member);
                }
            }
        }
        Value::String(content) if content.starts_with(|c: char| c.is_ascii_digit()) && source.one_in(2) => {
            if content.len() < 8 && source.one_in(2) {
                *content = quantity(source);
            } else {
                for _ in 0..=source.below(3) {
                    mutate::text(source, content);
                }
            }
        }
        _ => {}
    }
}

fn quantity(source: &mut Source) -> String {
    let mut text = String::from(source.pick(&["", "", "-", "+"]));
    let digits = |source: &mut Source, most: usize| -> String {
        (0..source.below(most)).map(|_| char::from(b'0' + source.below(10) as u8)).collect()
    };
    let most = source.pick(&[4, 10, 45]);
    text += &digits(source, most);
    if source.one_in(2) {
        text.push('.');
        text += &digits(source, most);
    }
    text + source.pick(&[
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-3",
        "e18", "e-9", "e99",
    ])
}

#[test]
fn busy_clusters() {
    let corpus = Corpus::new();
    run("busy_clusters", 25, |source| {
        let bench = Bench::busy();
        for _ in 0..1 + source.below(4) {
            let mut seed = corpus.stored(source);
            let target = path(&seed);
            mutate::json(source, &mut seed.object, 3);
            let body = seed.object.to_string();
            bench.send(source, "POST", &seed.at, &body);
            bench.wait(Duration::from_secs(3));
            let patch = configuration(source, &seed.object).to_string();
            let (media, part) = (source.pick(&PATCHES), source.pick(&["", "/status", "/scale"]));
            bench.patch(source, media, &format!("{target}{part}?fieldManager=m&force=true"), &patch);
            if source.one_in(2) {
                let options = mutate::any_json(source, 3).to_string();
                let policy = source.pick(&["Foreground", "Background", "Orphan", "x"]);
                let body = if source.one_in(2) { options } else { String::new() };
                bench.send(source, "DELETE", &format!("{target}?propagationPolicy={policy}"), &body);
            }
            bench.wait(Duration::from_secs(10));
            bench.still_answers(source, &seed.at);
        }
    });
}
