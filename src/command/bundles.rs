//! `bundles list`.

use std::io::Write;

use super::CommandError;
use crate::api::ComponentKind;
use crate::manifest::Catalog;

/// Prints the releases of each component, newest first. A component without releases gets a line too.
pub(super) async fn list(catalog: &Catalog, out: &mut dyn Write) -> Result<(), CommandError> {
    for kind in ComponentKind::ALL {
        let releases = catalog.releases(kind).await.unwrap_or_default();
        let listed = if releases.is_empty() { "none".into() } else { releases.join(" ") };
        writeln!(out, "{:<18}{listed}", kind.release_dir()).map_err(CommandError::Output)?;
    }
    Ok(())
}
