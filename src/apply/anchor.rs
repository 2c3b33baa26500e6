//! The anchor: a ConfigMap on the spoke that owns all namespaced objects of one custom resource, and says whose it is.
//!
//! It is the parent of an ApplySet (KEP-3659), and the record by which two hubs, or a hub and its restored copy, tell
//! their installations apart.

use serde_json::{Value, json};

use super::inventory::Inventory;
use crate::api::ComponentKind;
use crate::manifest::{GroupKind, Object, ObjectKey};
use crate::plan::{ID_LABEL, anchor_name, apply_set_id, label_value};
use crate::target::cluster::{Cluster, ClusterError};
use crate::target::mapping::Resource;

/// Annotation with the UID of the hub's `kube-system` namespace.
pub const HUB: &str = "operator.knative.dev/hub-uid";
/// Annotation with `namespace/name` of the custom resource on the hub.
pub const CR: &str = "operator.knative.dev/cr";
/// Annotation with the UID of the custom resource on the hub.
pub const CR_UID: &str = "operator.knative.dev/cr-uid";
const DESCRIPTION: &str = "Owner of everything that knative-operator installed here for one custom resource on its \
    hub. Deleting it makes the garbage collector delete all of that; to uninstall, delete the custom resource on the \
    hub instead.";
/// Annotation keys of the ApplySet specification.
const TOOLING: &str = "applyset.kubernetes.io/tooling";
/// Annotation of the parent of a set that names the kinds of its members (KEP-3659).
pub const GROUP_KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";

/// Who we are, on every anchor that is ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// UID of the hub's `kube-system` namespace.
    pub hub: String,
    /// Namespace of the custom resource.
    pub namespace: String,
    /// Name of the custom resource.
    pub name: String,
    /// UID of the custom resource.
    pub uid: String,
    /// Kind of the custom resource.
    pub kind: ComponentKind,
}

/// An anchor that is ours, as read or made in this reconcile.
#[derive(Clone, Debug, PartialEq)]
pub struct Anchor(Object);

impl Anchor {
    /// Its UID.
    pub fn uid(&self) -> &str {
        self.0.uid()
    }

    /// Whether it is being deleted, and everything that it owns with it.
    pub fn is_terminating(&self) -> bool {
        self.0.value()["metadata"]["deletionTimestamp"].is_string()
    }

    /// Its identity.
    pub fn key(&self) -> ObjectKey {
        self.0.key()
    }
}

/// Why the anchor cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AnchorError {
    /// A request failed.
    #[error("failed to ensure anchor ConfigMap")]
    Cluster(#[from] ClusterError),
    /// The namespace is being deleted.
    #[error(
        "namespace {namespace} on {cluster} is terminating; the install goes on when it is gone{}",
        because(held_by)
    )]
    NamespaceTerminating {
        /// The namespace.
        namespace: String,
        /// The cluster.
        cluster: String,
        /// What keeps it from going.
        held_by: Option<String>,
    },
    /// The anchor is being deleted: whatever were installed under it would go with it.
    #[error(
        "anchor ConfigMap {namespace}/{name} on {cluster} is terminating; the install goes on when it is gone, and \
         everything that it owns"
    )]
    Terminating {
        /// Namespace of the anchor.
        namespace: String,
        /// Name of the anchor.
        name: String,
        /// The cluster.
        cluster: String,
    },
    /// Somebody else owns this installation.
    #[error(
        "anchor ConfigMap {namespace}/{name} (uid {uid}) on {cluster} belongs to {owner}; \
         set annotation operator.knative.dev/adopt: {uid} to take it over"
    )]
    OwnedElsewhere {
        /// Namespace of the anchor.
        namespace: String,
        /// Name of the anchor.
        name: String,
        /// UID of the anchor, for the annotation.
        uid: String,
        /// The cluster.
        cluster: String,
        /// Who it says it belongs to.
        owner: String,
    },
}

fn because(why: &Option<String>) -> String {
    why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default()
}

/// What an existing anchor means for us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is ours.
    Ours,
    /// It becomes ours: nobody's so far, or of a predecessor that is gone, or by the user's word.
    Adopt,
    /// It belongs to somebody else, described for people.
    Foreign(String),
}

