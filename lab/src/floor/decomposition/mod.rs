//! The cost of each step of transactions on mapped memory.
//!
//! LIBXAC thesis, section 4.2.3, Tables 4.3 to 4.5: entering and leaving the handler of SIGSEGV, `mmap`, the first
//! access to a mapped page, copying a page; and equations 4.1 and 4.2, which combine them
//! ([`Decomposition::estimates`]). Then the steps that Linux offers since. All memory is in memory files, and a page is
//! 4 KiB. As in the thesis, the delay of the clock is subtracted from steps that are timed one by one.

mod paper;
mod today;

use std::time::Instant;

use crate::floor::FloorError;
use crate::floor::libxac::Access;

/// The number of pages that are worked on together, as in the largest transaction of the LIBXAC thesis.
const PAGES: usize = 1_024;

/// Medians, all in nanoseconds. Steps that this kernel does not support are `None`.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Decomposition {
    /// Reading the clock twice: subtracted from each step that is timed alone.
    pub clock_nanoseconds: f64,
    /// Table 4.3: from an access without the right to it until its handler runs.
    pub enter_handler_nanoseconds: f64,
    /// Table 4.3: `mmap` of one page in the handler.
    pub mmap_nanoseconds: f64,
    /// Table 4.3: from the handler's end until the access is done, the page's fault included.
    pub exit_handler_nanoseconds: f64,
    /// Table 4.4: the first increment on a page after it was mapped.
    pub first_write_nanoseconds: f64,
    /// Table 4.5: copying one page to another, neither touched before.
    pub memcpy_first_nanoseconds: f64,
    /// Table 4.5: the same two pages, times 2 to 5, each.
    pub memcpy_next_nanoseconds: f64,
    /// Table 4.5: the same two pages, each of 1,000 times.
    pub memcpy_hot_nanoseconds: f64,
    /// Copying each of 1,024 pages to another.
    pub memcpy_many_nanoseconds: f64,
    /// Comparing the same two pages, which are equal, each of 1,000 times.
    pub memcmp_hot_nanoseconds: f64,
    /// Comparing each of 1,024 pages with an equal one.
    pub memcmp_many_nanoseconds: f64,
    /// `mprotect` of one page, rights taken and given in turn.
    pub mprotect_nanoseconds: f64,
    /// `mprotect` of 1,024 pages at once, for each.
    pub mprotect_many_nanoseconds: f64,
    /// The first load from a page that is in memory, but not mapped; neighbours are not mapped with it.
    pub minor_read_fault_nanoseconds: f64,
    /// The first store into a page of a private mapping: the kernel copies it.
    pub private_copy_fault_nanoseconds: f64,
    /// `madvise(MADV_DONTNEED)` of one page that is mapped.
    pub dontneed_nanoseconds: f64,
    /// The same of 1,024 pages at once, for each.
    pub dontneed_many_nanoseconds: f64,
    /// userfaultfd: the first store into a page of a shared mapping that is write-protected
    /// asynchronously.
    pub asynchronous_protect_fault_nanoseconds: Option<f64>,
    /// userfaultfd: the same in a private mapping, where the kernel also copies the page.
    pub asynchronous_protect_copy_nanoseconds: Option<f64>,
    /// `PAGEMAP_SCAN` for written pages that protects them again: for each page, none of them
    /// written.
    pub scan_clean_nanoseconds: Option<f64>,
    /// The same, all of them written.
    pub scan_dirty_nanoseconds: Option<f64>,
    /// `madvise(MADV_GUARD_INSTALL)` of one page of a private mapping of a file.
    pub guard_install_nanoseconds: Option<f64>,
    /// `madvise(MADV_GUARD_REMOVE)` of it.
    pub guard_remove_nanoseconds: Option<f64>,
}

/// A named figure for a table.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Row {
    /// The source of the step: a table of the LIBXAC thesis, or `today`.
    pub source: &'static str,
    pub step: &'static str,
    /// The cost of the step, in nanoseconds; `None` if this kernel does not support it.
    pub nanoseconds: Option<f64>,
    /// The unit of the cost: `once`, or `page` if many were worked on together.
    pub per: &'static str,
}

