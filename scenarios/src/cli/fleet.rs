//! `fleet`: what a large fleet costs, without and with dark clusters in it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use scenarios::fleet::{Figures, Size, measure};
use scenarios::runtime;
use scenarios::seed::Seed;
use scenarios::world::Options;

#[derive(Args)]
pub(crate) struct FleetArgs {
    /// Spokes.
    #[arg(long, default_value_t = 200)]
    spokes: usize,
    /// Dark ones among them, in the second of two worlds.
    #[arg(long, default_value_t = 20)]
    dark: usize,
    /// Minutes at rest.
    #[arg(long, default_value_t = 10)]
    rest: u64,
    /// Seed of both worlds.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write a report for machines to this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &FleetArgs) -> anyhow::Result<()> {
    let worlds = [0, args.dark.min(args.spokes)].map(|dark| Size { spokes: args.spokes, dark });
    let mut report: Vec<(Size, Figures)> = Vec::new();
    println!(
        "{:>6} {:>5} {:>9} {:>9} {:>9} {:>14} {:>8}",
        "spokes", "dark", "p50", "p99", "last", "rest/spoke/h", "writes"
    );
    for size in worlds {
        let (options, rest) = (Options::new(Seed(args.seed)), Duration::from_secs(60 * args.rest));
        let start = super::real_time();
        let figures = runtime::run(move || async move { measure(options, size, rest).await });
        let figures = figures.map_err(|text| anyhow!(text))?;
        let [p50, p99, last] = [0.5, 0.99, 1.0].map(|share| figures.percentile(share));
        println!(
            "{:>6} {:>5} {p50:>7.1} s {p99:>7.1} s {last:>7.1} s {:>14.0} {:>8}   ({:.1} s real)",
            size.spokes,
            size.dark,
            figures.rest_requests,
            figures.rest_writes,
            start.elapsed().as_secs_f64()
        );
        report.push((size, figures));
    }
    if let [(_, none), (_, some)] = report.as_slice() {
        println!("p99 with dark clusters : without = {:.2}", some.percentile(0.99) / none.percentile(0.99));
    }
    super::write_json(args.json.as_deref(), &report)
}
