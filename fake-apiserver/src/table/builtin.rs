//! The columns of built-in kinds, as data (names, types and order: `pkg/printers/internalversion/printers.go`).
//! Kinds without a row show when they were created.

use std::borrow::Cow;

use super::cells::{self, NONE};
use super::{Cell, Column, event, network, pod};

/// A column of a row: name, type, cell; and whether it is only shown on demand.
struct Spec(&'static str, &'static str, Cell, bool);

/// A text.
const fn col(name: &'static str, cell: Cell) -> Spec {
    Spec(name, "string", cell, false)
}

/// A text on demand.
const fn wide(name: &'static str, cell: Cell) -> Spec {
    Spec(name, "string", cell, true)
}

/// A whole number.
const fn int(name: &'static str, cell: Cell) -> Spec {
    Spec(name, "integer", cell, false)
}

/// A boolean.
const fn flag(name: &'static str, cell: Cell) -> Spec {
    Spec(name, "boolean", cell, false)
}

const AGE: Spec = col("Age", Cell::Since("/metadata/creationTimestamp"));
const CREATED: Spec = Spec("Created At", "date", Cell::Text("/metadata/creationTimestamp", ""), false);
const CONTAINERS: Spec = wide("Containers", Cell::Each("/spec/template/spec/containers", "/name", ""));
const IMAGES: Spec = wide("Images", Cell::Each("/spec/template/spec/containers", "/image", ""));
const SELECTOR: Spec = wide("Selector", Cell::Selector("/spec/selector"));
const CLASS: Spec = col("VolumeAttributesClass", Cell::Text("/spec/volumeAttributesClassName", "<unset>"));

