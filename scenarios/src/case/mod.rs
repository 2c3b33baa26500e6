//! Stories: each a test that reads as a specification of the operator in a world.

#[cfg(any())]
mod access;
#[cfg(any())]
mod install;
#[cfg(any())]
mod isolation;
#[cfg(any())]
mod ownership;
mod reference;
#[cfg(any())]
mod removal;
#[cfg(any())]
mod shape;
#[cfg(test)]
mod smoke;

pub use reference::reference;
