//! `plan`: what a custom resource would apply, without any cluster.

use std::io::{self, Read, Write};
use std::path::Path;

use super::diff::{self, Diff, diff};
use super::{CommandError, against, print_yaml, summary};
use crate::api::{CommonSpec, Component, EventingSpec, SpecKind};
use crate::args::{ImagesArgs, Output, PlanArgs, UNKNOWN_UID};
use crate::manifest::{Catalog, Object, parse, version};
use crate::plan::{
    Facts, MINIMUM_KUBERNETES, Owner, Plan, apply_set_id, check_kubernetes, plan, target_namespace,
};
use crate::run::catalog;

/// Reads the resource, plans it and prints the plan; what has no effect is said on `err`.
pub(super) async fn run(
    args: &PlanArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), CommandError> {
    let minimum = args.kubernetes_min_version.as_deref().filter(|minimum| !minimum.is_empty());
    if let Some(found) = &args.kubernetes_version {
        check_kubernetes(found, minimum.unwrap_or(MINIMUM_KUBERNETES)).map_err(CommandError::Kubernetes)?;
    }
    let catalog = catalog(args.data_path.clone(), &args.fetch);
    let planned = async |component: &Component| {
        prepare(&catalog, component, &facts(component, &args.anchor_uid, minimum)).await
    };
    let component = read(&args.file, args.uid.as_deref())?;
    if let Some(kubeconfig) = &args.against {
        return against_cluster(&catalog, component, kubeconfig, args, out, err).await;
    }
    let plan = planned(&component).await?;
    warn(&plan, err)?;
    match &args.diff {
        Some(old) => {
            let old = planned(&read(old, args.uid.as_deref())?).await?;
            print_diff(&diff(&old, &plan), args.output, out)
        }
        None if args.output == Output::Summary => {
            let plain = planned(&plain(&component)).await.ok();
            summary::print(&plan, plain.as_ref(), out).map_err(CommandError::Output)
        }
        None => print(&plan, args.output, out),
    }
}

/// Plans for a live cluster, with what it says about owner and scopes, and prints what would change there.
async fn against_cluster(
    catalog: &Catalog,
    mut component: Component,
    kubeconfig: &Path,
    args: &PlanArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), CommandError> {
    let cluster = against::connect(kubeconfig).await?;
    let live = against::live_owner(&cluster, &component).await?;
    let uid = live.as_ref().map_or(UNKNOWN_UID, Object::uid);
    let owner = if component.is_remote() {
        Owner::anchor(&component, uid)
    } else {
        component.meta.uid = Some(uid.into());
        Owner::component(&component)
    };
    let minimum = args.kubernetes_min_version.as_deref().filter(|minimum| !minimum.is_empty());
    let facts = against::facts(&cluster, &component, owner, minimum);
    let plan = prepare(catalog, &component, &facts).await?;
    warn(&plan, err)?;
    let differences = against::differences(&cluster, &plan, &facts, live.as_ref()).await?;
    print_diff(&differences, args.output, out)
}

fn warn(plan: &Plan, err: &mut dyn Write) -> Result<(), CommandError> {
    for name in &plan.unknown_names {
        writeln!(err, "warning: without effect: {name}").map_err(CommandError::Output)?;
    }
    Ok(())
}

/// The same resource without any wish beyond its release and its place.
fn plain(component: &Component) -> Component {
    let mut plain = component.clone();
    let CommonSpec { version, manifests, cluster_profile_ref, .. } = plain.spec.common;
    plain.spec.common = CommonSpec { version, manifests, cluster_profile_ref, ..CommonSpec::default() };
    plain.spec.kind = match plain.spec.kind {
        SpecKind::Serving(_) => SpecKind::Serving(Box::default()),
        SpecKind::Eventing(_) => SpecKind::Eventing(EventingSpec::default()),
    };
    plain
}

/// Prints the images that the resource would run, one a line.
pub(super) async fn images(args: ImagesArgs, out: &mut dyn Write) -> Result<(), CommandError> {
    let component = read(&args.file, None)?;
    let catalog = catalog(args.data_path, &args.fetch);
    let plan = prepare(&catalog, &component, &facts(&component, UNKNOWN_UID, None)).await?;
    for image in super::images::images(plan.objects()) {
        writeln!(out, "{image}").map_err(CommandError::Output)?;
    }
    Ok(())
}

/// Loads the release and plans it.
async fn prepare(catalog: &Catalog, component: &Component, facts: &Facts) -> Result<Plan, CommandError> {
    let target = catalog.target_version(component).await.map_err(CommandError::Manifest)?;
    version::check_migration(component.kind, &target, component.status.version.as_deref())
        .map_err(CommandError::Version)?;
    let release = catalog.release(component).await.map_err(CommandError::Manifest)?;
    plan(component, &release, facts).map_err(|cause| CommandError::Plan {
        kind: component.kind.kind(),
        name: format!("{}/{}", component.namespace(), component.name()),
        cause: Box::new(cause),
    })
}

fn read(path: &Path, uid: Option<&str>) -> Result<Component, CommandError> {
    let file = path.display().to_string();
    let bytes = match file.as_str() {
        "-" => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
        }
        _ => std::fs::read(path),
    };
    let bytes = bytes.map_err(|cause| CommandError::Unreadable { file: file.clone(), cause })?;
    let documents = parse::parse_documents(&bytes)
        .map_err(|cause| CommandError::Malformed { file: file.clone(), cause })?;
    let [document] = documents.as_slice() else {
        return Err(CommandError::NotOne { file, count: documents.len() });
    };
    let mut component = Component::from_value(document).map_err(CommandError::Component)?;
    if let Some(uid) = uid {
        component.meta.uid = Some(uid.into());
    }
    component.meta.uid.get_or_insert_with(|| UNKNOWN_UID.into());
    for (field, value) in [("name", component.name()), ("namespace", component.namespace())] {
        if value.is_empty() {
            return Err(CommandError::Anonymous { kind: component.kind.kind(), field });
        }
    }
    Ok(component)
}

/// The facts that hold without a cluster.
fn facts(component: &Component, anchor_uid: &str, minimum: Option<&str>) -> Facts {
    let owner = match component.is_remote() {
        true => Owner::anchor(component, anchor_uid),
        false => Owner::component(component),
    };
    let namespace = target_namespace(component);
    Facts {
        namespace: namespace.into(),
        apply_set: Some(apply_set_id(&owner.group_kind(), namespace, &owner.name)),
        owner: Some(owner),
        kubernetes_min_version: minimum.map(Into::into),
        ..Facts::default()
    }
}

fn print(plan: &Plan, output: Output, out: &mut dyn Write) -> Result<(), CommandError> {
    match output {
        Output::Json => {
            serde_json::to_writer(&mut *out, plan).map_err(|error| CommandError::Output(error.into()))?;
            writeln!(out).map_err(CommandError::Output)
        }
        Output::Yaml => print_yaml(out, plan.objects().map(Object::value)),
        Output::Summary => summary::print(plan, None, out).map_err(CommandError::Output),
    }
}

fn print_diff(diff: &Diff, output: Output, out: &mut dyn Write) -> Result<(), CommandError> {
    match output {
        Output::Json => {
            serde_json::to_writer(&mut *out, diff).map_err(|error| CommandError::Output(error.into()))?;
            writeln!(out).map_err(CommandError::Output)
        }
        Output::Yaml | Output::Summary => diff::print(diff, out).map_err(CommandError::Output),
    }
}
