//! Pages that are made from the code.

use std::fmt::Write;

use clap::{Command, CommandFactory};
use knative_operator::api::crd::definition;
use knative_operator::api::{ComponentKind, ConditionType, Reason};
use knative_operator::args::Args;
use serde_json::Value;

/// The page is what the code says; with `UPDATE_DOCS` it becomes so.
fn is_current(page: &str, made: &str) {
    let path = super::root().join("docs").join(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, made).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    let different = stored.lines().zip(made.lines()).find(|(stored, made)| stored != made);
    assert!(
        stored == made,
        "docs/{page} is not what the code says (first difference: {different:?}); \
         write it with UPDATE_DOCS=1 cargo test -p knative-operator --test docs"
    );
}

#[test]
fn every_condition_and_reason_is_in_the_docs_with_its_remedy() {
    let mut page = String::from(
        "# Conditions\n\nMade from the code. `Ready` is `True` when every condition marked so is; the others inform. The message of a \
         condition names the object and the cluster.\n\n| condition | says | counts for `Ready` |\n|---|---|---|\n",
    );
    for kind in ConditionType::ALL {
        let counts = if kind.is_dependent() { "yes" } else { "" };
        writeln!(page, "| `{kind}` | {} | {counts} |", kind.meaning()).unwrap();
    }
    page += "\n## Reasons\n\n| reason | what happened | what to do |\n|---|---|---|\n";
    for reason in Reason::ALL {
        writeln!(page, "| `{}` | {} | {} |", reason.as_str(), reason.trigger(), reason.remedy()).unwrap();
    }
    is_current("conditions.md", &page);
}

#[test]
fn every_field_of_the_resources_is_in_the_docs() {
    let mut page = String::from(
        "# API reference\n\nMade from the resource definitions. `[]` stands for the items of a list, `*` for any key of a map.\n",
    );
    for kind in ComponentKind::ALL {
        let crd = definition(kind);
        let names = &crd["spec"]["names"];
        for version in crd["spec"]["versions"].as_array().unwrap() {
            let group = crd["spec"]["group"].as_str().unwrap();
            let (kind, version_name) = (names["kind"].as_str().unwrap(), version["name"].as_str().unwrap());
            write!(
                page,
                "\n## {kind} (`{group}/{version_name}`)\n\n| field | type | description |\n|---|---|---|\n"
            )
            .unwrap();
            let schema = &version["schema"]["openAPIV3Schema"];
            for part in ["spec", "status"] {
                describe(&mut page, part, &schema["properties"][part]);
            }
        }
    }
    is_current("api.md", &page);
}

fn describe(page: &mut String, path: &str, schema: &Value) {
    let kind = match (schema["type"].as_str(), schema["x-kubernetes-int-or-string"].as_bool()) {
        (_, Some(true)) => "int or string",
        (Some(kind), _) => kind,
        _ => "any",
    };
    let described = schema["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
    let allowed =
        schema["enum"].as_array().map(|values| values.iter().map(ToString::to_string).collect::<Vec<_>>());
    let allowed = allowed.map(|values| format!(" One of {}.", values.join(", "))).unwrap_or_default();
    writeln!(page, "| `{path}` | {kind} | {} |", format!("{described}{allowed}").trim()).unwrap();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        describe(page, &format!("{path}.{name}"), property);
    }
    if schema["items"].is_object() {
        describe(page, &format!("{path}[]"), &schema["items"]);
    }
    if schema["additionalProperties"].is_object() {
        describe(page, &format!("{path}.*"), &schema["additionalProperties"]);
    }
}

#[test]
fn every_command_flag_and_variable_is_in_the_docs() {
    let mut page = String::from("# Command line\n\nMade from the code. A flag wins over its variable.\n");
    let mut command = Args::command();
    command.build();
    tell(&mut page, &command);
    is_current("command-line.md", &page);
}

fn tell(page: &mut String, command: &Command) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let name = command.get_bin_name().unwrap_or(command.get_name());
    write!(page, "\n## `{name}`\n\n{about}.\n").unwrap();
    let flags: Vec<_> = command
        .get_arguments()
        .filter(|flag| !flag.is_hide_set() && !["help", "version"].contains(&flag.get_id().as_str()))
        .collect();
    if !flags.is_empty() {
        page.push_str("\n| flag | variable | default | what it does |\n|---|---|---|---|\n");
    }
    for flag in flags {
        let name = match (flag.get_long(), flag.get_short()) {
            (Some(long), Some(short)) => format!("`-{short}`, `--{long}`"),
            (Some(long), None) => format!("`--{long}`"),
            (None, Some(short)) => format!("`-{short}`"),
            (None, None) => format!("`{}`", flag.get_id()),
        };
        let variable =
            flag.get_env().and_then(|name| name.to_str()).map(|name| format!("`{name}`")).unwrap_or_default();
        let default = flag
            .get_default_values()
            .iter()
            .filter_map(|value| value.to_str())
            .filter(|value| !value.is_empty());
        let default = default.map(|value| format!("`{value}`")).collect::<Vec<_>>().join(" ");
        let help = flag
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default()
            .replace('|', "\\|")
            .replace('\n', " ");
        let takes_value = flag.get_action().takes_values();
        let values = flag.get_possible_values();
        let values: Vec<_> = values.iter().map(|value| format!("`{}`", value.get_name())).collect();
        let values = if takes_value && !values.is_empty() {
            format!(" ({})", values.join(", "))
        } else {
            String::new()
        };
        writeln!(page, "| {name} | {variable} | {default} | {help}{values} |").unwrap();
    }
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        tell(page, inner);
    }
}
