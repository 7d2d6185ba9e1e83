//! The boundary between C and Rust: nothing unwinds across it, and the thread keeps the last error's message.
//!
//! The `unsafe` code that reads C's arguments is here, behind functions that check what can be checked.

use crate::status::{Failure, sdx_status};
use sardonyx_base::process::Process;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Runs a call's body.
pub(crate) fn call(body: impl FnOnce() -> Result<(), Failure>) -> sdx_status {
    match attempt(body) {
        Ok(()) => sdx_status::SDX_OK,
        Err(status) => status,
    }
}

/// Runs a call's body, for calls that return something other than a status.
pub(crate) fn attempt<T>(body: impl FnOnce() -> Result<T, Failure>) -> Result<T, sdx_status> {
    // After a panic the half-done state is behind a handle, and the code tells the program to close it.
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let said = (panic.downcast_ref::<String>().map(String::as_str))
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("a panic without a message");
            let message = format!("a fault in the library, please report it: {said}");
            // Dropping the panic's payload could panic again.
            std::mem::forget(panic);
            Failure::new(sdx_status::SDX_PANICKED, message)
        }
    };
    let mut message = failure.message.into_bytes();
    message.retain(|byte| *byte != 0);
    // A thread that ends has no message any more.
    let _ = MESSAGE.try_with(|kept| *kept.borrow_mut() = CString::new(message).unwrap_or_default());
    Err(failure.status)
}

pub(crate) fn last_message() -> *const c_char {
    let message = MESSAGE.try_with(|kept| kept.borrow().as_ptr());
    message.unwrap_or(c"".as_ptr())
}

/// The number of this process: a forked child has another number than its parent.
pub(crate) fn process() -> u32 {
    Process::current().number()
}

/// A string argument.
///
/// # Safety
/// Null, or a string that ends with a zero byte and does not change while the result is used.
pub(crate) unsafe fn text<'a>(what: &str, text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::argument(format!("{what} is null")));
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|_| Failure::argument(format!("{what} is not UTF-8")))
}

/// Stores a call's result in C's memory.
///
/// # Safety
/// Null, or memory for a `T` that the caller of the call owns.
pub(crate) unsafe fn store<T>(what: &str, place: *mut T, value: T) -> Result<(), Failure> {
    check_place(what, place)?;
    // SAFETY: not null and aligned; the caller's promise for the rest.
    unsafe { place.write(value) };
    Ok(())
}

/// Checks the place of a result before the work is done.
pub(crate) fn check_place<T>(what: &str, place: *const T) -> Result<(), Failure> {
    if place.is_null() || !place.is_aligned() {
        return Err(Failure::argument(format!(
            "the place for {what} is null or not aligned"
        )));
    }
    Ok(())
}
