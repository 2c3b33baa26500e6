//! `sweep`: every request of the flows meets every fault, or two faults in a row.

use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context, bail};
use clap::Args;
use indicatif::ProgressBar;
use scenarios::seed::Seed;
use scenarios::strike::{Blow, Stroke};
use scenarios::sweep::choice::Choice;
use scenarios::sweep::flow::Flow;
use scenarios::sweep::ground::Ground;
use scenarios::sweep::point::Point;
use scenarios::sweep::report::Report;
use scenarios::sweep::{self, Told, point};

use super::Usage;

#[derive(Args)]
pub(crate) struct SweepArgs {
    /// `all`, an action (`install`) or one flow (`install-serving`).
    #[arg(long, default_value = "all")]
    flow: String,
    /// Try every so many points only.
    #[arg(long, default_value_t = 1)]
    stride: usize,
    /// Two faults in one run: all around finalizer, record, anchor and namespace, and a sample of the others.
    #[arg(long)]
    pairs: bool,
    /// How many of the other pairs.
    #[arg(long, default_value_t = 5_000, requires = "pairs")]
    sample: usize,
    /// Where they are drawn from.
    #[arg(long, default_value_t = 0, requires = "pairs")]
    seed: u64,
    /// Run this one point of one flow (`REQUEST:FAULT`, `17:crash-after`; for a pair `17:crash-after,0:stall`) and
    /// print its trace.
    #[arg(long, conflicts_with_all = ["pairs", "stride", "json", "coverage"])]
    point: Option<String>,
    /// Say also what the requests were for, what the operator said, and what never happened.
    #[arg(long)]
    coverage: bool,
    /// Worlds at a time; one for each core unless given.
    #[arg(long)]
    threads: Option<usize>,
    /// Write a report for machines to this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<()> {
    let flows = Flow::named(&args.flow);
    let Some(first) = flows.first() else {
        let names: Vec<_> = Flow::all().iter().map(Flow::name).collect();
        bail!(Usage(format!("no flow is called {:?}; there are {}", args.flow, names.join(", "))));
    };
    if let Some(point) = &args.point {
        return trace(*first, point);
    }
    let choice = match args.pairs {
        false => Choice::Singles { stride: args.stride },
        true => Choice::Pairs { stride: args.stride, sample: args.sample, seed: Seed(args.seed) },
    };
    let start = super::real_time();
    let bar: OnceLock<ProgressBar> = OnceLock::new();
    let threads = args.threads.unwrap_or_else(super::threads);
    let report = sweep::run(&flows, &choice, threads, &Ground::default(), &|told| match told {
        Told::Points(count) => drop(bar.set(super::progress(count as u64, "points"))),
        Told::Done(point) => {
            let Some(bar) = bar.get() else { return };
            bar.inc(1);
            if point.violation.is_some() {
                bar.suspend(|| alarm(point));
            }
        }
    });
    if let Some(bar) = bar.get() {
        bar.finish_and_clear();
    }
    tell(&report, start.elapsed().as_secs_f64());
    if args.coverage {
        tell_coverage(&report);
    }
    super::write_json(args.json.as_deref(), &report)?;
    println!("{} passed, {} failed", report.passed, report.failed.len());
    if !report.failed.is_empty() {
        bail!("the sweep found something");
    }
    Ok(())
}

fn alarm(point: &Point) {
    let (flow, strokes) = (&point.flow, point.strokes());
    if let Some(violation) = &point.violation {
        println!("{flow} {strokes}: {violation}");
        println!("  cargo run --release -p scenarios -- sweep --flow {flow} --point {strokes}");
    }
}

fn tell(report: &Report, real: f64) {
    println!(
        "{:<22} {:>8}  {:<28} {:>6} {:>7} {:>10} {:>8}",
        "flow", "requests", "fault", "tried", "landed", "converged", "longest"
    );
    for (flow, coverage) in &report.coverage {
        for (fault, outcomes) in &coverage.faults {
            println!(
                "{flow:<22} {:>8}  {fault:<28} {:>6} {:>7} {:>10} {:>6.0} s",
                coverage.requests, outcomes.tried, outcomes.landed, outcomes.converged, outcomes.seconds_max
            );
        }
    }
    let points = report.passed + report.failed.len();
    println!("{points} points in {real:.1} s, {:.1} ms each", real * 1000.0 / points.max(1) as f64);
}

fn tell_coverage(report: &Report) {
    println!("\nfaults by what the request was for");
    print!("{:<22} {:<18}", "flow", "request");
    Blow::ALL.iter().for_each(|blow| print!(" {:>12}", blow.name()));
    println!();
    for (flow, coverage) in &report.coverage {
        for (purpose, blows) in &coverage.landed {
            print!("{flow:<22} {:<18}", purpose.name());
            for blow in Blow::ALL {
                print!(" {:>12}", blows.get(&blow).copied().unwrap_or_default());
            }
            println!();
        }
    }
    let seen = report.seen();
    for (title, list) in [
        ("conditions", &seen.conditions),
        ("Events", &seen.events),
        ("what stopped passes", &seen.branches),
        ("failed requests behind that", &seen.failures),
    ] {
        let list: Vec<_> = list.iter().map(|(what, times)| format!("{what} ({times})")).collect();
        println!("\n{title}: {}", list.join(", "));
    }
    let never = &report.never;
    let purposes: Vec<_> = never.purposes.iter().map(|purpose| purpose.name()).collect();
    println!();
    for (title, list) in [
        ("requests without a fault", &purposes),
        ("reasons never given", &never.reasons),
        ("branches never taken", &never.branches),
        ("failures never met", &never.failures),
    ] {
        println!("{title}: {}", list.join(", "));
    }
}

fn trace(flow: Flow, point: &str) -> anyhow::Result<()> {
    let strokes: Vec<Stroke> = point.split(',').map(stroke).collect::<Result<_, _>>()?;
    let (point, _, lines) = point::run(flow, &strokes, &Ground::default());
    lines.iter().for_each(|line| println!("{line}"));
    match point.violation {
        Some(violation) => bail!("{violation}"),
        None => Ok(()),
    }
}

/// `17:crash-after`.
fn stroke(text: &str) -> anyhow::Result<Stroke> {
    let usage = || Usage(format!("expected REQUEST:FAULT, not {text:?}"));
    let (request, blow) = text.split_once(':').with_context(usage)?;
    let names: Vec<_> = Blow::ALL.iter().map(|blow| blow.name()).collect();
    let unknown = || Usage(format!("no fault is called {blow:?}; there are {}", names.join(", ")));
    Ok(Stroke {
        after: request.parse().ok().with_context(usage)?,
        blow: Blow::named(blow).with_context(unknown)?,
    })
}
