//! Plain data: types that are their bytes, in pages, in records and in mapped segments, and the few casts between them and
//! bytes.
//!
//! Pages come from disk, and memory of a segment from other processes, which may be written in C or Python and may be
//! wrong. So any bytes there must be a valid value of the type that is read from them. Every byte of a value that is
//! written must be defined: no padding, no `bool`, no enum, no reference. The program checks the *meaning* of a value; the
//! proof here is that it can be read.
//!
//! All `unsafe` that reads bytes as values and values as bytes is in this file. A crate for it (`zerocopy`) took a tenth of
//! the compilation of an embedding program.

use std::marker::PhantomData;
use std::num::{Saturating, Wrapping};

pub use sardonyx_derive::Resident;

/// The largest alignment of a resident type, in bytes: a page's, because a page is what keeps its
/// place in every process.
pub const ALIGN_MAX: usize = 4096;

/// A type whose values are their bytes: they may live in pages, be records and keys of tables, and lie in a mapped segment.
/// Implement it by `#[derive(Resident)]`.
///
/// ```
/// # mod sardonyx { pub mod low_level { pub use sardonyx_base::resident::Resident; } }
/// use sardonyx::low_level::Resident;
///
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct Account {
///     owner: [u8; 32],
///     balance: i64,
///     next: u64,
/// }
///
/// let account = Account { owner: [0; 32], balance: 7, next: 1 };
/// assert_eq!(Account::read_from_bytes(account.as_bytes()).unwrap().balance, 7);
/// ```
///
/// # Safety
/// A manual implementation promises:
/// - the layout is fixed (`repr(C)`, `repr(transparent)` or a primitive type);
/// - every bit pattern of `size_of::<Self>()` bytes is a valid value;
/// - no byte is padding;
/// - no interior mutability, no pointer, no reference;
/// - the alignment is at most [`ALIGN_MAX`].
///
/// # What is not resident
/// `bool`, `char`, `NonZero…`, `Option` and enums have bit patterns without a value: keep an
/// integer and convert it where it is read. `usize` and `isize` have another size on another
/// target: keep `u64`. References and pointers mean nothing in another process: in a mapped segment
/// keep a `P<T>` of `sardonyx-mapped`.
/// Atomics change behind a shared reference, which a transaction's consistent view excludes.
///
/// ```compile_fail
/// # use sardonyx_base::resident::Resident;
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct Flag(bool); // a byte of 2 is no `bool`: keep a `u8`
/// ```
///
/// ```compile_fail
/// # use sardonyx_base::resident::Resident;
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct Index(usize); // keep a `u64`
/// ```
///
/// ```compile_fail
/// # use sardonyx_base::resident::Resident;
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct Link(&'static u8); // keep the value's place
/// ```
///
/// ```compile_fail
/// # use sardonyx_base::resident::Resident;
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct Padded { a: u32, b: u64 } // add `reserved: u32` between
/// ```
///
/// ```compile_fail
/// # use sardonyx_base::resident::Resident;
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct Tail { a: u64, b: u8 } // add `reserved: [u8; 7]` after
/// ```
///
/// ```compile_fail
/// # use sardonyx_base::resident::Resident;
/// #[derive(Clone, Copy, Resident)]
/// struct Unordered { a: u64 } // add `#[repr(C)]`
/// ```
///
/// ```compile_fail
/// # use sardonyx_base::resident::Resident;
/// #[derive(Clone, Resident)]
/// #[repr(C)]
/// struct NotCopy { a: u64 } // derive `Copy` too
/// ```
///
/// ```compile_fail
/// # use sardonyx_base::resident::Resident;
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C, align(8192))]
/// struct Aligned([u8; 8192]); // at most 4096
/// ```
///
/// ```compile_fail
/// # use sardonyx_base::resident::Resident;
/// #[derive(Clone, Copy, Resident)]
/// #[repr(transparent)]
/// struct Wrapper<T>(T);
/// fn resident<T: Resident>() {}
/// resident::<Wrapper<bool>>(); // `Wrapper<u8>` is
/// ```
///
/// These are refused for no other reason: mended as the comments say, they are resident.
///
/// ```
/// # use sardonyx_base::resident::Resident;
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct Flag(u8);
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct Index(u64);
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct Link(u64);
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct Padded { a: u32, reserved: u32, b: u64 }
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct Tail { a: u64, b: u8, reserved: [u8; 7] }
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct Unordered { a: u64 }
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C)]
/// struct NotCopy { a: u64 }
/// #[derive(Clone, Copy, Resident)]
/// #[repr(C, align(4096))]
/// struct Aligned([u8; 8192]);
/// #[derive(Clone, Copy, Resident)]
/// #[repr(transparent)]
/// struct Wrapper<T>(T);
/// fn resident<T: Resident>() {}
/// resident::<Wrapper<u8>>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data, which records, keys and the contents of a mapped segment are",
    label = "not every bit pattern is a value of it, or it means nothing in another process",
    note = "for a struct: `#[derive(Clone, Copy, Resident)] #[repr(C)]`, or `sardonyx::plain!`",
    note = "for `bool`, `char` and enums keep an integer, for `usize` a `u64`; in a mapped segment keep for references \
            and pointers a `P<T>`, for `String` and `Vec` what the heap allocates"
)]
pub unsafe trait Resident: Copy + 'static {
    /// The value as it is in memory, in pages and in files.
    #[inline(always)]
    fn as_bytes(&self) -> &[u8] {
        bytes_of_slice(std::slice::from_ref(self))
    }

    /// Its bytes, to change: any bytes are a value.
    #[inline(always)]
    fn as_mut_bytes(&mut self) -> &mut [u8] {
        bytes_of_slice_mut(std::slice::from_mut(self))
    }

    /// The value of all zero bytes.
    #[inline(always)]
    fn new_zeroed() -> Self {
        // SAFETY: every bit pattern is a value of a resident type, also this one.
        unsafe { std::mem::zeroed() }
    }

    /// Bytes seen as a value; `None` if there are not exactly its size or they are not aligned for it.
    #[inline(always)]
    fn ref_from_bytes(bytes: &[u8]) -> Option<&Self> {
        let fits = bytes.len() == size_of::<Self>() && bytes.as_ptr().cast::<Self>().is_aligned();
        // SAFETY: the size and the alignment are as needed, the bytes are initialised and borrowed for as long as the
        // value, and any bit pattern is a value.
        fits.then(|| unsafe { &*bytes.as_ptr().cast::<Self>() })
    }

    /// As [`ref_from_bytes`](Self::ref_from_bytes), to change.
    #[inline(always)]
    fn mut_from_bytes(bytes: &mut [u8]) -> Option<&mut Self> {
        let fits = bytes.len() == size_of::<Self>() && bytes.as_ptr().cast::<Self>().is_aligned();
        // SAFETY: as in `ref_from_bytes`; the borrow is exclusive, and the written bytes are initialised because a
        // resident type has no padding.
        fits.then(|| unsafe { &mut *bytes.as_mut_ptr().cast::<Self>() })
    }

    /// A copy of the value that bytes are, at any alignment; `None` if there are not exactly its size.
    #[inline(always)]
    fn read_from_bytes(bytes: &[u8]) -> Option<Self> {
        let fits = bytes.len() == size_of::<Self>();
        // SAFETY: so many bytes are there and initialised, any bit pattern is a value, and the read is an unaligned one.
        fits.then(|| unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }

    /// A copy of the value that the first bytes are, and the bytes after it; `None` if they are too few.
    #[inline(always)]
    fn read_from_prefix(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (value, rest) = bytes.split_at_checked(size_of::<Self>())?;
        Some((Self::read_from_bytes(value)?, rest))
    }
}

