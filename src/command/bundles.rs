//! `bundles list`.

use std::io::Write;
use std::sync::Arc;

use super::CommandError;
use crate::manifest::{Catalog, Directory, Embedded};

/// The catalog of a data root, or of the built-in bundle.
pub(super) fn catalog(data_path: Option<String>) -> Catalog {
    match data_path.filter(|path| !path.is_empty()) {
        Some(path) => Catalog::new(Arc::new(Directory), path),
        None => Catalog::new(Arc::new(Embedded), ""),
    }
}

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
