//! Places: typed pointers that mean the same in every process and in every view of a segment.
//!
//! Each session sees the segment at an address of its own, so a link inside it is the offset of its target. Like all
//! resident values, a place may hold any number: it is checked at its use, by
//! [`MemoryAccess`](crate::memory::MemoryAccess), not when it is made.

use sardonyx_base::resident::Resident;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Range;

/// The place of a `T` in a segment: its offset from the start, in bytes; 0 is null.
///
/// ```
/// use sardonyx_mapped::P;
/// let place: P<u64> = P::from_offset(4096);
/// assert!(!place.is_null() && P::<u64>::null().is_null());
/// assert_eq!(format!("{place:?}"), "P<u64>(0x1000)");
/// ```
#[repr(transparent)]
pub struct P<T> {
    offset: u64,
    /// Names `T` without owning one: a place may go to any thread, for any `T`.
    of: PhantomData<fn() -> T>,
}

// SAFETY: `repr(transparent)` over a `u64`, for any `T`. `T` need not be resident here, so that a type can link to
// itself; it must be at the place's use.
unsafe impl<T: 'static> Resident for P<T> {}

impl<T> P<T> {
    /// The place that is none.
    pub const fn null() -> Self {
        Self::from_offset(0)
    }

    /// The place at so many bytes from the segment's start. Any number may be given.
    pub const fn from_offset(offset: u64) -> Self {
        P {
            offset,
            of: PhantomData,
        }
    }

    /// Bytes from the segment's start.
    pub const fn offset(self) -> u64 {
        self.offset
    }

    /// Null is the offset 0, where no value can be.
    pub const fn is_null(self) -> bool {
        self.offset == 0
    }

    /// The same place, seen as another type. Nothing can go wrong but the program's own meaning:
    /// any bytes are a value of a resident type.
    pub const fn cast<U>(self) -> P<U> {
        P::from_offset(self.offset)
    }

    /// The place `bytes` further on. Null stays null, so that a part of nothing is nothing; beyond
    /// the largest offset there is no memory, and the place says so when it is used.
    pub const fn byte_add<U>(self, bytes: u64) -> P<U> {
        if self.is_null() {
            return P::null();
        }
        P::from_offset(self.offset.saturating_add(bytes))
    }

    /// The expansion of [`place!`](crate::place!): `field` only gives its type.
    #[doc(hidden)]
    pub const fn project<U>(self, offset: usize, _field: fn(&T) -> &U) -> P<U> {
        self.byte_add(offset as u64)
    }
}

impl<T, const N: usize> P<[T; N]> {
    /// The place of an element; `None` at or above the array's length. Of null, null.
    ///
    /// ```
    /// use sardonyx_mapped::P;
    /// let array: P<[u32; 4]> = P::from_offset(64);
    /// assert_eq!(array.index(3), Some(P::from_offset(76)));
    /// assert_eq!(array.index(4), None);
    /// ```
    pub const fn index(self, index: u64) -> Option<P<T>> {
        if index < N as u64 {
            // Within the array's size, which is at most `isize::MAX`.
            Some(self.byte_add(index * size_of::<T>() as u64))
        } else {
            None
        }
    }

    /// The whole array as a slice.
    pub const fn as_slice(self) -> Slice<T> {
        Slice {
            start: self.cast(),
            length: N as u64,
        }
    }
}

/// The place of a field, from the place of its struct: `place!(account, Account, balance)`. Fields
/// of fields too: `place!(shape, Shape, corner.x)`. Of null it is null.
///
/// ```
/// use sardonyx_mapped::{P, Resident, place};
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct Account { number: u64, balance: i64 }
/// let account: P<Account> = P::from_offset(64);
/// let balance: P<i64> = place!(account, Account, balance);
/// assert_eq!(balance, P::from_offset(72));
/// ```
#[macro_export]
macro_rules! place {
    ($place:expr, $struct:ty, $($field:tt).+) => {
        $crate::place::P::<$struct>::project(
            $place,
            ::core::mem::offset_of!($struct, $($field).+),
            |value| &value.$($field).+,
        )
    };
}

/// The place of consecutive values in a segment. Any bytes are a slice; it is checked where it is
/// used.
#[repr(C)]
pub struct Slice<T> {
    /// The place of the first.
    pub start: P<T>,
    /// Counts the values.
    pub length: u64,
}

