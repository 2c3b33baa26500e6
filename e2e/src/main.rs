//! The install story on clusters with a network between them: kind clusters, containers, or clusters that exist.
//!
//! So far it only parses its command line.

#![forbid(unsafe_code)]

mod args;

use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser;

fn main() -> ExitCode {
    let Command::Run(run) = Args::parse().command;
    not_yet(&run)
}

/// Says that the suite cannot run, with the status of a missing tool.
#[expect(clippy::print_stderr, reason = "a command line tool reports on standard error")]
fn not_yet(run: &args::Run) -> ExitCode {
    eprintln!("e2e: provider `{}` is not available yet", run.provider);
    ExitCode::from(2)
}
