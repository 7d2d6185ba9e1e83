//! The slots of the undo area: one for each running transaction that has undo entries in the log.
//!
//! A slot is a chain of pages. It is in use while the first word of its first page is the number of the use.
//! A transaction's end, commit or abort, sets this word to 0, in one redo record of 16 bytes. With that all
//! pages of the chain are free, for the next slot that needs one. Their content means nothing, and a page
//! that is linked anew gets a new link.
//!
//! Invariant (I14): exactly the places of [`UndoArea::needed_places`] are taken, so a caller that has ensured
//! so many spare places cannot lack one.
//!
//! Everything here only changes bytes, through the writer that the caller gives: the caller stores
//! and logs them in one unit with the effects that they belong to.

use super::UndoDamage;
use super::entry::{END_BYTES, Entry, decode_all, entry_bytes};
use super::format::{CONTINUATION, FIRST_SLOT_PAGE, SLOT_HEAD_BYTES, SLOT_ROOM_BYTES, word};
use crate::pages::Page;
use sardonyx_storage::page::PageId;
use std::collections::HashSet;

/// Stores and logs bytes of a page.
pub(crate) trait WriteBytes {
    fn write(&mut self, page: PageId, offset: usize, bytes: &[u8]);
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct SlotNumber(usize);

#[derive(Debug, Default)]
pub(crate) struct UndoArea {
    /// The area's pages by place.
    places: Vec<PageId>,
    /// By number; those that are not in use have no pages.
    slots: Vec<Slot>,
    /// Slots that are not in use.
    unused: Vec<SlotNumber>,
    /// Places that belong to no slot; the last one freed is the first one used.
    spare: Vec<u64>,
    /// By place: whether its page names a next one, or did when it was last used.
    linked: Vec<bool>,
}

#[derive(Debug, Default)]
struct Slot {
    /// The places of its pages; at least one while it is in use.
    chain: Vec<u64>,
    /// The number of its use; 0 if it is not in use.
    begin: u64,
    /// The place of the next entry, in bytes of the chain's room.
    position: usize,
    /// Entries that may yet have to be cancelled.
    live: usize,
}

/// A transaction that had not ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Loser {
    pub slot: SlotNumber,
    /// The compensations to do: sequence number, operation's number, inverse. Ascending.
    pub entries: Vec<(u64, u32, Vec<u8>)>,
}

