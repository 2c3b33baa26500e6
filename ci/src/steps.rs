//! The steps as data: names, command lines and their environment. Running one is the only side effect here.
//!
//! When a directory `shared` lies beside the repository, tests and the demonstration also run against the reference
//! data in it; variables that are already set win.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::tidy;

/// One step of continuous integration.
pub(crate) struct Step {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// One line for people.
    pub(crate) about: &'static str,
    work: Vec<Work>,
    /// Whether it runs only when it is named: it takes too long for each push.
    only_named: bool,
}

/// A part of a step.
enum Work {
    /// `cargo` with these arguments and additional variables.
    Cargo { args: Vec<&'static str>, env: Vec<(&'static str, OsString)> },
    /// Installs cargo-deny unless it is there.
    CargoDeny,
    /// A script over sockets that needs a program and what `test` has built.
    Wire {
        script: &'static str,
        built: &'static str,
        needs: &'static str,
        env: Vec<(&'static str, OsString)>,
    },
    /// The rules of the repository.
    Tidy,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything in it succeeded.
    Passed,
    /// Something in it did not.
    Failed,
    /// An earlier step failed.
    NotRun,
}

/// Where reference data can be, and the variable that tells a test so.
const REFERENCE_DATA: [(&str, &str); 5] = [
    ("KO_DATA_PATH", "knative"),
    ("GOLDENS", "goldens"),
    ("CONFORMANCE_CASES", "conformance/cases"),
    ("TAKEOVER_OBJECTS", "takeover"),
    ("OPERATOR_CRDS", "crds"),
];

/// The steps in the order in which they run.
pub(crate) fn all(root: &Path) -> Vec<Step> {
    let shared = root.parent().map(|parent| parent.join("shared")).filter(|shared| shared.is_dir());
    steps(shared.as_deref(), |name| std::env::var_os(name).is_some())
}

fn steps(shared: Option<&Path>, is_set: impl Fn(&str) -> bool) -> Vec<Step> {
    let reference = |name: &'static str| -> Option<(&'static str, OsString)> {
        let (_, below) = REFERENCE_DATA.iter().find(|(known, _)| *known == name)?;
        shared.filter(|_| !is_set(name)).map(|shared| (name, shared.join(below).into_os_string()))
    };
    let mut test_env: Vec<_> = REFERENCE_DATA.iter().filter_map(|(name, _)| reference(name)).collect();
    test_env.push(("INSTA_UPDATE", "no".into()));
    let demo = "run --release -p scenarios -- demo";
    let mut demos = vec![cargo(demo)];
    demos.extend(reference("KO_DATA_PATH").map(|data| cargo_with(demo, vec![data])));
    vec![
        step("fmt", "formatting", vec![cargo("fmt --all -- --check")]),
        step("clippy", "lints", vec![cargo("clippy --workspace --all-targets -- -D warnings")]),
        step(
            "deny",
            "licences, duplicate crates and where crates come from",
            vec![Work::CargoDeny, cargo("deny --workspace check bans licenses sources")],
        ),
        step("test", "all tests", vec![cargo_with("test --workspace", test_env)]),
        step(
            "fuzz",
            "the fake against odd inputs, five seconds for each target",
            vec![cargo_with("test -p fake-apiserver --test fuzz", vec![("FUZZ_SECONDS", "5".into())])],
        ),
        step(
            "wire",
            "the operator, kubectl and the Python client over sockets",
            vec![
                wire("ci/wire/operator.sh", "", "kubectl", None),
                wire("ci/wire/kubectl.sh", "fake-apiserver", "kubectl", reference("KO_DATA_PATH")),
                wire("ci/wire/python.sh", "fake-apiserver", "python3", None),
            ],
        ),
        step(
            "image",
            "the image, built and run between two fake clusters",
            vec![wire("ci/image/try.sh", "", "docker", None)],
        ),
        step(
            "meta",
            "equal seeds give equal traces",
            vec![cargo("run --release -p scenarios -- meta --seeds 0..20")],
        ),
        step(
            "search",
            "random worlds, samples of the sweeps, wrong operators",
            vec![
                cargo("run --release -p scenarios -- run --seeds 0..100"),
                cargo("run --release -p scenarios -- sweep --stride 20"),
                cargo("run --release -p scenarios -- sweep --pairs --stride 101 --sample 100"),
                cargo("run --release -p scenarios -- mutants"),
            ],
        ),
        step("demo", "the demonstration", demos),
        step(
            "doc",
            "documentation without warnings",
            vec![cargo_with("doc --workspace --no-deps", vec![("RUSTDOCFLAGS", "-Dwarnings".into())])],
        ),
        step("tidy", "rules of the repository", vec![Work::Tidy]),
        Step {
            only_named: true,
            ..step(
                "nightly",
                "many random worlds, the whole sweeps (only when it is named)",
                vec![
                    cargo("run --release -p scenarios -- run --seeds 0..20000"),
                    cargo("run --release -p scenarios -- mutants"),
                    cargo("run --release -p scenarios -- sweep --coverage"),
                    cargo("run --release -p scenarios -- sweep --pairs --sample 5000 --coverage"),
                ],
            )
        },
    ]
}

