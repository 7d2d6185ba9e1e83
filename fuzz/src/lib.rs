//! Every decoder of bytes that come from a disk, a network or a user, as a fuzz target: for any bytes it returns a
//! value or a typed error. It never panics, and never reads out of bounds.
//!
//! There is one list, [`TARGETS`], and two ways to run it:
//! - [`driver`]: on stable Rust, deterministic. Input number `n` of a seed is a function of the target's name, the seed
//!   and `n`. So three words replay a failure (`cargo xtask fuzz NAME --seed S --first N --runs 1`), and CI runs a few
//!   thousand of each;
//! - libFuzzer, guided by coverage, for long runs: `fuzz/libfuzzer`, on a nightly compiler.
//!
//! A checksum would keep nearly every changed byte from the code behind it. So targets get the bytes twice: as they
//! are, and with corrected checksums ([`reseal`]). Their first inputs are cut from small databases that the engine
//! itself wrote ([`seeds`]).

pub mod driver;
mod mutation;
pub mod reseal;
pub mod seeds;
mod targets;

/// A decoder, as something that takes any bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, in commands and files.
    pub name: &'static str,
    /// The format that it decodes.
    pub what: &'static str,
    /// Valid inputs, to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Decodes; panics if the decoder does, or if it breaks a promise.
    pub run: fn(&[u8]),
    /// The number of inputs in CI's short run.
    pub runs: u64,
}

/// All of them.
pub const TARGETS: &[Target] = targets::ALL;

/// `None` if the list of targets does not have the name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Runs a target of [`TARGETS`] by its name, as libFuzzer's programs do.
///
/// # Panics
/// If there is no such target, or if it finds an error.
pub fn run(name: &str, input: &[u8]) {
    let target = target(name).unwrap_or_else(|| panic!("no fuzz target is called {name}"));
    (target.run)(input);
}
