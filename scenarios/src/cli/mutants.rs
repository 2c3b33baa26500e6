//! `mutants`: how many wrong operators the suite catches.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use parking_lot::Mutex;
use scenarios::mutant::{self, Verdict};
use scenarios::search::campaign::in_parallel;
use scenarios::search::reference::References;

#[derive(Args)]
pub(crate) struct MutantsArgs {
    /// Seeds to try at most for each, `A..B` without B.
    #[arg(long, default_value = "0..150", value_parser = super::seeds)]
    seeds: std::ops::Range<u64>,
    /// Steps in each script.
    #[arg(long, default_value_t = 24)]
    ops: usize,
    /// Only mutants whose name begins like this.
    #[arg(long, default_value = "")]
    name: String,
    /// Worlds at a time; one for each core unless given.
    #[arg(long)]
    threads: Option<usize>,
    /// Write a report for machines to this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &MutantsArgs) -> anyhow::Result<()> {
    let all: Vec<_> =
        mutant::all().into_iter().filter(|mutant| mutant.name.starts_with(&args.name)).collect();
    let bar = super::progress(all.len() as u64, "mutants");
    let references = References::default();
    let verdicts: Mutex<Vec<(usize, Verdict)>> = Mutex::default();
    let threads = args.threads.unwrap_or_else(super::threads);
    in_parallel(threads, all.iter().enumerate(), |(place, mutant)| {
        let verdict = mutant::hunt(mutant, args.seeds.clone(), args.ops, &references);
        bar.inc(1);
        verdicts.lock().push((place, verdict));
    });
    bar.finish_and_clear();
    let mut verdicts = verdicts.into_inner();
    verdicts.sort_by_key(|(place, _)| *place);
    let verdicts: Vec<Verdict> = verdicts.into_iter().map(|(_, verdict)| verdict).collect();
    println!("{:<20} {:<12} {:<12} {:>5}  what it does", "mutant", "family", "caught by", "seeds");
    for Verdict { name, family, what, oracle, seeds, text } in &verdicts {
        let by = oracle.unwrap_or("(missed)");
        println!("{name:<20} {family:<12} {by:<12} {seeds:>5}  {what}");
        if oracle.is_none() {
            println!("{:>20} {text}", "");
        }
    }
    super::write_json(args.json.as_deref(), &verdicts)?;
    let caught = verdicts.iter().filter(|verdict| verdict.oracle.is_some()).count();
    let missed = verdicts.len() - caught;
    println!("{caught} caught, {missed} missed");
    if missed > 0 {
        bail!("a wrong operator goes unnoticed");
    }
    Ok(())
}