fn step(name: &'static str, about: &'static str, work: Vec<Work>) -> Step {
    Step { name, about, work, only_named: false }
}

fn wire(
    script: &'static str,
    built: &'static str,
    needs: &'static str,
    env: Option<(&'static str, OsString)>,
) -> Work {
    Work::Wire { script, built, needs, env: env.into_iter().collect() }
}

fn cargo(args: &'static str) -> Work {
    cargo_with(args, Vec::new())
}

fn cargo_with(args: &'static str, env: Vec<(&'static str, OsString)>) -> Work {
    Work::Cargo { args: args.split(' ').collect(), env }
}

/// The named steps, in their own order whatever the order of `names`; all of them if there are no names.
///
/// # Errors
/// If a name is not the name of a step.
pub(crate) fn select(all: Vec<Step>, names: &[String]) -> Result<Vec<Step>> {
    for name in names {
        let known = || all.iter().map(|step| step.name).collect::<Vec<_>>().join(", ");
        ensure!(all.iter().any(|step| step.name == name), "there is no step `{name}`; there are {}", known());
    }
    Ok(all
        .into_iter()
        .filter(|step| match names.is_empty() {
            true => !step.only_named,
            false => names.iter().any(|name| name == step.name),
        })
        .collect())
}

impl Step {
    /// Does everything in this step, in order, and stops at the first failure.
    ///
    /// # Errors
    /// If a command cannot be started or fails, or a rule is broken.
    pub(crate) fn run(&self, root: &Path) -> Result<()> {
        self.work.iter().try_for_each(|work| work.run(root))
    }
}

impl Work {
    #[expect(clippy::print_stderr, reason = "what is skipped is said")]
    fn run(&self, root: &Path) -> Result<()> {
        match self {
            Self::Cargo { args, env } => succeed(root, args, env),
            Self::CargoDeny if is_installed("cargo-deny") => Ok(()),
            Self::CargoDeny => {
                succeed(root, &["install", "--locked", "cargo-deny", "--version", "^0.20"], &[])
            }
            Self::Wire { script, needs, .. } if !is_installed(needs) => {
                eprintln!("SKIPPED: {script}, {needs} is not installed");
                Ok(())
            }
            Self::Wire { script, built, env, .. } => run_script(root, script, built, env),
            Self::Tidy => tidy::check(root),
        }
    }

    /// As one would type it.
    fn command_line(&self) -> String {
        match self {
            Self::Cargo { args, env } => {
                let mut line = String::new();
                for (name, value) in env {
                    let _ = write!(line, "{name}={} ", value.to_string_lossy());
                }
                line + "cargo " + &args.join(" ")
            }
            Self::CargoDeny => "cargo install --locked cargo-deny --version ^0.20 (unless installed)".into(),
            Self::Wire { script, built, needs, .. } => {
                format!("{script} target/debug/{built} (if there is {needs})")
            }
            Self::Tidy => "reads every file of the repository".into(),
        }
    }
}

