//! `sweep`: every request of the flows meets every fault.

use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context, bail};
use clap::Args;
use indicatif::ProgressBar;
use scenarios::search::reference::References;
use scenarios::strike::Blow;
use scenarios::sweep::flow::{FLOWS, Flow};
use scenarios::sweep::{self, Report, Told, point};

#[derive(Args)]
pub(crate) struct SweepArgs {
    /// `all`, or the beginning of the names of flows: `install`, `delete-serving` ...
    #[arg(long, default_value = "all")]
    flow: String,
    /// Try every so many points only.
    #[arg(long, default_value_t = 1)]
    stride: usize,
    /// Run this one point (`REQUEST:FAULT`, `17:crash-after`) of one flow and print its trace.
    #[arg(long)]
    point: Option<String>,
    /// Worlds at a time; one for each core unless given.
    #[arg(long)]
    threads: Option<usize>,
    /// Write a report for machines to this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<()> {
    let flows: Vec<Flow> =
        FLOWS.into_iter().filter(|flow| args.flow == "all" || flow.name().starts_with(&args.flow)).collect();
    let Some(first) = flows.first() else {
        let names: Vec<_> = FLOWS.iter().map(Flow::name).collect();
        bail!("no flow is called {:?}; there are {}", args.flow, names.join(", "));
    };
    if let Some(point) = &args.point {
        return trace(*first, point);
    }
    let start = super::real_time();
    let bar: OnceLock<ProgressBar> = OnceLock::new();
    let threads = args.threads.unwrap_or_else(super::threads);
    let report = sweep::run(&flows, args.stride, threads, &References::default(), &|told| match told {
        Told::Points(count) => drop(bar.set(super::progress(count as u64, "points"))),
        Told::Done(point) => {
            let Some(bar) = bar.get() else { return };
            bar.inc(1);
            if let Some(violation) = &point.violation {
                bar.suspend(|| {
                    let (flow, request, blow) = (&point.flow, point.request, point.blow.name());
                    println!("{flow} request {request} {blow}: {violation}");
                    println!(
                        "  cargo run --release -p scenarios -- sweep --flow {flow} --point {request}:{blow}"
                    );
                });
            }
        }
    });
    if let Some(bar) = bar.get() {
        bar.finish_and_clear();
    }
    tell(&report, start.elapsed().as_secs_f64());
    super::write_json(args.json.as_deref(), &report)?;
    println!("{} passed, {} failed", report.passed, report.failed.len());
    if !report.failed.is_empty() {
        bail!("the sweep found something");
    }
    Ok(())
}

fn tell(report: &Report, real: f64) {
    println!(
        "{:<22} {:>8}  {:<13} {:>6} {:>7} {:>10} {:>8}",
        "flow", "requests", "fault", "tried", "landed", "converged", "longest"
    );
    for (flow, coverage) in &report.coverage {
        for (blow, outcomes) in &coverage.blows {
            println!(
                "{flow:<22} {:>8}  {:<13} {:>6} {:>7} {:>10} {:>6.0} s",
                coverage.requests,
                blow.name(),
                outcomes.tried,
                outcomes.landed,
                outcomes.converged,
                outcomes.seconds_max
            );
        }
    }
    let points = report.passed + report.failed.len();
    println!("{points} points in {real:.1} s, {:.1} ms each", real * 1000.0 / points.max(1) as f64);
}

fn trace(flow: Flow, point: &str) -> anyhow::Result<()> {
    let (request, blow) = point.split_once(':').context("expected REQUEST:FAULT")?;
    let known = Blow::ALL.into_iter().find(|known| known.name() == blow);
    let blow = known.with_context(|| format!("no fault is called {blow:?}"))?;
    let (point, lines) = point::run(flow, request.parse()?, blow, &References::default());
    lines.iter().for_each(|line| println!("{line}"));
    match point.violation {
        Some(violation) => bail!("{violation}"),
        None => Ok(()),
    }
}
