//! The permissions the operator needs, on the hub and on the clusters it installs to: one table, no wildcards.
//!
//! Two verbs stand out. Without `escalate` and `bind` nobody may hand out rights that they do not have themselves
//! (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/>), and the operator hands out what Knative's own
//! controllers need.

use serde_json::{Value, json};

/// Name of the operator's accounts, roles and bindings, and of its namespace.
const NAME: &str = "knative-operator";
/// Name of the role for installing, on every cluster.
const INSTALLER: &str = "knative-operator-installer";

/// What may be done to some resources of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Plurals, with subresources after a slash.
    pub resources: &'static [&'static str],
    /// What may be done.
    pub verbs: &'static [&'static str],
    /// What for.
    pub why: &'static str,
}

impl Rule {
    /// As a role has it.
    pub fn to_value(&self) -> Value {
        json!({"apiGroups": [self.group], "resources": self.resources, "verbs": self.verbs})
    }
}

const fn rule(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
    why: &'static str,
) -> Rule {
    Rule { group, resources, verbs, why }
}

/// Verbs for objects that are applied, watched over and removed one by one.
const MANAGE: &[&str] = &["get", "list", "create", "patch", "delete"];

/// On the hub, everywhere.
pub const HUB: &[Rule] = &[
    rule(
        "operator.knative.dev",
        &["knativeservings", "knativeeventings"],
        &["get", "list", "watch", "patch"],
        "read what is wanted, hold it with a finalizer",
    ),
    rule(
        "operator.knative.dev",
        &["knativeservings/status", "knativeeventings/status"],
        &["patch"],
        "say what has become of it",
    ),
    rule(
        "operator.knative.dev",
        &["knativeservings/finalizers", "knativeeventings/finalizers"],
        &["update"],
        "own objects where owner references are guarded",
    ),
    rule(
        "multicluster.x-k8s.io",
        &["clusterprofiles"],
        &["get", "list", "watch"],
        "find the clusters of the fleet",
    ),
    rule(
        "gateway.networking.k8s.io",
        &["referencegrants"],
        &["list"],
        "see who may use which cluster, with --profile-access=granted",
    ),
    rule("", &["events"], &["create", "patch"], "tell what happened"),
];

/// On the hub, in the operator's own namespace.
pub const LEADER: &[Rule] =
    &[rule("coordination.k8s.io", &["leases"], &["get", "create", "update"], "elect one leader")];

/// On every cluster that is installed to.
pub const SPOKE: &[Rule] = &[
    rule("", &["namespaces"], MANAGE, "tell clusters apart, make the namespaces of installations"),
    rule(
        "",
        &["configmaps", "secrets", "services", "serviceaccounts"],
        MANAGE,
        "install; the anchor is a ConfigMap",
    ),
    rule(
        "",
        &["configmaps/finalizers"],
        &["update"],
        "let the anchor own objects where owner references are guarded",
    ),
    rule("apps", &["deployments", "statefulsets"], MANAGE, "install, see what is rolled out"),
    rule("autoscaling", &["horizontalpodautoscalers"], MANAGE, "install"),
    rule("policy", &["poddisruptionbudgets"], MANAGE, "install"),
    rule("batch", &["jobs"], MANAGE, "migrate what older versions stored"),
    rule(
        "admissionregistration.k8s.io",
        &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        MANAGE,
        "install",
    ),
    rule(
        "apiextensions.k8s.io",
        &["customresourcedefinitions"],
        &["get", "list", "create", "patch"],
        "install; definitions are never removed, and the objects of users with them",
    ),
    rule(
        "rbac.authorization.k8s.io",
        &["clusterroles", "roles"],
        &["get", "list", "create", "patch", "delete", "escalate", "bind"],
        "give Knative's controllers the rights they need",
    ),
    rule("rbac.authorization.k8s.io", &["clusterrolebindings", "rolebindings"], MANAGE, "install"),
    rule("caching.internal.knative.dev", &["images"], MANAGE, "install"),
    rule("networking.internal.knative.dev", &["certificates"], MANAGE, "install"),
    rule("cert-manager.io", &["certificates"], MANAGE, "install, where cert-manager is"),
    rule("networking.istio.io", &["gateways"], MANAGE, "install the Istio ingress"),
    rule("security.istio.io", &["peerauthentications"], MANAGE, "install the Istio ingress"),
    rule("projectcontour.io", &["tlscertificatedelegations"], MANAGE, "install the Contour ingress"),
    rule("", SEEN_CORE, &["list"], SEEN),
    rule("apps", &["controllerrevisions", "daemonsets", "replicasets"], &["list"], SEEN),
    rule("batch", &["cronjobs"], &["list"], SEEN),
    rule("coordination.k8s.io", &["leases"], &["list"], SEEN),
    rule("discovery.k8s.io", &["endpointslices"], &["list"], SEEN),
    rule("events.k8s.io", &["events"], &["list"], SEEN),
    rule("networking.k8s.io", &["ingresses", "networkpolicies"], &["list"], SEEN),
    rule("storage.k8s.io", &["csistoragecapacities"], &["list"], SEEN),
    rule(
        "serving.knative.dev",
        &["services", "routes", "configurations", "revisions", "domainmappings"],
        &["list"],
        SEEN,
    ),
    rule("networking.internal.knative.dev", &["ingresses", "serverlessservices"], &["list"], SEEN),
    rule("autoscaling.internal.knative.dev", &["metrics", "podautoscalers"], &["list"], SEEN),
    rule(
        "eventing.knative.dev",
        &["brokers", "triggers", "eventtypes", "eventpolicies", "requestreplies"],
        &["list"],
        SEEN,
    ),
    rule("messaging.knative.dev", &["channels", "inmemorychannels", "subscriptions"], &["list"], SEEN),
    rule("flows.knative.dev", &["parallels", "sequences"], &["list"], SEEN),
    rule("sinks.knative.dev", &["jobsinks", "integrationsinks"], &["list"], SEEN),
    rule(
        "sources.knative.dev",
        &["apiserversources", "containersources", "integrationsources", "pingsources", "sinkbindings"],
        &["list"],
        SEEN,
    ),
];

