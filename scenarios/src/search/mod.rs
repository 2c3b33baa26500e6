//! Random worlds: scripts drawn from seeds, played against the operator, judged by oracles, shrunk when they fail.
//!
//! [`script`] says what happens, `act` does it to a [`stage`], [`play`] sees it through to the end and asks the
//! reference [`model`], [`campaign`] does that with many seeds.

mod act;
pub mod campaign;
pub mod cast;
pub mod frozen;
pub mod kind;
pub mod model;
pub mod play;
pub mod reference;
pub mod script;
pub mod shrink;
pub mod stage;

#[cfg(test)]
mod tests;
