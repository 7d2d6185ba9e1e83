//! Damaged answers of a keeper or a copy: each is asked for again before its content is called damaged, as the log's own
//! readers do ([`ask_whole`](sardonyx_storage::remote_log::shell::ask_whole)). A host that took one for the content would
//! end, and a person would put a register back that is whole.

use sardonyx_storage::remote_log::store::StoreError;

/// So often a damaged answer is asked for again.
pub(super) const DOUBTS_MAX: u32 = 3;

/// Reads what is there, if there is something: again, if it is damaged.
///
/// # Errors
/// The store's; the error of content that stays damaged.
pub(super) fn read_whole<A, T>(
    ask: impl Fn() -> Result<Option<A>, StoreError>,
    read: impl Fn(A) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut doubts = 0;
    loop {
        match ask()?.map(&read).transpose() {
            Err(_) if doubts < DOUBTS_MAX => doubts += 1,
            content => return content,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::keeper::Keeper;
    use super::super::record::SetRecord;
    use super::super::witness::{seen_at, tell};
    use super::*;
    use crate::damaging::Damaging;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_register_that_is_whole_is_read_though_answers_are_damaged() {
        let store = Arc::new(Damaging::default());
        let keeper = Keeper::new(store.clone());
        let record = SetRecord::new(5, &["a".into(), "b".into()], 0);
        keeper.replace(None, &record).unwrap();
        let written = keeper.read().unwrap().record.clone();
        tell(&*store, &written).unwrap();
        let seen = seen_at(&*store).unwrap();
        for damaged in 0..=DOUBTS_MAX + 1 {
            store.damaged.store(damaged, Ordering::SeqCst);
            let of_keeper = keeper.read().map(|view| view.record.clone());
            store.damaged.store(damaged, Ordering::SeqCst);
            let of_copy = seen[0].read(&*store);
            match damaged <= DOUBTS_MAX {
                true => {
                    assert_eq!(of_keeper.unwrap(), written);
                    assert_eq!(of_copy.unwrap(), Some(written.clone()));
                }
                false => {
                    let is_damage = |error: &StoreError| matches!(error, StoreError::Setup { .. });
                    assert!(is_damage(&of_keeper.unwrap_err()), "{damaged}");
                    assert!(is_damage(&of_copy.unwrap_err()), "{damaged}");
                }
            }
        }
    }
}
