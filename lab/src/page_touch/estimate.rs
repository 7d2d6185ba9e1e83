//! The sum of the steps of a page's cost, compared with the measured cost (Table 4.6).
//!
//! For the recipe of the LIBXAC thesis these are its equations 4.1 and 4.2. For a segment's mechanisms the steps are
//! those of today's kernels. As there, they are a lower bound, since other work (control structures, cache misses, the
//! redo record) is left out.

use super::{Advice, Cell, Subject};
use crate::floor::decomposition::Decomposition;
use crate::floor::libxac::Access;

/// An estimate and the measured cost, in nanoseconds a page.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Estimate {
    pub subject: Subject,
    /// The access to the pages.
    pub access: Access,
    pub advice: Advice,
    /// The steps that are added.
    pub steps: &'static str,
    /// Their sum.
    pub estimated_nanoseconds: f64,
    /// The measured median with the most pages, without copying back.
    pub actual_nanoseconds: f64,
    /// The difference of the estimate, in percent of the measured cost.
    pub difference_percent: f64,
}

/// The estimates of all cells with so many pages for which the kernel offers the steps.
pub(super) fn all(cells: &[Cell], steps: &Decomposition, pages_max: usize) -> Vec<Estimate> {
    let most = cells
        .iter()
        .map(|cell| cell.pages)
        .max()
        .unwrap_or(pages_max);
    let largest = cells.iter().filter(|cell| cell.pages == most);
    largest.filter_map(|cell| estimate(cell, steps)).collect()
}

fn estimate(cell: &Cell, figures: &Decomposition) -> Option<Estimate> {
    let (steps, estimated) = sum(cell.subject, cell.access, cell.advice, figures)?;
    let actual = cell.per_page.median_nanoseconds - cell.copy_back_nanoseconds;
    Some(Estimate {
        subject: cell.subject,
        access: cell.access,
        advice: cell.advice,
        steps,
        estimated_nanoseconds: estimated,
        actual_nanoseconds: actual,
        difference_percent: 100.0 * (actual - estimated) / actual,
    })
}

fn sum(
    subject: Subject,
    access: Access,
    advice: Advice,
    figures: &Decomposition,
) -> Option<(&'static str, f64)> {
    let plain = advice == Advice::None;
    let compare = figures.memcmp_many_nanoseconds;
    Some(match (subject, access, plain) {
        (Subject::Libxac, Access::Read, true) => {
            ("SIGSEGV + 2 mmap + fault", figures.estimates(access, false))
        }
        (Subject::Libxac, Access::Read, false) => {
            ("2 mmap + fault", figures.estimates(access, true))
        }
        (Subject::Libxac, Access::Write, true) => (
            "2 SIGSEGV + 3 mmap + fault + memcpy",
            figures.estimates(access, false),
        ),
        (Subject::Libxac, Access::Write, false) => {
            ("2 mmap + fault + memcpy", figures.estimates(access, true))
        }
        // The pages that it read stay mapped: there is no step.
        (Subject::AsynchronousRetained, Access::Read, _) => return None,
        (Subject::AsynchronousRetained, Access::Write, true) => (
            "write-protect fault + scan + memcmp",
            figures.asynchronous_protect_fault_nanoseconds?
                + figures.scan_dirty_nanoseconds?
                + compare,
        ),
        (Subject::AsynchronousExact, Access::Read, true) => (
            "minor fault + drop",
            figures.minor_read_fault_nanoseconds + figures.dontneed_many_nanoseconds,
        ),
        (Subject::AsynchronousExact, Access::Write, true) => (
            "write-protect fault with copy + scan + memcmp + drop",
            figures.asynchronous_protect_copy_nanoseconds?
                + figures.scan_dirty_nanoseconds?
                + compare
                + figures.dontneed_many_nanoseconds,
        ),
        (Subject::Signal, Access::Read, true) => (
            "SIGSEGV + 2 mprotect",
            signal(figures)
                + figures.minor_read_fault_nanoseconds
                + 2.0 * figures.mprotect_nanoseconds,
        ),
        (Subject::Signal, Access::Write, true) => (
            "2 SIGSEGV + 4 mprotect + copying fault + memcmp + drop",
            2.0 * signal(figures)
                + 4.0 * figures.mprotect_nanoseconds
                + figures.private_copy_fault_nanoseconds
                + compare
                + figures.dontneed_nanoseconds,
        ),
        _ => return None,
    })
}

/// Entering and leaving the handler, without the fault of the access that is tried again.
fn signal(figures: &Decomposition) -> f64 {
    let leave = figures.exit_handler_nanoseconds - figures.first_write_nanoseconds;
    figures.enter_handler_nanoseconds + leave.max(0.0)
}
