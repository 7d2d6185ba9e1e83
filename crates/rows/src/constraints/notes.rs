//! The notes of held references and keys, with their history: a transaction that goes back to a mark has the notes of it.
//!
//! Notes of deferred constraints stay until the commit, and are many. So neither a mark nor the end of a statement
//! walks over them. A mark is a place in the list of changes ([`Step`]), which are taken back one by one. The notes that
//! some ends of statements check have lists of their own.
//!
//! Invariant: a transaction that notes `n` values, in any number of statements and savepoints, visits each of them a
//! bounded number of times.

use super::held::{Due, Why};
use crate::schema::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A reference, or a unique key (true), by its table and its name.
pub(super) type Place = (u16, bool, Arc<str>);
/// The values of a reference, or a key, by their bytes.
pub(super) type NoteKey = Arc<[Vec<u8>]>;

/// The reason why values are checked.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub values: Vec<Value>,
    pub why: Why,
}

/// The notes of a reference, or a key.
#[derive(Debug, Default)]
pub(super) struct OfPlace {
    all: BTreeMap<NoteKey, Note>,
    /// Notes of rows that were deleted.
    deleted: BTreeSet<NoteKey>,
    /// Notes of rows that got another key.
    changed: BTreeSet<NoteKey>,
}

impl OfPlace {
    /// The note of these values.
    pub fn get(&self, key: &[Vec<u8>]) -> Option<&Note> {
        self.all.get(key)
    }

    /// The notes that are due, in the order of their values. One may come twice.
    #[inline]
    pub fn due(&self, due: Due) -> impl Iterator<Item = (&NoteKey, &Note)> {
        let (all, deleted, changed) = match due.now {
            true => (Some(&self.all), None, None),
            false => (
                None,
                due.strict_delete.then_some(&self.deleted),
                due.strict_update.then_some(&self.changed),
            ),
        };
        let some = deleted.into_iter().chain(changed).flatten();
        let some = some.filter_map(|key| self.all.get_key_value(key));
        let notes = all.into_iter().flatten().chain(some);
        notes.inspect(|_| visited())
    }

    /// Sets the reasons of a note, which is there.
    fn set_why(&mut self, key: &NoteKey, why: Why) {
        if let Some(note) = self.all.get_mut(key) {
            note.why = why;
        }
        for (reason, keys) in [
            (Why::DELETED, &mut self.deleted),
            (Why::CHANGED, &mut self.changed),
        ] {
            match why.has(reason) {
                true => drop(keys.insert(key.clone())),
                false => drop(keys.remove(key)),
            }
        }
    }

    fn put(&mut self, key: NoteKey, note: Note) {
        let why = note.why;
        self.all.insert(key.clone(), note);
        self.set_why(&key, why);
    }

    #[inline]
    fn remove(&mut self, key: &NoteKey) -> Option<Note> {
        let note = self.all.remove(key)?;
        self.deleted.remove(key);
        self.changed.remove(key);
        Some(note)
    }
}

/// A change of the notes, to take it back.
#[derive(Debug)]
enum Step {
    /// Values were noted, which had these reasons before; `None` if they were not noted.
    Noted(Place, NoteKey, Option<Why>),
    /// A note was checked, and dropped.
    Dropped(Place, NoteKey, Note),
    /// All notes of a place were.
    Cleared(Place, OfPlace),
}

/// All notes of a transaction.
#[derive(Debug, Default)]
pub(super) struct Notes {
    places: BTreeMap<Place, OfPlace>,
    /// The changes since the first mark.
    steps: Vec<Step>,
    /// The number of changes at each mark. Marks from before the first note may be missing at the end: at these, there
    /// was none.
    at_marks: Vec<usize>,
}

impl Notes {
    /// True if there is no note.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The places with notes, in their order.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.places.keys()
    }

    pub fn of(&self, place: &Place) -> Option<&OfPlace> {
        self.places.get(place)
    }

    /// Sets the mark with this number. Later ones are forgotten.
    pub fn mark(&mut self, mark: usize) {
        self.release(mark);
        self.at_marks.resize(mark, 0);
        self.at_marks.push(self.steps.len());
    }

    /// Forgets a mark and later ones.
    pub fn release(&mut self, mark: usize) {
        self.at_marks.truncate(mark);
        if mark == 0 {
            self.steps.clear();
        }
    }

    /// The notes are again as they were at a mark.
    #[inline]
    pub fn return_to(&mut self, mark: usize) {
        let steps = self.at_marks.get(mark).copied().unwrap_or_default();
        self.at_marks.truncate(mark + 1);
        while self.steps.len() > steps
            && let Some(step) = self.steps.pop()
        {
            visited();
            self.take_back(step);
        }
    }

    #[inline]
    fn take_back(&mut self, step: Step) {
        match step {
            Step::Noted(place, key, before) => {
                let Some(notes) = self.places.get_mut(&place) else {
                    return;
                };
                match before {
                    Some(why) => notes.set_why(&key, why),
                    None => drop(notes.remove(&key)),
                }
                if notes.all.is_empty() {
                    self.places.remove(&place);
                }
            }
            Step::Dropped(place, key, note) => self.places.entry(place).or_default().put(key, note),
            Step::Cleared(place, notes) => drop(self.places.insert(place, notes)),
        }
    }

    /// Notes values. The change can be taken back if it `has_marks`.
    pub fn note(
        &mut self,
        place: Place,
        key: NoteKey,
        values: Vec<Value>,
        why: Why,
        has_marks: bool,
    ) {
        visited();
        let notes = self.places.entry(place.clone()).or_default();
        let before = notes.get(&key).map(|note| note.why);
        match before {
            Some(before) => notes.set_why(&key, before.with(why)),
            None => notes.put(key.clone(), Note { values, why }),
        }
        if has_marks {
            self.steps.push(Step::Noted(place, key, before));
        }
    }

    /// Drops the notes of a place that were due. They come again with a mark if it `has_marks`.
    #[inline]
    pub fn checked(&mut self, place: &Place, due: Due, has_marks: bool) {
        let Some(notes) = self.places.get_mut(place) else {
            return;
        };
        if !due.now {
            let keys: Vec<_> = notes.due(due).map(|(key, _)| key.clone()).collect();
            for key in keys {
                if let Some(note) = notes.remove(&key)
                    && has_marks
                {
                    self.steps.push(Step::Dropped(place.clone(), key, note));
                }
            }
        }
        let is_done = due.now || notes.all.is_empty();
        if is_done
            && let Some(notes) = self.places.remove(place)
            && has_marks
            && !notes.all.is_empty()
        {
            self.steps.push(Step::Cleared(place.clone(), notes));
        }
    }
}

