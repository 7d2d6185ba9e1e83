//! The steps of newer schemes.

use std::hint::black_box;

use rustix::io::Errno;

use super::paper::HOT;
use super::{Clock, PAGES};
use crate::floor::FloorError;
use crate::floor::mapping::{GUARD_INSTALL, GUARD_REMOVE, Mapping, MemoryFile, Rights, Sharing};
use crate::floor::write_tracking::WriteTracking;

/// Copying 1,024 pages, comparing the same two pages, comparing 1,024 pages.
pub(super) fn copy_and_compare(clock: &Clock) -> Result<[f64; 3], FloorError> {
    let (from, to) = (filled(Sharing::Shared)?, filled(Sharing::Shared)?);
    let nothing = || Ok(());
    let copy_many = clock.each(PAGES, nothing, || {
        (0..PAGES).for_each(|page| to.copy_page(page, &from, page));
        Ok(())
    })?;
    let equal = |page| {
        // Equal to the last byte, so that the whole page is compared.
        if black_box(to.page_equals(page, &from, page)) {
            return Ok(());
        }
        Err(FloorError::PageTouch {
            what: "value of a page",
            expected: from.read(page).into(),
            found: to.read(page).into(),
        })
    };
    let compare_hot = clock.each(HOT, nothing, || (0..HOT).try_for_each(|_| equal(0)))?;
    let compare_many = clock.each(PAGES, nothing, || (0..PAGES).try_for_each(equal))?;
    Ok([copy_many, compare_hot, compare_many])
}

/// `mprotect` of one page, and of all for each.
pub(super) fn mprotect(clock: &Clock) -> Result<[f64; 2], FloorError> {
    let mapping = filled(Sharing::Shared)?;
    let protect = |first, count, rights| {
        mapping
            .protect(first, count, rights)
            .map_err(|source| FloorError::kernel("protect pages", source))
    };
    let both = |first, count| {
        protect(first, count, Rights::None)?;
        protect(first, count, Rights::ReadWrite)
    };
    // Touched, so that there is an entry of a page table to change.
    let touch = || {
        (0..PAGES).for_each(|page| mapping.write(page, 1));
        Ok(())
    };
    let single = clock.each(2, touch, || both(PAGES / 2, 1))?;
    let many = clock.each(2 * PAGES, touch, || both(0, PAGES))?;
    Ok([single, many])
}

/// `MADV_DONTNEED` of one page, and of all for each.
pub(super) fn dontneed(clock: &Clock) -> Result<[f64; 2], FloorError> {
    let mapping = filled(Sharing::Shared)?;
    let touch = || {
        (0..PAGES).for_each(|page| mapping.write(page, 1));
        Ok(())
    };
    let single = clock.each(1, touch, || drop_pages(&mapping, PAGES / 2, 1))?;
    let many = clock.each(PAGES, touch, || drop_pages(&mapping, 0, PAGES))?;
    Ok([single, many])
}

/// The first load from each page. In a plain mapping the kernel would map sixteen at a time. Here the neighbours are
/// pages of other mappings, in reverse order so that these are not merged.
pub(super) fn minor_read_fault(clock: &Clock) -> Result<f64, FloorError> {
    let file = MemoryFile::create(PAGES)?;
    let mapping = Mapping::new(&file, Sharing::Shared, Rights::ReadWrite)?;
    fill(&mapping);
    for page in 0..PAGES {
        mapping
            .map_page(page, &file, PAGES - 1 - page, Rights::Read)
            .map_err(|source| FloorError::kernel("map a page", source))?;
    }
    clock.each(
        PAGES,
        || drop_pages(&mapping, 0, PAGES),
        || {
            (0..PAGES).for_each(|page| {
                black_box(mapping.read(page));
            });
            Ok(())
        },
    )
}

/// The first store into each page of a private mapping.
pub(super) fn private_copy_fault(clock: &Clock) -> Result<f64, FloorError> {
    let mapping = filled(Sharing::Private)?;
    first_writes(clock, &mapping)
}

fn first_writes(clock: &Clock, mapping: &Mapping) -> Result<f64, FloorError> {
    clock.each(
        PAGES,
        || drop_pages(mapping, 0, PAGES),
        || {
            (0..PAGES).for_each(|page| mapping.write(page, 2));
            Ok(())
        },
    )
}

/// The cost of asynchronous write-protection, in nanoseconds a page.
#[derive(Clone, Copy)]
pub(super) struct Tracked {
    pub(super) fault: f64,
    pub(super) copy: f64,
    pub(super) scan_clean: f64,
    pub(super) scan_dirty: f64,
}

