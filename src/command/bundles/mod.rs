//! `bundles`: the releases in a data root.

mod fetch;
mod sums;
#[cfg(test)]
mod tests;
mod verify;

use std::io::Write;
use std::sync::Arc;

use self::fetch::Fetch;
pub use self::fetch::FetchError;
use super::CommandError;
use crate::args::BundlesCommand;
use crate::manifest::{Catalog, Directory, Embedded};

/// Runs one of the subcommands.
pub(super) async fn run(command: BundlesCommand, out: &mut dyn Write) -> Result<(), CommandError> {
    match command {
        BundlesCommand::List { data_path } => list(&catalog(data_path), out).await,
        BundlesCommand::Fetch { from, data_path, only, sums_sha256, fetch } => {
            let from = from.trim_end_matches('/');
            let task = Fetch { from, root: &data_path, only: &only, list_digest: sums_sha256.as_deref() };
            let source = fetch.fetcher_of(from);
            let done = task.run(&source, out).await.map_err(CommandError::Fetch)?;
            writeln!(out, "{} downloaded, {} already there", done.downloaded, done.present)
                .map_err(CommandError::Output)
        }
        BundlesCommand::Verify { data_path } => {
            let (files, problems) = verify::problems(&data_path);
            for problem in &problems {
                writeln!(out, "{problem}").map_err(CommandError::Output)?;
            }
            match problems.len() {
                0 => writeln!(out, "{files} files, all as listed").map_err(CommandError::Output),
                problems => Err(CommandError::Unsound { problems }),
            }
        }
    }
}

/// The catalog of a data root, or of the built-in bundle.
fn catalog(data_path: Option<String>) -> Catalog {
    match data_path.filter(|path| !path.is_empty()) {
        Some(path) => Catalog::new(Arc::new(Directory), path),
        None => Catalog::new(Arc::new(Embedded), ""),
    }
}

/// Prints a line per package and version, newest first, with the alternatives to choose from.
async fn list(catalog: &Catalog, out: &mut dyn Write) -> Result<(), CommandError> {
    let contents = catalog.contents().await;
    if contents.is_empty() {
        return Err(CommandError::NoBundles);
    }
    for (package, version, alternatives) in contents {
        let line = format!("{package:<18}{version:<10}{}", alternatives.join(" "));
        writeln!(out, "{}", line.trim_end()).map_err(CommandError::Output)?;
    }
    Ok(())
}
