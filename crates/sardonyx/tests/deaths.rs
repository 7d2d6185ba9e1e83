//! A disk of the program's own that panics, in whichever thread it is called: everybody who waits or comes
//! later is told with a typed error or served, nobody waits for ever, the close comes back, and what was
//! acknowledged is there (I1, I7).

mod common;

use common::{Model, Opened, PLANNED, hide_planned_panics, in_every_shape, options};
use sardonyx::Error;
use sardonyx_storage::checkpoint::{
    CheckpointError, Image, RemoteCheckpointer, RemoteError, ShippedLog,
};
use sardonyx_storage::disk::{
    Access, Create, Disk, DiskError, DiskFile, DiskLock, Faults, SimulatedDisk,
};
use sardonyx_storage::log::LogError;
use sardonyx_storage::manifest::Manifest;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Panics at the so-manieth call that changes anything in a directory.
#[derive(Clone, Debug)]
struct Panicking {
    disk: SimulatedDisk,
    directory: &'static str,
    left: Arc<AtomicU64>,
}

impl Panicking {
    fn count(&self, name: &str) {
        if name.contains(self.directory) && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            panic!("{PLANNED} of the disk at {name}");
        }
    }
}

#[derive(Debug)]
struct PanickingFile(Box<dyn DiskFile>, Panicking);

impl Disk for Panicking {
    fn open(
        &self,
        name: &str,
        access: Access,
        create: Create,
    ) -> Result<Box<dyn DiskFile>, DiskError> {
        self.count(name);
        let file = self.disk.open(name, access, create)?;
        Ok(Box::new(PanickingFile(file, self.clone())))
    }
    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.count(from);
        self.disk.rename(from, to)
    }
    fn remove(&self, name: &str) -> Result<(), DiskError> {
        self.count(name);
        self.disk.remove(name)
    }
    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        self.disk.list(directory)
    }
    fn create_directory(&self, directory: &str) -> Result<(), DiskError> {
        self.disk.create_directory(directory)
    }
    fn sync_directory(&self, directory: &str) -> Result<(), DiskError> {
        self.count(directory);
        self.disk.sync_directory(directory)
    }
    fn lock(&self, name: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        self.disk.lock(name)
    }
    fn display_name(&self, name: &str) -> String {
        self.disk.display_name(name)
    }
}

impl DiskFile for PanickingFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        self.0.read_at(offset, into)
    }
    fn write_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError> {
        self.1.count(&self.0.display_name());
        self.0.write_at(offset, from)
    }
    fn write_durable_at(&self, offset: u64, from: &[u8]) -> Result<(), DiskError> {
        self.1.count(&self.0.display_name());
        self.0.write_durable_at(offset, from)
    }
    fn sync(&self) -> Result<(), DiskError> {
        self.1.count(&self.0.display_name());
        self.0.sync()
    }
    fn len(&self) -> Result<u64, DiskError> {
        self.0.len()
    }
    fn preallocate(&self, length: u64) -> Result<(), DiskError> {
        self.1.count(&self.0.display_name());
        self.0.preallocate(length)
    }
    fn display_name(&self) -> String {
        self.0.display_name()
    }
}

/// What an error may say after a panic somewhere below.
fn is_told(error: &Error) -> bool {
    let of_log = matches!(
        error.downcast_ref(),
        Some(LogError::Poisoned { .. } | LogError::ThreadDied { .. } | LogError::Full { .. })
    );
    of_log || error.downcast_ref::<CheckpointError>().is_some()
}

/// Makes a call that may panic: without threads the disk is called here.
fn call<T>(call: impl FnOnce() -> Result<T, Error>) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Some(value),
        Ok(Err(error)) => {
            assert!(is_told(&error), "{error:?}");
            None
        }
        Err(panic) => {
            let message = panic.downcast_ref::<String>().expect("a message");
            assert!(message.contains(PLANNED), "{message}");
            None
        }
    }
}

#[test]
fn i7_a_panic_of_the_disk_in_any_thread_is_told_to_everybody() {
    hide_planned_panics();
    in_every_shape(|shape| {
        for directory in ["log", "backup", "journal"] {
            for at in [1, 2, 3, 5, 8, 13, 40] {
                let what = format!("{directory}, call {at}");
                let disk = SimulatedDisk::new(1, Faults::default());
                let left = Arc::new(AtomicU64::new(u64::MAX));
                let panicking = Panicking {
                    disk: disk.clone(),
                    directory,
                    left: left.clone(),
                };
                let options = || options(shape).log_bytes_max(4 * common::SEGMENT_BYTES);
                let opened = Opened::on_any(Arc::new(panicking), options()).expect("opens");
                opened.put(0, 0).expect("durable");
                left.store(at, Ordering::SeqCst);
                let mut model = Model::default();
                model.put(0, 0);
                let mut unknown = None;
                for n in 0..300 {
                    match call(|| opened.put(n % 20, n)) {
                        Some(()) => model.put(n % 20, n),
                        // The first may be there; all later ones were refused.
                        None => unknown = unknown.or(Some((n % 20, n))),
                    }
                }
                let ticket = opened.database.try_submit(|_| Ok::<_, Error>(()));
                call(|| ticket.wait().map(|_| ()));
                call(|| opened.database.flush());
                call(|| opened.database.checkpoint());
                let Opened { database, .. } = opened;
                call(move || database.close());
                left.store(u64::MAX, Ordering::SeqCst);
                let disk = disk.restart(Faults::default());
                let opened = Opened::on(&disk, options()).expect("recovers");
                let found = opened.contents().expect("readable");
                if found != model {
                    let (id, value) = unknown.unwrap_or_else(|| panic!("{what}: all were told"));
                    model.put(id, value);
                    assert_eq!(found, model, "{what}");
                }
            }
        }
    });
}

/// A standby's side that panics.
#[derive(Debug)]
struct DyingStandby;

impl RemoteCheckpointer for DyingStandby {
    fn fetch_image(&self, _: &Manifest, _: u64) -> Result<Image, RemoteError> {
        unreachable!("the log reaches back")
    }
    fn run(&self, _: &ShippedLog) {
        panic!("{PLANNED} of the standby's thread");
    }
}

#[test]
fn i7_the_death_of_the_standbys_thread_is_told_to_everybody() {
    hide_planned_panics();
    common::in_every_threaded_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let any: Arc<dyn Disk> = Arc::new(disk);
        let options = options(shape).checkpoint_at(Arc::new(DyingStandby));
        let database = options.open_tables_on(any).expect("opens");
        // Until it has died.
        while database.run(|_| Ok::<_, Error>(())).is_ok() {
            std::thread::yield_now();
        }
        let error = database.run(|_| Ok::<_, Error>(())).unwrap_err();
        let Some(LogError::ThreadDied { thread, .. }) = error.downcast_ref() else {
            panic!("{error:?}")
        };
        assert_eq!(&**thread, "standby");
        assert!(is_told(&database.checkpoint().unwrap_err()));
        assert!(is_told(&database.close().unwrap_err()));
    });
}
