//! A cluster as the reconciler sees it: the handful of verbs it needs, each with a typed error that names the
//! request and the cluster.

use std::sync::Arc;

use http::Request;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::breaker::Gate;
use super::failure::failure_of;
pub use super::failure::{ClusterError, Failure, OUTCOMES};
use super::mapping::{Mapping, Resource};
use crate::manifest::{Object, ObjectKey};
use crate::metrics::{Metrics, Side};

/// Field manager of every server-side apply of ours.
pub const FIELD_MANAGER: &str = "knative-operator";

/// Requests in flight to one cluster, over all custom resources that use it.
const REQUESTS_IN_FLIGHT: usize = 8;

/// Words for what requests want.
pub const VERBS: [&str; 5] = ["read", "create", "apply", "patch", "delete"];

/// A connected cluster. Cheap to clone; clones share the connection and its bound on requests in flight.
#[derive(Clone)]
pub struct Cluster {
    name: Arc<str>,
    client: kube::Client,
    mapping: Arc<Mapping>,
    slots: Arc<Semaphore>,
    measures: Option<(Metrics, Side)>,
    gate: Option<Gate>,
}

/// Which form of deletion (`metav1.DeletionPropagation`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// The object goes at once, its dependents later.
    Background,
    /// The object stays until its blocking dependents are gone.
    Foreground,
}

impl Cluster {
    /// A cluster behind `client`.
    pub fn new(name: &str, client: kube::Client) -> Self {
        Self {
            name: name.into(),
            client,
            mapping: Arc::default(),
            slots: Arc::new(Semaphore::new(REQUESTS_IN_FLIGHT)),
            measures: None,
            gate: None,
        }
    }

    /// The same cluster, whose requests are counted and timed as those of a side.
    #[must_use]
    pub fn measured(self, metrics: Metrics, side: Side) -> Self {
        Self { measures: Some((metrics, side)), ..self }
    }

    /// The same cluster behind a gate.
    #[must_use]
    pub fn gated(self, gate: Gate) -> Self {
        Self { gate: Some(gate), ..self }
    }

    /// Name for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The client, for watches.
    pub fn client(&self) -> &kube::Client {
        &self.client
    }

    /// What is known about kinds.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// The resource of a kind, asking the cluster when it is not known.
    ///
    /// # Errors
    /// [`Failure::NoMatch`] when the cluster does not serve it.
    pub async fn resource(&self, api_version: &str, kind: &str) -> Result<Resource, ClusterError> {
        if let Some(resource) = self.mapping.get(api_version, kind) {
            return Ok(resource);
        }
        let action = || format!("look up kind {kind} of {api_version}");
        let root = if api_version.contains('/') { "/apis" } else { "/api" };
        match self.request("GET", &format!("{root}/{api_version}"), None, None).await {
            Ok(document) => self.mapping.learn(api_version, &document),
            Err(failure) if failure.is_absent() => {}
            Err(failure) => return Err(self.error(action(), failure)),
        }
        self.mapping.get(api_version, kind).ok_or_else(|| {
            let failure = Failure::NoMatch { kind: kind.into(), api_version: api_version.into() };
            self.error(action(), failure)
        })
    }

