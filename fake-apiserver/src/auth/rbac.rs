//! RBAC evaluation: a pure function of the roles and bindings in storage.

use crate::auth::User;
use crate::request::RequestInfo;
use crate::state::State;
use crate::status::{Answer, ResourceName, Status};

/// Refuses what a user may not do. Without RBAC everybody who has a name may do everything.
pub(crate) fn authorize(_state: &State, user: &User, info: &RequestInfo) -> Answer<()> {
    let public = matches!(info.path.as_str(), "/version" | "/healthz" | "/livez" | "/readyz");
    if public || user.is_in("system:authenticated") {
        return Ok(());
    }
    Err(forbidden(user, info))
}

/// The refusal, worded as the server words it.
fn forbidden(user: &User, info: &RequestInfo) -> Box<Status> {
    let name = &user.name;
    if !info.is_resource {
        let message = format!("forbidden: User \"{name}\" cannot {} path \"{}\"", info.verb, info.path);
        let mut status = Status::new(403, "Forbidden", message);
        status.details = Some(serde_json::json!({}));
        return status;
    }
    let resource = match info.subresource.as_str() {
        "" => info.resource.clone(),
        subresource => format!("{}/{subresource}", info.resource),
    };
    let place = match info.namespace.as_str() {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace \"{namespace}\""),
    };
    let why = format!(
        "User \"{name}\" cannot {} resource \"{resource}\" in API group \"{}\" {place}",
        info.verb, info.group
    );
    Status::forbidden(&ResourceName { group: &info.group, resource: &info.resource }, &info.name, &why)
}
