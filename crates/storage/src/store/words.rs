//! Bytes copied to and from memory that other threads read at the same time, by relaxed atomic accesses to
//! whole words. A reader's copy may be of several moments, which it detects afterwards, but no access is a
//! data race. All accesses are of one size, since atomic ones of different sizes must not meet.

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
/// The word is readable, and changes only by atomic accesses to this word.
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
    let skip = at % WORD;
    if skip == 0
        && let Ok(whole) = <[u8; WORD]>::try_from(bytes)
    {
        // SAFETY: one of these words. The most frequent change is that of a number of a record.
        return unsafe { store_word(base, at, u64::from_ne_bytes(whole)) };
    }
    let before = bytes.len().min((WORD - skip) % WORD);
    let (head, rest) = bytes.split_at(before);
    // In a loop of their own, the whole words of a page take a ninth of the time.
    let (whole, tail) = rest.as_chunks::<WORD>();
    if !head.is_empty() {
        // SAFETY: a part of the first of these words.
        unsafe { store_part(base, at - skip, skip, head) };
    }
    let at = at + before;
    for (n, word) in whole.iter().enumerate() {
        // SAFETY: one of these words: `at` is a multiple of 8, or there is none.
        unsafe { store_word(base, at + n * WORD, u64::from_ne_bytes(*word)) };
    }
    if !tail.is_empty() {
        // SAFETY: a part of the last of these words.
        unsafe { store_part(base, at + whole.len() * WORD, 0, tail) };
    }
}

/// Stores the word at an offset, which is a multiple of 8.
///
/// # Safety
/// As [`store`], of this word.
#[inline(always)]
unsafe fn store_word(base: NonNull<u8>, at: usize, value: u64) {
    step();
    // SAFETY: writable and aligned, as the caller says; atomic for everyone who reads it.
    unsafe { AtomicU64::from_ptr(base.as_ptr().add(at).cast()) }.store(value, Relaxed);
}

/// Stores bytes of the word at an offset, which is a multiple of 8, from `skip` on.
///
/// # Safety
/// As [`store`], of this word.
#[inline]
unsafe fn store_part(base: NonNull<u8>, at: usize, skip: usize, bytes: &[u8]) {
    // SAFETY: readable and aligned, as the caller says; this thread alone changes it.
    let word = unsafe { AtomicU64::from_ptr(base.as_ptr().add(at).cast()) };
    let mut image = word.load(Relaxed).to_ne_bytes();
    image[skip..][..bytes.len()].copy_from_slice(bytes);
    // SAFETY: as the caller says.
    unsafe { store_word(base, at, u64::from_ne_bytes(image)) };
}