const SEEN: &str = "see whether a namespace holds anything of others; one that cannot be seen into is left";

const SEEN_CORE: &[&str] = &[
    "endpoints",
    "events",
    "limitranges",
    "persistentvolumeclaims",
    "pods",
    "podtemplates",
    "replicationcontrollers",
    "resourcequotas",
];

/// What `rbac` prints for the hub: namespace and account, roles and bindings. A hub is installed to as well, by resources
/// that name no cluster.
pub fn hub() -> Vec<Value> {
    let mut objects = spoke();
    objects.extend(granted("ClusterRole", NAME, HUB));
    objects.extend(granted("Role", NAME, LEADER));
    objects
}

/// What `rbac --spoke` prints for every other cluster.
pub fn spoke() -> Vec<Value> {
    let mut objects = account();
    objects.extend(granted("ClusterRole", INSTALLER, SPOKE));
    objects
}

fn account() -> Vec<Value> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}});
    let metadata = json!({"name": NAME, "namespace": NAME});
    vec![namespace, json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})]
}

/// A role with some rules, and its binding to the operator's account.
fn granted(kind: &str, name: &str, rules: &[Rule]) -> [Value; 2] {
    const API: &str = "rbac.authorization.k8s.io";
    let api_version = format!("{API}/v1");
    let metadata = match kind {
        "Role" => json!({"name": name, "namespace": NAME}),
        _ => json!({"name": name}),
    };
    let rules: Vec<Value> = rules.iter().map(Rule::to_value).collect();
    let role = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "rules": rules});
    let binding = json!({
        "apiVersion": api_version,
        "kind": format!("{kind}Binding"),
        "metadata": metadata,
        "roleRef": {"apiGroup": API, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAME}],
    });
    [role, binding]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rule_has_a_wildcard_and_each_says_what_for() {
        for rule in HUB.iter().chain(LEADER).chain(SPOKE) {
            let words = rule.resources.iter().chain(rule.verbs).chain([&rule.group]);
            assert!(words.into_iter().all(|word| !word.contains('*')), "{rule:?}");
            assert!(!rule.why.is_empty() && !rule.verbs.is_empty(), "{rule:?}");
        }
    }

    #[test]
    fn what_is_printed_can_be_applied_by_a_cluster_that_enforces_it() {
        for objects in [hub(), spoke()] {
            let cluster = fake_apiserver::FakeApiServer::builder().rbac(true).build();
            for object in objects {
                cluster.create(object).expect("a valid object");
            }
        }
    }
}