// SAFETY: `repr(C)` of two `u64`, for any `T`: no padding, every bit pattern a value.
unsafe impl<T: 'static> Resident for Slice<T> {}

impl<T> Slice<T> {
    /// No values.
    pub const fn empty() -> Self {
        Slice {
            start: P::null(),
            length: 0,
        }
    }

    /// True without values.
    pub const fn is_empty(self) -> bool {
        self.length == 0
    }

    /// The place of a value; `None` at or above the length.
    pub const fn index(self, index: u64) -> Option<P<T>> {
        if index < self.length {
            Some(self.element(index))
        } else {
            None
        }
    }

    /// A part; `None` if it is not within.
    pub const fn part(self, range: Range<u64>) -> Option<Slice<T>> {
        if range.start <= range.end && range.end <= self.length {
            Some(Slice {
                start: self.element(range.start),
                length: range.end - range.start,
            })
        } else {
            None
        }
    }

    /// The place of the value `index`; `length` may be any number, so it may be outside of the
    /// segment.
    const fn element(self, index: u64) -> P<T> {
        self.start
            .byte_add(index.saturating_mul(size_of::<T>() as u64))
    }
}

// Not derived: a place is copied, compared and shown whether or not a `T` can be.
impl<T> Clone for P<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for P<T> {}
impl<T> PartialEq for P<T> {
    fn eq(&self, other: &Self) -> bool {
        self.offset == other.offset
    }
}
impl<T> Eq for P<T> {}
impl<T> PartialOrd for P<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for P<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.offset.cmp(&other.offset)
    }
}
impl<T> Hash for P<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.offset.hash(state);
    }
}
impl<T> Default for P<T> {
    fn default() -> Self {
        P::null()
    }
}
impl<T> fmt::Debug for P<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P<{}>({:#x})", std::any::type_name::<T>(), self.offset)
    }
}

impl<T> Clone for Slice<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Slice<T> {}
impl<T> PartialEq for Slice<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.start, self.length) == (other.start, other.length)
    }
}
impl<T> Eq for Slice<T> {}
impl<T> Default for Slice<T> {
    fn default() -> Self {
        Slice::empty()
    }
}
impl<T> fmt::Debug for Slice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}[..{}]", self.start, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Resident)]
    #[repr(C)]
    struct Point {
        x: u32,
        y: u32,
    }

    #[derive(Clone, Copy, Resident)]
    #[repr(C)]
    struct Shape {
        next: P<Shape>,
        corners: [Point; 3],
        centre: Point,
    }

    #[test]
    fn fields_of_fields_and_of_null() {
        let shape: P<Shape> = P::from_offset(0x1000);
        let y: P<u32> = place!(shape, Shape, centre.y);
        assert_eq!(y.offset(), 0x1000 + 8 + 24 + 4);
        let corners: P<[Point; 3]> = place!(shape, Shape, corners);
        assert_eq!(corners.index(2).unwrap().offset(), 0x1000 + 8 + 16);
        assert_eq!(corners.index(3), None);
        assert_eq!(corners.as_slice().index(2), corners.index(2));
        assert!(place!(P::<Shape>::null(), Shape, centre.y).is_null());
        let last: P<Shape> = P::from_offset(u64::MAX - 4);
        assert_eq!(place!(last, Shape, centre).offset(), u64::MAX);
    }

    #[test]
    fn slices_of_any_bytes_have_no_elements_elsewhere() {
        let slice = Slice::<u64> {
            start: P::from_offset(16),
            length: u64::MAX,
        };
        assert_eq!(slice.index(1), Some(P::from_offset(24)));
        assert_eq!(slice.index(u64::MAX - 1), Some(P::from_offset(u64::MAX)));
        assert_eq!(slice.index(u64::MAX), None);
        let part = slice.part(2..5).unwrap();
        assert_eq!((part.start.offset(), part.length), (32, 3));
        assert_eq!(part.part(2..4), None);
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = part.part(2..1);
        assert_eq!(reversed, None);
        assert_eq!(part.part(3..3).unwrap().length, 0);
        assert!(Slice::<u64>::default().is_empty());
    }

    #[test]
    fn a_place_goes_to_other_threads_whatever_it_links_to() {
        fn anywhere<T: Send + Sync + Copy>(_: T) {}
        anywhere(P::<std::cell::Cell<*const u8>>::null());
    }
}
