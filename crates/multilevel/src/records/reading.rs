//! Pages of an operation as the pages of rows: [`PageRead`], so that the readers of references and cells work here,
//! too. The reason why a page cannot be had passes through the errors of rows unchanged.

use super::RecordError;
use crate::pages::{Page, Pages, Stop};
use sardonyx_base::error::CrateError;
use sardonyx_rows::TableError;
use sardonyx_storage::page::{Address, PageId};
use sardonyx_storage::store::{LiveWords, PageRead};

/// The pages of an operation, which are locked when they are read.
pub(super) struct OperationPages<'p> {
    pub pages: &'p dyn Pages,
    /// True if they will be written.
    pub to_write: bool,
}

impl OperationPages<'_> {
    pub fn page(&self, page: PageId) -> Result<&Page, Stop> {
        match self.to_write {
            true => self.pages.read_to_write(page),
            false => self.pages.read(page),
        }
    }
}

/// The operation cannot go on.
#[derive(Debug)]
pub(super) struct Stopped(Stop);

impl From<Stop> for Stopped {
    fn from(stop: Stop) -> Self {
        Stopped(stop)
    }
}

impl From<Stopped> for TableError {
    fn from(Stopped(stop): Stopped) -> Self {
        TableError::Engine(stop.into_error())
    }
}

/// A stop that is carried by an error of rows is the operation's again.
impl From<TableError> for RecordError {
    fn from(error: TableError) -> Self {
        let carried = match error {
            TableError::Engine(error) => error.downcast::<Stop>().map_err(TableError::Engine),
            error => Err(error),
        };
        match carried {
            Ok(stop) => RecordError::Stop(stop),
            Err(error) => RecordError::Row(error.into()),
        }
    }
}

/// The place of an address in its page.
fn in_page(at: Address) -> Address {
    Address(at.offset_in_page() as u64)
}

/// The result of reading live bytes, which never end.
fn live<T>(read: Result<T, std::convert::Infallible>) -> T {
    match read {
        Ok(read) => read,
        Err(never) => match never {},
    }
}

impl PageRead for OperationPages<'_> {
    type Error = Stopped;
    type Words<'a>
        = LiveWords<'a>
    where
        Self: 'a;

    fn look<'a, T>(
        &'a self,
        at: Address,
        length: usize,
        look: impl FnMut(LiveWords<'a>) -> T,
    ) -> Result<T, Stopped> {
        let page: &'a [u8] = self.page(at.page())?;
        Ok(live(page.look(in_page(at), length, look)))
    }

    fn read_into(&self, at: Address, into: &mut [u8]) -> Result<(), Stopped> {
        let page: &[u8] = self.page(at.page())?;
        live(page.read_into(in_page(at), into));
        Ok(())
    }

    fn word(&self, at: Address) -> Result<u64, Stopped> {
        let page: &[u8] = self.page(at.page())?;
        Ok(live(page.word(in_page(at))))
    }

    fn read<'a>(
        &'a self,
        at: Address,
        length: usize,
        _: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Stopped> {
        let page = self.page(at.page())?;
        Ok(&page[at.offset_in_page()..][..length])
    }

    /// Nothing of a page that cannot be had: reading it returns the reason.
    fn borrowed(&self, at: Address, length: usize) -> Option<&[u8]> {
        let page = self.page(at.page()).ok()?;
        page[at.offset_in_page()..].get(..length)
    }
}
