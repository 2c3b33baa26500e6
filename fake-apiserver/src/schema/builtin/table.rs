//! Facts of Kubernetes 1.36: the OpenAPI extensions `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and
//! `x-kubernetes-map-type` of the built-in types, and which fields are written even when they are empty.
//!
//! Left out: lists without a type (they are atomic), maps without a type (they merge by key) and structs without
//! any fact inside. A label selector is atomic, so is every reference to another object of the same namespace.

use self::Fact::{Always, Atomic, Keyed, KeyedAtomic, Only, Scalars, Set, Struct};

/// A field and what is known of it; [`Fact::Always`] and [`Fact::Only`] stand under an empty name.
pub(super) type Field = (&'static str, Fact);

/// What is known of a field.
pub(super) enum Fact {
    /// Replaced as a whole.
    Atomic,
    /// A list of distinct scalars.
    Set,
    /// A list of objects by key (`name` or `name=default`), and the fields of an item.
    Keyed(&'static [&'static str], &'static [Field]),
    /// A list of objects by key whose items are replaced as a whole.
    KeyedAtomic(&'static [&'static str]),
    /// An object, and its fields.
    Struct(&'static [Field]),
    /// Fields of the object that are written even when empty (no pointer, no `omitempty`).
    Always(&'static [&'static str]),
    /// A map of scalars.
    Scalars,
    /// Fields without facts of an object whose fields are all known.
    Only(&'static [&'static str]),
}

/// Groups, kinds, fields beside `metadata`.
pub(super) const KINDS: &[(&[&str], &[&str], &[Field])] = &[
    (&[""], &["Pod"], &[ROOT, ("spec", Struct(POD_SPEC)), ("status", Struct(POD_STATUS))]),
    (&[""], &["PodTemplate"], &[("", Always(&["template"])), ("template", Struct(POD_TEMPLATE))]),
    (&[""], &["Service"], &[ROOT, ("spec", Struct(SERVICE_SPEC)), ("status", Struct(SERVICE_STATUS))]),
    (
        &[""],
        &["ConfigMap"],
        &[("", Only(&["apiVersion", "kind", "immutable"])), ("binaryData", Scalars), ("data", Scalars)],
    ),
    (
        &[""],
        &["Secret"],
        &[
            ("", Only(&["apiVersion", "kind", "immutable", "type"])),
            ("data", Scalars),
            ("stringData", Scalars),
        ],
    ),
    (&[""], &["ServiceAccount"], &[("secrets", KeyedAtomic(&["name"]))]),
    (&[""], &["Namespace"], &[ROOT, STATUS]),
    (&[""], &["Node"], &[ROOT, ("spec", Struct(NODE_SPEC)), ("status", Struct(NODE_STATUS))]),
    (&[""], &["PersistentVolumeClaim"], &[ROOT, ("spec", Struct(CLAIM_SPEC)), STATUS]),
    (&[""], &["PersistentVolume"], &[ROOT, ("spec", Struct(VOLUME_SPEC))]),
    (&[""], &["LimitRange"], &[ROOT]),
    (&[""], &["ResourceQuota"], &[ROOT, ("spec", Struct(&[("scopeSelector", Atomic)]))]),
    (&[""], &["ReplicationController"], &[ROOT, ("spec", Struct(CONTROLLER_SPEC)), STATUS]),
    (&[""], &["Binding"], &[("", Always(&["target"])), ("target", Atomic)]),
    (&[""], &["Event"], &[("", Always(&["involvedObject", "source"])), ("involvedObject", Atomic), RELATED]),
    (&["events.k8s.io"], &["Event"], &[("", Always(&["regarding"])), ("regarding", Atomic), RELATED]),
    (&["apps"], &["Deployment", "ReplicaSet"], &[ROOT, ("spec", Struct(WORKLOAD_SPEC)), STATUS]),
    (&["apps"], &["StatefulSet", "DaemonSet"], &[ROOT, ("spec", Struct(WORKLOAD_SPEC)), STATUS]),
    (&["batch"], &["Job"], &[ROOT, ("spec", Struct(JOB_SPEC)), ("status", Struct(JOB_STATUS))]),
    (&["batch"], &["CronJob"], &[ROOT, ("spec", Struct(CRON_JOB_SPEC))]),
    (&["autoscaling"], &["HorizontalPodAutoscaler"], &[ROOT, ("spec", Struct(SCALER_SPEC)), STATUS]),
    (&["autoscaling"], &["Scale"], &[ROOT]),
    (&["policy"], &["PodDisruptionBudget"], &[ROOT, ("spec", Struct(&[("selector", Atomic)])), STATUS]),
    (
        &["rbac.authorization.k8s.io"],
        &["RoleBinding", "ClusterRoleBinding"],
        &[("", Always(&["roleRef"])), ("roleRef", Atomic)],
    ),
    (&["networking.k8s.io"], &["Ingress"], &[ROOT, ("spec", Struct(INGRESS_SPEC)), INGRESS_STATUS]),
    (&["networking.k8s.io"], &["NetworkPolicy"], &[ROOT, ("spec", Struct(NETWORK_POLICY_SPEC))]),
    (&["networking.k8s.io"], &["IngressClass"], &[ROOT]),
    (&["networking.k8s.io"], &["ServiceCIDR"], &[ROOT, STATUS]),
    (&["coordination.k8s.io"], &["Lease"], &[ROOT]),
    (&["storage.k8s.io"], &["CSIDriver"], &[ROOT, ("spec", Struct(&[("volumeLifecycleModes", Set)]))]),
    (&["storage.k8s.io"], &["CSINode"], &[ROOT, ("spec", Struct(&[("drivers", Keyed(&["name"], &[]))]))]),
    (&["storage.k8s.io"], &["VolumeAttachment"], &[ROOT, ("spec", Struct(&[("", Always(&["source"]))]))]),
    (&["node.k8s.io"], &["RuntimeClass"], &[("scheduling", Struct(&[("nodeSelector", Atomic)]))]),
    (&["certificates.k8s.io"], &["CertificateSigningRequest"], &[ROOT, STATUS]),
    (&["apiregistration.k8s.io"], &["APIService"], &[ROOT, STATUS]),
    (&[FLOW], &["FlowSchema"], &[ROOT, ("spec", Struct(FLOW_SCHEMA_SPEC)), STATUS]),
    (&[FLOW], &["PriorityLevelConfiguration"], &[ROOT, STATUS]),
    (
        &[ADMISSION],
        &["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"],
        &[("webhooks", Keyed(&["name"], WEBHOOK))],
    ),
    (
        &[ADMISSION],
        &["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"],
        &[ROOT, ("spec", Struct(ADMISSION_POLICY_SPEC)), STATUS],
    ),
    (
        &[ADMISSION],
        &["ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding"],
        &[ROOT, ("spec", Struct(ADMISSION_BINDING_SPEC))],
    ),
    (
        &["apiextensions.k8s.io"],
        &["CustomResourceDefinition"],
        &[
            ROOT,
            ("spec", Struct(&[("", Always(&["names"]))])),
            ("status", Struct(&[("", Always(&["acceptedNames", "conditions"])), ("conditions", CONDITIONS)])),
        ],
    ),
    (&["resource.k8s.io"], &["ResourceClaim"], &[ROOT, DEVICES, ("status", Struct(CLAIM_STATUS))]),
    (&["resource.k8s.io"], &["DeviceClass", "ResourceSlice", "ResourceClaimTemplate"], &[ROOT]),
];