macro_rules! resident_primitives {
    ($($name:ty)*) => {$(
        // SAFETY: a primitive number: fixed size, every bit pattern a value, no padding.
        unsafe impl Resident for $name {}
    )*};
}

resident_primitives!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64);

// SAFETY: no bytes at all; useful as the value of a set.
unsafe impl Resident for () {}

// SAFETY: no bytes at all.
unsafe impl<T: 'static> Resident for PhantomData<T> {}

// SAFETY: elements follow each other without gaps, because a type's size is a multiple of its
// alignment; each is resident.
unsafe impl<T: Resident, const N: usize> Resident for [T; N] {}

// SAFETY: `repr(transparent)` over `T`.
unsafe impl<T: Resident> Resident for Wrapping<T> {}

// SAFETY: `repr(transparent)` over `T`.
unsafe impl<T: Resident> Resident for Saturating<T> {}

/// The bytes of consecutive values.
#[inline(always)]
pub fn bytes_of_slice<T: Resident>(values: &[T]) -> &[u8] {
    // SAFETY: the bytes of the slice, for as long as it is borrowed. A resident type has no
    // padding, so each byte is initialised, and no interior mutability, so none changes.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The bytes of consecutive values, to change: any bytes are values.
#[inline(always)]
pub fn bytes_of_slice_mut<T: Resident>(values: &mut [T]) -> &mut [u8] {
    let length = size_of_val(values);
    // SAFETY: the bytes of the slice, for as long as it is borrowed exclusively. A resident type has no padding, so each
    // byte is initialised, and any bytes that are written are values of it.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), length) }
}

/// Bytes seen as `length` consecutive values; `None` if there are not exactly their size or they
/// are not aligned for them.
#[inline]
pub fn slice_from_bytes<T: Resident>(bytes: &[u8], length: usize) -> Option<&[T]> {
    let fits = Some(bytes.len()) == size_of::<T>().checked_mul(length)
        && bytes.as_ptr().cast::<T>().is_aligned();
    // SAFETY: as in `ref_from_bytes`, for `length` values, which are as long as `bytes`.
    fits.then(|| unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), length) })
}

