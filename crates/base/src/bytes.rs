//! Little-endian words at fixed places of a head of fixed length. The place is checked when the program is
//! compiled, so decoding a head cannot panic.

/// The word of 4 bytes at `AT`.
///
/// ```
/// assert_eq!(sardonyx_base::bytes::u32_at::<2, 8>(&[0, 0, 7, 0, 0, 0, 0, 0]), 7);
/// ```
#[inline]
pub fn u32_at<const AT: usize, const N: usize>(bytes: &[u8; N]) -> u32 {
    u32::from_le_bytes(at::<AT, 4, N>(bytes))
}

/// The word of 8 bytes at `AT`.
#[inline]
pub fn u64_at<const AT: usize, const N: usize>(bytes: &[u8; N]) -> u64 {
    u64::from_le_bytes(at::<AT, 8, N>(bytes))
}

/// A field of a fixed head, without a bounds check at run time: a place behind the head does not compile.
#[inline]
pub fn at<const AT: usize, const LENGTH: usize, const N: usize>(bytes: &[u8; N]) -> [u8; LENGTH] {
    const { assert!(AT + LENGTH <= N, "the word stands behind the head's end") };
    let mut word = [0; LENGTH];
    word.copy_from_slice(&bytes[AT..AT + LENGTH]);
    word
}
