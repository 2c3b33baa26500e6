//! Direct reads and edits of a cluster by tests, as an administrator and on the normal write path.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::controllers::crd;
use crate::options::{DeleteOptions, Propagation};
use crate::registry::Served;
use crate::server::FakeApiServer;
use crate::state::{Call, State};
use crate::status::{Answer, Status};
use crate::storage::object_key;
use crate::verb::update::{Origin, update};
use crate::verb::{body, create, delete, get};

/// The field manager of direct edits.
const EDITOR: &str = "fake-apiserver-admin";

impl FakeApiServer {
    /// One object in its stored version; `namespace` is empty for cluster-scoped ones.
    pub fn get(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let state = self.lock();
        let call = self.admin_call(&state, group, kind, namespace, name).ok()?;
        get::get(&state, &call, "").ok().map(|stored| stored.value.clone())
    }

    /// Creates an object as an administrator.
    ///
    /// # Errors
    /// As a request would be refused.
    pub fn create(&self, object: Value) -> Answer<Arc<Value>> {
        self.change(|state| {
            let mut call = self.call_for(state, &object)?;
            let object = body::read_value(&mut call, object)?;
            create::create(state, &mut call, object, false).map(|stored| stored.value.clone())
        })
    }

    /// Puts objects exactly as another cluster had stored them, with their UIDs, versions and managed fields. Nothing is
    /// validated, defaulted or asked of admission; controllers take them for new ones. Meant for a cluster that nobody
    /// watches yet. Returns how many there were.
    ///
    /// # Errors
    /// With the first object whose kind or version nobody serves; those before it are there then.
    pub fn put_recorded(&self, objects: impl IntoIterator<Item = Value>) -> Answer<usize> {
        let (definitions, others): (Vec<_>, Vec<_>) =
            objects.into_iter().partition(|object| object["kind"] == "CustomResourceDefinition");
        let now = self.now();
        self.change(|state| {
            let mut count = 0;
            for object in definitions.into_iter().chain(others) {
                let call = self.call_for(state, &object)?;
                let definition = object["kind"] == "CustomResourceDefinition";
                let key = object_key(&call.namespace, &call.name);
                state.storage.put_as_it_was(call.resource().storage.clone(), key, object);
                if definition {
                    crd::settle(state, &call.name, now);
                }
                count += 1;
            }
            state.storage.forget_history();
            Ok(count)
        })
    }

    /// Replaces an object as an administrator, whatever its version is, and creates it if it is absent.
    ///
    /// # Errors
    /// As a request would be refused.
    pub fn replace(&self, mut object: Value) -> Answer<Arc<Value>> {
        self.change(|state| {
            let mut call = self.call_for(state, &object)?;
            object = body::read_value(&mut call, object)?;
            let stored = match get::find(state, &call).cloned() {
                Err(_) => create::create(state, &mut call, object, false)?,
                Ok(live) => {
                    object["metadata"]["resourceVersion"] = json!(live.revision.to_string());
                    update(state, &mut call, &live, object, Origin::Put)?
                }
            };
            Ok(stored.value.clone())
        })
    }

    /// Changes an object in place as an administrator, except its status.
    ///
    /// # Errors
    /// As a request would be refused.
    pub fn edit(
        &self,
        group: &str,
        kind: &str,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> Answer<Arc<Value>> {
        self.edit_part(group, kind, namespace, name, "", change)
    }

    /// Changes the status of an object as an administrator.
    ///
    /// # Errors
    /// As a request would be refused.
    pub fn edit_status(
        &self,
        group: &str,
        kind: &str,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> Answer<Arc<Value>> {
        self.edit_part(group, kind, namespace, name, "status", change)
    }

    fn edit_part(
        &self,
        group: &str,
        kind: &str,
        namespace: &str,
        name: &str,
        part: &str,
        change: impl FnOnce(&mut Value),
    ) -> Answer<Arc<Value>> {
        self.change(|state| {
            let mut call = self.admin_call(state, group, kind, namespace, name)?;
            call.subresource = part.to_owned();
            let live = get::find(state, &call)?.clone();
            let mut object = (*live.value).clone();
            change(&mut object);
            let object = body::read_value(&mut call, object)?;
            update(state, &mut call, &live, object, Origin::Patch).map(|stored| stored.value.clone())
        })
    }

    /// Deletes an object as an administrator, dependents in the background.
    ///
    /// # Errors
    /// As a request would be refused.
    pub fn remove(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Answer<()> {
        self.change(|state| {
            let mut call = self.admin_call(state, group, kind, namespace, name)?;
            let options =
                DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
            delete::delete(state, &mut call, &options).map(drop)
        })
    }

    fn call_for(&self, state: &State, object: &Value) -> Answer<Call> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        let metadata = &object["metadata"];
        let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
        let mut call = self.admin_call(state, group, &kind, &namespace, &name)?;
        let versions = &call.resource().versions;
        call.served.version =
            versions.iter().position(|v| v.name == version).ok_or_else(Status::no_such_resource)?;
        Ok(call)
    }

    fn admin_call(
        &self,
        state: &State,
        group: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Answer<Call> {
        let resource = state.registry.by_kind(group, kind).ok_or_else(Status::no_such_resource)?.clone();
        let namespace = if resource.namespaced { namespace } else { "" };
        let served = Served { version: resource.stored, resource };
        Ok(Call::internal(served, namespace, name, self.now(), EDITOR))
    }

    /// Changes the cluster and lets the controllers know.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.lock());
        self.ensure_controllers();
        self.wake_controllers();
        result
    }
}