    /// The object, if it is there.
    ///
    /// # Errors
    /// Any failure but absence.
    pub async fn get(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>, ClusterError> {
        let path = resource.path(namespace, name);
        match self.request("GET", &path, None, None).await {
            Ok(value) => self.object(format!("read {path}"), value).map(Some),
            Err(failure) if failure.is_absent() => Ok(None),
            Err(failure) => Err(self.error(format!("read {path}"), failure)),
        }
    }

    /// All objects of a kind that match a label selector, over all namespaces, with or without their bodies. A kind
    /// that is not served has none.
    ///
    /// # Errors
    /// Any failure but absence.
    pub async fn list(
        &self,
        resource: &Resource,
        selector: &str,
        detail: Detail,
    ) -> Result<Vec<Object>, ClusterError> {
        let path = format!("{}?{}", resource.collection(""), query(&[("labelSelector", selector)]));
        self.list_at(resource, &path, detail).await
    }

    /// Metadata of all objects of a kind in one namespace.
    ///
    /// # Errors
    /// Any failure but absence.
    pub async fn list_in(&self, resource: &Resource, namespace: &str) -> Result<Vec<Object>, ClusterError> {
        self.list_at(resource, &resource.collection(namespace), Detail::Metadata).await
    }

    /// Every namespaced kind that can be listed, in the preferred version of its group.
    ///
    /// # Errors
    /// Any failure: a partial answer would hide objects.
    pub async fn namespaced_resources(&self) -> Result<Vec<Resource>, ClusterError> {
        let groups = self.read("/apis").await?;
        let groups = groups["groups"].as_array().into_iter().flatten();
        let mut roots = vec![("/api/v1".to_owned(), "v1".to_owned())];
        roots.extend(groups.filter_map(|group| {
            let version = group["preferredVersion"]["groupVersion"].as_str()?;
            Some((format!("/apis/{version}"), version.to_owned()))
        }));
        let mut resources = Vec::new();
        for (path, api_version) in roots {
            let document = self.read(&path).await?;
            resources.extend(listable(&api_version, &document));
        }
        Ok(resources)
    }

    async fn list_at(
        &self,
        resource: &Resource,
        path: &str,
        detail: Detail,
    ) -> Result<Vec<Object>, ClusterError> {
        let action = || format!("list {path}");
        let accept = match detail {
            Detail::Full => None,
            Detail::Metadata => Some("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
        };
        let mut list = match self.request("GET", path, None, accept).await {
            Ok(list) => list,
            Err(failure) if failure.is_absent() => return Ok(Vec::new()),
            Err(failure) => return Err(self.error(action(), failure)),
        };
        let Some(Value::Array(items)) = list.get_mut("items").map(Value::take) else {
            let failure = Failure::Garbled("the list has no items".into());
            return Err(self.error(action(), failure));
        };
        let objects = items.into_iter().map(|mut item| {
            // Items of a list carry no type of their own, or that of their metadata.
            if let Some(item) = item.as_object_mut() {
                item.insert("kind".into(), json!(resource.kind));
                item.insert("apiVersion".into(), json!(resource.api_version));
            }
            self.object(action(), item)
        });
        objects.collect()
    }

    /// Server-side apply, forced. Returns the object as the server stores it.
    ///
    /// # Errors
    /// Any failure.
    pub async fn apply(&self, object: &Object) -> Result<Object, ClusterError> {
        self.apply_with(object, &[]).await
    }

    /// What [`Cluster::apply`] would store, without storing it.
    ///
    /// # Errors
    /// Any failure.
    pub async fn dry_run(&self, object: &Object) -> Result<Object, ClusterError> {
        self.apply_with(object, &[("dryRun", "All")]).await
    }

    async fn apply_with(&self, object: &Object, options: &[(&str, &str)]) -> Result<Object, ClusterError> {
        let resource = self.resource(object.api_version(), object.kind()).await?;
        let path = resource.path(object.namespace(), object.name());
        let query = query(&[&[("fieldManager", FIELD_MANAGER), ("force", "true")], options].concat());
        let action = || format!("apply {}", object.key());
        let body = Some((object.value(), "application/apply-patch+yaml"));
        match self.request("PATCH", &format!("{path}?{query}"), body, None).await {
            Ok(value) => self.object(action(), value),
            Err(failure) => {
                if matches!(failure, Failure::Refused { code: 404, .. }) {
                    self.mapping.forget(object.api_version());
                }
                Err(self.error(action(), failure))
            }
        }
    }

    /// Creates an object.
    ///
    /// # Errors
    /// Any failure, an existing object included.
    pub async fn create(&self, object: &Object) -> Result<Object, ClusterError> {
        let resource = self.resource(object.api_version(), object.kind()).await?;
        let query = query(&[("fieldManager", FIELD_MANAGER)]);
        let path = format!("{}?{query}", resource.collection(object.namespace()));
        let action = || format!("create {}", object.key());
        match self.request("POST", &path, Some((object.value(), "application/json")), None).await {
            Ok(value) => self.object(action(), value),
            Err(failure) => Err(self.error(action(), failure)),
        }
    }

    /// Merge patch of the object or of a subresource (`""`: the object itself). A `metadata.resourceVersion` in the
    /// patch makes it conditional.
    ///
    /// # Errors
    /// Any failure.
    pub async fn merge_patch(
        &self,
        resource: &Resource,
        (namespace, name): (&str, &str),
        subresource: &str,
        patch: &Value,
    ) -> Result<Object, ClusterError> {
        let separator = if subresource.is_empty() { "" } else { "/" };
        let path = format!("{}{separator}{subresource}", resource.path(namespace, name));
        let query = query(&[("fieldManager", FIELD_MANAGER)]);
        let body = Some((patch, "application/merge-patch+json"));
        match self.request("PATCH", &format!("{path}?{query}"), body, None).await {
            Ok(value) => self.object(format!("patch {path}"), value),
            Err(failure) => Err(self.error(format!("patch {path}"), failure)),
        }
    }

    /// JSON patch (RFC 6902) of the object that `object` names.
    ///
    /// # Errors
    /// Any failure.
    pub async fn json_patch(&self, object: &Object, patch: &Value) -> Result<Object, ClusterError> {
        let resource = self.resource(object.api_version(), object.kind()).await?;
        let query = query(&[("fieldManager", FIELD_MANAGER)]);
        let path = format!("{}?{query}", resource.path(object.namespace(), object.name()));
        let action = || format!("patch {}", object.key());
        let body = Some((patch, "application/json-patch+json"));
        match self.request("PATCH", &path, body, None).await {
            Ok(value) => self.object(action(), value),
            Err(failure) => Err(self.error(action(), failure)),
        }
    }

    /// Deletes the object if its UID is still `uid`. An absent one, or another under its name, is fine: the object
    /// that was meant is gone.
    ///
    /// # Errors
    /// Any other failure.
    pub async fn delete(
        &self,
        resource: &Resource,
        key: &ObjectKey,
        uid: &str,
        propagation: Propagation,
    ) -> Result<(), ClusterError> {
        let path = resource.path(&key.namespace, &key.name);
        let propagation = match propagation {
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
        };
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
            "preconditions": {"uid": uid},
        });
        match self.request("DELETE", &path, Some((&options, "application/json")), None).await {
            Ok(_) => Ok(()),
            Err(failure) if failure.is_absent() || failure.is_conflict() => Ok(()),
            Err(failure) => Err(self.error(format!("delete {key}"), failure)),
        }
    }

