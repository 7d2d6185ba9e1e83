//! The state of the supply: the place of the writers, the wanted segments, and why there is no room.

use super::{LogError, LogPosition, Lsn};

/// The place of the writers, and the outcome of the last attempts.
#[derive(Debug)]
pub(super) struct State {
    /// The log is being written here, or is going to be by a caller that waits for room.
    pub at: LogPosition,
    /// The log was being written here when the newest segment was prepared.
    pub prepared_at: LogPosition,
    /// A caller waits for segments up to here.
    pub waited_for: Lsn,
    /// There is need of more since the last step, or something was freed.
    pub signalled: bool,
    /// The obstacle to the checkpoints has changed since the last step.
    pub looking: bool,
    /// The obstacle may change when more of the log is stable here.
    pub waits_for_stable: bool,
    /// The last attempt found no room; it was to prepare segments up to here.
    pub failed_for: Option<Lsn>,
    /// A checkpoint was asked for that has everything before this group.
    pub asked: Option<u64>,
    /// The log before this group was freed.
    pub freed: u64,
    /// The error of transactions that are refused for want of room.
    pub refusal: Option<LogError>,
    /// The log is poisoned: there will never be room.
    pub poisoned: Option<LogError>,
    pub closed: bool,
}

impl State {
    /// If there was no room, a waiting caller has it tried again. After any other failure, a sync's above all, it is
    /// not (I7).
    pub fn forget_want_of_room(&mut self) {
        self.refusal.take_if(|error| error.is_want_of_room());
    }

    /// Returns true if the thread has work. After a failure that is not want of room it never has.
    pub fn is_to_be_tried(&self) -> bool {
        let failed = self.refusal.as_ref();
        (self.signalled || self.looking) && failed.is_none_or(LogError::is_want_of_room)
    }

    /// More of the log is stable here. Returns whether that was waited for.
    pub fn is_more_stable(&mut self) -> bool {
        let waited = std::mem::take(&mut self.waits_for_stable);
        self.looking |= waited;
        waited
    }

    pub fn reach(&mut self, at: LogPosition) {
        if (at.group, at.lsn) > (self.at.group, self.at.lsn) {
            self.at = at;
        }
    }

    /// The mean length of the groups since the newest segment was prepared, in bytes. `None` if there are none.
    pub fn group_bytes(&self) -> Option<u64> {
        let groups = self.at.group.saturating_sub(self.prepared_at.group);
        let bytes = self.at.lsn.0.saturating_sub(self.prepared_at.lsn.0);
        bytes.checked_div(groups)
    }

    /// Returns true if a requested checkpoint is not complete yet.
    pub fn is_freeing(&self) -> bool {
        self.asked.is_some_and(|asked| asked > self.freed)
    }
}
