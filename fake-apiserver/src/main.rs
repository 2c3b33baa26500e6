//! The binary: reads the command line, waits for a signal, turns the outcome into an exit status.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use fake_apiserver::serve::command::Command;
use tokio::signal::unix::{SignalKind, signal};

/// The status of everything that keeps the server from serving.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    let command = match Command::try_parse() {
        Ok(command) => command,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            error.exit()
        }
        Err(error) => {
            // The rest of clap's message is advice.
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            return fail(line.strip_prefix("error: ").unwrap_or(line));
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("cannot start: {error}")),
    };
    let outcome = runtime.block_on(async {
        // Before anything else, so that no signal is lost.
        let stop = stop_signal().map_err(|error| format!("cannot wait for signals: {error}"))?;
        command.run(stop).await.map_err(|error| error.chain())
    });
    // Threads that still write to a terminal are not waited for.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => fail(&message),
    }
}

/// Comes when somebody wants the server to end.
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            biased;
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

fn fail(message: &str) -> ExitCode {
    // Nobody is left to be told when standard error is closed.
    let _ = writeln!(std::io::stderr(), "fake-apiserver: {message}");
    ExitCode::from(UNUSABLE)
}
