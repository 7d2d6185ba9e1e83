//! Allocation inside of a segment, and roots by name; both are transactional.

use crate::boundary::{call, check_place, store, text};
use crate::session::{SessionState, sdx_session, used};
use crate::status::Failure;
use crate::status::sdx_status::{self, SDX_NOT_FOUND};
use sardonyx_mapped::{Heap, P, Transaction};
use std::ffi::c_char;
use std::mem::ManuallyDrop;

/// Calls `body` with the heap of a session's transaction.
///
/// # Safety
/// As for [`used`].
unsafe fn with<T>(
    session: *mut sdx_session,
    writes: bool,
    body: impl FnOnce(Heap, &mut Transaction<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    // SAFETY: the caller's promise.
    let mut used = unsafe { used(session)? };
    let SessionState { arena, .. } = *used;
    if writes {
        used.writing()?;
    }
    let mut transaction: ManuallyDrop<_> = Transaction::of(&mut used.session)?;
    let heap = Heap::open(&*transaction)?.in_arena(arena);
    body(heap, &mut transaction)
}

/// Makes a blank segment a heap; no effect if it is one. A segment is either a heap, in which the program
/// uses only allocated memory, or the program's own from its first byte on.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_heap_make(session: *mut sdx_session) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let mut used = unsafe { used(session)? };
        used.writing()?;
        let mut transaction = Transaction::of(&mut used.session)?;
        if Heap::open(&*transaction).is_err() {
            Heap::format(&mut *transaction)?;
        }
        Ok(())
    })
}

/// Allocates bytes, with undefined contents. `align`: a power of two up to 4096. Sets `offset` from the
/// segment's start, never 0.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_allocate(
    session: *mut sdx_session,
    bytes: u64,
    align: u64,
    offset: *mut u64,
) -> sdx_status {
    call(|| {
        check_place("the offset", offset)?;
        // SAFETY: the header's promise.
        unsafe {
            let found = with(session, true, |heap, transaction| {
                Ok(heap.allocate_bytes(transaction, bytes, align)?)
            })?;
            store("the offset", offset, found.offset())
        }
    })
}

/// Frees bytes that were allocated with this size and alignment.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_free(
    session: *mut sdx_session,
    offset: u64,
    bytes: u64,
    align: u64,
) -> sdx_status {
    // SAFETY: the header's promise.
    call(|| unsafe {
        with(session, true, |heap, transaction| {
            Ok(heap.free_bytes(transaction, P::from_offset(offset), bytes, align)?)
        })
    })
}

/// Sets the root of a name, new or not. `type_tag` names the type of the object there, for other programs and
/// later versions of this one; `type_bytes` and `type_align` are its `sizeof` and `_Alignof`. Change the tag
/// when the type's meaning changes.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_root_set(
    session: *mut sdx_session,
    name: *const c_char,
    type_tag: *const c_char,
    type_bytes: u64,
    type_align: u32,
    offset: u64,
) -> sdx_status {
    // SAFETY: the header's promise.
    call(|| unsafe {
        let (name, tag) = (text("the name", name)?, text("the type's tag", type_tag)?);
        with(session, true, |heap, transaction| {
            let place = P::from_offset(offset);
            let kind = (tag, type_bytes, type_align);
            Ok(heap.set_root_as(transaction, name, place, kind)?)
        })
    })
}

/// Sets `offset` to that of the root of a name, which must have been set with the same type. `SDX_NOT_FOUND`
/// if there is none.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_root_get(
    session: *mut sdx_session,
    name: *const c_char,
    type_tag: *const c_char,
    type_bytes: u64,
    type_align: u32,
    offset: *mut u64,
) -> sdx_status {
    // SAFETY: the header's promise.
    call(|| unsafe {
        check_place("the offset", offset)?;
        let (name, tag) = (text("the name", name)?, text("the type's tag", type_tag)?);
        let kind = (tag, type_bytes, type_align);
        let found = with(session, false, |heap, transaction| {
            Ok(heap.root_as(transaction, name, kind)?)
        })?;
        store(
            "the offset",
            offset,
            found.ok_or_else(|| no_root(name))?.offset(),
        )
    })
}

/// Removes the root of a name. The object stays allocated.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_root_remove(
    session: *mut sdx_session,
    name: *const c_char,
) -> sdx_status {
    // SAFETY: the header's promise.
    call(|| unsafe {
        let name = text("the name", name)?;
        let found = with(session, true, |heap, transaction| {
            Ok(heap.remove_root(transaction, name)?)
        })?;
        match found {
            true => Ok(()),
            false => Err(no_root(name)),
        }
    })
}

fn no_root(name: &str) -> Failure {
    Failure::new(SDX_NOT_FOUND, format!("there is no root named {name:?}"))
}
