//! The number of events that the kernel dispatches in a second of real time, on one core.
//!
//! The hold model keeps a number of events pending: each process waits for an exponential time, over
//! and over. The queue is M/M/1 as a model would write it: a process per customer.
//!
//! ```text
//! cargo run --release -p sardonyx-simulation --example event_rate
//! ```

use std::time::Instant;

use sardonyx_simulation::kernel::Kernel;
use sardonyx_simulation::server::Server;
use sardonyx_simulation::time::{Span, Time};
use sardonyx_workload::random::Random;

/// Roughly how many events each line of the table takes.
const EVENTS: f64 = 2e7;

fn exponential(random: &mut Random, mean: f64) -> Span {
    Span::from_seconds(-mean * libm::log(1.0 - random.fraction()))
}

/// `pending` processes that only wait, one second on average.
fn hold(pending: u32) -> (Kernel, Time) {
    let kernel = Kernel::new();
    for seed in 0..pending {
        let (clock, mut random) = (kernel.clone(), Random::new(u64::from(seed)));
        kernel.spawn(async move {
            loop {
                clock.wait(exponential(&mut random, 1.0)).await;
            }
        });
    }
    let end = Time::ZERO + Span::from_seconds(EVENTS / f64::from(pending));
    (kernel, end)
}

/// The same with times that cost nothing to draw, so that the kernel alone is measured.
fn hold_cheaply(pending: u32) -> (Kernel, Time) {
    let kernel = Kernel::new();
    for seed in 0..pending {
        let (clock, mut random) = (kernel.clone(), Random::new(u64::from(seed)));
        kernel.spawn(async move {
            loop {
                // Up to two seconds, evenly distributed.
                clock
                    .wait(Span::from_picoseconds(random.next_u64() >> 23))
                    .await;
            }
        });
    }
    let mean = (1u64 << 40) as f64 / 1e12;
    let end = Time::ZERO + Span::from_seconds(EVENTS * mean / f64::from(pending));
    (kernel, end)
}

/// One server that is busy 80% of the time; three events a customer.
fn queue() -> (Kernel, Time) {
    let kernel = Kernel::new();
    let server = Server::new(&kernel, 1);
    let (clock, mut random) = (kernel.clone(), Random::new(1));
    kernel.spawn(async move {
        loop {
            clock.wait(exponential(&mut random, 1.0)).await;
            let (server, service) = (server.clone(), exponential(&mut random, 0.8));
            clock.spawn(async move {
                server.serve(service).await;
            });
        }
    });
    (kernel, Time::ZERO + Span::from_seconds(EVENTS / 3.0))
}

fn measure(name: &str, (kernel, end): (Kernel, Time)) {
    let start = Instant::now();
    kernel.run_until(end);
    let seconds = start.elapsed().as_secs_f64();
    let millions = kernel.events() as f64 / 1e6;
    println!(
        "{name:<40} {millions:>7.1} M events {:>7.1} M events/s",
        millions / seconds
    );
}

fn main() {
    for pending in [16, 1_000, 100_000] {
        measure(&format!("hold, {pending} pending"), hold(pending));
        measure(
            &format!("hold, {pending} pending, even times"),
            hold_cheaply(pending),
        );
    }
    measure("M/M/1 by processes", queue());
}