/// Times every step; each figure is the median of `repetitions` (at least one) measurements.
///
/// # Errors
/// [`FloorError`] if the system refuses memory, mappings or the handler of SIGSEGV. A kernel without a newer mechanism
/// is no error.
pub fn decompose(repetitions: usize) -> Result<Decomposition, FloorError> {
    let clock = Clock::new(repetitions.max(1));
    let [enter_handler, mmap, exit_handler] = paper::handler(&clock)?;
    let [memcpy_first, memcpy_next, memcpy_hot] = paper::memcpy(&clock)?;
    let [memcpy_many, memcmp_hot, memcmp_many] = today::copy_and_compare(&clock)?;
    let [mprotect, mprotect_many] = today::mprotect(&clock)?;
    let [dontneed, dontneed_many] = today::dontneed(&clock)?;
    let tracked = today::asynchronous_protection(&clock)?;
    let guard = today::guard(&clock)?;
    Ok(Decomposition {
        clock_nanoseconds: clock.delay_nanoseconds,
        enter_handler_nanoseconds: enter_handler,
        mmap_nanoseconds: mmap,
        exit_handler_nanoseconds: exit_handler,
        first_write_nanoseconds: paper::first_write(&clock)?,
        memcpy_first_nanoseconds: memcpy_first,
        memcpy_next_nanoseconds: memcpy_next,
        memcpy_hot_nanoseconds: memcpy_hot,
        memcpy_many_nanoseconds: memcpy_many,
        memcmp_hot_nanoseconds: memcmp_hot,
        memcmp_many_nanoseconds: memcmp_many,
        mprotect_nanoseconds: mprotect,
        mprotect_many_nanoseconds: mprotect_many,
        minor_read_fault_nanoseconds: today::minor_read_fault(&clock)?,
        private_copy_fault_nanoseconds: today::private_copy_fault(&clock)?,
        dontneed_nanoseconds: dontneed,
        dontneed_many_nanoseconds: dontneed_many,
        asynchronous_protect_fault_nanoseconds: tracked.map(|figures| figures.fault),
        asynchronous_protect_copy_nanoseconds: tracked.map(|figures| figures.copy),
        scan_clean_nanoseconds: tracked.map(|figures| figures.scan_clean),
        scan_dirty_nanoseconds: tracked.map(|figures| figures.scan_dirty),
        guard_install_nanoseconds: guard.map(|[install, _]| install),
        guard_remove_nanoseconds: guard.map(|[_, remove]| remove),
    })
}

impl Decomposition {
    /// Equations 4.1 and 4.2: the least nanoseconds a page that a transaction by LIBXAC's recipe should cost here. The
    /// fault of the page is counted once: leaving the handler includes it here, since the repeated access is part of
    /// the timed step.
    pub fn estimates(&self, access: Access, advised: bool) -> f64 {
        let exit_without_fault =
            (self.exit_handler_nanoseconds - self.first_write_nanoseconds).max(0.0);
        let signal = self.enter_handler_nanoseconds + exit_without_fault;
        let (mmap, fault) = (self.mmap_nanoseconds, self.first_write_nanoseconds);
        match (access, advised) {
            (Access::Read, false) => signal + 2.0 * mmap + fault,
            (Access::Read, true) => 2.0 * mmap + fault,
            (Access::Write, false) => {
                2.0 * signal + 3.0 * mmap + fault + self.memcpy_hot_nanoseconds
            }
            (Access::Write, true) => 2.0 * mmap + fault + self.memcpy_hot_nanoseconds,
        }
    }

    /// All figures, named, in the order of the LIBXAC thesis' tables.
    pub fn rows(&self) -> Vec<Row> {
        let row = |source, step, nanoseconds: f64, per| Row {
            source,
            step,
            nanoseconds: Some(nanoseconds),
            per,
        };
        let perhaps = |step, nanoseconds, per| Row {
            source: "today",
            step,
            nanoseconds,
            per,
        };
        let once = "once";
        let page = "page";
        let fault = self.asynchronous_protect_fault_nanoseconds;
        let copy = self.asynchronous_protect_copy_nanoseconds;
        vec![
            row("clock", "read it twice", self.clock_nanoseconds, once),
            row(
                "4.3",
                "enter the handler of SIGSEGV",
                self.enter_handler_nanoseconds,
                once,
            ),
            row("4.3", "mmap a page", self.mmap_nanoseconds, once),
            row(
                "4.3",
                "leave it, access tried again",
                self.exit_handler_nanoseconds,
                once,
            ),
            row(
                "4.4",
                "first write after mmap",
                self.first_write_nanoseconds,
                once,
            ),
            row("4.5", "memcpy, first", self.memcpy_first_nanoseconds, once),
            row("4.5", "memcpy, 2 to 5", self.memcpy_next_nanoseconds, once),
            row("4.5", "memcpy, 1,000", self.memcpy_hot_nanoseconds, once),
            row(
                "today",
                "memcpy, 1,024 pages",
                self.memcpy_many_nanoseconds,
                page,
            ),
            row("today", "memcmp, 1,000", self.memcmp_hot_nanoseconds, once),
            row(
                "today",
                "memcmp, 1,024 pages",
                self.memcmp_many_nanoseconds,
                page,
            ),
            row("today", "mprotect", self.mprotect_nanoseconds, once),
            row(
                "today",
                "mprotect, 1,024 pages",
                self.mprotect_many_nanoseconds,
                page,
            ),
            row(
                "today",
                "minor read fault",
                self.minor_read_fault_nanoseconds,
                page,
            ),
            row(
                "today",
                "private copy fault",
                self.private_copy_fault_nanoseconds,
                page,
            ),
            row("today", "MADV_DONTNEED", self.dontneed_nanoseconds, once),
            row(
                "today",
                "MADV_DONTNEED, 1,024 pages",
                self.dontneed_many_nanoseconds,
                page,
            ),
            perhaps("asynchronous write-protect fault, shared", fault, page),
            perhaps("asynchronous write-protect fault, private", copy, page),
            perhaps("PAGEMAP_SCAN, clean", self.scan_clean_nanoseconds, page),
            perhaps("PAGEMAP_SCAN, written", self.scan_dirty_nanoseconds, page),
            perhaps("MADV_GUARD_INSTALL", self.guard_install_nanoseconds, once),
            perhaps("MADV_GUARD_REMOVE", self.guard_remove_nanoseconds, once),
        ]
    }
}

