//! One point on the command line, for calibration: `point key=value …`.
use sardonyx_simulation::experiment::{Options, run};
use sardonyx_simulation::parameters::read::Layers;

fn main() {
    let mut layers = Layers::named("paper").unwrap();
    for argument in std::env::args().skip(1) {
        layers.set(&argument).unwrap();
    }
    let parameters = layers.read().unwrap();
    let started = std::time::Instant::now();
    let outcome = run(&[parameters], &Options::default(), &|_| {})
        .unwrap()
        .remove(0);
    for row in &outcome.summary {
        println!(
            "{:30} {:45} {:12.4} ± {:8.4} {}",
            row.section, row.name, row.mean, row.half_width, row.unit
        );
    }
    let events: u64 = outcome.replications.iter().map(|one| one.events).sum();
    let done: u64 = outcome.replications.iter().map(|one| one.completions).sum();
    println!(
        "{} replications, {events} events, {done} measured transactions, {:?}",
        outcome.replications.len(),
        started.elapsed()
    );
}
