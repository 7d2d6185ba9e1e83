//! Simulates points on this machine's cores, with a progress bar.

use indicatif::ProgressStyle;
use sardonyx_simulation::experiment::{Options, Progress, SimulationError, run};
use sardonyx_simulation::outcome::Outcome;
use sardonyx_simulation::parameters::Parameters;

/// Simulates points.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    /// Threads; 0: all cores.
    pub threads: usize,
}

impl Engine {
    /// The outcome of each point, in their order. The bar, on standard error, is shown on a terminal
    /// only.
    pub fn simulate(&self, points: &[Parameters]) -> Result<Vec<Outcome>, SimulationError> {
        let bar = indicatif::ProgressBar::new(0);
        let style = "{prefix} {bar:40} {human_pos} of about {human_len} replications {msg} {eta}";
        bar.set_style(ProgressStyle::with_template(style).expect("a constant template"));
        bar.set_prefix("simulating");
        let show = |progress: Progress| {
            bar.set_length(progress.expected);
            bar.set_position(progress.replications);
            if progress.points > 1 {
                let Progress {
                    points,
                    points_done,
                    ..
                } = progress;
                bar.set_message(format!("({points_done} of {points} points)"));
            }
        };
        let options = Options {
            threads: self.threads,
        };
        let outcomes = run(points, &options, &show);
        bar.finish_and_clear();
        outcomes
    }
}