/// Runs cargo in `root`, in the environment in which a person would have typed it.
fn succeed(root: &Path, args: &[&str], env: &[(&'static str, OsString)]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_unwanted(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    let command = command.args(args).current_dir(root).envs(env.iter().map(|(name, value)| (name, value)));
    let status = command.status().with_context(|| format!("cannot start cargo {}", args.join(" ")))?;
    if !status.success() {
        bail!("cargo {} ended with {status}", args.join(" "));
    }
    Ok(())
}

/// Runs a script with what the tests have built.
fn run_script(root: &Path, script: &str, built: &str, env: &[(&'static str, OsString)]) -> Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let mut command = Command::new("bash");
    command.arg(script).arg(target.join("debug").join(built)).current_dir(root);
    command.envs(env.iter().map(|(name, value)| (name, value)));
    let status = command.status().context("cannot start bash")?;
    ensure!(status.success(), "{script} ended with {status}");
    Ok(())
}

/// `RUSTFLAGS` would build something else than the repository says; what `cargo run` tells this program about its own
/// package would make build scripts that ask for it run again.
fn is_unwanted(variable: &str) -> bool {
    variable == "RUSTFLAGS"
        || ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| variable.starts_with(prefix))
}

/// Whether cargo would find this subcommand: on `PATH` or where `cargo install` puts programs.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let mut places = std::env::split_paths(&path).chain(home.map(|home| home.join("bin")));
    places.any(|place| place.join(program).with_extension(std::env::consts::EXE_EXTENSION).is_file())
}

/// The steps and what they run.
pub(crate) fn listing(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        let _ = writeln!(text, "{:<8}{}", step.name, step.about);
        for work in &step.work {
            let _ = writeln!(text, "        {}", work.command_line());
        }
    }
    text
}

/// One line per step with its time, and the sum.
pub(crate) fn table(report: &[(&str, Outcome, Duration)]) -> String {
    let mut text = String::new();
    for (name, outcome, took) in report {
        let (outcome, took) = match outcome {
            Outcome::Passed => ("passed", format!("{:.1} s", took.as_secs_f64())),
            Outcome::Failed => ("FAILED", format!("{:.1} s", took.as_secs_f64())),
            Outcome::NotRun => ("not run", String::new()),
        };
        let _ = writeln!(text, "{name:<8}{outcome:<8}{took:>10}");
    }
    let total: Duration = report.iter().map(|(_, _, took)| *took).sum();
    let _ = writeln!(text, "{:<16}{:>10}", "total", format!("{:.1} s", total.as_secs_f64()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(steps: &[Step]) -> Vec<&str> {
        steps.iter().map(|step| step.name).collect()
    }

    #[test]
    fn all_steps_run_in_order_when_none_is_named() {
        let chosen = select(steps(None, |_| false), &[]).expect("no name is wrong");
        assert_eq!(
            names(&chosen),
            [
                "fmt", "clippy", "deny", "test", "fuzz", "wire", "image", "meta", "search", "demo", "doc",
                "tidy"
            ]
        );
    }

    #[test]
    fn named_steps_keep_their_order() {
        let chosen = select(steps(None, |_| false), &["tidy".into(), "fmt".into()]).expect("both exist");
        assert_eq!(names(&chosen), ["fmt", "tidy"]);
    }

    #[test]
    fn what_takes_a_night_runs_only_when_it_is_named() {
        let chosen = select(steps(None, |_| false), &["nightly".into()]).expect("it exists");
        assert_eq!(names(&chosen), ["nightly"]);
    }

    #[test]
    fn an_unknown_step_is_refused_with_the_known_ones() {
        let error = select(steps(None, |_| false), &["lint".into()]).err().expect("unknown").to_string();
        assert!(error.starts_with("there is no step `lint`; there are fmt, clippy,"), "{error}");
    }

    #[test]
    fn tests_run_the_command_of_the_readme() {
        assert!(
            listing(&steps(None, |_| false)).contains("\n        INSTA_UPDATE=no cargo test --workspace\n")
        );
    }

    #[test]
    fn reference_data_beside_the_repository_is_used_unless_a_variable_is_set() {
        let text = listing(&steps(Some(Path::new("/s")), |name| name == "GOLDENS"));
        assert!(
            text.contains(
                "KO_DATA_PATH=/s/knative CONFORMANCE_CASES=/s/conformance/cases TAKEOVER_OBJECTS=/s/takeover OPERATOR_CRDS=/s/crds INSTA_UPDATE=no"
            )
        );
        assert_eq!(text.matches("-- demo").count(), 2);
        assert!(text.contains("KO_DATA_PATH=/s/knative cargo run --release -p scenarios -- demo"));
        assert_eq!(listing(&steps(None, |_| false)).matches("-- demo").count(), 1);
    }

    #[test]
    fn the_table_shows_what_passed_failed_and_did_not_run() {
        let secs = Duration::from_secs;
        let text = table(&[
            ("fmt", Outcome::Passed, secs(1)),
            ("test", Outcome::Failed, secs(61)),
            ("doc", Outcome::NotRun, secs(0)),
        ]);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["fmt", "passed", "1.0", "s"]);
        assert_eq!(lines[1], ["test", "FAILED", "61.0", "s"]);
        assert_eq!(lines[2], ["doc", "not", "run"]);
        assert_eq!(lines[3], ["total", "62.0", "s"]);
    }
}
