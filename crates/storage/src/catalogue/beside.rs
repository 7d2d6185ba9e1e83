//! A table's next content, which is made beside its present one. Pages that name the table and a life that it has not
//! yet are in extents of another table, whose own pages they are not. When all of them are made, the table takes them
//! over, with the life: a change of the catalogue alone, however many pages there are.
//!
//! Before that, a program that opens the database sees an empty table with pages that were another's. So extents of such
//! a table are marked as reused from the beginning.

use super::{Catalogue, CatalogueError, Definition, Extent, Kind, Write};

impl Catalogue {
    /// Gives out a life that no table has. Returns it, and the writes.
    ///
    /// # Errors
    /// [`CatalogueError::Limit`] if there are no more lives: `compact` gives new ones.
    #[inline]
    pub fn give_life(&mut self) -> Result<(u32, Vec<Write>), CatalogueError> {
        let life = self.next_life()?;
        self.is_newer = true;
        Ok((life, vec![Write::new(Self::ROOT, &self.root())]))
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
        let writes = self.push_extent(number, extent);
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
        let before = self.clone();
        self.is_newer = true;
        self.free_extents(number);
        for (of, _) in &mut self.extents {
            if *of == from {
                *of = number;
            }
        }
        self.lives[usize::from(number)] = life;
        self.lives[usize::from(from)] = 0;
        self.definitions[usize::from(from)] = Definition {
            name: String::new(),
            record_bytes: 0,
            kind: Kind::Dropped,
        };
        Ok(self.changes_since(&before))
    }
}
