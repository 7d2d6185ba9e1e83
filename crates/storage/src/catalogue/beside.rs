//! A table's next content, which is made beside its present one. Pages that name the table and a life that it has not
//! yet are in extents of another table, whose own pages they are not. When all of them are made, the table takes them
//! over, with the life: a change of the catalogue alone, however many pages there are.
//!
//! Before that, a program that opens the database sees an empty table with pages that were another's. So extents of such
//! a table are marked as reused from the beginning.

use super::{Catalogue, CatalogueError, Extent, Write};
use std::sync::Arc;

impl Catalogue {
    /// Gives out a life that no table has. Returns it, and the writes.
    ///
    /// # Errors
    /// [`CatalogueError::Limit`] if there are no more lives: `compact` gives new ones.
    #[inline]
    pub fn give_life(&mut self) -> Result<(u32, Vec<Write>), CatalogueError> {
        self.changed(|new| {
            new.is_newer = true;
            new.next_life()
        })
    }

    /// Gives a table its next extent, of so many pages, some of which will not be the table's own. Returns it, and the
    /// writes. As [`Catalogue::extend_table`].
    ///
    /// # Errors
    /// As [`Catalogue::extend_table`].
    pub fn extend_beside(
        &mut self,
        number: u16,
        pages: u64,
    ) -> Result<(Extent, Vec<Write>), CatalogueError> {
        self.check_table(number)?;
        let extent = Extent {
            reused: true,
            ..self.place_of_extent(pages)?
        };
        let writes = self.push_extent(number, extent)?;
        Ok((extent, writes))
    }

    /// Gives a table a life, and in the place of its extents those of another table, which is dropped. Returns the
    /// bytes to write; nothing is written into the pages.
    ///
    /// # Errors
    /// [`CatalogueError::NoTable`]. The catalogue is then as before.
    #[inline]
    pub fn take_over(
        &mut self,
        number: u16,
        from: u16,
        life: u32,
    ) -> Result<Vec<Write>, CatalogueError> {
        self.check_table(number)?;
        self.check_table(from)?;
        let taken = self.changed(|new| {
            new.is_newer = true;
            new.free_extents(number);
            new.give_extents(from, number);
            new.set_life(usize::from(number), life);
            new.forget_definition(from);
            Ok(())
        });
        taken.map(|((), writes)| writes)
    }

    /// Gives a table another name, and a life that its pages name already. Returns the bytes to write.
    ///
    /// # Errors
    /// [`Catalogue::rename_table`]. The catalogue is then as before.
    #[inline]
    pub fn adopt(
        &mut self,
        number: u16,
        name: &str,
        life: u32,
    ) -> Result<Vec<Write>, CatalogueError> {
        let before = self.clone();
        self.rename_table(number, name)?;
        self.set_life(usize::from(number), life);
        Ok(self.changes_since(&before))
    }

    /// Gives a table the extents of another one. It has none of its own.
    #[inline]
    fn give_extents(&mut self, from: u16, to: u16) {
        let places: Vec<u32> = self.places_of(from);
        for place in &places {
            if let Some(Some(placed)) = self.extents.get_mut(*place as usize) {
                placed.owner = to;
            }
        }
        if self.is_large {
            if let Some(of) = self.places.get_mut(usize::from(from)) {
                *of = Arc::default();
            }
            if let Some(of) = self.places.get_mut(usize::from(to)) {
                *of = Arc::new(places);
            }
        }
    }
}
