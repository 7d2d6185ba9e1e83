//! Bytes copied to and from memory that other threads read at the same time, by relaxed atomic accesses to
//! whole words: what a reader copies may be of several moments, which it finds out afterwards, but no access
//! is a data race. All accesses are of one size, since atomic ones of different sizes must not meet.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes in a word.
pub(super) const WORD: usize = size_of::<u64>();

/// Lets another thread go on here in the models, in which memory is no point of its own.
#[inline(always)]
fn step() {
    #[cfg(shuttle)]
    sardonyx_base::sync::thread::yield_now();
}

/// The word at an offset, which is a multiple of 8.
///
/// # Safety
/// The word is readable, and nobody changes it but by atomic accesses to this word.
#[inline(always)]
pub(super) unsafe fn load(base: NonNull<u8>, at: usize) -> u64 {
    step();
    // SAFETY: readable and aligned, as the caller says; atomic for everyone who changes it.
    unsafe { AtomicU64::from_ptr(base.as_ptr().add(at).cast()) }.load(Relaxed)
}

/// Copies the words that have the bytes `at..at + length` out; returns how many bytes of `into` are before
/// the first of them.
///
/// # Safety
/// As [`load`], of all these words.
#[inline]
pub(super) unsafe fn copy_out(
    base: NonNull<u8>,
    at: usize,
    length: usize,
    into: &mut Vec<u8>,
) -> usize {
    let first = at / WORD * WORD;
    let bytes = (at + length).next_multiple_of(WORD) - first;
    into.resize(bytes, 0);
    for (n, word) in into.chunks_exact_mut(WORD).enumerate() {
        // SAFETY: one of these words.
        let loaded = unsafe { load(base, first + n * WORD) };
        word.copy_from_slice(&loaded.to_ne_bytes());
    }
    at - first
}

/// Stores bytes at an offset: a word of which only a part is stored keeps the rest.
///
/// # Safety
/// The words are readable and writable, this thread alone changes them, and all others read them by
/// [`load`].
#[inline]
pub(super) unsafe fn store(base: NonNull<u8>, at: usize, bytes: &[u8]) {
    let mut at = at;
    let mut rest = bytes;
    while !rest.is_empty() {
        let skip = at % WORD;
        let (now, later) = rest.split_at(rest.len().min(WORD - skip));
        // SAFETY: one of these words; aligned.
        let word = unsafe { AtomicU64::from_ptr(base.as_ptr().add(at - skip).cast()) };
        // A length that is known is a load; else it would be a call to copy memory for each word.
        let value = match <[u8; WORD]>::try_from(now) {
            Ok(whole) => u64::from_ne_bytes(whole),
            Err(_) => {
                let mut image = word.load(Relaxed).to_ne_bytes();
                image[skip..][..now.len()].copy_from_slice(now);
                u64::from_ne_bytes(image)
            }
        };
        step();
        word.store(value, Relaxed);
        at += now.len();
        rest = later;
    }
}
