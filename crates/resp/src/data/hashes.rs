//! The hashes of a command's keys, and the place of its element, computed once: for prefetching, for finding rows, and for
//! inserting them.

use super::Place;
use crate::command::Command;
use crate::command::line::Line;
use std::cell::Cell;

/// The most keys of a command whose hashes are kept: their memory is asked for together, and the processor's caches must
/// hold it until the command runs.
const KEYS_MAX: usize = 64;

/// The hashes of a command's first keys in a table of keys.
#[derive(Debug)]
pub(crate) struct Hashes {
    table: u16,
    /// Parts from one key to the next.
    step: usize,
    first: u64,
    /// The hashes of the further keys. Most commands have none.
    more: Box<[u64]>,
    /// The number of the further key that was asked for last: commands ask for theirs in their order.
    last: Cell<usize>,
    /// The number of a part that names an element of the key of an id, and the element's place.
    element: Cell<Option<(usize, u64, Place)>>,
}

impl Hashes {
    /// The hashes of a command whose first part is a key of this hash. `hash` computes those of further keys; a key without
    /// a hash ends them.
    pub fn new(
        command: &Command,
        line: &Line,
        (table, first): (u16, u64),
        hash: impl FnMut(&[u8]) -> Option<u64>,
    ) -> Hashes {
        let (start, last, step) = command.keys;
        let mut hashes = Hashes {
            table,
            step: usize::try_from(step).unwrap_or(1).max(1),
            first,
            more: Box::default(),
            last: Cell::new(0),
            element: Cell::new(None),
        };
        if start == 1 && last != start {
            let end = match usize::try_from(last) {
                Ok(last) => last + 1,
                // It counts from the end, where -1 is the last part.
                Err(_) => (line.len() + 1).saturating_sub(last.unsigned_abs() as usize),
            };
            let further = (1 + hashes.step..end.min(line.len())).step_by(hashes.step);
            let further = further.take(KEYS_MAX - 1).map(|number| line.part(number));
            // They are as many as keys: the list is made once.
            let mut more = Vec::with_capacity(further.len());
            more.extend(further.map_while(hash));
            hashes.more = more.into_boxed_slice();
        }
        hashes
    }

    /// The table in which these are the keys' hashes.
    #[inline]
    pub fn table(&self) -> u16 {
        self.table
    }

    /// The hash of the first key.
    #[inline]
    pub fn first(&self) -> u64 {
        self.first
    }

    #[inline]
    pub fn all(&self) -> impl Iterator<Item = u64> + '_ {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }

    pub fn len(&self) -> usize {
        1 + self.more.len()
    }

    /// The hash of a key in a table, if the key is a part of this line whose hash is known.
    #[inline]
    pub fn of(&self, line: &Line, table: u16, key: &[u8]) -> Option<u64> {
        if self.table != table {
            return None;
        }
        match std::ptr::eq(line.part(1), key) {
            true => Some(self.first),
            false => self.of_further(line, key),
        }
    }

    /// Keeps the place of the element that a part of the line names, of the key of this id.
    pub fn keep_element(&self, part: usize, id: u64, place: Place) {
        self.element.set(Some((part, id, place)));
    }

    /// The place of an element of the key of this id, if the name is the part of this line whose place is kept.
    #[inline]
    pub fn element(&self, line: &Line, id: u64, name: &[u8]) -> Option<Place> {
        let (part, of, place) = self.element.get()?;
        (of == id && std::ptr::eq(line.part(part), name)).then_some(place)
    }

    fn of_further(&self, line: &Line, key: &[u8]) -> Option<u64> {
        if self.more.is_empty() {
            return None;
        }
        let last = self.last.get();
        for place in [last, last + 1] {
            if std::ptr::eq(line.part(1 + self.step * (place + 1)), key) {
                self.last.set(place);
                return self.more.get(place).copied();
            }
        }
        let behind = line.number_of(key)?.checked_sub(1 + self.step)?;
        if !behind.is_multiple_of(self.step) {
            return None;
        }
        self.last.set(behind / self.step);
        self.more.get(behind / self.step).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::find;
    use std::cell::Cell;

    /// The hashes of a line, whose keys have the hashes 100, 101, …
    fn hashes(line: &Line) -> Hashes {
        let command = find(line.part(0)).expect("a command");
        let next = Cell::new(100);
        Hashes::new(command, line, (7, 100), |_| {
            next.set(next.get() + 1);
            Some(next.get())
        })
    }

    fn line(text: &str) -> Line {
        Line::of(&text.split(' ').map(str::as_bytes).collect::<Vec<_>>())
    }

    #[test]
    fn each_key_of_a_command_has_its_hash_and_no_other_part_has_one() {
        for (text, keys) in [
            ("GET a", &[1][..]),
            ("SET a b", &[1]),
            ("SADD a b c", &[1]),
            ("MGET a b a", &[1, 2, 3]),
            ("MSET a b c d e f", &[1, 3, 5]),
            ("RENAME a b", &[1, 2]),
            ("RENAME a", &[1]),
            ("BLPOP a b 0", &[1, 2]),
        ] {
            let line = line(text);
            let hashes = hashes(&line);
            assert_eq!(hashes.len(), keys.len(), "{text}");
            for number in 1..line.len() {
                let expected = keys.iter().position(|key| *key == number);
                let expected = expected.map(|place| 100 + place as u64);
                assert_eq!(
                    hashes.of(&line, 7, line.part(number)),
                    expected,
                    "{text}, {number}"
                );
                assert_eq!(hashes.of(&line, 8, line.part(number)), None);
                // The same bytes elsewhere are no part of the line, nor is a piece of a part.
                let elsewhere = line.part(number).to_vec();
                assert_eq!(hashes.of(&line, 7, &elsewhere), None);
                assert_eq!(hashes.of(&line, 7, &line.part(number)[1..]), None);
            }
        }
    }

    #[test]
    fn the_place_of_an_element_is_that_of_its_part_and_of_the_id_of_its_key() {
        let line = line("SADD a b b");
        let hashes = hashes(&line);
        assert!(hashes.element(&line, 7, line.part(2)).is_none());
        hashes.keep_element(2, 7, crate::data::Places::new().of(7, b"b"));
        assert!(hashes.element(&line, 7, line.part(2)).is_some());
        // The key may have another id by now, and the same name elsewhere is not the part.
        assert!(hashes.element(&line, 8, line.part(2)).is_none());
        assert!(hashes.element(&line, 7, line.part(3)).is_none());
        assert!(hashes.element(&line, 7, &line.part(2)[..0]).is_none());
    }

    #[test]
    fn many_keys_have_hashes_up_to_a_bound_and_up_to_the_first_without_one() {
        let many = line(&format!("MGET{}", " k".repeat(KEYS_MAX + 1)));
        let all = hashes(&many);
        assert_eq!(all.len(), KEYS_MAX);
        assert_eq!(
            all.of(&many, 7, many.part(KEYS_MAX)),
            Some(99 + KEYS_MAX as u64)
        );
        assert_eq!(all.of(&many, 7, many.part(KEYS_MAX + 1)), None);
        let command = find(b"mget").expect("a command");
        let mut known = [Some(1), None, Some(3)].into_iter();
        let some = Hashes::new(command, &many, (7, 0), |_| known.next().flatten());
        assert_eq!(some.all().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(some.of(&many, 7, many.part(3)), None);
    }
}