#[inline]
fn visited() {
    #[cfg(test)]
    visits::NOTES.set(visits::NOTES.get() + 1);
}

/// The number of notes that a test has visited.
#[cfg(test)]
pub(super) mod visits {
    std::thread_local! {
        pub static NOTES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_base::random::Random;

    fn place(number: u64) -> Place {
        (number as u16, number % 2 == 1, "name".into())
    }

    fn key(number: u64) -> NoteKey {
        Arc::from([number.to_be_bytes().to_vec()])
    }

    /// All notes, as a model has them.
    type Model = BTreeMap<(u64, u64), Why>;

    fn content(notes: &Notes) -> Model {
        let all = notes.places.iter().flat_map(|(place, of)| {
            for (key, note) in &of.all {
                assert_eq!(note.why.has(Why::DELETED), of.deleted.contains(key));
                assert_eq!(note.why.has(Why::CHANGED), of.changed.contains(key));
            }
            assert!(!of.all.is_empty());
            let number =
                |key: &NoteKey| u64::from_be_bytes(key[0][..].try_into().expect("8 bytes"));
            of.all
                .iter()
                .map(move |(key, note)| ((u64::from(place.0), number(key)), note.why))
        });
        all.collect()
    }

    #[test]
    fn a_mark_has_the_notes_of_its_time() {
        for seed in 0..sardonyx_base::random::seeds(100) {
            let mut random = Random::new(seed);
            let (mut notes, mut model) = (Notes::default(), Model::new());
            let mut marks: Vec<Model> = Vec::new();
            for _ in 0..200 {
                let (at, number) = (random.below(3), random.below(8));
                let has_marks = !marks.is_empty();
                match random.below(10) {
                    0 => {
                        notes.mark(marks.len());
                        marks.push(model.clone());
                    }
                    1 if has_marks => {
                        let mark = random.below(marks.len() as u64) as usize;
                        notes.return_to(mark);
                        marks.truncate(mark + 1);
                        model = marks[mark].clone();
                    }
                    2 if has_marks => {
                        let mark = random.below(marks.len() as u64) as usize;
                        notes.release(mark);
                        marks.truncate(mark);
                    }
                    3 => {
                        let due = Due {
                            now: random.below(3) == 0,
                            strict_delete: random.below(2) == 0,
                            strict_update: random.below(2) == 0,
                        };
                        notes.checked(&place(at), due, has_marks);
                        model.retain(|(of, _), why| *of != at || !due.of(*why).0);
                    }
                    _ => {
                        let reasons = [Why::REFERS, Why::DELETED, Why::CHANGED, Why::SHARED];
                        let why = reasons[random.below(4) as usize];
                        notes.note(place(at), key(number), Vec::new(), why, has_marks);
                        let there = model.entry((at, number)).or_default();
                        *there = there.with(why);
                    }
                }
                assert_eq!(content(&notes), model, "{seed}");
            }
        }
    }

    /// The visits of a transaction of statements, each with a savepoint, that note one value each. Some ends of statements
    /// check notes.
    fn visits_of(statements: u64) -> usize {
        visits::NOTES.set(0);
        let mut notes = Notes::default();
        notes.mark(0);
        for number in 0..statements {
            notes.mark(1);
            let why = [Why::REFERS, Why::DELETED][(number % 2) as usize];
            notes.note(place(2), key(number), Vec::new(), why, true);
            if number % 3 == 0 {
                notes.return_to(1);
            }
            let due = Due {
                strict_delete: true,
                ..Due::default()
            };
            assert!(
                notes
                    .of(&place(2))
                    .is_none_or(|notes| notes.due(due).count() <= 1)
            );
            notes.checked(&place(2), due, true);
            notes.checked(&place(2), Due::default(), true);
            notes.release(1);
        }
        notes.checked(&place(2), Due::NOW, true);
        notes.return_to(0);
        assert!(notes.is_empty());
        visits::NOTES.get()
    }

    #[test]
    fn notes_are_visited_a_bounded_number_of_times() {
        let visits = visits_of(10_000);
        assert!(visits <= 5 * 10_000, "{visits} visits");
        assert!(visits_of(40_000) <= 4 * visits + 10, "linear");
    }
}
