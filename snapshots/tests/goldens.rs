//! Plans every recorded case and compares the objects with what the reference operator would apply.
//!
//! The recordings and the releases are no part of this repository: `GOLDENS` and `KO_DATA_PATH` say where they are.
//! What counts as equal, and the form of `deviations.txt`, is described beside the recordings.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use knative_operator::api::{Component, ConditionType, Reason, Status};
use knative_operator::manifest::directory::Directory;
use knative_operator::manifest::version::VersionError;
use knative_operator::manifest::{Catalog, Object, parse, version};
use knative_operator::plan::{Facts, Owner, Plan, plan, target_namespace};
use serde_json::Value;

const UID: &str = "11111111-1111-4111-8111-111111111111";
const ANCHOR_UID: &str = "22222222-2222-4222-8222-222222222222";

#[test]
fn every_golden_is_planned_as_recorded() {
    let (Ok(goldens), Ok(data)) = (std::env::var("GOLDENS"), std::env::var("KO_DATA_PATH")) else {
        eprintln!("SKIPPED: GOLDENS or KO_DATA_PATH is not set, no golden was compared");
        return;
    };
    let goldens = Path::new(&goldens);
    let deviations = Deviation::read();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let catalog = Catalog::new(Arc::new(Directory), data.clone());
    let mut problems = Vec::new();
    let mut inputs: Vec<_> =
        std::fs::read_dir(goldens.join("input")).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty());
    for input in &inputs {
        let case = input.file_stem().unwrap().to_str().unwrap();
        let expected = std::fs::read(goldens.join("expected").join(format!("{case}.json"))).unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        let planned = runtime.block_on(planned(&catalog, &std::fs::read(input).unwrap()));
        problems.extend(
            compare_status(&expected["status"], &planned, &data)
                .map(|text| format!("{case}: status: {text}")),
        );
        for (object, path, difference) in compare(&expected, planned.map(|(_, plan)| plan)) {
            if !deviations.iter().any(|deviation| deviation.allows(case, &object, &path)) {
                problems.push(format!("{case}: {object}{path}: {difference}"));
            }
        }
    }
    assert!(problems.is_empty(), "{} differences:\n{}", problems.len(), problems.join("\n"));
    eprintln!("{} goldens compared", inputs.len());
}

async fn planned(catalog: &Catalog, input: &[u8]) -> Result<(Vec<String>, Plan), Box<dyn std::error::Error>> {
    let document = parse::parse_documents(input)?.remove(0);
    let mut component = Component::from_value(&document)?;
    component.meta.uid = Some(UID.into());
    version::check_migration(component.kind, &catalog.target_version(&component).await?, None)?;
    let release = catalog.release(&component).await?;
    let owner = match component.is_remote() {
        true => Owner::anchor(&component, ANCHOR_UID),
        false => Owner::component(&component),
    };
    let namespace = target_namespace(&component).to_owned();
    let plan = plan(&component, &release, &Facts { owner: Some(owner), namespace, ..Facts::default() })?;
    Ok((release.sources, plan))
}

/// The status that a reconcile has after planning: the conditions in the order they are marked, and the sources.
fn compare_status(
    expected: &Value,
    planned: &Result<(Vec<String>, Plan), Box<dyn std::error::Error>>,
    data: &str,
) -> Option<String> {
    let now = Timestamp::UNIX_EPOCH;
    let mut status = Status::default();
    status.conditions.initialize(now);
    let refusal = planned.as_ref().err();
    match refusal.filter(|error| error.is::<VersionError>()) {
        Some(error) => {
            let message = format!("Version migration is not eligible with message: {error}");
            status.conditions.mark_false(
                ConditionType::VersionMigrationEligible,
                Reason::Error,
                &message,
                now,
            );
        }
        None => {
            status.conditions.mark_true(ConditionType::VersionMigrationEligible, now);
            status.conditions.mark_true(ConditionType::TargetClusterResolved, now);
            if let Some(error) = refusal {
                let message = format!("Install failed with message: {error}");
                status.conditions.mark_false(ConditionType::InstallSucceeded, Reason::Error, &message, now);
            }
        }
    }
    if let Ok((sources, _)) = planned {
        // W13: the guard is recorded too, which the reference forgets.
        let recorded = sources.iter().filter(|source| !source.contains("/security-guard/"));
        status.manifests = recorded.map(|source| source.replace(data, "${KO_DATA_PATH}")).collect();
    }
    let mut status = serde_json::to_value(&status).unwrap();
    for condition in status["conditions"].as_array_mut().unwrap() {
        condition.as_object_mut().unwrap().remove("lastTransitionTime");
    }
    (status != *expected).then(|| format!("{status} instead of {expected}"))
}