/// Resources and what they show. `Name` comes first unless a row has it elsewhere.
const TABLE: &[(&str, &[Spec])] = &[
    (
        "pods",
        &[
            col("Ready", Cell::By(pod::ready)),
            col("Status", Cell::By(pod::status)),
            col("Restarts", Cell::By(pod::restarts)),
            AGE,
            wide("IP", Cell::By(pod::ip)),
            wide("Node", Cell::Text("/spec/nodeName", NONE)),
            wide("Nominated Node", Cell::Text("/status/nominatedNodeName", NONE)),
            wide("Readiness Gates", Cell::By(pod::gates)),
        ],
    ),
    (
        "podtemplates",
        &[
            col("Containers", Cell::Each("/template/spec/containers", "/name", "")),
            col("Images", Cell::Each("/template/spec/containers", "/image", "")),
            col("Pod Labels", Cell::Labels("/template/metadata/labels")),
        ],
    ),
    (
        "deployments.apps",
        &[
            col("Ready", Cell::Of("/status/readyReplicas", "/spec/replicas")),
            col("Up-to-date", Cell::Number("/status/updatedReplicas")),
            col("Available", Cell::Number("/status/availableReplicas")),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
    ),
    (
        "replicasets.apps",
        &[
            int("Desired", Cell::Number("/spec/replicas")),
            int("Current", Cell::Number("/status/replicas")),
            int("Ready", Cell::Number("/status/readyReplicas")),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
    ),
    (
        "replicationcontrollers",
        &[
            int("Desired", Cell::Number("/spec/replicas")),
            int("Current", Cell::Number("/status/replicas")),
            int("Ready", Cell::Number("/status/readyReplicas")),
            AGE,
            CONTAINERS,
            IMAGES,
            wide("Selector", Cell::Labels("/spec/selector")),
        ],
    ),
    (
        "statefulsets.apps",
        &[col("Ready", Cell::Of("/status/readyReplicas", "/spec/replicas")), AGE, CONTAINERS, IMAGES],
    ),
    (
        "daemonsets.apps",
        &[
            int("Desired", Cell::Number("/status/desiredNumberScheduled")),
            int("Current", Cell::Number("/status/currentNumberScheduled")),
            int("Ready", Cell::Number("/status/numberReady")),
            int("Up-to-date", Cell::Number("/status/updatedNumberScheduled")),
            int("Available", Cell::Number("/status/numberAvailable")),
            col("Node Selector", Cell::Labels("/spec/template/spec/nodeSelector")),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
    ),
    (
        "controllerrevisions.apps",
        &[col("Controller", Cell::By(cells::controller_of)), int("Revision", Cell::Number("/revision")), AGE],
    ),
    (
        "jobs.batch",
        &[
            col("Status", Cell::By(cells::job_status)),
            col("Completions", Cell::By(cells::job_completions)),
            col("Duration", Cell::By(cells::job_duration)),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
    ),
    (
        "cronjobs.batch",
        &[
            col("Schedule", Cell::Text("/spec/schedule", "")),
            col("Timezone", Cell::Text("/spec/timeZone", NONE)),
            flag("Suspend", Cell::By(cells::cron_suspend)),
            int("Active", Cell::Count(&["/status/active"])),
            col("Last Schedule", Cell::By(cells::cron_last)),
            AGE,
            wide("Containers", Cell::Each("/spec/jobTemplate/spec/template/spec/containers", "/name", "")),
            wide("Images", Cell::Each("/spec/jobTemplate/spec/template/spec/containers", "/image", "")),
            wide("Selector", Cell::Selector("/spec/jobTemplate/spec/selector")),
        ],
    ),
    (
        "services",
        &[
            col("Type", Cell::Text("/spec/type", "")),
            col("Cluster-IP", Cell::By(network::service_cluster_ip)),
            col("External-IP", Cell::By(network::service_external_ip)),
            col("Port(s)", Cell::By(network::service_ports)),
            AGE,
            wide("Selector", Cell::Labels("/spec/selector")),
        ],
    ),
    ("endpoints", &[col("Endpoints", Cell::By(network::endpoints)), AGE]),
    (
        "endpointslices.discovery.k8s.io",
        &[
            col("AddressType", Cell::Text("/addressType", "")),
            col("Ports", Cell::By(network::slice_ports)),
            col("Endpoints", Cell::By(network::slice_endpoints)),
            AGE,
        ],
    ),
    (
        "ingresses.networking.k8s.io",
        &[
            col("Class", Cell::Text("/spec/ingressClassName", NONE)),
            col("Hosts", Cell::By(network::ingress_hosts)),
            col("Address", Cell::By(network::ingress_address)),
            col("Ports", Cell::By(network::ingress_ports)),
            AGE,
        ],
    ),
    (
        "ingressclasses.networking.k8s.io",
        &[
            col("Controller", Cell::Text("/spec/controller", "")),
            col("Parameters", Cell::By(network::ingress_class_parameters)),
            AGE,
        ],
    ),
    ("networkpolicies.networking.k8s.io", &[col("Pod-Selector", Cell::Selector("/spec/podSelector")), AGE]),
    ("servicecidrs.networking.k8s.io", &[col("CIDRs", Cell::Each("/spec/cidrs", "", "")), AGE]),
    ("configmaps", &[col("Data", Cell::Count(&["/data", "/binaryData"])), AGE]),
    ("secrets", &[col("Type", Cell::Text("/type", "")), col("Data", Cell::Count(&["/data"])), AGE]),
    ("serviceaccounts", &[col("Secrets", Cell::Count(&["/secrets"])), AGE]),
    ("namespaces", &[col("Status", Cell::Text("/status/phase", "")), AGE]),
    (
        "nodes",
        &[
            col("Status", Cell::By(cells::node_status)),
            col("Roles", Cell::By(cells::node_roles)),
            AGE,
            col("Version", Cell::Text("/status/nodeInfo/kubeletVersion", "")),
            wide("Internal-IP", Cell::By(cells::node_internal_ip)),
            wide("External-IP", Cell::By(cells::node_external_ip)),
            wide("OS-Image", Cell::Text("/status/nodeInfo/osImage", "<unknown>")),
            wide("Kernel-Version", Cell::Text("/status/nodeInfo/kernelVersion", "<unknown>")),
            wide("Container-Runtime", Cell::Text("/status/nodeInfo/containerRuntimeVersion", "<unknown>")),
        ],
    ),
    ("events", EVENT),
    ("events.events.k8s.io", EVENT),
    ("rolebindings.rbac.authorization.k8s.io", BINDING),
    ("clusterrolebindings.rbac.authorization.k8s.io", BINDING),
    (
        "horizontalpodautoscalers.autoscaling",
        &[
            col("Reference", Cell::By(cells::scale_target)),
            col("Targets", Cell::By(cells::scale_metrics)),
            col("MinPods", Cell::Text("/spec/minReplicas", "<unset>")),
            col("MaxPods", Cell::Number("/spec/maxReplicas")),
            col("Replicas", Cell::Number("/status/currentReplicas")),
            AGE,
        ],
    ),
    (
        "poddisruptionbudgets.policy",
        &[
            col("Min Available", Cell::Text("/spec/minAvailable", "N/A")),
            col("Max Unavailable", Cell::Text("/spec/maxUnavailable", "N/A")),
            int("Allowed Disruptions", Cell::Number("/status/disruptionsAllowed")),
            AGE,
        ],
    ),
    ("leases.coordination.k8s.io", &[col("Holder", Cell::Text("/spec/holderIdentity", "")), AGE]),
    ("mutatingwebhookconfigurations.admissionregistration.k8s.io", WEBHOOKS),
    ("validatingwebhookconfigurations.admissionregistration.k8s.io", WEBHOOKS),
    (
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        &[
            int("Validations", Cell::Count(&["/spec/validations"])),
            col("ParamKind", Cell::By(cells::param_kind)),
            AGE,
        ],
    ),
    (
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        &[
            col("PolicyName", Cell::Text("/spec/policyName", "")),
            col("ParamRef", Cell::By(cells::param_ref)),
            AGE,
        ],
    ),
    (
        "apiservices.apiregistration.k8s.io",
        &[
            col("Service", Cell::By(cells::api_service_target)),
            col("Available", Cell::By(cells::api_service_available)),
            AGE,
        ],
    ),
    (
        "persistentvolumes",
        &[
            col("Capacity", Cell::Text("/spec/capacity/storage", "")),
            col("Access Modes", Cell::By(cells::volume_modes)),
            col("Reclaim Policy", Cell::Text("/spec/persistentVolumeReclaimPolicy", "")),
            col("Status", Cell::By(cells::storage_phase)),
            col("Claim", Cell::By(cells::volume_claim)),
            col("StorageClass", Cell::Text("/spec/storageClassName", "")),
            CLASS,
            col("Reason", Cell::Text("/status/reason", "")),
            AGE,
            wide("VolumeMode", Cell::Text("/spec/volumeMode", "<unset>")),
        ],
    ),
    (
        "persistentvolumeclaims",
        &[
            col("Status", Cell::By(cells::storage_phase)),
            col("Volume", Cell::Text("/spec/volumeName", "")),
            col("Capacity", Cell::Text("/status/capacity/storage", "")),
            col("Access Modes", Cell::By(cells::claim_modes)),
            col("StorageClass", Cell::Text("/spec/storageClassName", "")),
            CLASS,
            AGE,
            wide("VolumeMode", Cell::Text("/spec/volumeMode", "<unset>")),
        ],
    ),
    (
        "storageclasses.storage.k8s.io",
        &[
            Spec("Name", "string", Cell::By(cells::storage_class_name), false),
            col("Provisioner", Cell::Text("/provisioner", "")),
            col("ReclaimPolicy", Cell::Text("/reclaimPolicy", "Delete")),
            col("VolumeBindingMode", Cell::Text("/volumeBindingMode", "Immediate")),
            flag("AllowVolumeExpansion", Cell::Flag("/allowVolumeExpansion", false)),
            AGE,
        ],
    ),
    (
        "volumeattachments.storage.k8s.io",
        &[
            col("Attacher", Cell::Text("/spec/attacher", "")),
            col("PV", Cell::Text("/spec/source/persistentVolumeName", "")),
            col("Node", Cell::Text("/spec/nodeName", "")),
            flag("Attached", Cell::Flag("/status/attached", false)),
            AGE,
        ],
    ),
    ("csinodes.storage.k8s.io", &[int("Drivers", Cell::Count(&["/spec/drivers"])), AGE]),
    (
        "csidrivers.storage.k8s.io",
        &[
            flag("AttachRequired", Cell::Flag("/spec/attachRequired", true)),
            flag("PodInfoOnMount", Cell::Flag("/spec/podInfoOnMount", false)),
            flag("StorageCapacity", Cell::Flag("/spec/storageCapacity", false)),
            col("TokenRequests", Cell::Each("/spec/tokenRequests", "/audience", "<unset>")),
            flag("RequiresRepublish", Cell::Flag("/spec/requiresRepublish", false)),
            col("Modes", Cell::Each("/spec/volumeLifecycleModes", "", NONE)),
            AGE,
        ],
    ),
    (
        "csistoragecapacities.storage.k8s.io",
        &[
            col("StorageClassName", Cell::Text("/storageClassName", "")),
            col("Capacity", Cell::Text("/capacity", "<unset>")),
        ],
    ),
    (
        "priorityclasses.scheduling.k8s.io",
        &[
            int("Value", Cell::Number("/value")),
            flag("Global-Default", Cell::Flag("/globalDefault", false)),
            AGE,
            col("PreemptionPolicy", Cell::Text("/preemptionPolicy", "PreemptLowerPriority")),
        ],
    ),
    ("runtimeclasses.node.k8s.io", &[col("Handler", Cell::Text("/handler", "")), AGE]),
    (
        "resourcequotas",
        &[col("Request", Cell::By(cells::quota_requests)), col("Limit", Cell::By(cells::quota_limits)), AGE],
    ),
    (
        "certificatesigningrequests.certificates.k8s.io",
        &[
            AGE,
            col("SignerName", Cell::Text("/spec/signerName", NONE)),
            col("Requestor", Cell::Text("/spec/username", "")),
            col("RequestedDuration", Cell::By(cells::request_duration)),
            col("Condition", Cell::By(cells::request_condition)),
        ],
    ),
    (
        "flowschemas.flowcontrol.apiserver.k8s.io",
        &[
            col("PriorityLevel", Cell::Text("/spec/priorityLevelConfiguration/name", "")),
            int("MatchingPrecedence", Cell::Number("/spec/matchingPrecedence")),
            col("DistinguisherMethod", Cell::Text("/spec/distinguisherMethod/type", NONE)),
            AGE,
        ],
    ),
    (
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        &[
            col("Type", Cell::Text("/spec/type", "")),
            col("NominalConcurrencyShares", Cell::Text("/spec/limited/nominalConcurrencyShares", NONE)),
            AGE,
        ],
    ),
];

const EVENT: &[Spec] = &[
    col("Last Seen", Cell::By(event::last)),
    col("Type", Cell::Text("/type", "")),
    col("Reason", Cell::Text("/reason", "")),
    col("Object", Cell::By(event::object)),
    wide("Subobject", Cell::By(event::part)),
    wide("Source", Cell::By(event::source)),
    col("Message", Cell::By(event::message)),
    wide("First Seen", Cell::By(event::first)),
    wide("Count", Cell::By(event::count)),
    wide("Name", Cell::Text("/metadata/name", "")),
];

const BINDING: &[Spec] = &[
    col("Role", Cell::By(cells::role_ref)),
    AGE,
    wide("Users", Cell::By(cells::users)),
    wide("Groups", Cell::By(cells::groups)),
    wide("ServiceAccounts", Cell::By(cells::service_accounts)),
];

const WEBHOOKS: &[Spec] = &[int("Webhooks", Cell::Count(&["/webhooks"])), AGE];

/// The columns of a built-in resource.
pub(crate) fn columns_of(resource: &str) -> Vec<Column> {
    let found = TABLE.iter().find(|(name, _)| *name == resource);
    let specs = found.map_or(&[CREATED][..], |(_, specs)| *specs);
    let mut columns: Vec<Column> = specs.iter().map(column).collect();
    if columns.iter().all(|column| column.name != "Name") {
        columns.insert(0, name());
    }
    columns
}

fn column(Spec(name, kind, cell, wide): &Spec) -> Column {
    let (format, description) = match *name {
        "Name" => {
            ("name", "What the object is called; unique among its kind, and in its namespace if it has one.")
        }
        "Age" => ("", "How long ago the object was created."),
        "Created At" => ("", "When the object was created."),
        _ => ("", ""),
    };
    Column {
        name: Cow::Borrowed(name),
        kind: Cow::Borrowed(kind),
        format: Cow::Borrowed(format),
        description: Cow::Borrowed(description),
        priority: i64::from(*wide),
        cell: cell.clone(),
    }
}

/// The column that everything has.
pub(super) fn name() -> Column {
    column(&col("Name", Cell::Text("/metadata/name", "")))
}

/// The age as custom resources have it.
pub(super) fn age_date() -> Column {
    column(&Spec("Age", "date", Cell::Since("/metadata/creationTimestamp"), false))
}
