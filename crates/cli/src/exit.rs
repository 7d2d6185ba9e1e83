//! The exit codes of errors that only this program has.

use crate::target::Moving;
use sardonyx_base::token::TokenError;
use sardonyx_command::exit::{Exit, of_open};
use sardonyx_mapped::SegmentError;

/// The exit code of such an error.
pub fn of(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    // Apparent damage may be a change that a writer made meanwhile.
    if cause.is::<Moving>() {
        return Some(Exit::Failed);
    }
    if cause.is::<TokenError>() {
        return Some(Exit::Usage);
    }
    match cause.downcast_ref::<SegmentError>() {
        Some(SegmentError::Open(error)) => Some(of_open(error)),
        _ => None,
    }
}
