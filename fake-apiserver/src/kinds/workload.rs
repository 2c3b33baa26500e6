//! Validation of workloads: Deployments and their like, Jobs, CronJobs (`pkg/apis/apps/validation`,
//! `pkg/apis/batch/validation`).

use serde_json::{Value, json};

use super::counts::{percent_or_count, percent_up_to_all};
use super::pod;
use crate::schema::FieldError;
use crate::selector::LabelSelector;

/// What is wrong with a workload that keeps pods running.
pub(super) fn errors(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &object["spec"];
    not_negative(&mut errors, spec, "spec", &["replicas", "minReadySeconds", "revisionHistoryLimit"]);
    let (selector, labels) = (&spec["selector"], &spec["template"]["metadata"]["labels"]);
    let empty = selector["matchLabels"].as_object().is_none_or(|map| map.is_empty())
        && selector["matchExpressions"].as_array().is_none_or(Vec::is_empty);
    if selector.is_null() {
        errors.push(FieldError::required("spec.selector", ""));
    } else if empty {
        let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
        let why = format!("empty selector is invalid for {kind}");
        errors.push(FieldError::invalid("spec.selector", selector, &why));
    }
    if selector.is_null() || !LabelSelector::from_object(selector).matches(labels) {
        errors.push(mismatch(labels));
    }
    errors.extend(pod::lasting_template_errors(&spec["template"], "spec.template"));
    if object["kind"] == "Deployment" {
        errors.extend(strategy_errors(&spec["strategy"]));
    }
    errors
}

fn mismatch(labels: &Value) -> FieldError {
    let shown = if labels.is_null() { json!({}) } else { labels.clone() };
    let why = "`selector` does not match template `labels`";
    FieldError::invalid("spec.template.metadata.labels", &shown, why)
}

fn strategy_errors(strategy: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let rolling = &strategy["rollingUpdate"];
    let at = "spec.strategy.rollingUpdate";
    match strategy["type"].as_str().unwrap_or_default() {
        "Recreate" if !rolling.is_null() => {
            errors.push(FieldError::forbidden(at, "may not be specified when strategy `type` is 'Recreate'"));
        }
        "Recreate" => {}
        "RollingUpdate" => {
            percent_or_count(&mut errors, &format!("{at}.maxUnavailable"), &rolling["maxUnavailable"]);
            percent_or_count(&mut errors, &format!("{at}.maxSurge"), &rolling["maxSurge"]);
            let nothing = |value: &Value| *value == 0 || *value == "0%";
            if nothing(&rolling["maxUnavailable"]) && nothing(&rolling["maxSurge"]) {
                let why = "may not be 0 when `maxSurge` is 0";
                let shown = &rolling["maxUnavailable"];
                errors.push(FieldError::invalid(format!("{at}.maxUnavailable"), shown, why));
            }
            percent_up_to_all(&mut errors, &format!("{at}.maxUnavailable"), &rolling["maxUnavailable"]);
        }
        _ => {
            let known = ["Recreate", "RollingUpdate"];
            errors.push(FieldError::unsupported("spec.strategy.type", &strategy["type"], &known));
        }
    }
    errors
}

/// What is wrong with the status of a Deployment or ReplicaSet.
pub(super) fn status_errors(status: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let count = |field: &str| status[field].as_i64().unwrap_or(0);
    let counts = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"];
    not_negative(&mut errors, status, "status", &counts);
    let parts = ["updatedReplicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    for field in
        parts.into_iter().filter(|field| *field != "fullyLabeledReplicas" || !status[*field].is_null())
    {
        if count(field) > count("replicas") {
            let why = "cannot be greater than status.replicas";
            errors.push(FieldError::invalid(format!("status.{field}"), &json!(count(field)), why));
        }
    }
    if count("availableReplicas") > count("readyReplicas") {
        let shown = json!(count("availableReplicas"));
        let why = "cannot be greater than readyReplicas";
        errors.push(FieldError::invalid("status.availableReplicas", &shown, why));
    }
    errors
}

/// What is wrong with a Job.
pub(super) fn job_errors(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &object["spec"];
    let (selector, labels) = (&spec["selector"], &spec["template"]["metadata"]["labels"]);
    if spec["manualSelector"] != true {
        let own = object["metadata"]["uid"].as_str().unwrap_or_default();
        let generated = json!({ "matchLabels": { "batch.kubernetes.io/controller-uid": own } });
        if *selector != generated {
            errors.push(FieldError::invalid("spec.selector", selector, "`selector` not auto-generated"));
        }
    }
    if !LabelSelector::from_object(selector).matches(labels) {
        errors.push(mismatch(labels));
    }
    errors.extend(job_spec_errors(spec, "spec"));
    errors
}

fn job_spec_errors(spec: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let counts =
        ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"];
    not_negative(&mut errors, spec, path, &counts);
    let template = format!("{path}.template.spec");
    errors.extend(pod::spec_errors(&spec["template"]["spec"], &template));
    if spec["template"]["spec"]["restartPolicy"] == "Always" {
        let why = "valid values: \"OnFailure\", \"Never\"";
        errors.push(FieldError::required(format!("{template}.restartPolicy"), why));
    }
    errors
}

/// What of a Job may not change.
pub(super) fn job_update_errors(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    super::immutable(&mut errors, "spec.selector", &old["spec"]["selector"], &new["spec"]["selector"]);
    let (before, after) = (&old["spec"]["completions"], &new["spec"]["completions"]);
    let elastic = new["spec"]["completionMode"] == "Indexed" && after == &new["spec"]["parallelism"];
    if !elastic {
        super::immutable(&mut errors, "spec.completions", before, after);
    }
    // Of a suspended Job that never ran the scheduling directives may change.
    let fixed = |job: &Value| {
        let mut template = job["spec"]["template"].clone();
        if old["spec"]["suspend"] == true && old["status"]["startTime"].is_null() {
            for field in ["affinity", "nodeSelector", "tolerations", "schedulingGates"] {
                template["spec"][field] = Value::Null;
            }
            template["metadata"] = Value::Null;
        }
        template
    };
    if fixed(old)["metadata"] != fixed(new)["metadata"] || fixed(old)["spec"] != fixed(new)["spec"] {
        let shown = &new["spec"]["template"]["spec"];
        errors.push(FieldError::invalid("spec.template.spec", shown, "field is immutable"));
    }
    errors
}

/// What is wrong with a CronJob.
pub(super) fn cron_job_errors(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &object["spec"];
    let schedule = spec["schedule"].as_str().unwrap_or_default();
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if schedule.is_empty() {
        errors.push(FieldError::required("spec.schedule", ""));
    } else if !schedule.starts_with('@') && fields.len() != 5 {
        let why = format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" "));
        errors.push(FieldError::invalid("spec.schedule", &json!(schedule), &why));
    }
    let policies = ["Allow", "Forbid", "Replace"];
    pod::supported(&mut errors, "spec.concurrencyPolicy", &spec["concurrencyPolicy"], &policies);
    let counts = ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"];
    not_negative(&mut errors, spec, "spec", &counts);
    errors.extend(job_spec_errors(&spec["jobTemplate"]["spec"], "spec.jobTemplate.spec"));
    errors
}

/// Checks that counts are not negative.
pub(super) fn not_negative(errors: &mut Vec<FieldError>, object: &Value, path: &str, fields: &[&str]) {
    for field in fields {
        if let Some(count) = object[*field].as_i64().filter(|count| *count < 0) {
            let why = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(format!("{path}.{field}"), &json!(count), why));
        }
    }
}
