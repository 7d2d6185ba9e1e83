//! LIBXAC's recipe, built again: the baseline for transactions on mapped memory.
//!
//! LIBXAC thesis, sections 4.2.1 to 4.2.3. The pages of a mapping have no rights. A transaction's first
//! load from a page raises SIGSEGV; the handler maps the page read-only with `mmap` and notes it in
//! the read set. The first store raises another; the handler copies the page and maps the *copy*,
//! read and write, in the same place. At the end every page touched is mapped without rights again,
//! by one `mmap` each. With the advisory function (`setPageAccess`) a call replaces the signals,
//! and a page to be written is not mapped read-only first (equation 4.2).
//!
//! Other parts of the library are left out, to its advantage as a baseline: no version table, no consistency tree, no
//! control file, one process, nothing durable. The LIBXAC thesis leaves copying committed pages back to a checkpoint.
//! Here the end of the transaction does it and reports its time, so that it may be subtracted.
//!
//! The transactions are those of Figures 4-1 and 4-3: an integer of each of n consecutive pages is loaded, or stored.
//! Loads are summed and compared with the last committed values; a transaction that read other values has no figure.
//!
//! ```
//! use sardonyx_lab::floor::libxac::{Access, Recipe};
//!
//! let mut recipe = Recipe::new(64)?;
//! recipe.write_transaction(64)?;
//! let reads = recipe.measure(Access::Read, false, 64, 10)?;
//! assert_eq!(reads.pages, 64);
//! assert!(reads.per_page.median_nanoseconds > 0.0);
//! # Ok::<(), sardonyx_lab::floor::FloorError>(())
//! ```

mod runtime;

use std::hint::black_box;
use std::time::Duration;

use crate::floor::FloorError;
use crate::floor::distribution::Distribution;
use crate::floor::fault_handler::install;
use runtime::Runtime;

/// The accesses of a transaction to its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Loads an integer from each.
    Read,
    /// Stores an integer into each.
    Write,
}

/// The time of one transaction.
#[derive(Clone, Copy, Debug)]
pub struct Transaction {
    /// From its begin to its end.
    pub total: Duration,
    /// The part of `total` in which committed pages were copied back: zero if it only read.
    pub copy_back: Duration,
    /// The number of SIGSEGV that it raised.
    pub signals: usize,
}

/// Nanoseconds a page, over the repetitions of one transaction.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct PageTouch {
    pub access: Access,
    /// True if the advisory function was called before.
    pub advised: bool,
    /// The number of pages that a transaction touched.
    pub pages: usize,
    pub repetitions: usize,
    /// The whole transaction over its pages.
    pub per_page: Distribution,
    /// The part of it that copied committed pages back, over its pages.
    pub copy_back: Distribution,
}

/// A mapped file of one integer a page, with transactions by the recipe.
pub struct Recipe {
    runtime: Runtime,
    /// The last committed value of each page, kept separately as the proof.
    committed: Box<[i32]>,
    /// The number of transactions that wrote: the next one's values differ from those before.
    writes: i32,
}

impl Recipe {
    /// Maps `pages` pages, all zero.
    ///
    /// # Errors
    /// [`FloorError::Pages`] if `pages` is 0, [`FloorError::Memory`] or [`FloorError::Kernel`] if the system refuses
    /// memory or the handler.
    pub fn new(pages: usize) -> Result<Self, FloorError> {
        if pages == 0 || u32::try_from(pages).is_err() {
            return Err(FloorError::Pages {
                asked: pages,
                mapped: u32::MAX as usize,
            });
        }
        install()?;
        Ok(Recipe {
            runtime: Runtime::new(pages)?,
            committed: vec![0; pages].into_boxed_slice(),
            writes: 0,
        })
    }

    /// Figure 4-1 (a): loads from `n` consecutive pages.
    ///
    /// # Errors
    /// [`FloorError::Pages`] if there are not so many, [`FloorError::Kernel`] if a mapping is refused,
    /// [`FloorError::PageTouch`] if it read other values than the committed ones. (If the kernel refuses a mapping
    /// inside of the handler, the signal is passed to the previous handler.)
    pub fn read_transaction(&mut self, n: usize) -> Result<Transaction, FloorError> {
        self.read(n, false)
    }

    /// Figure 4-3 (a): the same, each page announced before.
    ///
    /// # Errors
    /// As for [`Recipe::read_transaction`].
    pub fn advised_read_transaction(&mut self, n: usize) -> Result<Transaction, FloorError> {
        self.read(n, true)
    }