/// Judges an existing anchor. `predecessor_lives` says whether a custom resource with a given UID still exists on
/// this hub; `adopt` is the UID in the custom resource's adopt annotation.
pub fn judge(
    anchor: &Object,
    me: &Identity,
    predecessor_lives: impl Fn(&str) -> bool,
    adopt: Option<&str>,
) -> Verdict {
    let (hub, uid) = (anchor.annotation(HUB), anchor.annotation(CR_UID));
    let (Some(hub), Some(uid)) = (hub, uid) else { return Verdict::Adopt };
    if hub == me.hub && uid == me.uid {
        return Verdict::Ours;
    }
    if adopt.is_some_and(|adopt| adopt == anchor.uid()) || (hub == me.hub && !predecessor_lives(uid)) {
        return Verdict::Adopt;
    }
    let cr = anchor.annotation(CR).unwrap_or("an unnamed custom resource");
    let place = if hub == me.hub { "of this hub".to_owned() } else { format!("of hub {hub}") };
    Verdict::Foreign(format!("{} {cr} {place}", me.kind))
}

/// Our claim on an anchor: where it is, who we are, and whose anchors become ours.
pub struct Claim<'a> {
    /// The spoke.
    pub cluster: &'a Cluster,
    /// Namespace of the anchor.
    pub namespace: &'a str,
    /// Who we are.
    pub me: &'a Identity,
    /// Whether a custom resource with this UID still exists on this hub.
    pub lives: &'a (dyn Fn(&str) -> bool + Send + Sync),
    /// UID of an anchor that the user lets us take over.
    pub adopt: Option<&'a str>,
}

impl Claim<'_> {
    /// The anchor if it exists and is ours, without touching anything.
    ///
    /// # Errors
    /// [`AnchorError`], also when it belongs to somebody else.
    pub async fn find(&self) -> Result<Option<Anchor>, AnchorError> {
        let name = anchor_name(self.me.kind, &self.me.name);
        let resource = self.cluster.resource("v1", "ConfigMap").await?;
        match self.cluster.get(&resource, self.namespace, &name).await? {
            Some(found) => self.judged(found).map(Some),
            None => Ok(None),
        }
    }

    /// Makes sure that the anchor exists and lists what `inventory` holds; `found` is what [`Claim::find`] gave.
    /// Writes only what differs.
    ///
    /// # Errors
    /// [`AnchorError`].
    pub async fn ensure(&self, found: Option<Anchor>, inventory: &Inventory) -> Result<Anchor, AnchorError> {
        let name = anchor_name(self.me.kind, &self.me.name);
        let desired = desired_anchor(self.namespace, &name, self.me, inventory);
        let resource = self.cluster.resource("v1", "ConfigMap").await?;
        let anchor = match found {
            Some(found) => found,
            None => match self.cluster.create(&desired).await {
                Ok(created) => Anchor(created),
                Err(error) if error.failure.is_already_exists() => {
                    let found = self.cluster.get(&resource, self.namespace, &name).await?.ok_or(error)?;
                    self.judged(found)?
                }
                Err(error) => return Err(error.into()),
            },
        };
        if !has_metadata_of(&anchor.0, &desired) {
            repair(self.cluster, &resource, &anchor.0, &desired).await?;
        }
        Ok(anchor)
    }

    fn judged(&self, found: Object) -> Result<Anchor, AnchorError> {
        match judge(&found, self.me, self.lives, self.adopt) {
            Verdict::Foreign(owner) => Err(AnchorError::OwnedElsewhere {
                namespace: self.namespace.into(),
                name: found.name().into(),
                uid: found.uid().into(),
                cluster: self.cluster.name().into(),
                owner,
            }),
            Verdict::Ours | Verdict::Adopt => Ok(Anchor(found)),
        }
    }
}

