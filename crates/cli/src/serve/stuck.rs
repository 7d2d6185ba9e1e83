//! Errors of a host, by the next step: it retries, is restarted, or ends until an operator looks after it.

use sardonyx::hosts::may_pass;
use sardonyx_command::exit::{Exit, of_error};
use sardonyx_storage::engine::OpenError;
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::store::StoreError;

/// A host that can neither serve nor follow, however often it is restarted.
#[derive(Debug, thiserror::Error)]
#[error("this host can neither serve nor follow, and a restart does not help: {0}")]
pub struct Stuck(pub anyhow::Error);

/// True if a retry may succeed later: the store gave no answer, or another host was faster.
pub fn is_passing(error: &anyhow::Error) -> bool {
    let Some(error) = error.downcast_ref::<sardonyx::Error>() else {
        return false;
    };
    let is_fenced = matches!(
        error.downcast_ref(),
        Some(OpenError::TurnOver | OpenError::Store(RemoteLogError::Fenced { .. }))
    );
    is_fenced || may_pass(error)
}

/// True if a restart may help the program: the disk may have room, for example.
pub fn helps_a_restart(error: &anyhow::Error) -> bool {
    // The store, before there is a database.
    let is_set_up_otherwise = matches!(error.downcast_ref(), Some(StoreError::Setup { .. }));
    let found = error.downcast_ref::<sardonyx::Error>();
    let is_contradicted = found.is_some_and(|error| {
        error.downcast_ref().is_some_and(contradicts_directory)
            || error.downcast_ref().is_some_and(contradicts_log)
            || matches!(error.downcast_ref(), Some(StoreError::Setup { .. }))
    });
    !is_contradicted && !is_set_up_otherwise && of_error(error, &[]) != Exit::Found
}

/// True if the directory and the store do not belong together.
fn contradicts_directory(error: &OpenError) -> bool {
    match error {
        OpenError::StoreForked { .. }
        | OpenError::StoreTrimmed { .. }
        | OpenError::Lacking { .. } => true,
        OpenError::Store(error) => contradicts_log(error),
        _ => false,
    }
}

/// True if the store's log is not the one that this host knows, or has come to its end.
fn contradicts_log(error: &RemoteLogError) -> bool {
    matches!(
        error,
        RemoteLogError::BehindBoundary { .. }
            | RemoteLogError::Lost { .. }
            | RemoteLogError::UsedUp { .. }
            | RemoteLogError::Store(StoreError::Setup { .. })
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx::Error;

    #[test]
    fn what_a_restart_does_not_mend_has_an_exit_code_of_its_own() {
        let behind = RemoteLogError::BehindBoundary {
            number: 2,
            first: 7,
        };
        let hole = RemoteLogError::Hole {
            number: 2,
            found: 3,
        };
        // Another cluster answers, or one that was restored from an older state.
        let other = RemoteLogError::Store(StoreError::Setup {
            place: "etcd://here/bank".into(),
            reason: "name the servers of one cluster".into(),
        });
        // The store was restored from an older state.
        let lost = RemoteLogError::Lost { number: 2 };
        for error in [behind, hole, other, lost] {
            let error = Error::from(OpenError::Store(error));
            assert!(!helps_a_restart(&error.into()));
        }
        let [number, first] = [2, 7];
        let trimmed = OpenError::StoreTrimmed { number, first };
        assert!(!helps_a_restart(&Error::from(trimmed).into()));
        let older = StoreError::Setup {
            place: "file:keeper".into(),
            reason: "its register was restored from a backup".into(),
        };
        assert!(!helps_a_restart(&older.into()));
        let locked = OpenError::Locked {
            file: "LOCK".into(),
            holders: Vec::new(),
        };
        assert!(helps_a_restart(&Error::from(locked).into()));
        let stuck = anyhow::Error::from(Stuck(anyhow::anyhow!("a hole")));
        let exit = of_error(&stuck, &[crate::sql_verbs::exit_of]);
        assert_eq!((exit, exit.code()), (Exit::Stuck, 5));
    }
}