    /// Figure 4-1 (b): stores into `n` consecutive pages.
    ///
    /// # Errors
    /// As for [`Recipe::read_transaction`].
    pub fn write_transaction(&mut self, n: usize) -> Result<Transaction, FloorError> {
        self.write(n, false)
    }

    /// Figure 4-3 (b): the same, each page announced before.
    ///
    /// # Errors
    /// As for [`Recipe::read_transaction`].
    pub fn advised_write_transaction(&mut self, n: usize) -> Result<Transaction, FloorError> {
        self.write(n, true)
    }

    /// Loads from the first `reads` pages and stores into the `writes` pages after them, in one transaction: the
    /// subject of the additive model of section 4.2.1.
    ///
    /// # Errors
    /// As for [`Recipe::read_transaction`].
    pub fn mixed_transaction(
        &mut self,
        reads: usize,
        writes: usize,
        advised: bool,
    ) -> Result<Transaction, FloorError> {
        self.enough_pages(reads + writes)?;
        self.touch(reads, reads + writes, advised)
    }

    /// Runs one of the four transactions `repetitions` times (at least once), after two that are not counted, and
    /// compares all pages with the committed values.
    ///
    /// # Errors
    /// As for [`Recipe::read_transaction`].
    pub fn measure(
        &mut self,
        access: Access,
        advised: bool,
        n: usize,
        repetitions: usize,
    ) -> Result<PageTouch, FloorError> {
        let repetitions = repetitions.max(1);
        let mut run = || match access {
            Access::Read => self.read(n, advised),
            Access::Write => self.write(n, advised),
        };
        for _ in 0..2 {
            run()?;
        }
        let mut per_page = Vec::with_capacity(repetitions);
        let mut copy_back = Vec::with_capacity(repetitions);
        for _ in 0..repetitions {
            let transaction = run()?;
            per_page.push(transaction.total.as_nanos() as f64 / n as f64);
            copy_back.push(transaction.copy_back.as_nanos() as f64 / n as f64);
        }
        self.check()?;
        Ok(PageTouch {
            access,
            advised,
            pages: n,
            repetitions,
            per_page: Distribution::of(per_page),
            copy_back: Distribution::of(copy_back),
        })
    }

    fn read(&mut self, n: usize, advised: bool) -> Result<Transaction, FloorError> {
        self.enough_pages(n)?;
        self.touch(n, n, advised)
    }

    fn write(&mut self, n: usize, advised: bool) -> Result<Transaction, FloorError> {
        self.enough_pages(n)?;
        self.touch(0, n, advised)
    }

    /// Loads from the pages before `reads`, stores into those from there to `end`.
    fn touch(
        &mut self,
        reads: usize,
        end: usize,
        advised: bool,
    ) -> Result<Transaction, FloorError> {
        if reads < end {
            self.writes = self.writes.wrapping_add(1);
        }
        let runtime = &self.runtime;
        let mut sum = 0;
        let transaction = runtime.transaction(|| {
            for page in 0..reads {
                if advised {
                    runtime.set_page_access(page, Access::Read)?;
                }
                sum += i64::from(black_box(runtime.view.read(page)));
            }
            for page in reads..end {
                if advised {
                    runtime.set_page_access(page, Access::Write)?;
                }
                runtime.view.write(page, value(page, self.writes));
            }
            Ok(())
        })?;
        for page in reads..end {
            self.committed[page] = value(page, self.writes);
        }
        let read = &self.committed[..reads];
        equal(
            "sum of the pages",
            read.iter().copied().map(i64::from).sum(),
            sum,
        )?;
        Ok(transaction)
    }

    /// Compares the pages with the committed values.
    fn check(&self) -> Result<(), FloorError> {
        for (page, &expected) in self.committed.iter().enumerate() {
            let found = self.runtime.data.read(page);
            equal("value of a page", expected.into(), found.into())?;
        }
        Ok(())
    }

    fn enough_pages(&self, n: usize) -> Result<(), FloorError> {
        let mapped = self.committed.len();
        if (1..=mapped).contains(&n) {
            Ok(())
        } else {
            Err(FloorError::Pages { asked: n, mapped })
        }
    }
}

/// Figures 4-1 and 4-3 store the page's number; with the transaction's added, a lost store shows.
fn value(page: usize, transaction: i32) -> i32 {
    (page as i32).wrapping_add(transaction)
}

