//! Everything that continuous integration runs, in the order in which it runs, for a person and a machine alike.
//!
//! `cargo run -p ci` runs all steps and stops at the first failure; `cargo run -p ci -- fmt test` runs some. What a
//! step does is in [`steps`], the rules of the repository are in [`tidy`]; this file parses, runs, times and prints.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a command line tool reports on standard output")]

mod steps;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use steps::{Outcome, Step};

/// Runs the steps of continuous integration and prints how long each took.
#[derive(Parser)]
#[command(name = "ci")]
struct Args {
    /// Steps to run, in the order of --list; when none is named all of them but `nightly`.
    #[arg(value_name = "STEP")]
    steps: Vec<String>,
    /// Print the steps and what they run, and do nothing.
    #[arg(long)]
    list: bool,
    /// Go on after a failure.
    #[arg(long)]
    keep_going: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let root = root();
    let all = steps::all(&root);
    if args.list {
        print!("{}", steps::listing(&all));
        return ExitCode::SUCCESS;
    }
    match steps::select(all, &args.steps) {
        Ok(chosen) => run(&root, &chosen, args.keep_going),
        Err(error) => {
            println!("{error:#}");
            ExitCode::from(2)
        }
    }
}

/// The root of the repository: the directory above this crate.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

fn run(root: &Path, steps: &[Step], keep_going: bool) -> ExitCode {
    let mut report: Vec<(&str, Outcome, Duration)> = Vec::new();
    let mut stopped = false;
    for step in steps {
        if stopped {
            report.push((step.name, Outcome::NotRun, Duration::ZERO));
            continue;
        }
        println!("\n=== {}: {}", step.name, step.about);
        let started = now();
        let outcome = match step.run(root) {
            Ok(()) => Outcome::Passed,
            Err(error) => {
                println!("=== {} failed: {error:#}", step.name);
                Outcome::Failed
            }
        };
        stopped = outcome == Outcome::Failed && !keep_going;
        report.push((step.name, outcome, started.elapsed()));
    }
    println!("\n{}", steps::table(&report));
    let passed = report.iter().all(|(_, outcome, _)| *outcome == Outcome::Passed);
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[expect(clippy::disallowed_methods, reason = "a step takes real time")]
fn now() -> Instant {
    Instant::now()
}
