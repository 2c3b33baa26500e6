//! Fuzzing on stable Rust: each target is a test that draws its inputs from a seed, number after number.
//!
//! In the ordinary suite every target runs a fixed number of iterations. For longer:
//!
//! ```text
//! FUZZ_SECONDS=600 cargo test -p fake-apiserver --test fuzz             # seconds for each target
//! FUZZ_SECONDS=600 FUZZ_FROM=1000000 cargo test … --test fuzz patches   # one target, other inputs
//! FUZZ_SEED=1234 cargo test … --test fuzz patches                       # one input again
//! ```
//!
//! What is found is printed as the requests that led to it, with the command that repeats it. A target that dies without
//! a word (a stack overflow does) has left its seed in `target/tmp/fuzz-TARGET.seed`.
//!
//! With `$CONFORMANCE_CASES` the bodies of recorded requests are mutated too.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a target stops at what it does not expect, and says so"
)]

mod bench;
mod corpus;
mod definitions;
mod engine;
mod mutate;
mod objects;
mod reads;
mod shapes;
mod source;
