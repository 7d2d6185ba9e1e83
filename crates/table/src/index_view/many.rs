//! Lookups of many keys by an ordered index at once. One after another, each waits for its leaf and then for its row,
//! which seldom are in the processor's caches. Together the waits overlap, and a key takes a fraction of the time. It
//! is the batch execution of the TPK paper (section 5, "locate, then work"), for reads.
//!
//! Invariant: there is one result for each key, in the keys' order. A wrong key gives an error in its place, and the
//! others are found. The end of the snapshot gives one error, and ends the results.

use super::entries::TreeEntries;
use crate::ordered::AT_ONCE;
use sardonyx_base::error::Error;
use sardonyx_rows::TableError;
use sardonyx_rows::key::KeyValues;
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;

/// The places of the rows of keys: [`TreeEntries::places_of_many`].
pub(crate) struct FindMany<'a, P: ?Sized, I, A> {
    entries: TreeEntries<'a, P>,
    keys: I,
    /// Asks the processor for a row.
    ask: A,
    /// The results of the keys taken last, and the number of them already returned.
    found: [Option<Address>; AT_ONCE],
    count: usize,
    given: usize,
    /// The result of one key more, which had to be looked for alone.
    alone: Option<Result<Option<Address>, Error>>,
    is_over: bool,
}

impl<'a, P: PageRead + ?Sized> TreeEntries<'a, P>
where
    TableError: From<P::Error>,
{
    /// The place of the first row of each key. `ask` asks the processor for a row.
    pub(super) fn places_of_many<I, A>(self, keys: I, ask: A) -> FindMany<'a, P, I::IntoIter, A>
    where
        I: IntoIterator<Item: KeyValues>,
        A: Fn(Address),
    {
        FindMany {
            entries: self,
            keys: keys.into_iter(),
            ask,
            found: [None; AT_ONCE],
            count: 0,
            given: 0,
            alone: None,
            is_over: false,
        }
    }
}

impl<P: PageRead + ?Sized, I, A> FindMany<'_, P, I, A>
where
    TableError: From<P::Error>,
    I: Iterator<Item: KeyValues>,
    A: Fn(Address),
{
    /// Looks for the next keys.
    #[inline]
    fn find(&mut self) -> Result<(), TableError> {
        let mut words = [0; AT_ONCE];
        let mut count = 0;
        for key in self.keys.by_ref().take(AT_ONCE) {
            if let Some(word) = self.entries.index.what.shape.word_of(&key) {
                words[count] = word;
                count += 1;
                continue;
            }
            // Entries do not have whole keys of this index, or it is no key of it.
            self.alone = Some(self.entries.place_of(&key));
            break;
        }
        (self.count, self.given) = (count, 0);
        let found = &mut self.found[..count];
        self.entries
            .index
            .find_exact_many(self.entries.nodes, &words[..count], found)?;
        for at in found.iter().flatten() {
            (self.ask)(*at);
        }
        Ok(())
    }
}

impl<P: PageRead + ?Sized, I, A> Iterator for FindMany<'_, P, I, A>
where
    TableError: From<P::Error>,
    I: Iterator<Item: KeyValues>,
    A: Fn(Address),
{
    type Item = Result<Option<Address>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.given < self.count {
                self.given += 1;
                return Some(Ok(self.found[self.given - 1]));
            }
            if let Some(alone) = self.alone.take() {
                return Some(alone);
            }
            if self.is_over {
                return None;
            }
            if let Err(error) = self.find() {
                (self.count, self.alone, self.is_over) = (0, None, true);
                return Some(Err(error.into()));
            }
            self.is_over = self.count == 0 && self.alone.is_none();
        }
    }
}
