//! The ancestry of a register: from which generation on each process wrote it, under a random number.
//!
//! A keeper that was restored from a backup continues another line, whose generations may be higher. Its numbers differ
//! from those that a state of the first line has, so [`SetRecord::after`] tells the two apart.
//!
//! **Invariants:** a process writes at most one state of each generation under one number, so it never continues two
//! lines under it ([`Author`]). Each generation of a line belongs to the process that wrote it, also where a put-back
//! skips some.
//!
//! A set of earlier programs has no ancestry: it begins when a person raises the version, since those programs cannot
//! read it then. States without a number are ancestors of the generations before the first number alone.

use super::planted::{self, Planted};
use super::record::SetRecord;
use sardonyx_base::random::system_random;

/// So many last processes are kept. A state from before them is taken for an ancestor.
const RUNS_MAX: usize = 256;

/// So many processes of discarded lines are kept.
const DROPPED_MAX: usize = 64;

/// The generations that one process wrote in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Run {
    /// The first one.
    pub from: u64,
    /// The random number of that process.
    pub author: u64,
}

/// A state of the register, compared with one that was known before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum After {
    /// It is the known one, or came from it.
    Continues,
    /// It is of an earlier generation.
    Older,
    /// It has the generation or a later one, and came from another state.
    Other,
}

/// The number under which a process writes the register.
#[derive(Debug)]
pub(super) struct Author {
    number: u64,
    /// The last generation that was to be written under it.
    last: u64,
}

impl Author {
    pub fn new() -> Self {
        Author {
            number: system_random().max(1),
            last: 0,
        }
    }

    /// The number for this state. It is another one if the process may have written a state of the generation, or a
    /// later one, already: then the keeper has an older state than the process left there. It is another one, too, if a
    /// person has discarded states of this number: each later one would count as discarded.
    pub fn number_for(&mut self, record: &SetRecord) -> u64 {
        let is_written = record.generation <= self.last && !planted::is(Planted::AuthorKept);
        let mut dropped = record.dropped.iter();
        let is_dropped = dropped.any(|run| run.author == self.number);
        if is_written || (is_dropped && !planted::is(Planted::DroppedAuthorKept)) {
            *self = Author::new();
        }
        self.last = record.generation;
        self.number
    }
}

impl Run {
    pub(super) fn decode(text: &str) -> Option<Run> {
        let (from, author) = text.split_once(' ')?;
        Some(Run {
            from: from.parse().ok().filter(|from| *from > 0)?,
            author: u64::from_str_radix(author, 16).ok()?,
        })
    }
}

