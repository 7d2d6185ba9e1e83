//! The bytes of definitions and extents.
//!
//! An extent's entry has the number of its table or area, or all bits set if it is free. In a catalogue of version 2
//! it also has a sum and two flags. Flag 1 shows that there are flags, flag 2 that the pages were others' before.
//! Entries of version 1 stay valid there, with zeroes for both. In a large catalogue, of version 3, the flags' upper 24
//! bits are the extent's number among those of its owner. Entries of earlier versions stay valid, with 0 for it.

use super::{
    Catalogue, Definition, DefinitionBytes, ExtentBytes, FIRST_NAME_BYTES, FREE, KIND_AREA,
    KIND_DROPPED, KIND_JOURNAL, KIND_TABLE, Kind, LIFE_MAX, MORE_NAME_BYTES, Placed,
};
use sardonyx_base::resident::Resident;

/// The entry has flags and a sum.
const HAS_FLAGS: u32 = 1;
/// The pages were others' before.
const REUSED: u32 = 2;
/// The first bit of the number among the extents of an owner.
const ORDER_BIT: u32 = 8;
/// So that a sum of nothing is not nothing.
const SUM_START: u32 = 0x5344_5845;

impl Definition {
    pub(super) fn encode(&self, life: u32) -> DefinitionBytes {
        let (mut name, mut more_name) = ([0; FIRST_NAME_BYTES], [0; MORE_NAME_BYTES]);
        let bytes = self.name.as_bytes();
        let (first, more) = bytes.split_at(bytes.len().min(FIRST_NAME_BYTES));
        name[..first.len()].copy_from_slice(first);
        more_name[..more.len()].copy_from_slice(more);
        let (kind, key_offset, key_bytes) = match self.kind {
            Kind::Table {
                key_offset,
                key_bytes,
            } => (KIND_TABLE, key_offset, key_bytes),
            Kind::Journal => (KIND_JOURNAL, 0, 0),
            Kind::Area => (KIND_AREA, 0, 0),
            Kind::Dropped => (KIND_DROPPED, 0, 0),
        };
        DefinitionBytes {
            name,
            name_bytes: self.name.len() as u8,
            kind,
            reserved: [0; 2],
            record_bytes: self.record_bytes as u32,
            key_offset: key_offset as u32,
            key_bytes: key_bytes as u32,
            life,
            life_check: if life == 0 { 0 } else { !life },
            more_name,
        }
    }
}

impl DefinitionBytes {
    pub(super) fn decode(&self) -> Result<(Definition, u32), String> {
        let bytes = [self.name.as_slice(), self.more_name.as_slice()].concat();
        let name = bytes
            .get(..self.name_bytes.into())
            .ok_or("a name longer than its room")?;
        let name = std::str::from_utf8(name).map_err(|_| "a name that is not UTF-8")?;
        let record_bytes = self.record_bytes as usize;
        let (key_offset, key_bytes) = (self.key_offset as usize, self.key_bytes as usize);
        let kind = match self.kind {
            KIND_TABLE => Kind::Table {
                key_offset,
                key_bytes,
            },
            KIND_JOURNAL => Kind::Journal,
            KIND_AREA if (key_offset, key_bytes) == (0, 0) => Kind::Area,
            KIND_AREA => return Err("an area with a key".to_string()),
            KIND_DROPPED => {
                let empty = DefinitionBytes {
                    kind: KIND_DROPPED,
                    ..DefinitionBytes::new_zeroed()
                };
                if self.as_bytes() != empty.as_bytes() {
                    return Err("something dropped that is still there".to_string());
                }
                Kind::Dropped
            }
            other => return Err(format!("the unknown kind {other}")),
        };
        let definition = Definition {
            name: name.to_string(),
            record_bytes,
            kind,
        };
        definition.check().map_err(|error| error.to_string())?;
        let life_check = if self.life == 0 { 0 } else { !self.life };
        if self.life_check != life_check || self.life > LIFE_MAX {
            return Err("an impossible life".to_string());
        }
        Ok((definition, self.life))
    }
}

impl ExtentBytes {
    /// The entry of an extent in a catalogue.
    pub(super) fn of(catalogue: &Catalogue, placed: Placed) -> Self {
        let Placed {
            owner: number,
            order,
            extent,
        } = placed;
        let of = if number == FREE {
            u32::MAX
        } else {
            number.into()
        };
        let kind = catalogue
            .definitions
            .get(usize::from(number))
            .map(|definition| definition.kind);
        let mut entry = ExtentBytes {
            of,
            check: if kind == Some(Kind::Area) { !of } else { 0 },
            first_page: extent.first_page.0,
            pages: extent.pages,
            flags: 0,
            sum: 0,
        };
        if catalogue.is_newer {
            entry.flags = HAS_FLAGS | if extent.reused { REUSED } else { 0 } | order << ORDER_BIT;
            entry.sum = entry.sum();
        }
        entry
    }

    fn sum(&self) -> u32 {
        let halves = |word: u64| word as u32 ^ (word >> 32) as u32;
        SUM_START ^ self.of ^ self.check ^ halves(self.first_page) ^ halves(self.pages) ^ self.flags
    }

    /// Checks its owner, its number among the extents of that, and if it was another's before.
    pub(super) fn check(&self, catalogue: &Catalogue) -> Result<(u16, u32, bool), &'static str> {
        let is_old = (self.flags, self.sum) == (0, 0);
        let order = self.flags >> ORDER_BIT;
        let flags = self.flags & ((1 << ORDER_BIT) - 1);
        let known = catalogue.is_newer
            && flags & !REUSED == HAS_FLAGS
            && (order == 0 || catalogue.is_large)
            && self.sum == self.sum();
        if !is_old && !known {
            return Err("an extent whose sum is wrong");
        }
        if self.of == u32::MAX && known && self.check == 0 && order == 0 {
            return Ok((FREE, 0, true));
        }
        let kind = catalogue
            .definitions
            .get(self.of as usize)
            .map(|definition| definition.kind);
        let check = match kind {
            Some(Kind::Table { .. }) => 0,
            Some(Kind::Area) => !self.of,
            Some(Kind::Journal | Kind::Dropped) | None => {
                return Err("an extent of no table and no area");
            }
        };
        if self.check != check {
            return Err("an extent of another table or area than it records");
        }
        Ok((self.of as u16, order, self.flags & REUSED != 0))
    }
}