    /// Any document, for instance `/version`.
    ///
    /// # Errors
    /// Any failure.
    pub async fn read(&self, path: &str) -> Result<Value, ClusterError> {
        self.request("GET", path, None, None)
            .await
            .map_err(|failure| self.error(format!("read {path}"), failure))
    }

    fn error(&self, action: String, failure: Failure) -> ClusterError {
        ClusterError { cluster: self.name.to_string(), action, failure }
    }

    fn object(&self, action: String, value: Value) -> Result<Object, ClusterError> {
        Object::try_from(value).map_err(|cause| self.error(action, Failure::Garbled(cause.into())))
    }

    async fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<(&Value, &'static str)>,
        accept: Option<&'static str>,
    ) -> Result<Value, Failure> {
        let mut builder = Request::builder().method(method).uri(path);
        builder = builder.header(http::header::ACCEPT, accept.unwrap_or("application/json"));
        let bytes = match body {
            None => Vec::new(),
            Some((value, content_type)) => {
                builder = builder.header(http::header::CONTENT_TYPE, content_type);
                serde_json::to_vec(value).map_err(|cause| Failure::Garbled(cause.into()))?
            }
        };
        let request = builder.body(bytes).map_err(|cause| Failure::Garbled(cause.into()))?;
        let _slot = self.slots.acquire().await.expect("the semaphore is never closed");
        if let Some(gate) = &self.gate {
            gate.admit()?;
        }
        let began = Instant::now();
        let answer = match self.client.request_text(request).await {
            Ok(text) => serde_json::from_str(&text).map_err(|cause| Failure::Garbled(cause.into())),
            Err(error) => Err(failure_of(error)),
        };
        if let Some(gate) = &self.gate {
            gate.note(answer.as_ref().err());
        }
        let outcome = answer.as_ref().map_or_else(Failure::outcome, |_| "ok");
        let (verb, took) = (verb(method, body.map(|(_, content_type)| content_type)), began.elapsed());
        tracing::debug!(cluster = %self.name, verb, path, outcome, millis = took.as_millis(), "request");
        if let Some((metrics, side)) = &self.measures {
            metrics.requested(*side, verb, outcome, took);
        }
        answer
    }
}

/// One of [`VERBS`].
fn verb(method: &str, content_type: Option<&str>) -> &'static str {
    match (method, content_type) {
        ("POST", _) => "create",
        ("PATCH", Some("application/apply-patch+yaml")) => "apply",
        ("PATCH", _) => "patch",
        ("DELETE", _) => "delete",
        _ => "read",
    }
}

/// How much of listed objects is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Whole objects.
    Full,
    /// Metadata only.
    Metadata,
}

/// A query string.
fn query(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// The namespaced kinds of an `APIResourceList` that can be listed.
fn listable(api_version: &str, document: &Value) -> Vec<Resource> {
    let resources = document["resources"].as_array().into_iter().flatten();
    let listable =
        resources.filter(|r| r["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|v| v == "list")));
    listable.filter_map(|r| Resource::from_discovery(api_version, r)).filter(|r| r.namespaced).collect()
}