impl UndoArea {
    /// Reads the slots. `places`: the area's pages; `page` reads one.
    pub fn read<'a>(
        places: Vec<PageId>,
        page: impl Fn(PageId) -> &'a Page,
    ) -> Result<(UndoArea, Vec<Loser>), UndoDamage> {
        let reader = Reader {
            places: &places,
            page,
        };
        let (mut slots, spare) = reader.slots()?;
        let mut losers = Vec::new();
        for (number, slot) in slots.iter_mut().enumerate() {
            let entries = reader.entries(slot)?;
            slot.live = entries.len();
            losers.push(Loser {
                slot: SlotNumber(number),
                entries,
            });
        }
        let linked = reader.linked();
        let area = UndoArea {
            places,
            slots,
            unused: Vec::new(),
            spare,
            linked,
        };
        Ok((area, losers))
    }

    /// The compensations to do by a slot: sequence number, operation's number, inverse. Ascending. `page`
    /// reads one of the area's pages.
    pub fn entries<'a>(
        &self,
        number: SlotNumber,
        page: impl Fn(PageId) -> &'a Page,
    ) -> Result<Vec<(u64, u32, Vec<u8>)>, UndoDamage> {
        let Slot { chain, begin, .. } = &self.slots[number.0];
        let mut slot = Slot {
            chain: chain.clone(),
            begin: *begin,
            ..Slot::default()
        };
        let places = &self.places;
        Reader { places, page }.entries(&mut slot)
    }

    /// Places were added to the area.
    pub fn grown(&mut self, pages: impl IntoIterator<Item = PageId>) {
        for page in pages {
            self.places.push(page);
            self.linked.push(false);
            let place = self.places.len() as u64 - 1;
            if place >= FIRST_SLOT_PAGE {
                self.spare.push(place);
            }
        }
        // Low places first, so that few pages are touched.
        self.spare.sort_unstable_by(|one, other| other.cmp(one));
    }

    /// The number of the area's places.
    pub fn len(&self) -> u64 {
        self.places.len() as u64
    }

    pub fn page(&self, place: u64) -> PageId {
        self.places[place as usize]
    }

    /// The most places that are taken from those that belong to no slot. So many entries of so many bytes together
    /// ([`entry_bytes`] each) are appended, and all of the slot's entries are cancelled later. They are appended to a
    /// slot, or to one that is taken into use for them.
    pub fn needed_places(&self, slot: Option<SlotNumber>, entries: usize, bytes: usize) -> usize {
        let new = Slot::default();
        let slot = slot.map_or(&new, |slot| &self.slots[slot.0]);
        let end = slot.needed(entries, bytes);
        end.div_ceil(SLOT_ROOM_BYTES)
            .saturating_sub(slot.chain.len())
    }

    /// Places that belong to no slot.
    pub fn spare_places(&self) -> usize {
        self.spare.len()
    }

    /// Takes a slot into use.
    ///
    /// # Panics
    /// If no slot is free: see [`UndoArea::needed_places`].
    pub fn acquire(&mut self, begin: u64, write: &mut impl WriteBytes) -> SlotNumber {
        let place = self.spare.pop().expect("room was made");
        let number = self.unused.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            SlotNumber(self.slots.len() - 1)
        });
        let slot = &mut self.slots[number.0];
        (slot.begin, slot.position, slot.live) = (begin, 0, 0);
        slot.chain.push(place);
        begin_page(&self.places, &mut self.linked, place, begin, write);
        number
    }

    /// Appends an entry. `scratch` is for its bytes.
    ///
    /// # Panics
    /// If there is no room: see [`UndoArea::needed_places`].
    pub fn append<T: AsRef<[u8]>>(
        &mut self,
        number: SlotNumber,
        entry: &Entry<T>,
        scratch: &mut Vec<u8>,
        write: &mut impl WriteBytes,
    ) {
        let slot = &mut self.slots[number.0];
        let needed = match entry {
            Entry::Undo { bytes, .. } => {
                let needed = slot.needed(1, entry_bytes(bytes.as_ref().len()));
                slot.live += 1;
                needed
            }
            Entry::Cancelled { .. } => {
                slot.live = slot.live.saturating_sub(1);
                slot.position + entry_bytes(0) + END_BYTES
            }
        };
        while slot.chain.len() * SLOT_ROOM_BYTES < needed {
            let place = self.spare.pop().expect("room was made");
            let last = *slot.chain.last().expect("a slot has a page");
            write.write(self.places[last as usize], 8, &place.to_le_bytes());
            self.linked[last as usize] = true;
            let (places, linked) = (&self.places, &mut self.linked);
            begin_page(places, linked, place, CONTINUATION, write);
            slot.chain.push(place);
        }
        scratch.clear();
        entry.encode(slot.begin, scratch);
        let length = scratch.len();
        scratch.extend([0; END_BYTES]);
        let mut position = slot.position;
        let mut rest = &scratch[..];
        while !rest.is_empty() {
            let (nth, offset) = (position / SLOT_ROOM_BYTES, position % SLOT_ROOM_BYTES);
            let (now, later) = rest.split_at(rest.len().min(SLOT_ROOM_BYTES - offset));
            let page = self.places[slot.chain[nth] as usize];
            write.write(page, SLOT_HEAD_BYTES + offset, now);
            position += now.len();
            rest = later;
        }
        slot.position += length;
    }

    /// Ends the use of a slot.
    pub fn release(&mut self, number: SlotNumber, write: &mut impl WriteBytes) {
        let slot = &mut self.slots[number.0];
        slot.begin = 0;
        write.write(self.places[slot.chain[0] as usize], 0, &0_u64.to_le_bytes());
        // The first page last, so that short transactions use the same one again and again.
        self.spare.extend(slot.chain.drain(..).rev());
        self.unused.push(number);
    }
}

/// Writes the first word of a slot's page, and that no page follows, unless it is written already.
fn begin_page(
    places: &[PageId],
    linked: &mut [bool],
    place: u64,
    first: u64,
    write: &mut impl WriteBytes,
) {
    let mut head = [0; SLOT_HEAD_BYTES];
    head[..8].copy_from_slice(&first.to_le_bytes());
    let was_linked = std::mem::take(&mut linked[place as usize]);
    let length = if was_linked { SLOT_HEAD_BYTES } else { 8 };
    write.write(places[place as usize], 0, &head[..length]);
}

