//! Validation of the built-in kinds whose refusals clients rely on. Of others everything is accepted that fits their type.

mod access;
mod counts;
mod data;
mod definition;
mod event;
mod hook;
mod limits;
mod pod;
mod policy;
mod service;
mod workload;

use serde_json::{Value, json};

use crate::schema::FieldError;
use crate::state::{Call, State};

/// What is wrong with a new object.
pub(crate) fn create_errors(_state: &State, call: &Call, object: &Value) -> Vec<FieldError> {
    match &*call.resource().id {
        "customresourcedefinitions.apiextensions.k8s.io" => definition::create_errors(object),
        _ => object_errors(call, object),
    }
}

/// What is wrong with a changed object.
pub(crate) fn update_errors(call: &Call, old: &Value, new: &Value) -> Vec<FieldError> {
    if call.subresource == "status" {
        return match &*call.resource().id {
            "deployments.apps" | "replicasets.apps" => workload::status_errors(&new["status"]),
            _ => Vec::new(),
        };
    }
    let mut errors = object_errors(call, new);
    match &*call.resource().id {
        "configmaps" | "secrets" if old["immutable"] == true => {
            let why = "field is immutable when `immutable` is set";
            if new["immutable"] != true {
                errors.push(FieldError::forbidden("immutable", why));
            }
            for field in ["data", "binaryData", "stringData"] {
                if old.get(field) != new.get(field) {
                    errors.push(FieldError::forbidden(field, why));
                }
            }
        }
        "services" => errors.extend(service::update_errors(old, new)),
        "secrets" => immutable(&mut errors, "type", &old["type"], &new["type"]),
        "customresourcedefinitions.apiextensions.k8s.io" => {
            errors.extend(definition::update_errors(old, new))
        }
        "deployments.apps" | "daemonsets.apps" | "replicasets.apps" => {
            immutable(&mut errors, "spec.selector", &old["spec"]["selector"], &new["spec"]["selector"]);
        }
        "jobs.batch" => errors.extend(workload::job_update_errors(old, new)),
        "pods" if call.subresource.is_empty() => errors.extend(pod::update_errors(old, new)),
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io"
            if old["roleRef"] != new["roleRef"] =>
        {
            let part = |field: &str| &new["roleRef"][field];
            let shown = json!({ "APIGroup": part("apiGroup"), "Kind": part("kind"), "Name": part("name") });
            errors.push(FieldError::invalid("roleRef", &shown, "cannot change roleRef"));
        }
        _ => {}
    }
    errors
}

fn immutable(errors: &mut Vec<FieldError>, path: &str, old: &Value, new: &Value) {
    if old != new {
        errors.push(FieldError::invalid(path, new, "field is immutable"));
    }
}

fn object_errors(call: &Call, object: &Value) -> Vec<FieldError> {
    match &*call.resource().id {
        "deployments.apps" | "statefulsets.apps" | "daemonsets.apps" | "replicasets.apps" => {
            workload::errors(object)
        }
        "jobs.batch" => workload::job_errors(object),
        "cronjobs.batch" => workload::cron_job_errors(object),
        "pods" => pod::spec_errors(&object["spec"], "spec"),
        "configmaps" => data::config_map_errors(object),
        "secrets" => data::secret_errors(object),
        "services" => service::errors(object),
        "validatingadmissionpolicies.admissionregistration.k8s.io" => policy::policy_errors(object),
        "validatingadmissionpolicybindings.admissionregistration.k8s.io" => policy::binding_errors(object),
        "poddisruptionbudgets.policy" => counts::budget_errors(object),
        "horizontalpodautoscalers.autoscaling" => counts::autoscaler_errors(object),
        "limitranges" => limits::range_errors(object),
        "resourcequotas" => limits::quota_errors(object),
        "events" => event::errors(object, false),
        "events.events.k8s.io" => event::errors(object, true),
        "leases.coordination.k8s.io" => counts::lease_errors(object),
        "roles.rbac.authorization.k8s.io" | "clusterroles.rbac.authorization.k8s.io" => {
            access::role_errors(object, call.resource().namespaced)
        }
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => {
            access::binding_errors(object, call.resource().namespaced)
        }
        "validatingwebhookconfigurations.admissionregistration.k8s.io"
        | "mutatingwebhookconfigurations.admissionregistration.k8s.io" => hook::errors(object),
        _ => Vec::new(),
    }
}