impl SetRecord {
    /// The number of the process that wrote this state; 0: it is not known.
    pub(super) fn author(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.author)
    }

    /// The same, written by this process.
    pub(super) fn signed(&self, author: u64) -> Self {
        let mut signed = self.clone();
        if signed.author() != author {
            let from = signed.generation;
            signed.runs.push(Run { from, author });
            let old = signed.runs.len().saturating_sub(RUNS_MAX);
            signed.runs.drain(..old);
        }
        signed
    }

    /// True if a person discarded the state of this generation that this process wrote.
    pub(super) fn has_dropped(&self, generation: u64, author: u64) -> bool {
        let is_in = |run: &Run| run.author == author && generation >= run.from;
        self.dropped.iter().any(is_in)
    }

    /// Compares this state with one of this generation that this process wrote (0: not known).
    pub(super) fn after(&self, generation: u64, author: u64) -> After {
        if self.has_dropped(generation, author) {
            return After::Continues;
        }
        if self.generation < generation {
            return After::Older;
        }
        let before = self.runs.iter().rev().find(|run| run.from <= generation);
        let is_ancestor = match before {
            Some(run) => {
                run.author == author || (author == 0 && planted::is(Planted::UnsignedTrusted))
            }
            // States of before the first run that is kept, or of before there were any.
            None => author == 0 || self.runs.len() == RUNS_MAX,
        };
        match is_ancestor || planted::is(Planted::AncestryIgnored) {
            true => After::Continues,
            false => After::Other,
        }
    }

    /// Compares this state with a known one.
    pub(super) fn after_state(&self, known: &SetRecord) -> After {
        match self.after(known.generation, known.author()) {
            After::Continues if self.generation == known.generation && self != known => {
                After::Other
            }
            after => after,
        }
    }

    /// The successor of this state that discards others with their lines, written by this process. No process is its
    /// writer.
    pub(super) fn instead_of(&self, discarded: &[&SetRecord], author: u64) -> Self {
        let end_of = |record: &SetRecord, at: usize| match record.runs.get(at + 1) {
            Some(next) => next.from - 1,
            None => record.generation,
        };
        let first = self
            .runs
            .first()
            .map_or(self.generation + 1, |run| run.from);
        // Generations that are skipped are this process' own: a state of an earlier one of the line is none of them.
        let mut kept = self.taken(0).signed(author);
        for other in discarded {
            kept.generation = kept.generation.max(other.generation + 1);
            // States of earlier programs have no number.
            if other.runs.first().is_none_or(|run| run.from > first) {
                kept.dropped.push(Run {
                    from: first,
                    author: 0,
                });
            }
            for (at, run) in other.runs.iter().enumerate() {
                let from = match self.runs.iter().position(|own| own == run) {
                    None => run.from,
                    Some(own) if end_of(other, at) > end_of(self, own) => end_of(self, own) + 1,
                    Some(_) => continue,
                };
                let author = run.author;
                kept.dropped.push(Run { from, author });
            }
        }
        let old = kept.dropped.len().saturating_sub(DROPPED_MAX);
        kept.dropped.drain(..old);
        kept
    }

    /// The same as its own successor, to be signed.
    pub(super) fn raised(&self) -> Self {
        self.changed(|_| {})
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedules::with_and_without;
    use super::*;

    fn three() -> SetRecord {
        let places = ["tcp://a:1", "tcp://b:1", "file:/c d"].map(String::from);
        SetRecord::new(7, &places, 50)
    }

    #[test]
    fn a_state_is_after_those_of_its_own_line_alone() {
        let known = |state: &SetRecord| (state.generation, state.author());
        let unsigned = three().taken(1);
        let first = unsigned.taken(2).signed(11);
        let second = first.taken(3).signed(12);
        let third = second.taken(4).signed(12);
        for before in [&unsigned, &first, &second, &third] {
            assert_eq!(third.after_state(before), After::Continues);
        }
        assert_eq!(second.after_state(&third), After::Older);
        // The keeper was restored to the first state, and others continued from there, further than the third one.
        let other = first
            .taken(5)
            .signed(13)
            .taken(6)
            .signed(13)
            .taken(7)
            .signed(14);
        assert!(other.generation > third.generation);
        for lost in [&second, &third] {
            assert_eq!(other.after_state(lost), After::Other);
            let (generation, author) = known(lost);
            assert_eq!(other.after(generation, author), After::Other);
        }
        with_and_without(Planted::AncestryIgnored, || {
            other.after_state(&third) == After::Other
        });
        assert_eq!(other.after_state(&first), After::Continues);
        // Restored to before there was an ancestry.
        assert_eq!(
            unsigned.taken(5).signed(15).after_state(&first),
            After::Other
        );
        let by_an_earlier_program = unsigned.taken(5).taken(6).taken(7);
        assert_eq!(by_an_earlier_program.after_state(&second), After::Other);
        // A person keeps the first line. Both kinds of hosts accept that.
        let kept = third.instead_of(&[&other], 16);
        for before in [&third, &other, &first] {
            assert_eq!(kept.after_state(before), After::Continues, "{before:?}");
        }
        assert_eq!(other.taken(9).signed(14).after_state(&kept), After::Other);
        // The process of the kept line went on before the keeper was restored, and nothing came of that.
        let stub = third.taken(8).signed(12);
        let instead = third.instead_of(&[&stub], 17);
        assert_eq!(instead.after_state(&stub), After::Continues);
        assert_eq!(instead.after_state(&third), After::Continues);
        assert_eq!(
            third
                .taken(0)
                .signed(17)
                .taken(1)
                .signed(17)
                .after_state(&stub),
            After::Other
        );
        // A bounded number of processes is kept.
        let mut long = third.clone();
        for author in 100..100 + 2 * RUNS_MAX as u64 {
            long = long.taken(author).signed(author);
        }
        assert_eq!(long.runs.len(), RUNS_MAX);
        assert_eq!(long.after_state(&first), After::Continues);
        let text = long.encode();
        assert_eq!(SetRecord::decode(text.as_bytes()).unwrap(), long);
    }

    #[test]
    fn states_without_a_number_are_ancestors_of_the_generations_before_the_first_one_alone() {
        // The keeper was restored to the second generation, and programs with an ancestry continued.
        let second = three().taken(1);
        let by_an_earlier_program = second.taken(2);
        let signed = second.taken(3).signed(11);
        let later = signed.taken(4).signed(11);
        for state in [&signed, &later] {
            assert_eq!(state.after_state(&second), After::Continues);
            assert_eq!(state.after(3, 0), After::Other);
        }
        with_and_without(Planted::UnsignedTrusted, || {
            later.after_state(&by_an_earlier_program) == After::Other
        });
        // A person discards the line of the earlier program: its hosts follow, of any generation.
        let kept = later.instead_of(&[&by_an_earlier_program.taken(5)], 12);
        let text = kept.encode();
        assert_eq!(SetRecord::decode(text.as_bytes()).unwrap(), kept);
        for state in [&second, &by_an_earlier_program, &signed, &later] {
            assert_eq!(kept.after_state(state), After::Continues, "{state:?}");
        }
        assert_eq!(later.after(3, 0), After::Other);
    }

    /// P has written generations 4 and 5 after the kept state, which no copy that answered knew.
    #[test]
    fn the_generations_that_a_put_back_skips_are_not_those_of_the_process_before() {
        let third = three().taken(1).signed(11).taken(2).signed(11);
        let lost = third.taken(3).signed(11).taken(4).signed(11);
        let other = three().taken(5).signed(12);
        let other = (6..12).fold(other, |state, writer| state.taken(writer).signed(12));
        let kept = third.instead_of(&[&other], 13);
        assert!(kept.generation > lost.generation);
        assert_eq!(kept.after_state(&lost), After::Other);
        assert_eq!(kept.after_state(&third), After::Continues);
    }

    #[test]
    fn a_process_takes_another_number_for_a_generation_that_it_may_have_written() {
        let mut author = Author::new();
        let mut number_for = |generation| {
            author.number_for(&SetRecord {
                generation,
                ..three()
            })
        };
        let first = number_for(4);
        assert_eq!(number_for(5), first);
        assert_eq!(number_for(9), first);
        let second = number_for(9);
        assert_ne!(second, first);
        assert_eq!(number_for(10), second);
        assert_ne!(number_for(6), second);
    }

    /// A process continues after a person has discarded its line. Its later states are none of the discarded ones.
    #[test]
    fn a_process_takes_another_number_if_a_person_discarded_its_states() {
        with_and_without(Planted::DroppedAuthorKept, || {
            let mut author = Author::new();
            let first = three().taken(1).signed(11);
            let own = author.number_for(&first.taken(2));
            let dropped = first.taken(2).signed(own);
            let kept = first.taken(3).signed(12).taken(4).signed(12);
            let instead = kept.instead_of(&[&dropped], 13);
            let number = author.number_for(&instead.taken(2));
            let later = instead.taken(2).signed(number);
            let other = instead.taken(5).signed(14).taken(6).signed(14);
            instead.after_state(&dropped) == After::Continues
                && other.after_state(&later) == After::Other
        });
    }
}