/// As [`slice_from_bytes`], to change.
#[inline]
pub fn slice_from_bytes_mut<T: Resident>(bytes: &mut [u8], length: usize) -> Option<&mut [T]> {
    let fits = Some(bytes.len()) == size_of::<T>().checked_mul(length)
        && bytes.as_ptr().cast::<T>().is_aligned();
    // SAFETY: as in `mut_from_bytes`, for `length` values, which are as long as `bytes`.
    fits.then(|| unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), length) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Debug, Resident)]
    #[resident(crate = crate)]
    #[repr(C)]
    struct Pair {
        number: u32,
        bytes: [u8; 4],
    }

    #[repr(align(16))]
    struct Aligned([u8; 32]);

    #[test]
    fn a_value_and_its_bytes_are_the_same_memory() {
        let mut memory = Aligned([0; 32]);
        *Pair::mut_from_bytes(&mut memory.0[8..16]).unwrap() = Pair {
            number: u32::from_le_bytes([1, 2, 3, 4]),
            bytes: [5, 6, 7, 8],
        };
        assert_eq!(memory.0[8..16], [1, 2, 3, 4, 5, 6, 7, 8]);
        let pair = *Pair::ref_from_bytes(&memory.0[8..16]).unwrap();
        assert_eq!(pair.as_bytes(), &memory.0[8..16]);
        assert_eq!(bytes_of_slice(&[pair, pair]).len(), 16);
        assert_eq!(
            Pair::new_zeroed(),
            *Pair::ref_from_bytes(&memory.0[16..24]).unwrap()
        );
    }

    #[test]
    fn a_copy_needs_no_alignment_and_exactly_its_bytes() {
        let memory = Aligned([7; 32]);
        for start in 0..8 {
            let copy = Pair::read_from_bytes(&memory.0[start..start + 8]).unwrap();
            assert_eq!(copy.as_bytes(), [7; 8]);
        }
        assert!(Pair::read_from_bytes(&memory.0[..7]).is_none());
        assert!(Pair::read_from_bytes(&memory.0[..9]).is_none());
        let (first, rest) = Pair::read_from_prefix(&memory.0[1..]).unwrap();
        assert_eq!((first.bytes, rest.len()), ([7; 4], 23));
        assert!(Pair::read_from_prefix(&memory.0[..7]).is_none());
    }

    #[test]
    fn a_value_is_changed_by_its_bytes() {
        let mut pairs = [Pair::new_zeroed(); 2];
        pairs[0].as_mut_bytes().copy_from_slice(&[1; 8]);
        bytes_of_slice_mut(&mut pairs)[8..].fill(2);
        let all = pairs.map(|pair| (pair.number, pair.bytes));
        assert_eq!(all, [(0x0101_0101, [1; 4]), (0x0202_0202, [2; 4])]);
    }

    #[test]
    fn wrong_sizes_and_alignments_are_none() {
        let mut memory = Aligned([7; 32]);
        for (start, end) in [(0, 7), (0, 9), (1, 9), (2, 10), (0, 0)] {
            assert!(Pair::ref_from_bytes(&memory.0[start..end]).is_none());
            assert!(Pair::mut_from_bytes(&mut memory.0[start..end]).is_none());
            assert!(slice_from_bytes::<Pair>(&memory.0[start..end], 1).is_none());
            assert!(slice_from_bytes_mut::<Pair>(&mut memory.0[start..end], 1).is_none());
        }
        assert!(Pair::ref_from_bytes(&memory.0[4..12]).is_some());
        assert!(u64::ref_from_bytes(&memory.0[4..12]).is_none());
        assert!(slice_from_bytes::<Pair>(&memory.0, usize::MAX).is_none());
        assert_eq!(
            slice_from_bytes::<u16>(&memory.0, 16).unwrap(),
            [0x0707; 16]
        );
        assert!(slice_from_bytes::<()>(&[], 1000).is_some_and(|units| units.len() == 1000));
        assert!(slice_from_bytes::<()>(&memory.0, 32).is_none());
    }
}
