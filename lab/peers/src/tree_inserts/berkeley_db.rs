//! Berkeley DB 5.3, the peer of the LIBXAC thesis: a B-tree in a transactional environment.
//!
//! Every commit is `DB_TXN_SYNC`. Log files are filled with zeros when they are created, so that a sync writes data
//! only. Keys are big-endian, so that their order is that of the default comparison, which needs no callback. The cache
//! holds the whole tree. No checkpoint runs during the measurement, which saves work that an application would have to
//! do at times.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{NonNull, null_mut};

use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use sardonyx_lab::tree_inserts::{Session, Sharing, TreePeer, value};

/// The C side's handle.
#[repr(C)]
struct Handle {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn sardonyx_berkeley_open(
        directory: *const c_char,
        recover: c_int,
        shared: c_int,
        opened: *mut *mut Handle,
    ) -> c_int;
    fn sardonyx_berkeley_close(handle: *mut Handle) -> c_int;
    fn sardonyx_berkeley_insert(
        handle: *mut Handle,
        key: *const c_void,
        key_bytes: u32,
        value: *const c_void,
        value_bytes: u32,
        sync: c_int,
    ) -> c_int;
    fn sardonyx_berkeley_get(
        handle: *mut Handle,
        key: *const c_void,
        key_bytes: u32,
        value: *mut c_void,
        room: u32,
        value_bytes: *mut u32,
        found: *mut c_int,
    ) -> c_int;
    fn sardonyx_berkeley_count(handle: *mut Handle, count: *mut u64) -> c_int;
    fn sardonyx_berkeley_checkpoint(handle: *mut Handle) -> c_int;
    fn sardonyx_berkeley_message(error: c_int) -> *const c_char;
}

/// An open environment and its tree.
///
/// Invariant: `handle` came from `sardonyx_berkeley_open` and is closed when this is dropped.
pub(super) struct BerkeleyDb {
    handle: NonNull<Handle>,
}

// SAFETY: the environment and the tree are opened with DB_THREAD, with which Berkeley DB allows
// their use by any number of threads; each call begins and ends a transaction of its own.
unsafe impl Send for BerkeleyDb {}
// SAFETY: as above.
unsafe impl Sync for BerkeleyDb {}

impl Product for BerkeleyDb {
    fn name() -> &'static str {
        "Berkeley DB"
    }

    fn settings() -> &'static str {
        "5.3, DB_BTREE, DB_TXN_SYNC, DB_LOG_ZERO, log buffer 16 MiB, log files 64 MiB, cache \
         512 MiB, no checkpoint while measured"
    }
}

impl TreePeer for BerkeleyDb {
    fn processes() -> bool {
        true
    }

    fn open(directory: &Path, sharing: Sharing) -> Result<Self, Failure> {
        let recover = c_int::from(sharing != Sharing::Joining);
        let shared = c_int::from(matches!(sharing, Sharing::Processes | Sharing::Joining));
        let directory = CString::new(directory.as_os_str().as_bytes())?;
        let mut handle = null_mut();
        // SAFETY: the path ends with a zero byte and lives through the call, which stores one
        // pointer if it returns 0.
        check(unsafe {
            sardonyx_berkeley_open(directory.as_ptr(), recover, shared, &raw mut handle)
        })?;
        let handle = NonNull::new(handle).ok_or("Berkeley DB opened nothing")?;
        Ok(BerkeleyDb { handle })
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        Ok(Box::new(BerkeleySession { tree: self }))
    }
}

impl Drop for BerkeleyDb {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and this is the last use of it. The effects of a failure show when the tree is
        // opened again and checked.
        let _ = unsafe { sardonyx_berkeley_close(self.handle.as_ptr()) };
    }
}

struct BerkeleySession<'a> {
    tree: &'a BerkeleyDb,
}

impl BerkeleySession<'_> {
    fn put(&self, key: u64, value: &[u8], sync: bool) -> Result<(), Failure> {
        let key = key.to_be_bytes();
        // SAFETY: the handle is open; both slices are read only, and only during the call.
        check(unsafe {
            sardonyx_berkeley_insert(
                self.tree.handle.as_ptr(),
                key.as_ptr().cast(),
                key.len() as u32,
                value.as_ptr().cast(),
                u32::try_from(value.len())?,
                sync.into(),
            )
        })
    }
}

impl Session for BerkeleySession<'_> {
    fn insert(&mut self, key: u64, value: &[u8]) -> Result<(), Failure> {
        self.put(key, value, true)
    }

    fn load(
        &mut self,
        keys: &mut dyn Iterator<Item = u64>,
        value_bytes: usize,
    ) -> Result<(), Failure> {
        for key in keys {
            self.put(key, &value(key, value_bytes), false)?;
        }
        // SAFETY: the handle is open.
        check(unsafe { sardonyx_berkeley_checkpoint(self.tree.handle.as_ptr()) })
    }

    fn get(&mut self, key: u64, value_bytes: usize) -> Result<Option<Vec<u8>>, Failure> {
        let key = key.to_be_bytes();
        let mut value = vec![0; value_bytes];
        let (mut bytes, mut found) = (0, 0);
        // SAFETY: the handle is open; at most `value.len()` bytes are written to `value`.
        check(unsafe {
            sardonyx_berkeley_get(
                self.tree.handle.as_ptr(),
                key.as_ptr().cast(),
                key.len() as u32,
                value.as_mut_ptr().cast(),
                u32::try_from(value.len())?,
                &raw mut bytes,
                &raw mut found,
            )
        })?;
        value.truncate(bytes as usize);
        Ok((found != 0).then_some(value))
    }

    fn count(&mut self) -> Result<u64, Failure> {
        let mut count = 0;
        // SAFETY: the handle is open; one number is written.
        check(unsafe { sardonyx_berkeley_count(self.tree.handle.as_ptr(), &raw mut count) })?;
        Ok(count)
    }
}

fn check(result: c_int) -> Result<(), Failure> {
    if result == 0 {
        return Ok(());
    }
    // SAFETY: db_strerror returns a string that ends with a zero byte, whatever the number.
    let message = unsafe { CStr::from_ptr(sardonyx_berkeley_message(result)) };
    Err(message.to_string_lossy().into_owned().into())
}
