//! The ground floor: the base of every room, without knowledge of transactions.
//!
//! - [`bytes`]: words at fixed places of heads; [`resident`]: types that are their bytes; [`crc32c`]: checksums;
//! - [`sync`]: mutexes, condition variables, atomics and threads, which a model (Shuttle) can drive;
//! - [`memory`]: a bound on what many gather;
//! - [`channels`]: messages for the sessions that listen, once they are durable;
//! - [`process`]: whether this is still the process that opened a handle, or a forked child of it;
//! - [`inherited`]: advisory locks that a forked child leaves to its parent;
//! - [`shared_file`], [`shared_words`]: memory that several processes share, and who of them lives;
//! - [`named_lock`]: locks in it that the dead do not keep; [`stopped`]: processes that are stopped while others wait;
//! - [`lease`]: how a process that is stopped is found, and finds out itself;
//! - [`signals`]: library threads block signals, which belong to the program;
//! - [`events`]: what the engine writes for its operators; [`seldom`]: how often it repeats itself;
//! - [`error`]: the one error that a user meets, by what can be done about it;
//! - [`user_code`]: closures, destructors and wakers of users, whose panics are caught;
//! - [`random`]: seeded numbers (I11), and secret ones from the operating system; [`seeds`]: those of explorations;
//! - [`token`]: a secret that processes have in common; [`transport`]: their connections; [`greeting`]: the proof that
//!   they belong together; [`frame`]: messages on a connection; [`listening`]: a server's connections;
//! - [`victims`]: processes that tests kill, and the witness of what they acknowledged;
//! - [`planted`]: errors that the tests of a module plant;
//! - [`waiting`]: waits that may take long, and what ends them;
//! - [`hash`]: maps by integers, and hashes by a secret; [`parts`]: lists whose copies share their parts.
//!
//! Every embedding program compiles this crate. Modules that only servers and several processes need are the feature
//! `processes`; those of tests that kill are the feature `victims`.

#![cfg_attr(
    not(test),
    deny(
        clippy::dbg_macro,
        clippy::exit,
        clippy::panic,
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::string_slice,
        clippy::todo,
        clippy::unimplemented,
        clippy::unwrap_used
    )
)]

pub mod allocator;
pub mod bytes;
#[cfg(feature = "processes")]
pub mod channels;
pub mod crc32c;
pub mod error;
pub mod events;
#[cfg(feature = "processes")]
pub mod frame;
#[cfg(feature = "processes")]
pub mod greeting;
pub mod hash;
pub mod inherited;
pub mod lease;
#[cfg(feature = "processes")]
pub mod leftovers;
#[cfg(feature = "processes")]
pub mod listening;
pub mod memory;
pub mod named_lock;
pub mod parking;
pub mod parts;
pub mod planted;
pub mod process;
pub mod random;
pub mod resident;
pub mod seeds;
pub mod seldom;
#[cfg(feature = "processes")]
pub mod shared_file;
#[cfg(feature = "processes")]
pub mod shared_words;
pub mod signals;
#[cfg(feature = "processes")]
pub mod stopped;
pub mod sync;
pub mod token;
#[cfg(feature = "processes")]
pub mod transport;
pub mod user_code;
#[cfg(feature = "victims")]
pub mod victims;
pub mod waiting;
