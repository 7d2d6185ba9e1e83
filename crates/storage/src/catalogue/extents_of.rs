//! The extents of one table or area, in the order in which it got them.
//!
//! A type with a loop of its own, not a chain of adapters: it is used at thirty places, and each would compile the chain
//! again.

use super::{Catalogue, Extent};

/// The extents of a table or area, by [`Catalogue::extents_of`].
#[derive(Clone, Debug)]
pub struct ExtentsOf<'a> {
    catalogue: &'a Catalogue,
    owner: u16,
    /// The places of its extents, where the catalogue knows them: a large one does.
    places: Option<&'a [u32]>,
    /// The next of `places`, or of all extents.
    at: usize,
}

impl Catalogue {
    /// The extents of a table or area, in the order in which it got them.
    pub fn extents_of(&self, number: u16) -> ExtentsOf<'_> {
        let own = || self.places.get(usize::from(number));
        ExtentsOf {
            catalogue: self,
            owner: number,
            // A catalogue that is not large has few, in their order.
            places: self.is_large.then(|| own().map_or(&[][..], |own| own)),
            at: 0,
        }
    }
}

impl Iterator for ExtentsOf<'_> {
    type Item = Extent;

    fn next(&mut self) -> Option<Extent> {
        loop {
            let place = match self.places {
                Some(places) => *places.get(self.at)? as usize,
                None => self.at,
            };
            self.at += 1;
            let placed = self.catalogue.extents.get(place)?;
            if let Some(placed) = placed.filter(|placed| placed.owner == self.owner) {
                return Some(placed.extent);
            }
        }
    }
}
