//! `bundles list`.

use std::io::Write;

use super::CommandError;
use crate::manifest::Catalog;

/// Prints a line per package and version, newest first, with the alternatives to choose from.
pub(super) async fn list(catalog: &Catalog, out: &mut dyn Write) -> Result<(), CommandError> {
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
