//! The simulation on the command line: `demo`, `run`, `replay`, `sweep`, `mutants`, `fleet`, `meta`.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line speaks to its user")]

mod cli;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use scenarios::files::Bundle;
use scenarios::seed::Seed;
use scenarios::{demo, meta, runtime};

#[derive(Parser)]
#[command(name = "scenarios", about = "Worlds of fake clusters in which the operator is watched at work.")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The main story, told step by step: install, upgrade, faults, repair, removal.
    Demo {
        /// Seed of the world.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Releases to use instead of the embedded bundle.
        #[arg(long, env = "KO_DATA_PATH")]
        data: Option<PathBuf>,
        /// Write the trace to this file.
        #[arg(long)]
        report: Option<PathBuf>,
    },
    /// Play random scripts, one for each seed, and judge what happens.
    Run(cli::search::RunArgs),
    /// Print the trace of the script of a seed, or of a script in a file.
    Replay(cli::search::ReplayArgs),
    /// Let every request of an install, an upgrade, a change, a removal, a failover and a rotation meet every fault.
    Sweep(cli::sweep::SweepArgs),
    /// Count which wrong operators are caught.
    Mutants(cli::mutants::MutantsArgs),
    /// Install a large fleet, without and with dark clusters, and say how long that takes and what rest costs.
    Fleet(cli::fleet::FleetArgs),
    /// Check that each seed has the same trace in two processes, byte for byte.
    Meta {
        /// Which seeds, `A..B` without B.
        #[arg(long, default_value = "0..20", value_parser = cli::seeds)]
        seeds: std::ops::Range<u64>,
    },
}

fn main() -> ExitCode {
    match run(Args::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scenarios: {error:#}");
            let usage = error.downcast_ref::<cli::Usage>().is_some();
            if usage { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Demo { seed, data, report } => run_demo(Seed(seed), data, report),
        Command::Run(args) => cli::search::run(&args),
        Command::Replay(args) => cli::search::replay(&args),
        Command::Sweep(args) => cli::sweep::run(&args),
        Command::Mutants(args) => cli::mutants::run(&args),
        Command::Fleet(args) => cli::fleet::run(&args),
        Command::Meta { seeds } => run_meta(seeds),
    }
}

fn run_demo(seed: Seed, data: Option<PathBuf>, report: Option<PathBuf>) -> anyhow::Result<()> {
    let bundle = data.map_or(Bundle::Embedded, Bundle::Directory);
    match &bundle {
        Bundle::Embedded => println!("releases: the embedded bundle"),
        Bundle::Directory(path) => println!("releases: {}", path.display()),
    }
    println!("       simulated      real");
    let start = cli::real_time();
    let summary = runtime::run(move || async move {
        demo::run(seed, bundle, |step| {
            let mark = if step.ok { "ok  " } else { "FAIL" };
            let real = start.elapsed().as_millis();
            println!("{mark} {:>11} {real:>6} ms  {}", clock_face(step.at), step.text);
        })
        .await
    });
    let real = start.elapsed();
    println!(
        "{} requests, {} simulated in {} ms: {:.0} times faster than the clock",
        summary.requests,
        clock_face(summary.simulated),
        real.as_millis(),
        summary.simulated.as_secs_f64() / real.as_secs_f64()
    );
    println!("trace {}: same with every run of seed {}", &summary.digest[..16], seed.0);
    if let Some(path) = report {
        let text = summary.lines.join("\n") + "\n";
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("report: {}", path.display());
    }
    if !summary.ok {
        bail!("an expectation did not hold");
    }
    Ok(())
}

/// `1:02:03`, simulated time as on a clock.
fn clock_face(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn run_meta(seeds: std::ops::Range<u64>) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("this program has no path")?;
    let count = seeds.end - seeds.start;
    let bar = cli::progress(count, "seeds");
    let outcome = meta::check(&program, seeds, |_| bar.inc(1));
    bar.finish_and_clear();
    outcome?;
    println!("{count} passed, 0 failed");
    Ok(())
}
