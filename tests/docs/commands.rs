//! Commands in the pages.
//!
//! A block marked `console` is a session: lines that begin with `$ ` are commands, those after them what they print, in
//! which a line `...` stands for any number of lines. Blocks marked `yaml title=NAME` are files that later commands of the page may
//! read. Commands of `knative-operator` that need no cluster are run; of the others it is checked that the subcommand and its flags exist.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::{all_pages, root};

/// Commands that need a cluster, or run for ever.
const NEED_A_CLUSTER: [&str; 3] = ["run", "status", "bundles fetch"];

/// A fenced block: what follows the fence, and its lines.
struct Block {
    info: String,
    lines: Vec<String>,
}

fn blocks(text: &str) -> Vec<Block> {
    let (mut blocks, mut open) = (Vec::new(), None);
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), open.as_mut()) {
            (Some(info), None) => open = Some(Block { info: info.to_owned(), lines: Vec::new() }),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    blocks
}

/// Commands with what is to be printed after each.
fn session(lines: &[String]) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    let mut goes_on = false;
    for line in lines {
        if goes_on {
            let (command, _) = all.last_mut().unwrap();
            *command = format!("{} {}", command.trim_end_matches('\\').trim_end(), line.trim());
        } else if let Some(command) = line.strip_prefix("$ ") {
            all.push((command.to_owned(), Vec::new()));
        } else if let Some((_, output)) = all.last_mut() {
            output.push(line.clone());
        }
        goes_on = line.ends_with('\\');
    }
    all
}

/// Whether what was printed is what is shown.
fn matches(shown: &[String], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if line == "..." => {
            (0..=printed.len()).any(|skip| matches(rest, &printed[skip..]))
        }
        Some((line, rest)) => {
            printed.first().is_some_and(|first| first.trim_end() == line.trim_end())
                && matches(rest, &printed[1..])
        }
    }
}

/// The flags that a command line of the binary uses all exist, and so does the subcommand.
fn is_understood(words: &[&str]) -> Result<(), String> {
    let inner: Vec<&str> = words
        .iter()
        .copied()
        .take_while(|word| !word.starts_with('-') && *word != "|" && *word != ">")
        .take(2)
        .collect();
    let depth = if inner.first() == Some(&"bundles") { 2 } else { 1 };
    let help = Command::new(env!("CARGO_BIN_EXE_knative-operator"))
        .args(inner.iter().take(depth))
        .arg("--help")
        .output()
        .map_err(|error| error.to_string())?;
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    if !help.contains("Usage: knative-operator") {
        return Err(format!("there is no subcommand {inner:?}"));
    }
    let ours = words.iter().take_while(|word| !["|", ">", "&&", ";"].contains(word));
    let flags: BTreeSet<&str> =
        ours.filter(|word| word.starts_with("--")).map(|word| word.split('=').next().unwrap()).collect();
    match flags.iter().find(|flag| !help.contains(*flag)) {
        Some(flag) => Err(format!("there is no flag {flag}")),
        None => Ok(()),
    }
}

fn run(command: &str, directory: &Path) -> Result<String, String> {
    let binary = Path::new(env!("CARGO_BIN_EXE_knative-operator"));
    let path =
        format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-ec", command])
        .current_dir(directory)
        .env("PATH", path)
        .env_remove("KO_DATA_PATH")
        .env_remove("KUBERNETES_MIN_VERSION")
        .output()
        .map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn commands_in_the_pages_do_what_is_shown() {
    let (mut failures, mut ran) = (Vec::new(), 0);
    for page in all_pages() {
        let name = page.strip_prefix(root()).unwrap().display().to_string();
        let directory =
            std::env::temp_dir().join(format!("docs-{}-{}", std::process::id(), name.replace('/', "-")));
        std::fs::create_dir_all(&directory).unwrap();
        for block in blocks(&std::fs::read_to_string(&page).unwrap()) {
            if let Some((_, file)) = block.info.split_once("title=") {
                std::fs::write(directory.join(file), block.lines.join("\n") + "\n").unwrap();
            }
            if block.info != "console" {
                continue;
            }
            for (command, shown) in session(&block.lines) {
                let Some(arguments) = command.strip_prefix("knative-operator ") else { continue };
                let words: Vec<&str> = arguments.split_whitespace().collect();
                let outcome = is_understood(&words).and_then(|()| {
                    let needs_a_cluster = NEED_A_CLUSTER.iter().any(|what| arguments.starts_with(what))
                        || arguments.contains("--against")
                        || arguments.contains("kubectl")
                        || arguments.contains("--data-path");
                    if needs_a_cluster {
                        return Ok(());
                    }
                    ran += 1;
                    let printed = run(&command, &directory)?;
                    let lines: Vec<&str> = printed.lines().collect();
                    if shown.is_empty() || matches(&shown, &lines) {
                        Ok(())
                    } else {
                        Err(format!("it prints\n{printed}"))
                    }
                });
                if let Err(why) = outcome {
                    failures.push(format!("{name}: $ {command}\n{why}"));
                }
            }
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(ran >= 5, "only {ran} commands were run");
}

#[test]
fn a_shown_output_may_leave_lines_out_and_nothing_else() {
    let shown = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert!(matches(&shown(&["a", "...", "d"]), &["a", "b", "c", "d"]));
    assert!(!matches(&shown(&["a", "d"]), &["a", "b", "d"]));
    assert!(is_understood(&["plan", "--never"]).is_err() && is_understood(&["plan", "--diff"]).is_ok());
}