/// Differences as (object, path in it, description).
fn compare(
    expected: &Value,
    planned: Result<Plan, Box<dyn std::error::Error>>,
) -> Vec<(String, String, String)> {
    let whole = |text: String| vec![(String::new(), String::new(), text)];
    let plan = match (expected["error"].as_str(), planned) {
        (Some(wanted), Err(error)) if error.to_string().contains(wanted) => return Vec::new(),
        (Some(wanted), Err(error)) => return whole(format!("error {error} instead of {wanted}")),
        (Some(wanted), Ok(_)) => return whole(format!("no error instead of {wanted}")),
        (None, Err(error)) => return whole(format!("error {error}")),
        (None, Ok(plan)) => plan,
    };
    let wanted =
        expected["objects"].as_array().unwrap().iter().cloned().map(|o| Object::try_from(o).unwrap());
    let (wanted, found) = (by_identity(wanted), by_identity(plan.objects().cloned()));
    let mut differences = Vec::new();
    if expected["targetVersion"] != plan.target_version.as_str() {
        differences.extend(whole(format!("version {}", plan.target_version)));
    }
    let mut keys: Vec<_> = wanted.keys().chain(found.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let label = format!("{}/{}", key.kind.kind, key.name);
        match (wanted.get(key), found.get(key)) {
            (Some(wanted), Some(found)) => {
                diff(wanted, found, "", &mut |path, text| {
                    differences.push((label.clone(), path.into(), text))
                });
            }
            (wanted, _) => {
                let text = if wanted.is_some() { "missing" } else { "unexpected" };
                differences.push((label, String::new(), text.into()));
            }
        }
    }
    differences
}

fn by_identity(
    objects: impl Iterator<Item = Object>,
) -> BTreeMap<knative_operator::manifest::ObjectKey, Value> {
    objects.map(|object| (object.key(), normal(object.into_value()))).collect()
}

/// The object without what does not count.
fn normal(object: Value) -> Value {
    let mut object = clean(object);
    let fields = object.as_object_mut().unwrap();
    if fields["kind"] == "ClusterRole" {
        let without_rules =
            fields.get("rules").is_none_or(|rules| rules.as_array().is_some_and(Vec::is_empty));
        if fields.contains_key("aggregationRule") || without_rules {
            fields.remove("rules");
        }
    }
    if fields["kind"] == "Namespace"
        && fields.get("spec").is_some_and(|spec| spec.as_object().unwrap().is_empty())
    {
        fields.remove("spec");
    }
    let metadata = fields["metadata"].as_object_mut().unwrap();
    if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
        labels.retain(|key, _| !key.starts_with("applyset.kubernetes.io/"));
    }
    for field in ["labels", "annotations", "ownerReferences"] {
        let empty = metadata.get(field).is_some_and(|field| match field {
            Value::Object(map) => map.is_empty(),
            Value::Array(list) => list.is_empty(),
            _ => false,
        });
        if empty {
            metadata.remove(field);
        }
    }
    object
}

fn clean(value: Value) -> Value {
    match value {
        Value::Object(map) => map
            .into_iter()
            .filter(|(key, field)| !field.is_null() && key != "creationTimestamp")
            .map(|(key, field)| (key, clean(field)))
            .filter(|(key, field)| {
                let may_be_empty = ["status", "strategy", "updateStrategy", "resources", "loadBalancer"];
                !(may_be_empty.contains(&key.as_str())
                    && field.as_object().is_some_and(serde_json::Map::is_empty))
            })
            .collect(),
        Value::Array(list) => list.into_iter().map(clean).collect(),
        scalar => scalar,
    }
}

fn diff(wanted: &Value, found: &Value, path: &str, report: &mut impl FnMut(&str, String)) {
    match (wanted, found) {
        (Value::Object(a), Value::Object(b)) => {
            let mut keys: Vec<_> = a.keys().chain(b.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let nothing = Value::Null;
                let (a, b) = (a.get(key).unwrap_or(&nothing), b.get(key).unwrap_or(&nothing));
                diff(a, b, &format!("{path}/{key}"), report);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().for_each(|(i, (a, b))| diff(a, b, &format!("{path}/{i}"), report));
        }
        _ if wanted == found => {}
        _ => {
            let short = |value: &Value| value.to_string().chars().take(100).collect::<String>();
            report(path, format!("{} instead of {}", short(found), short(wanted)));
        }
    }
}

/// A difference that is meant.
struct Deviation([String; 3]);

impl Deviation {
    fn read() -> Vec<Self> {
        let text = include_str!("../deviations.txt");
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        let fields = |line: &str| {
            let fields: Vec<_> = line.split('|').map(|field| field.trim().to_owned()).collect();
            let [case, object, path, reason] = <[String; 4]>::try_from(fields).expect("four fields");
            assert!(reason.starts_with('W'), "a deviation without its number: {line}");
            Self([case, object, path])
        };
        lines.map(fields).collect()
    }

    fn allows(&self, case: &str, object: &str, path: &str) -> bool {
        self.0.iter().zip([case, object, path]).all(|(pattern, text)| snapshots::matches(pattern, text))
    }
}
