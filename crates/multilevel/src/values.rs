//! Typed help for operations of one's own: values in pages without offsets, and arguments without
//! hand-written bytes.

use crate::pages::{Area, Pages, Stop};
use sardonyx_base::resident::Resident;
use sardonyx_storage::page::{PAGE_SIZE, PageId};
use std::fmt;
use std::marker::PhantomData;

/// Values of one type side by side in an area, as many to a page as fit: numbers, or plain records. An
/// area's pages are zeroes at first, and so are its values.
///
/// ```
/// use sardonyx_multilevel::{PlainPages, Values};
///
/// let mut pages = PlainPages::new();
/// let prices: Values<u64> = Values::in_area(pages.area(2));
/// prices.set(&mut pages, 700, &12)?;
/// assert_eq!(prices.update(&mut pages, 700, |price| *price += 1)?, 13);
/// assert_eq!(prices.get(&pages, 700)?, 13);
/// assert!(prices.get(&pages, 1024).is_err(), "there is no third page");
/// # Ok::<_, sardonyx_multilevel::Stop>(())
/// ```
pub struct Values<T> {
    area: Area,
    of: PhantomData<fn() -> T>,
}

impl<T: Resident> Values<T> {
    pub const PER_PAGE: u64 = {
        assert!(
            size_of::<T>() > 0 && size_of::<T>() <= PAGE_SIZE,
            "a value has at least one byte and fits into a page"
        );
        (PAGE_SIZE / size_of::<T>()) as u64
    };

    /// The values in an area. It must have a page for each of them: `index / PER_PAGE`.
    pub fn in_area(area: Area) -> Self {
        let of = PhantomData;
        Values { area, of }
    }

    fn place(self, pages: &dyn Pages, index: u64) -> Result<(PageId, usize), Stop> {
        let page = pages.page(self.area, index / Self::PER_PAGE)?;
        Ok((page, (index % Self::PER_PAGE) as usize * size_of::<T>()))
    }

    fn of_page(page: &[u8], at: usize) -> T {
        T::read_from_bytes(&page[at..at + size_of::<T>()]).expect("bytes of its size")
    }

    /// Reads a value.
    ///
    /// # Errors
    /// As [`Pages::page`] and [`Pages::read`].
    pub fn get(self, pages: &dyn Pages, index: u64) -> Result<T, Stop> {
        let (page, at) = self.place(pages, index)?;
        Ok(Self::of_page(pages.read(page)?, at))
    }

    /// Replaces a value. Gives back the one before, of which an inverse can be made.
    ///
    /// # Errors
    /// As [`Pages::page`] and [`Pages::write`].
    pub fn set(self, pages: &mut dyn Pages, index: u64, value: &T) -> Result<T, Stop> {
        let (page, at) = self.place(pages, index)?;
        let bytes = pages.write(page, at..at + size_of::<T>())?;
        let before = Self::of_page(bytes, 0);
        bytes.copy_from_slice(value.as_bytes());
        Ok(before)
    }

    /// Changes a value in place. Returns the new value.
    ///
    /// # Errors
    /// As [`Values::set`].
    pub fn update(
        self,
        pages: &mut dyn Pages,
        index: u64,
        change: impl FnOnce(&mut T),
    ) -> Result<T, Stop> {
        let (page, at) = self.place(pages, index)?;
        let mut value = Self::of_page(pages.read_to_write(page)?, at);
        change(&mut value);
        pages.write_bytes(page, at, value.as_bytes())?;
        Ok(value)
    }
}

impl<T> Clone for Values<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Values<T> {}

impl<T> fmt::Debug for Values<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Values in area {}", self.area.0)
    }
}

/// Makes an operation [`Recorded`](crate::Recorded), so that it can be an inverse: its name, and its
/// fields, in the order in which they are written down. Their types are plain data
/// ([`Resident`]): numbers, arrays, areas, structs of such. The fields of a
/// tuple struct are `0`, `1`.
///
/// ```
/// use sardonyx_multilevel::{Area, Operation, Pages, Recorded, Stop, Values, recorded};
///
/// struct Add {
///     area: Area,
///     amount: i64,
/// }
/// recorded!(Add { area, amount }, "add");
///
/// impl Operation for Add {
///     type Output = i64;
///     type Error = Stop;
///     fn execute(&self, pages: &mut dyn Pages) -> Result<i64, Stop> {
///         Values::in_area(self.area).update(pages, 0, |sum: &mut i64| *sum += self.amount)
///     }
/// }
///
/// let mut bytes = Vec::new();
/// Add { area: Area(3), amount: -7 }.encode(&mut bytes);
/// let again = Add::decode(&bytes).expect("the same");
/// assert_eq!((again.area, again.amount), (Area(3), -7));
/// assert!(Add::decode(&bytes[1..]).is_none() && Add::decode(&[bytes, vec![0]].concat()).is_none());
/// ```
#[macro_export]
macro_rules! recorded {
    ($operation:ident { $($field:tt),* $(,)? }, $name:expr) => {
        impl $crate::Recorded for $operation {
            const NAME: &'static str = $name;

            fn encode(&self, into: &mut ::std::vec::Vec<u8>) {
                $($crate::values::put(&{ self.$field }, into);)*
            }

            fn decode(bytes: &[u8]) -> ::core::option::Option<Self> {
                let mut bytes = bytes;
                let operation = $operation { $($field: $crate::values::take(&mut bytes)?),* };
                bytes.is_empty().then_some(operation)
            }
        }
    };
}

/// The write of a field by [`recorded!`](crate::recorded!).
#[doc(hidden)]
pub fn put<T: Resident>(field: &T, into: &mut Vec<u8>) {
    into.extend_from_slice(field.as_bytes());
}

/// The read of a field by [`recorded!`](crate::recorded!).
#[doc(hidden)]
pub fn take<T: Resident>(bytes: &mut &[u8]) -> Option<T> {
    let (field, rest) = T::read_from_prefix(bytes)?;
    *bytes = rest;
    Some(field)
}
