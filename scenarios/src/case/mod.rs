//! Stories: each a test that reads as a specification of the operator in a world.

mod access;
mod install;
mod isolation;
mod ownership;
mod reference;
mod removal;
mod shape;

pub use reference::reference;