/// userfaultfd and `PAGEMAP_SCAN`; `None` if the kernel has neither.
pub(super) fn asynchronous_protection(clock: &Clock) -> Result<Option<Tracked>, FloorError> {
    let shared = filled(Sharing::Shared)?;
    let mut tracking = match WriteTracking::new(&shared) {
        Ok(tracking) => tracking,
        Err(Errno::NOSYS | Errno::INVAL | Errno::PERM | Errno::NOTTY) => return Ok(None),
        Err(source) => return Err(FloorError::kernel("track writes", source)),
    };
    let write = || (0..PAGES).for_each(|page| shared.write(page, 3));
    let mut times = [(); 3].map(|()| Vec::with_capacity(clock.repetitions));
    for _ in 0..clock.repetitions {
        // In this order: written, scanned and protected again, scanned with nothing written.
        let fault = clock.once(|| {
            write();
            Ok(())
        })?;
        let dirty = clock.once(|| scan(&mut tracking, PAGES))?;
        let clean = clock.once(|| scan(&mut tracking, 0))?;
        for (times, time) in times.iter_mut().zip([fault, dirty, clean]) {
            times.push(time / PAGES as f64);
        }
    }
    let [fault, scan_dirty, scan_clean] = times.map(super::median);
    Ok(Some(Tracked {
        fault,
        copy: tracked_copy(clock)?,
        scan_clean,
        scan_dirty,
    }))
}

/// The first store into each page of a tracked private mapping, in the cycle of a view: dropped, protected again by the
/// scan, written.
fn tracked_copy(clock: &Clock) -> Result<f64, FloorError> {
    let private = filled(Sharing::Private)?;
    let mut tracking = WriteTracking::new(&private)
        .map_err(|source| FloorError::kernel("track writes of a private mapping", source))?;
    let mut prepare = || {
        drop_pages(&private, 0, PAGES)?;
        tracking
            .written_since()
            .map_err(|source| FloorError::kernel("scan for written pages", source))?;
        Ok(())
    };
    let steps = || {
        (0..PAGES).for_each(|page| private.write(page, 4));
        Ok(())
    };
    clock.each(PAGES, &mut prepare, steps)
}

fn scan(tracking: &mut WriteTracking<'_>, expected: usize) -> Result<(), FloorError> {
    let found = tracking
        .written_since()
        .map_err(|source| FloorError::kernel("scan for written pages", source))?;
    if found == expected {
        return Ok(());
    }
    Err(FloorError::PageTouch {
        what: "number of pages found written",
        expected: expected as i64,
        found: found as i64,
    })
}

/// Making one page fault, and ending that; `None` if the kernel cannot.
pub(super) fn guard(clock: &Clock) -> Result<Option<[f64; 2]>, FloorError> {
    let mapping = filled(Sharing::Private)?;
    let page = PAGES / 2;
    if let Err(source) = mapping.guard(page, GUARD_INSTALL) {
        return match source {
            Errno::INVAL => Ok(None),
            source => Err(FloorError::kernel("install a guard", source)),
        };
    }
    let guard = |advice| {
        mapping
            .guard(page, advice)
            .map_err(|source| FloorError::kernel("install or remove a guard", source))
    };
    let load = || {
        guard(GUARD_REMOVE)?;
        // There is something to be replaced by the guard.
        black_box(mapping.read(page));
        Ok(())
    };
    let install = clock.each(1, load, || guard(GUARD_INSTALL))?;
    let remove = clock.each(1, || guard(GUARD_INSTALL), || guard(GUARD_REMOVE))?;
    Ok(Some([install, remove]))
}

fn drop_pages(mapping: &Mapping, first: usize, count: usize) -> Result<(), FloorError> {
    mapping
        .drop_pages(first, count)
        .map_err(|source| FloorError::kernel("drop pages", source))
}

/// A mapping of [`PAGES`] pages of a file whose pages exist.
fn filled(sharing: Sharing) -> Result<Mapping, FloorError> {
    let file = MemoryFile::create(PAGES)?;
    fill(&Mapping::new(&file, Sharing::Shared, Rights::ReadWrite)?);
    Mapping::new(&file, sharing, Rights::ReadWrite)
}

fn fill(mapping: &Mapping) {
    (0..mapping.pages()).for_each(|page| mapping.write(page, 1));
}
