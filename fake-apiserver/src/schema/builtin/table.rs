//! Facts of Kubernetes 1.36: the OpenAPI extensions `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and
//! `x-kubernetes-map-type` of the built-in types, and which struct fields are written even when they are empty.
//!
//! Left out: lists without a type (they are atomic), maps without a type (they merge by key) and structs without
//! any fact inside. A label selector is atomic, so is every reference to another object of the same namespace.

use self::Fact::{Always, Atomic, Keyed, KeyedAtomic, Set, Struct};

/// A field and what is known of it; [`Fact::Always`] stands under an empty name.
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
    /// Fields of the object that are written even when empty.
    Always(&'static [&'static str]),
}

const CONDITIONS: Fact = Keyed(&["type"], &[]);
const ROOT: Field = ("", Always(&["metadata", "spec", "status"]));
const STATUS: Field = ("status", Struct(&[("conditions", CONDITIONS)]));

pub(super) const OBJECT_META: &[Field] =
    &[("finalizers", Set), ("managedFields", Atomic), ("ownerReferences", KeyedAtomic(&["uid"]))];

/// Groups, kinds, fields beside `metadata`.
pub(super) const KINDS: &[(&[&str], &[&str], &[Field])] = &[
    (&[""], &["Pod"], &[ROOT, ("spec", Struct(POD_SPEC)), ("status", Struct(POD_STATUS))]),
    (&[""], &["PodTemplate"], &[("", Always(&["metadata", "template"])), ("template", Struct(POD_TEMPLATE))]),
    (&[""], &["Service"], &[ROOT, ("spec", Struct(SERVICE_SPEC)), ("status", Struct(SERVICE_STATUS))]),
    (&[""], &["ServiceAccount"], &[("secrets", KeyedAtomic(&["name"]))]),
    (&[""], &["Namespace"], &[ROOT, STATUS]),
    (&[""], &["Node"], &[ROOT, ("spec", Struct(NODE_SPEC)), ("status", Struct(NODE_STATUS))]),
    (&[""], &["PersistentVolumeClaim"], &[ROOT, ("spec", Struct(CLAIM_SPEC)), STATUS]),
    (&[""], &["PersistentVolume"], &[ROOT, ("spec", Struct(VOLUME_SPEC))]),
    (&[""], &["LimitRange"], &[("", Always(&["metadata", "spec"]))]),
    (&[""], &["ResourceQuota"], &[ROOT, ("spec", Struct(&[("scopeSelector", Atomic)]))]),
    (
        &[""],
        &["ReplicationController"],
        &[ROOT, ("spec", Struct(&[("selector", Atomic), ("template", Struct(POD_TEMPLATE))])), STATUS],
    ),
    (&[""], &["Binding"], &[("", Always(&["metadata", "target"])), ("target", Atomic)]),
    (
        &[""],
        &["Event"],
        &[
            ("", Always(&["metadata", "involvedObject", "source"])),
            ("involvedObject", Atomic),
            ("related", Atomic),
        ],
    ),
    (
        &["events.k8s.io"],
        &["Event"],
        &[
            ("", Always(&["metadata", "regarding", "deprecatedSource"])),
            ("regarding", Atomic),
            ("related", Atomic),
        ],
    ),
    (
        &["apps"],
        &["Deployment"],
        &[
            ROOT,
            (
                "spec",
                Struct(&[
                    ("", Always(&["strategy", "template"])),
                    ("selector", Atomic),
                    ("template", Struct(POD_TEMPLATE)),
                ]),
            ),
            STATUS,
        ],
    ),
    (
        &["apps"],
        &["ReplicaSet"],
        &[
            ROOT,
            (
                "spec",
                Struct(&[
                    ("", Always(&["template"])),
                    ("selector", Atomic),
                    ("template", Struct(POD_TEMPLATE)),
                ]),
            ),
            STATUS,
        ],
    ),
    (
        &["apps"],
        &["StatefulSet", "DaemonSet"],
        &[
            ROOT,
            (
                "spec",
                Struct(&[
                    ("", Always(&["template", "updateStrategy"])),
                    ("selector", Atomic),
                    ("template", Struct(POD_TEMPLATE)),
                ]),
            ),
            STATUS,
        ],
    ),
    (&["batch"], &["Job"], &[ROOT, ("spec", Struct(JOB_SPEC)), ("status", Struct(JOB_STATUS))]),
    (
        &["batch"],
        &["CronJob"],
        &[
            ROOT,
            (
                "spec",
                Struct(&[
                    ("", Always(&["jobTemplate"])),
                    (
                        "jobTemplate",
                        Struct(&[
                            ("", Always(&["metadata", "spec"])),
                            ("metadata", Struct(OBJECT_META)),
                            ("spec", Struct(JOB_SPEC)),
                        ]),
                    ),
                ]),
            ),
        ],
    ),
    (
        &["autoscaling"],
        &["HorizontalPodAutoscaler"],
        &[ROOT, ("spec", Struct(&[("", Always(&["scaleTargetRef"]))])), STATUS],
    ),
    (&["autoscaling"], &["Scale"], &[ROOT]),
    (&["policy"], &["PodDisruptionBudget"], &[ROOT, ("spec", Struct(&[("selector", Atomic)])), STATUS]),
    (
        &["rbac.authorization.k8s.io"],
        &["RoleBinding", "ClusterRoleBinding"],
        &[("", Always(&["metadata", "roleRef"])), ("roleRef", Atomic)],
    ),
    (
        &["networking.k8s.io"],
        &["Ingress"],
        &[
            ROOT,
            ("spec", Struct(&[("defaultBackend", Struct(&[("resource", Atomic)]))])),
            ("status", Struct(&[("", Always(&["loadBalancer"]))])),
        ],
    ),
    (
        &["networking.k8s.io"],
        &["NetworkPolicy"],
        &[
            ("", Always(&["metadata", "spec"])),
            ("spec", Struct(&[("", Always(&["podSelector"])), ("podSelector", Atomic)])),
        ],
    ),
    (&["networking.k8s.io"], &["IngressClass"], &[("", Always(&["metadata", "spec"]))]),
    (&["networking.k8s.io"], &["ServiceCIDR"], &[ROOT, STATUS]),
    (&["coordination.k8s.io"], &["Lease"], &[("", Always(&["metadata", "spec"]))]),
    (
        &["storage.k8s.io"],
        &["CSIDriver"],
        &[("", Always(&["metadata", "spec"])), ("spec", Struct(&[("volumeLifecycleModes", Set)]))],
    ),
    (
        &["storage.k8s.io"],
        &["CSINode"],
        &[("", Always(&["metadata", "spec"])), ("spec", Struct(&[("drivers", Keyed(&["name"], &[]))]))],
    ),
    (&["storage.k8s.io"], &["VolumeAttachment"], &[ROOT, ("spec", Struct(&[("", Always(&["source"]))]))]),
    (&["node.k8s.io"], &["RuntimeClass"], &[("scheduling", Struct(&[("nodeSelector", Atomic)]))]),
    (&["certificates.k8s.io"], &["CertificateSigningRequest"], &[ROOT, STATUS]),
    (&["apiregistration.k8s.io"], &["APIService"], &[ROOT, STATUS]),
    (
        &["flowcontrol.apiserver.k8s.io"],
        &["FlowSchema"],
        &[ROOT, ("spec", Struct(&[("", Always(&["priorityLevelConfiguration"]))])), STATUS],
    ),
    (&["flowcontrol.apiserver.k8s.io"], &["PriorityLevelConfiguration"], &[ROOT, STATUS]),
    (
        &["admissionregistration.k8s.io"],
        &["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"],
        &[(
            "webhooks",
            Keyed(
                &["name"],
                &[
                    ("", Always(&["clientConfig"])),
                    ("matchConditions", Keyed(&["name"], &[])),
                    ("namespaceSelector", Atomic),
                    ("objectSelector", Atomic),
                ],
            ),
        )],
    ),
    (
        &["admissionregistration.k8s.io"],
        &["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"],
        &[
            ROOT,
            (
                "spec",
                Struct(&[
                    ("matchConditions", Keyed(&["name"], &[])),
                    (
                        "matchConstraints",
                        Struct(&[("namespaceSelector", Atomic), ("objectSelector", Atomic)]),
                    ),
                    ("paramKind", Atomic),
                    ("variables", Keyed(&["name"], &[])),
                ]),
            ),
            STATUS,
        ],
    ),
    (
        &["admissionregistration.k8s.io"],
        &["ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding"],
        &[
            ("", Always(&["metadata", "spec"])),
            (
                "spec",
                Struct(&[
                    ("matchResources", Struct(&[("namespaceSelector", Atomic), ("objectSelector", Atomic)])),
                    ("paramRef", Atomic),
                    ("validationActions", Set),
                ]),
            ),
        ],
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
    (
        &["resource.k8s.io"],
        &["ResourceClaim"],
        &[
            ROOT,
            ("spec", Struct(&[("", Always(&["devices"]))])),
            (
                "status",
                Struct(&[
                    (
                        "devices",
                        Keyed(&["driver", "device", "pool", "shareID"], &[("conditions", CONDITIONS)]),
                    ),
                    ("reservedFor", Keyed(&["uid"], &[])),
                ]),
            ),
        ],
    ),
    (
        &["resource.k8s.io"],
        &["DeviceClass", "ResourceSlice", "ResourceClaimTemplate"],
        &[("", Always(&["metadata", "spec"]))],
    ),
];

const POD_TEMPLATE: &[Field] =
    &[("", Always(&["metadata", "spec"])), ("metadata", Struct(OBJECT_META)), ("spec", Struct(POD_SPEC))];

const POD_SPEC: &[Field] = &[
    ("", Always(&["containers"])),
    (
        "affinity",
        Struct(&[("nodeAffinity", Struct(&[("requiredDuringSchedulingIgnoredDuringExecution", Atomic)]))]),
    ),
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

const POD_STATUS: &[Field] = &[
    ("conditions", CONDITIONS),
    ("podIPs", Keyed(&["ip"], &[])),
    ("resourceClaimStatuses", Keyed(&["name"], &[])),
];

const CONTAINER: &[Field] = &[
    ("", Always(&["resources"])),
    (
        "env",
        Keyed(
            &["name"],
            &[(
                "valueFrom",
                Struct(&[
                    ("configMapKeyRef", Atomic),
                    ("fieldRef", Atomic),
                    ("fileKeyRef", Atomic),
                    ("resourceFieldRef", Atomic),
                    ("secretKeyRef", Atomic),
                ]),
            )],
        ),
    ),
    ("ports", Keyed(&["containerPort", "protocol=TCP"], &[])),
    ("resources", Struct(RESOURCES)),
    ("volumeDevices", Keyed(&["devicePath"], &[])),
    ("volumeMounts", Keyed(&["mountPath"], &[])),
];

const RESOURCES: &[Field] = &[("claims", Keyed(&["name"], &[]))];

const SECRET_REF: Fact = Struct(&[("secretRef", Atomic)]);

const VOLUME: &[Field] = &[
    ("cephfs", SECRET_REF),
    ("cinder", SECRET_REF),
    ("csi", Struct(&[("nodePublishSecretRef", Atomic)])),
    (
        "ephemeral",
        Struct(&[(
            "volumeClaimTemplate",
            Struct(&[
                ("", Always(&["metadata", "spec"])),
                ("metadata", Struct(OBJECT_META)),
                ("spec", Struct(CLAIM_SPEC)),
            ]),
        )]),
    ),
    ("flexVolume", SECRET_REF),
    ("iscsi", SECRET_REF),
    ("rbd", SECRET_REF),
    ("scaleIO", SECRET_REF),
    ("storageos", SECRET_REF),
];

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

const JOB_SPEC: &[Field] =
    &[("", Always(&["template"])), ("selector", Atomic), ("template", Struct(POD_TEMPLATE))];

const JOB_STATUS: &[Field] = &[("uncountedTerminatedPods", Struct(&[("failed", Set), ("succeeded", Set)]))];
