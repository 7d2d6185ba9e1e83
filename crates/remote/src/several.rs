//! Reads of several entries at once, by threads, for stores that answer slowly.

use sardonyx_storage::remote_log::store::{RemoteStore, StoreError};
use std::thread::Builder;

/// So many requests are on their way at once.
pub(crate) const AT_ONCE: usize = 32;

type Found = Result<Vec<Option<Vec<u8>>>, StoreError>;

/// Reads these entries with at most so many requests at once.
///
/// # Errors
/// The first one of the store's.
pub(crate) fn read_several(store: &dyn RemoteStore, numbers: &[u64], at_once: usize) -> Found {
    let threads = at_once.min(numbers.len()).max(1);
    let every_nth = |first: usize| -> Found {
        let numbers = numbers.iter().skip(first).step_by(threads);
        numbers.map(|number| store.read(*number)).collect()
    };
    let mut parts: Vec<_> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|first| {
                let thread = Builder::new().name("store-reader".into());
                (first, thread.spawn_scoped(scope, move || every_nth(first)))
            })
            .collect();
        let own = every_nth(0);
        let others = others.into_iter().map(|(first, thread)| {
            let part = thread.ok().and_then(|thread| thread.join().ok());
            // Without a thread, this one does it.
            part.unwrap_or_else(|| every_nth(first))
        });
        let all: Result<Vec<_>, _> = std::iter::once(own).chain(others).collect();
        all.map(|parts| parts.into_iter().map(Vec::into_iter).collect())
    })?;
    let in_order = (0..numbers.len()).map_while(|nth| parts.get_mut(nth % threads)?.next());
    Ok(in_order.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_storage::remote_log::memory::MemoryStore;

    #[test]
    fn entries_come_in_the_order_of_their_numbers_however_many_are_asked_for_at_once() {
        let store = MemoryStore::new();
        for number in (1..41).filter(|number| *number != 7) {
            store.append_at(number, &[number as u8]).unwrap();
        }
        for at_once in [0, 1, 3, 32, 100] {
            for last in [1, 5, 40] {
                let numbers: Vec<u64> = (1..=last).collect();
                let found = read_several(&store, &numbers, at_once).unwrap();
                let wanted: Vec<_> = numbers
                    .iter()
                    .map(|number| (*number != 7).then(|| vec![*number as u8]))
                    .collect();
                assert_eq!(found, wanted, "{at_once} at once, up to {last}");
            }
        }
        assert!(read_several(&store, &[], 32).unwrap().is_empty());
    }
}