/// A merge patch of metadata, tied to the object that was judged.
async fn repair(
    cluster: &Cluster,
    resource: &Resource,
    found: &Object,
    desired: &Object,
) -> Result<(), ClusterError> {
    let metadata = &desired.value()["metadata"];
    let patch = json!({"metadata": {
        "uid": found.uid(),
        "labels": metadata["labels"],
        "annotations": metadata["annotations"],
    }});
    cluster.merge_patch(resource, (found.namespace(), found.name()), "", &patch).await.map(drop)
}

fn has_metadata_of(live: &Object, desired: &Object) -> bool {
    ["labels", "annotations"].iter().all(|field| {
        let (live, desired) = (&live.value()["metadata"][field], &desired.value()["metadata"][field]);
        desired.as_object().is_none_or(|desired| desired.iter().all(|(key, value)| live[key] == *value))
    })
}

/// What makes an object the parent of an ApplySet: its labels and annotations (KEP-3659).
pub fn parent_metadata(id: &str, namespace: &str, inventory: &Inventory) -> Value {
    json!({
        "labels": {(ID_LABEL): id},
        "annotations": {
            (TOOLING): concat!("knative-operator/v", env!("CARGO_PKG_VERSION")),
            (GROUP_KINDS): inventory.group_kinds(),
            (NAMESPACES): inventory.additional_namespaces(namespace),
        },
    })
}

fn desired_anchor(namespace: &str, name: &str, me: &Identity, inventory: &Inventory) -> Object {
    let id = apply_set_id(&GroupKind::new("", "ConfigMap"), namespace, name);
    let mut metadata = parent_metadata(&id, namespace, inventory);
    metadata["name"] = json!(name);
    metadata["namespace"] = json!(namespace);
    let mut anchor = typed("ConfigMap", &metadata);
    anchor.set_label("app.kubernetes.io/managed-by", "knative-operator");
    anchor.set_label("operator.knative.dev/cr-name", &label_value(&me.name));
    anchor.set_annotation("operator.knative.dev/anchor", "true");
    anchor.set_annotation("operator.knative.dev/protected", "true");
    anchor.set_annotation("operator.knative.dev/description", DESCRIPTION);
    anchor.set_annotation(HUB, &me.hub);
    anchor.set_annotation(CR, &format!("{}/{}", me.namespace, me.name));
    anchor.set_annotation(CR_UID, &me.uid);
    anchor
}

fn typed(kind: &str, metadata: &Value) -> Object {
    Object::try_from(json!({"apiVersion": "v1", "kind": kind, "metadata": metadata}))
        .expect("apiVersion, kind and metadata are given")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> Identity {
        let [hub, namespace, name, uid] = ["hub-1", "ns", "cr", "uid-1"].map(str::to_owned);
        Identity { hub, namespace, name, uid, kind: ComponentKind::Serving }
    }

    fn anchor_of(who: &Identity) -> Object {
        let mut anchor = desired_anchor("ns", "x", who, &Inventory::default());
        anchor.metadata_mut().insert("uid".into(), json!("anchor-uid"));
        anchor
    }

    #[test]
    fn an_anchor_without_identity_is_adopted() {
        let bare = typed("ConfigMap", &json!({"name": "x"}));
        assert_eq!(judge(&bare, &me(), |_| true, None), Verdict::Adopt);
    }

    #[test]
    fn an_anchor_of_a_predecessor_that_is_gone_is_adopted_and_of_one_that_lives_is_not() {
        let anchor = anchor_of(&Identity { uid: "uid-0".into(), ..me() });
        assert_eq!(judge(&anchor, &me(), |_| false, None), Verdict::Adopt);
        assert!(matches!(judge(&anchor, &me(), |uid| uid == "uid-0", None), Verdict::Foreign(_)));
    }

    #[test]
    fn an_anchor_of_another_hub_is_refused_unless_the_user_names_it() {
        let anchor = anchor_of(&Identity { hub: "hub-2".into(), ..me() });
        let refused = Verdict::Foreign("KnativeServing ns/cr of hub hub-2".into());
        assert_eq!(judge(&anchor, &me(), |_| false, None), refused);
        assert_eq!(judge(&anchor, &me(), |_| false, Some("another")), refused);
        assert_eq!(judge(&anchor, &me(), |_| false, Some("anchor-uid")), Verdict::Adopt);
    }
}
