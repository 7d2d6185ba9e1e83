//! Pages of plain memory, and the two traits by which a structure reaches them.
//!
//! A [`Page`] is 4096 bytes without a meaning of its own: every pattern of bits is valid. So page-aligned bytes can be
//! seen as pages without a copy and without unsafe code. A view of a segment serves as well as a `Vec`.
//!
//! [`Pages`] gives pages one by one, not as a slice. A slice implements it without further cost. But an owner may want
//! to know which page is read and which is written, for instance to avoid page faults; it can implement the traits
//! itself.

use sardonyx_base::resident::{Resident, slice_from_bytes, slice_from_bytes_mut};

use crate::structures::error::Error;

/// The size of a page in bytes.
pub const PAGE_SIZE: usize = 4096;

/// 4096 bytes of plain memory, aligned to their size.
#[derive(Clone, Copy, Resident)]
#[repr(C, align(4096))]
pub struct Page {
    /// The bytes; any are valid.
    pub bytes: [u8; PAGE_SIZE],
}

impl Page {
    #[must_use]
    pub fn zeroed() -> Self {
        Self::new_zeroed()
    }

    /// Sees page-aligned bytes as pages.
    ///
    /// # Errors
    /// [`Error::NotPages`] if the address or the length is no multiple of 4096.
    pub fn slice(bytes: &[u8]) -> Result<&[Self], Error> {
        let refused = not_pages(bytes);
        slice_from_bytes(bytes, bytes.len() / PAGE_SIZE).ok_or(refused)
    }

    /// Sees page-aligned bytes as pages that can be changed.
    ///
    /// # Errors
    /// [`Error::NotPages`] if the address or the length is no multiple of 4096.
    ///
    /// ```
    /// use sardonyx_lab::structures::Page;
    /// use sardonyx_base::resident::bytes_of_slice_mut;
    ///
    /// let mut memory = vec![Page::zeroed(); 3];
    /// let bytes: &mut [u8] = bytes_of_slice_mut(&mut memory);
    /// assert_eq!(Page::slice_mut(bytes).unwrap().len(), 3);
    /// assert!(Page::slice_mut(&mut bytes[..5000]).is_err());
    /// ```
    pub fn slice_mut(bytes: &mut [u8]) -> Result<&mut [Self], Error> {
        let refused = not_pages(bytes);
        slice_from_bytes_mut(bytes, bytes.len() / PAGE_SIZE).ok_or(refused)
    }
}

fn not_pages(bytes: &[u8]) -> Error {
    Error::NotPages {
        length: bytes.len(),
        excess: bytes.as_ptr().addr() % PAGE_SIZE,
    }
}

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Page({:02x?} …)", &self.bytes[..16])
    }
}

/// An area of pages that can be read.
pub trait Pages {
    /// The current number of pages of the area.
    fn count(&self) -> usize;

    /// The page with this number, or nothing if the area is smaller.
    fn page(&self, number: usize) -> Option<&Page>;
}

/// An area of pages that can be changed.
pub trait PagesMut: Pages {
    /// The page with this number, to be changed, or nothing if the area is smaller.
    fn page_mut(&mut self, number: usize) -> Option<&mut Page>;
}

impl Pages for [Page] {
    #[inline(always)]
    fn count(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn page(&self, number: usize) -> Option<&Page> {
        self.get(number)
    }
}

impl PagesMut for [Page] {
    #[inline(always)]
    fn page_mut(&mut self, number: usize) -> Option<&mut Page> {
        self.get_mut(number)
    }
}

impl Pages for Vec<Page> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn page(&self, number: usize) -> Option<&Page> {
        self.get(number)
    }
}

impl PagesMut for Vec<Page> {
    #[inline(always)]
    fn page_mut(&mut self, number: usize) -> Option<&mut Page> {
        self.get_mut(number)
    }
}

impl<P: Pages + ?Sized> Pages for &P {
    #[inline(always)]
    fn count(&self) -> usize {
        (**self).count()
    }

    #[inline(always)]
    fn page(&self, number: usize) -> Option<&Page> {
        (**self).page(number)
    }
}

impl<P: Pages + ?Sized> Pages for &mut P {
    #[inline(always)]
    fn count(&self) -> usize {
        (**self).count()
    }

    #[inline(always)]
    fn page(&self, number: usize) -> Option<&Page> {
        (**self).page(number)
    }
}

impl<P: PagesMut + ?Sized> PagesMut for &mut P {
    #[inline(always)]
    fn page_mut(&mut self, number: usize) -> Option<&mut Page> {
        (**self).page_mut(number)
    }
}
