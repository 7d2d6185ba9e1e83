//! Names of files in a database's directory that the engine makes, below all that looks for them.

/// The advisory lock's file.
pub const LOCK_FILE: &str = "LOCK";

/// The lock file of processes that open to share.
pub const OPENING_FILE: &str = "OPENING";

/// The lock file of the driver: its holder is elected.
pub const ELECTION_FILE: &str = "CUSTODIAN";

/// The file that marks a directory that is being made of a store's content.
pub const SEEDING_FILE: &str = "SEEDING";

/// Begins the names of files with log that was cut off.
pub const FORK_PREFIX: &str = "fork-";

/// While one of them is written.
pub const FORK_NEW_FILE: &str = "fork.new";
