//! The place of an open database's checkpoints.
//!
//! Source: TPK paper, section 3, configuration C (checkpoints on another machine, which is fed by the log).

/// The place of an open database's checkpoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CheckpointPlace {
    /// Here: DB' and the backup are this process's.
    #[default]
    Local,
    /// By a follower of the log in the database's store: no DB' and no backup here. The log here is freed up to the
    /// place from which the store has all.
    Followers,
}