fn equal(what: &'static str, expected: i64, found: i64) -> Result<(), FloorError> {
    if expected == found {
        Ok(())
    } else {
        Err(FloorError::PageTouch {
            what,
            expected,
            found,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn a_read_raises_one_signal_a_page_and_a_write_two_every_time() {
        let mut recipe = Recipe::new(20).unwrap();
        for _ in 0..3 {
            assert_eq!(recipe.read_transaction(20).unwrap().signals, 20);
            assert_eq!(recipe.write_transaction(17).unwrap().signals, 34);
            recipe.check().unwrap();
        }
        assert_eq!(recipe.runtime.data.read(5), 5 + 3);
        assert_eq!(recipe.runtime.data.read(19), 0);
    }

    #[test]
    fn a_mixed_transaction_reads_the_first_pages_and_writes_the_next() {
        let mut recipe = Recipe::new(20).unwrap();
        assert_eq!(
            recipe.mixed_transaction(5, 3, false).unwrap().signals,
            5 + 2 * 3
        );
        assert_eq!(recipe.mixed_transaction(5, 3, true).unwrap().signals, 0);
        recipe.check().unwrap();
        assert_eq!(recipe.runtime.data.read(4), 0);
        assert_eq!(recipe.runtime.data.read(7), 7 + 2);
        assert!(recipe.mixed_transaction(15, 6, false).is_err());
    }

    #[test]
    fn advice_spares_all_signals() {
        let mut recipe = Recipe::new(20).unwrap();
        for _ in 0..3 {
            assert_eq!(recipe.advised_write_transaction(20).unwrap().signals, 0);
            recipe.check().unwrap();
            assert_eq!(recipe.advised_read_transaction(20).unwrap().signals, 0);
        }
        // No right is left over from an advised transaction.
        assert_eq!(recipe.read_transaction(20).unwrap().signals, 20);
    }

    #[test]
    fn a_page_read_first_is_written_after_one_more_signal() {
        let recipe = Recipe::new(2).unwrap();
        let runtime = &recipe.runtime;
        let transaction = runtime.transaction(|| {
            runtime.view.read(1);
            runtime.view.read(1);
            assert_eq!(runtime.signals.load(Relaxed), 1);
            runtime.view.write(1, 9);
            assert_eq!(runtime.view.read(1), 9);
            assert_eq!(runtime.data.read(1), 0, "the store went into the copy");
            Ok(())
        });
        assert_eq!(transaction.unwrap().signals, 2);
        assert_eq!(runtime.data.read(1), 9);
    }

    #[test]
    fn the_copy_of_a_page_holds_what_was_committed() {
        let recipe = Recipe::new(2).unwrap();
        let runtime = &recipe.runtime;
        runtime.data.write(1, 41);
        let announced = runtime.transaction(|| {
            runtime.set_page_access(1, Access::Write)?;
            assert_eq!(runtime.view.read(1), 41);
            Ok(())
        });
        announced.unwrap();
        assert_eq!(runtime.data.read(1), 41);
    }

    #[test]
    fn a_transaction_that_fails_commits_nothing_and_keeps_no_right() {
        let mut recipe = Recipe::new(3).unwrap();
        recipe.write_transaction(3).unwrap();
        let runtime = &recipe.runtime;
        let failed = runtime.transaction(|| {
            runtime.view.write(2, 99);
            Err(FloorError::kernel("test", Errno::IO))
        });
        assert!(failed.is_err());
        assert_eq!(recipe.read_transaction(3).unwrap().signals, 3);
        recipe.write_transaction(1).unwrap();
        recipe.check().unwrap();
    }

    #[test]
    fn two_threads_have_recipes_of_their_own() {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                std::thread::spawn(|| {
                    let mut recipe = Recipe::new(64).unwrap();
                    for _ in 0..50 {
                        assert_eq!(recipe.write_transaction(64).unwrap().signals, 128);
                        assert_eq!(recipe.read_transaction(64).unwrap().signals, 64);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }

    #[test]
    fn a_value_that_was_not_committed_has_no_figure() {
        let mut recipe = Recipe::new(4).unwrap();
        recipe.runtime.data.write(3, 1);
        let error = recipe.read_transaction(4).unwrap_err();
        assert!(
            matches!(
                error,
                FloorError::PageTouch {
                    expected: 0,
                    found: 1,
                    ..
                }
            ),
            "{error}"
        );
        let error = recipe.measure(Access::Write, true, 3, 1).unwrap_err();
        assert!(
            matches!(
                error,
                FloorError::PageTouch {
                    expected: 0,
                    found: 1,
                    ..
                }
            ),
            "{error}"
        );
    }

    #[test]
    fn pages_that_are_not_there_are_refused() {
        assert!(matches!(Recipe::new(0), Err(FloorError::Pages { .. })));
        let mut recipe = Recipe::new(4).unwrap();
        for n in [0, 5] {
            let error = recipe.write_transaction(n).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("{n} pages were to be touched, but 1 to 4 are possible here")
            );
        }
    }
}