const ADMISSION: &str = "admissionregistration.k8s.io";
const FLOW: &str = "flowcontrol.apiserver.k8s.io";

const ROOT: Field = ("", Always(&["spec", "status"]));
const RELATED: Field = ("related", Atomic);
const CONDITIONS: Fact = Keyed(&["type"], &[]);

/// The status of most kinds; the counters are those that are written when they are zero.
const STATUS: Field = (
    "status",
    Struct(&[
        (
            "",
            Always(&[
                "availableReplicas",
                "currentHealthy",
                "currentMetrics",
                "currentReplicas",
                "desiredHealthy",
                "desiredReplicas",
                "disruptionsAllowed",
                "expectedPods",
                "replicas",
            ]),
        ),
        ("conditions", CONDITIONS),
    ]),
);

pub(super) const OBJECT_META: &[Field] =
    &[("finalizers", Set), ("managedFields", Atomic), ("ownerReferences", KeyedAtomic(&["uid"]))];

const POD_TEMPLATE: &[Field] =
    &[("", Always(&["metadata", "spec"])), ("metadata", Struct(OBJECT_META)), ("spec", Struct(POD_SPEC))];

const POD_SPEC: &[Field] = &[
    ("", Always(&["containers"])),
    ("affinity", Struct(&[("nodeAffinity", Struct(NODE_AFFINITY))])),
    ("containers", Keyed(&["name"], CONTAINER)),
    ("ephemeralContainers", Keyed(&["name"], CONTAINER)),
    ("hostAliases", Keyed(&["ip"], &[])),
    ("imagePullSecrets", KeyedAtomic(&["name"])),
    ("initContainers", Keyed(&["name"], CONTAINER)),
    ("nodeSelector", Atomic),
    ("resourceClaims", Keyed(&["name"], &[])),
    ("resources", Struct(RESOURCES)),
    ("schedulingGates", Keyed(&["name"], &[])),
    ("topologySpreadConstraints", Keyed(&["topologyKey", "whenUnsatisfiable"], &[("labelSelector", Atomic)])),
    ("volumes", Keyed(&["name"], VOLUME)),
];

const NODE_AFFINITY: &[Field] = &[("requiredDuringSchedulingIgnoredDuringExecution", Atomic)];

const POD_STATUS: &[Field] = &[
    ("conditions", CONDITIONS),
    ("podIPs", Keyed(&["ip"], &[])),
    ("resourceClaimStatuses", Keyed(&["name"], &[])),
];

