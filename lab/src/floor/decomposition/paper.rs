//! Tables 4.3, 4.4 and 4.5 of the LIBXAC thesis.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use super::{Clock, median};
use crate::floor::FloorError;
use crate::floor::fault_handler::{Watcher, install, watch};
use crate::floor::mapping::{Mapping, MemoryFile, Rights, Sharing};

/// The number of copies of a page for the third column of Table 4.5.
pub(super) const HOT: usize = 1_000;

/// The loop of Table 4.3: enter the handler, `mmap`, leave it.
pub(super) fn handler(clock: &Clock) -> Result<[f64; 3], FloorError> {
    install()?;
    let file = MemoryFile::create(1)?;
    let page = TimedPage {
        view: Mapping::new(&file, Sharing::Shared, Rights::None)?,
        file,
        epoch: Instant::now(),
        entered: AtomicU64::new(0),
        mapped: AtomicU64::new(0),
    };
    let mut times = [(); 3].map(|()| Vec::with_capacity(clock.repetitions));
    for _ in 0..clock.repetitions {
        let (start, end) = watch(&page, || {
            let start = page.now();
            page.view.write(0, page.view.read(0).wrapping_add(1));
            (start, page.now())
        });
        let (entered, mapped) = (page.entered.load(Relaxed), page.mapped.load(Relaxed));
        let steps = [entered - start, mapped - entered, end - mapped];
        for (times, step) in times.iter_mut().zip(steps) {
            times.push(clock.without_delay(step as f64));
        }
        page.view
            .map_page(0, &page.file, 0, Rights::None)
            .map_err(|source| FloorError::kernel("take the rights to a page", source))?;
    }
    Ok(times.map(median))
}

struct TimedPage {
    view: Mapping,
    file: MemoryFile,
    epoch: Instant,
    entered: AtomicU64,
    mapped: AtomicU64,
}

impl TimedPage {
    fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }
}

impl Watcher for TimedPage {
    fn fault(&self, address: usize) -> bool {
        let entered = self.now();
        if self.view.page_of(address) != Some(0) {
            return false;
        }
        let mapped = self.view.map_page(0, &self.file, 0, Rights::ReadWrite);
        self.mapped.store(self.now(), Relaxed);
        self.entered.store(entered, Relaxed);
        mapped.is_ok()
    }
}

/// Table 4.4: the first increment on a page of a file after mapping it.
pub(super) fn first_write(clock: &Clock) -> Result<f64, FloorError> {
    let file = MemoryFile::create(1)?;
    let map = || Mapping::new(&file, Sharing::Shared, Rights::ReadWrite);
    // The file's page exists from now on: only the mapping is new each time.
    map()?.write(0, 1);
    clock.single(map, |mapping| {
        mapping.write(0, mapping.read(0).wrapping_add(1));
        Ok(())
    })
}

/// Table 4.5: copying between two pages of memory: the first time, each of the next four, each of
/// 1,000.
pub(super) fn memcpy(clock: &Clock) -> Result<[f64; 3], FloorError> {
    let first = clock.single(FreshPages::new, |pages| {
        pages.copy();
        Ok(())
    })?;
    let next = clock.single(
        || {
            let pages = FreshPages::new()?;
            pages.copy();
            Ok(pages)
        },
        |pages| {
            (0..4).for_each(|_| pages.copy());
            Ok(())
        },
    )? / 4.0;
    let pages = FreshPages::new()?;
    pages.copy();
    let hot = clock.each(
        HOT,
        || Ok(()),
        || {
            (0..HOT).for_each(|_| pages.copy());
            Ok(())
        },
    )?;
    Ok([first, next, hot])
}

/// Two pages of private memory that nothing has touched.
struct FreshPages {
    from: Mapping,
    to: Mapping,
}

impl FreshPages {
    fn new() -> Result<Self, FloorError> {
        let fresh = || Mapping::new(&MemoryFile::create(1)?, Sharing::Private, Rights::ReadWrite);
        Ok(FreshPages {
            from: fresh()?,
            to: fresh()?,
        })
    }

    fn copy(&self) {
        self.to.copy_page(0, &self.from, 0);
    }
}
