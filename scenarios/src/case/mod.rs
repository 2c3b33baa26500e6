//! Stories: each a test that reads as a specification of the operator in a world.

#[cfg(test)]
mod access;
#[cfg(test)]
mod accidents;
#[cfg(test)]
mod coverage;
#[cfg(test)]
mod definitions;
#[cfg(test)]
mod drift;
#[cfg(test)]
mod hands;
#[cfg(test)]
mod install;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod leaders;
#[cfg(test)]
mod minors;
#[cfg(test)]
mod namespaces;
#[cfg(test)]
mod observability;
#[cfg(test)]
mod ownership;
#[cfg(test)]
mod permissions;
mod reference;
#[cfg(test)]
mod removal;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod rollout;
#[cfg(test)]
mod shape;
#[cfg(test)]
mod takeover;
#[cfg(test)]
mod weakness;

pub use reference::reference;