const CONTAINER: &[Field] = &[
    ("", Always(&["resources"])),
    ("env", Keyed(&["name"], &[("valueFrom", Struct(VALUE_FROM))])),
    ("ports", Keyed(&["containerPort", "protocol=TCP"], &[])),
    ("resources", Struct(RESOURCES)),
    ("volumeDevices", Keyed(&["devicePath"], &[])),
    ("volumeMounts", Keyed(&["mountPath"], &[])),
];

const VALUE_FROM: &[Field] = &[
    ("configMapKeyRef", Atomic),
    ("fieldRef", Atomic),
    ("fileKeyRef", Atomic),
    ("resourceFieldRef", Atomic),
    ("secretKeyRef", Atomic),
];

const RESOURCES: &[Field] = &[("claims", Keyed(&["name"], &[]))];

const VOLUME: &[Field] = &[
    ("cephfs", SECRET_REF),
    ("cinder", SECRET_REF),
    ("csi", Struct(&[("nodePublishSecretRef", Atomic)])),
    ("ephemeral", Struct(&[("volumeClaimTemplate", Struct(CLAIM_TEMPLATE))])),
    ("flexVolume", SECRET_REF),
    ("iscsi", SECRET_REF),
    ("rbd", SECRET_REF),
    ("scaleIO", SECRET_REF),
    ("storageos", SECRET_REF),
];

const SECRET_REF: Fact = Struct(&[("secretRef", Atomic)]);

const CLAIM_TEMPLATE: &[Field] =
    &[("", Always(&["metadata", "spec"])), ("metadata", Struct(OBJECT_META)), ("spec", Struct(CLAIM_SPEC))];

const CLAIM_SPEC: &[Field] = &[("", Always(&["resources"])), ("dataSource", Atomic), ("selector", Atomic)];

const VOLUME_SPEC: &[Field] = &[("nodeAffinity", Struct(&[("required", Atomic)]))];

const SERVICE_SPEC: &[Field] = &[("ports", Keyed(&["port", "protocol=TCP"], &[])), ("selector", Atomic)];

const SERVICE_STATUS: &[Field] = &[("", Always(&["loadBalancer"])), ("conditions", CONDITIONS)];

const NODE_SPEC: &[Field] = &[("podCIDRs", Set)];

const NODE_STATUS: &[Field] = &[
    ("", Always(&["daemonEndpoints", "nodeInfo"])),
    ("addresses", Keyed(&["type"], &[])),
    ("conditions", CONDITIONS),
];

const CONTROLLER_SPEC: &[Field] = &[("selector", Atomic), ("template", Struct(POD_TEMPLATE))];

/// The `apps` kinds together; what one of them lacks does no harm.
const WORKLOAD_SPEC: &[Field] = &[
    ("", Always(&["serviceName", "strategy", "template", "updateStrategy"])),
    ("selector", Atomic),
    ("template", Struct(POD_TEMPLATE)),
];

const JOB_SPEC: &[Field] =
    &[("", Always(&["template"])), ("selector", Atomic), ("template", Struct(POD_TEMPLATE))];

const JOB_STATUS: &[Field] = &[("uncountedTerminatedPods", Struct(&[("failed", Set), ("succeeded", Set)]))];

const CRON_JOB_SPEC: &[Field] = &[("", Always(&["jobTemplate"])), ("jobTemplate", Struct(JOB_TEMPLATE))];

const JOB_TEMPLATE: &[Field] =
    &[("", Always(&["metadata", "spec"])), ("metadata", Struct(OBJECT_META)), ("spec", Struct(JOB_SPEC))];

const SCALER_SPEC: &[Field] = &[("", Always(&["scaleTargetRef"]))];

const INGRESS_SPEC: &[Field] = &[("defaultBackend", Struct(&[("resource", Atomic)]))];

const INGRESS_STATUS: Field = ("status", Struct(&[("", Always(&["loadBalancer"]))]));

const NETWORK_POLICY_SPEC: &[Field] = &[("", Always(&["podSelector"])), ("podSelector", Atomic)];

const FLOW_SCHEMA_SPEC: &[Field] = &[("", Always(&["priorityLevelConfiguration"]))];

const WEBHOOK: &[Field] = &[
    ("", Always(&["clientConfig"])),
    ("matchConditions", Keyed(&["name"], &[])),
    ("namespaceSelector", Atomic),
    ("objectSelector", Atomic),
];

const ADMISSION_POLICY_SPEC: &[Field] = &[
    ("matchConditions", Keyed(&["name"], &[])),
    ("matchConstraints", Atomic),
    ("paramKind", Atomic),
    ("variables", Keyed(&["name"], &[])),
];

const ADMISSION_BINDING_SPEC: &[Field] =
    &[("matchResources", Atomic), ("paramRef", Atomic), ("validationActions", Set)];

const DEVICES: Field = ("spec", Struct(&[("", Always(&["devices"]))]));

const CLAIM_STATUS: &[Field] = &[
    ("devices", Keyed(&["driver", "device", "pool", "shareID"], &[("conditions", CONDITIONS)])),
    ("reservedFor", Keyed(&["uid"], &[])),
];
