//! The `knative-operator` binary: reads the command line, runs it, and turns errors into a status.

use std::error::Error;
use std::io::{Write, stderr, stdout};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use knative_operator::args::{Args, LogFormat};
use knative_operator::command;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let args = Args::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr);
    match args.log_format {
        LogFormat::Text => logs.init(),
        LogFormat::Json => logs.json().flatten_event(true).with_span_list(false).init(),
    }
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads our output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            report(error.as_ref());
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start")?;
    let mut out = std::io::BufWriter::new(stdout().lock());
    runtime.block_on(command::run(args.command, &mut out, &mut stderr()))?;
    out.flush().context("cannot write the output")
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.into_iter().any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Prints an error and all its causes. There is nowhere to report a failure of that.
fn report(error: &(dyn Error + 'static)) {
    let mut text = format!("error: {error}\n");
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!("  caused by: {error}\n");
        cause = error.source();
    }
    let _ = stderr().write_all(text.as_bytes());
}