impl Slot {
    /// Bytes of room needed to append so many entries of so many bytes together and, later, to cancel
    /// all.
    fn needed(&self, entries: usize, bytes: usize) -> usize {
        self.position + bytes + (self.live + entries) * entry_bytes(0) + END_BYTES
    }
}

/// Reads the area's pages.
struct Reader<'p, F> {
    places: &'p [PageId],
    page: F,
}

impl<'a, F: Fn(PageId) -> &'a Page> Reader<'_, F> {
    fn bytes(&self, place: u64) -> &'a Page {
        (self.page)(self.places[place as usize])
    }

    fn damage(&self, place: u64, offset: usize, reason: &str) -> UndoDamage {
        UndoDamage {
            page: self.places[place as usize].0,
            offset,
            reason: reason.into(),
        }
    }

    /// By place: whether its page names a next one.
    fn linked(&self) -> Vec<bool> {
        let places = 0..self.places.len() as u64;
        places
            .map(|place| place >= FIRST_SLOT_PAGE && word(self.bytes(place), 8) != 0)
            .collect()
    }

    /// The slots in use, and the places that belong to none, the lowest last.
    fn slots(&self) -> Result<(Vec<Slot>, Vec<u64>), UndoDamage> {
        let mut taken = HashSet::new();
        let mut slots = Vec::new();
        let all = FIRST_SLOT_PAGE..self.places.len() as u64;
        for head in all.clone() {
            let begin = word(self.bytes(head), 0);
            if begin == 0 || begin == CONTINUATION {
                continue;
            }
            let chain = self.chain(head)?;
            for &place in &chain {
                if !taken.insert(place) {
                    return Err(self.damage(place, 0, "two slots share this page"));
                }
            }
            slots.push(Slot {
                chain,
                begin,
                ..Slot::default()
            });
        }
        let spare = all.rev().filter(|place| !taken.contains(place)).collect();
        Ok((slots, spare))
    }

    /// The places of the slot that begins here.
    fn chain(&self, head: u64) -> Result<Vec<u64>, UndoDamage> {
        let mut chain = vec![head];
        let mut last = head;
        loop {
            let next = word(self.bytes(last), 8);
            if next == 0 {
                return Ok(chain);
            }
            if next < FIRST_SLOT_PAGE || next >= self.places.len() as u64 {
                return Err(self.damage(last, 8, "the next page is not in the area"));
            }
            if word(self.bytes(next), 0) != CONTINUATION || chain.len() > self.places.len() {
                return Err(self.damage(last, 8, "the next page does not continue a slot"));
            }
            chain.push(next);
            last = next;
        }
    }

    /// The entries that have not been cancelled; finds where the next one goes.
    fn entries(&self, slot: &mut Slot) -> Result<Vec<(u64, u32, Vec<u8>)>, UndoDamage> {
        let mut stream = Vec::with_capacity(slot.chain.len() * SLOT_ROOM_BYTES);
        for &place in &slot.chain {
            stream.extend_from_slice(&self.bytes(place)[SLOT_HEAD_BYTES..]);
        }
        let at = |position: usize, reason: &str| {
            let place = slot.chain[(position / SLOT_ROOM_BYTES).min(slot.chain.len() - 1)];
            self.damage(place, SLOT_HEAD_BYTES + position % SLOT_ROOM_BYTES, reason)
        };
        let (found, position) =
            decode_all(slot.begin, &stream).map_err(|(offset, reason)| at(offset, reason))?;
        let mut entries = std::collections::BTreeMap::new();
        for entry in found {
            let known = match entry {
                Entry::Undo {
                    sequence,
                    operation,
                    bytes,
                } => entries.insert(sequence, (operation, bytes)).is_none(),
                Entry::Cancelled { sequence } => entries.remove(&sequence).is_some(),
            };
            if !known {
                return Err(at(
                    position,
                    "an entry is there twice, or cancelled but not there",
                ));
            }
        }
        if position == 0 {
            // A caller that takes a slot into use appends an entry in the same unit.
            return Err(self.damage(slot.chain[0], 0, "a slot is in use but has no entry"));
        }
        slot.position = position;
        Ok(entries
            .into_iter()
            .map(|(sequence, (operation, bytes))| (sequence, operation, bytes))
            .collect())
    }
}

#[cfg(test)]
mod tests;
