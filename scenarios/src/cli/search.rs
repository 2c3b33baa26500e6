//! `run` and `replay`: many scripts, or one with its whole trace.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use scenarios::search::campaign::{self, FULL, Report};
use scenarios::search::play::play;
use scenarios::search::reference::References;
use scenarios::search::script::{STEPS, Script};
use scenarios::seed::Seed;

#[derive(Args)]
pub(crate) struct RunArgs {
    /// Which seeds, `A..B` without B.
    #[arg(long, default_value = "0..100", value_parser = super::seeds)]
    seeds: std::ops::Range<u64>,
    /// Steps in each script.
    #[arg(long, default_value_t = STEPS)]
    ops: usize,
    /// Worlds at a time; one for each core unless given.
    #[arg(long)]
    threads: Option<usize>,
    /// Write a report for machines to this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ReplayArgs {
    /// A seed, or a file with a script (as in the report of `run`).
    script: String,
    /// Steps in the script of a seed.
    #[arg(long, default_value_t = STEPS)]
    ops: usize,
    /// Play only these steps, `0,3,7`.
    #[arg(long, value_delimiter = ',')]
    keep: Option<Vec<usize>>,
    /// Write the trace to this file instead.
    #[arg(long)]
    report: Option<PathBuf>,
}

pub(crate) fn run(args: &RunArgs) -> anyhow::Result<()> {
    let start = super::real_time();
    let count = args.seeds.end - args.seeds.start;
    let bar = super::progress(count, "seeds");
    let references = References::default();
    let threads = args.threads.unwrap_or_else(super::threads);
    let report = campaign::run(args.seeds.clone(), args.ops, threads, &references, &|seed, violation| {
        if let Some(violation) = violation {
            bar.suspend(|| println!("seed {seed}: {violation}"));
        }
        bar.inc(1);
    });
    bar.finish_and_clear();
    let real = start.elapsed().as_secs_f64();
    tell(&report, count, real);
    super::write_json(args.json.as_deref(), &report)?;
    println!("{} passed, {} failed", report.passed, report.failures.len());
    if !report.is_good() {
        bail!("the search found something");
    }
    Ok(())
}

fn tell(report: &Report, count: u64, real: f64) {
    for failure in &report.failures {
        println!("\nseed {}: {}", failure.seed, failure.violation);
        for step in &failure.script.steps {
            println!("  {step}");
        }
        println!("  {}", failure.replay);
    }
    println!(
        "{:.1} seeds/s; {} simulated to {real:.1} s real, {:.0} to 1; {} requests",
        count as f64 / real,
        humane(report.simulated_seconds),
        report.simulated_seconds as f64 / real,
        report.requests
    );
    println!(
        "longest recovery {:.0} s, allowed {:.0} s",
        report.recovery_seconds_max, report.recovery_seconds_bound
    );
    let hits: Vec<_> = report.hits.iter().map(|(kind, hits)| format!("{kind:?} {hits}")).collect();
    println!("steps: {}", hits.join(", "));
    if !report.never.is_empty() {
        let weight = if count >= FULL { "that is a failure" } else { "a longer run would have to" };
        println!("never possible: {:?}; {weight}", report.never);
    }
}

fn humane(seconds: u64) -> String {
    format!("{} h {} min", seconds / 3600, seconds / 60 % 60)
}

pub(crate) fn replay(args: &ReplayArgs) -> anyhow::Result<()> {
    let mut script = match args.script.parse::<u64>() {
        Ok(seed) => Script::of(Seed(seed), args.ops),
        Err(_) => read(Path::new(&args.script))?,
    };
    if let Some(keep) = &args.keep {
        script = script.only(keep);
    }
    let outcome = play(&script, &References::default(), None);
    let text = outcome.lines.join("\n") + "\n";
    match &args.report {
        Some(path) => {
            std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        None => print!("{text}"),
    }
    match outcome.verdict {
        Some(violation) => bail!("{violation}"),
        None => Ok(()),
    }
}

/// A script, or the first one of a report.
fn read(path: &Path) -> anyhow::Result<Script> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let document: serde_json::Value = serde_json::from_str(&text).context("a script is JSON")?;
    let script =
        if document["steps"].is_array() { document } else { document["failures"][0]["script"].clone() };
    serde_json::from_value(script).with_context(|| format!("{} holds no script", path.display()))
}