/// Times steps.
struct Clock {
    repetitions: usize,
    delay_nanoseconds: f64,
}

impl Clock {
    fn new(repetitions: usize) -> Self {
        let mut clock = Clock {
            repetitions,
            delay_nanoseconds: 0.0,
        };
        // Many, for any number of repetitions: the delay is subtracted everywhere.
        let delays = (0..1_001).map(|_| Self::nanoseconds(Instant::now()));
        clock.delay_nanoseconds = median(delays.collect());
        clock
    }

    fn nanoseconds(start: Instant) -> f64 {
        start.elapsed().as_nanos() as f64
    }

    /// The median time of a step that is short: each repetition prepares, then runs it once.
    fn single<T>(
        &self,
        mut prepare: impl FnMut() -> Result<T, FloorError>,
        mut step: impl FnMut(&T) -> Result<(), FloorError>,
    ) -> Result<f64, FloorError> {
        let mut times = Vec::with_capacity(self.repetitions);
        for _ in 0..self.repetitions {
            let prepared = prepare()?;
            times.push(self.once(|| step(&prepared))?);
        }
        Ok(median(times))
    }

    /// The median time of one of `count` steps that are timed together.
    fn each(
        &self,
        count: usize,
        mut prepare: impl FnMut() -> Result<(), FloorError>,
        mut steps: impl FnMut() -> Result<(), FloorError>,
    ) -> Result<f64, FloorError> {
        let mut times = Vec::with_capacity(self.repetitions);
        for _ in 0..self.repetitions {
            prepare()?;
            times.push(self.once(&mut steps)? / count as f64);
        }
        Ok(median(times))
    }

    /// The time of one run.
    fn once(&self, step: impl FnOnce() -> Result<(), FloorError>) -> Result<f64, FloorError> {
        let start = Instant::now();
        step()?;
        Ok(self.without_delay(Self::nanoseconds(start)))
    }

    fn without_delay(&self, nanoseconds: f64) -> f64 {
        (nanoseconds - self.delay_nanoseconds).max(0.0)
    }
}

fn median(mut nanoseconds: Vec<f64>) -> f64 {
    nanoseconds.sort_unstable_by(f64::total_cmp);
    nanoseconds[nanoseconds.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_timed_and_named_once() {
        let decomposition = decompose(5).unwrap();
        let rows = decomposition.rows();
        for row in &rows {
            let positive = row.nanoseconds.is_none_or(|nanoseconds| nanoseconds > 0.0);
            assert!(positive, "{row:?}");
            assert_eq!(
                rows.iter().filter(|other| other.step == row.step).count(),
                1
            );
        }
        let json = serde_json::to_value(decomposition).unwrap();
        assert_eq!(
            json.as_object().unwrap().len(),
            rows.len(),
            "a row for every figure"
        );
    }

    #[test]
    fn the_equations_add_what_the_thesis_adds() {
        let mut figures = decompose(1).unwrap();
        figures.enter_handler_nanoseconds = 1_000.0;
        figures.exit_handler_nanoseconds = 300.0 + 40.0;
        figures.mmap_nanoseconds = 100.0;
        figures.first_write_nanoseconds = 40.0;
        figures.memcpy_hot_nanoseconds = 7.0;
        assert_eq!(
            figures.estimates(Access::Read, false),
            1_300.0 + 200.0 + 40.0
        );
        assert_eq!(figures.estimates(Access::Read, true), 240.0);
        assert_eq!(
            figures.estimates(Access::Write, false),
            2_600.0 + 300.0 + 47.0
        );
        assert_eq!(figures.estimates(Access::Write, true), 247.0);
    }

    #[test]
    fn a_median_is_the_one_in_the_middle() {
        assert_eq!(median(vec![9.0, 1.0, 500.0]), 9.0);
        assert_eq!(median(vec![2.0]), 2.0);
    }
}
