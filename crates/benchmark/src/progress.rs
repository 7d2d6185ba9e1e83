//! Progress bars, on standard error if that is a terminal, else nowhere.

use crate::debit_credit::run::{Progress, Until};
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const REDRAW: Duration = Duration::from_millis(100);

/// A bar for so many steps.
pub fn bar(what: &'static str, steps: u64) -> ProgressBar {
    let bar = ProgressBar::new(steps);
    let style = "{prefix:<10} {bar:40} {human_pos} of {human_len} {msg}";
    bar.set_style(ProgressStyle::with_template(style).expect("a constant template"));
    bar.with_prefix(what)
}

/// A spinner for work whose end is not known in advance.
pub fn spinner(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("{prefix:<10} {spinner}");
    bar.set_style(style.expect("a constant template"));
    bar.enable_steady_tick(REDRAW);
    bar.with_prefix(what)
}

/// Runs `body`, and shows the steps that it reports.
pub fn told<T>(body: impl FnOnce(&mut dyn FnMut(&str)) -> T) -> T {
    let bar = spinner("running");
    let result = body(&mut |what| bar.set_message(what.to_string()));
    bar.finish_and_clear();
    result
}

/// Runs `body` and shows the clients' progress meanwhile.
pub fn watched<T>(until: Until, progress: &Progress, body: impl FnOnce() -> T) -> T {
    let (bar, started) = match until {
        Until::Transactions(transactions) => (bar("running", transactions), Instant::now()),
        Until::Time(time) => (bar("running", time.as_millis() as u64), Instant::now()),
    };
    if let Until::Time(_) = until {
        let style = "{prefix:<10} {bar:40} {elapsed_precise} {msg}";
        bar.set_style(ProgressStyle::with_template(style).expect("a constant template"));
    }
    let done = AtomicBool::new(false);
    let show = || {
        while !done.load(Ordering::Acquire) {
            let committed = progress.committed.load(Ordering::Relaxed);
            let rate = committed as f64 / started.elapsed().as_secs_f64();
            bar.set_message(sardonyx_results::units::rate(rate));
            bar.set_position(match until {
                Until::Transactions(_) => committed,
                Until::Time(_) => started.elapsed().as_millis() as u64,
            });
            std::thread::park_timeout(REDRAW);
        }
    };
    let result = std::thread::scope(|scope| {
        let watcher = (!bar.is_hidden()).then(|| scope.spawn(show));
        // Also if the body panics: the scope waits for the watcher.
        let _end = OnDrop(|| {
            done.store(true, Ordering::Release);
            if let Some(watcher) = &watcher {
                watcher.thread().unpark();
            }
        });
        body()
    });
    bar.finish_and_clear();
    result
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
