//! Tables 4.2 to 4.6 of the LIBXAC thesis for this machine: LIBXAC's recipe by the page, and the
//! steps that it and newer schemes are made of.
//!
//! ```text
//! cargo run --release -p sardonyx-lab --example decomposition
//! ```

use sardonyx_lab::floor::decomposition::{Decomposition, decompose};
use sardonyx_lab::floor::libxac::{Access, PageTouch, Recipe};

const REPETITIONS: usize = 1_001;
const PAGES_MAX: usize = 1_024;

fn main() -> anyhow::Result<()> {
    let decomposition = decompose(REPETITIONS)?;
    steps(&decomposition);
    let mut recipe = Recipe::new(PAGES_MAX)?;
    println!("\nLIBXAC's recipe, nanoseconds a page (Figures 4-1 and 4-3)");
    println!(
        "{:<8}{:<9}{:>6}{:>10}{:>10}{:>10}{:>10}{:>12}{:>10}",
        "access", "advised", "pages", "median", "mean", "p99", "max", "copy back", "estimate"
    );
    for (access, advised) in [
        (Access::Read, false),
        (Access::Read, true),
        (Access::Write, false),
        (Access::Write, true),
    ] {
        for pages in [1, 8, 64, PAGES_MAX] {
            let repetitions = if pages == PAGES_MAX { 101 } else { REPETITIONS };
            let touch = recipe.measure(access, advised, pages, repetitions)?;
            line(&touch, decomposition.estimates(access, advised));
        }
    }
    println!("estimate: equations 4.1 and 4.2 from the steps above, without copying back");
    Ok(())
}

fn steps(decomposition: &Decomposition) {
    println!("steps, medians of {REPETITIONS}");
    for row in decomposition.rows() {
        let figure = match row.nanoseconds {
            Some(nanoseconds) => format!("{nanoseconds:.1} ns"),
            None => "not in this kernel".into(),
        };
        println!("{:<8}{:<44}{figure:>20}  {}", row.source, row.step, row.per);
    }
}

fn line(touch: &PageTouch, estimate: f64) {
    let access = match touch.access {
        Access::Read => "read",
        Access::Write => "write",
    };
    let (advised, time) = (if touch.advised { "yes" } else { "no" }, touch.per_page);
    println!(
        "{access:<8}{advised:<9}{:>6}{:>10.0}{:>10.0}{:>10.0}{:>10.0}{:>12.0}{estimate:>10.0}",
        touch.pages,
        time.median_nanoseconds,
        time.mean_nanoseconds,
        time.p99_nanoseconds,
        time.max_nanoseconds,
        touch.copy_back.median_nanoseconds,
    );
}
