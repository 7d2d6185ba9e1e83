//! The generator: hands over due requests, and measures its own delay.

use super::arrivals::Arrivals;
use super::clock::Clock;
use crate::responses::Responses;
use std::time::Duration;

/// The receiver of requests.
pub trait Service {
    /// The reason why it cannot continue.
    type Error;

    /// Draws so many requests; the cost is the generator's.
    fn draw(&mut self, count: usize);

    /// Takes the requests drawn last; `due`: the intended arrival of each. May wait while there is no room.
    ///
    /// # Errors
    /// The reason why it cannot continue.
    fn submit(&mut self, due: &[Duration]) -> Result<(), Self::Error>;

    /// Returns true if an early end was requested.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// The end of a run, and the most requests handed over at once.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time for which requests arrive.
    pub length: Duration,
    /// The time until which arrived requests are handed over; the remaining ones never are.
    pub give_up: Duration,
    /// The most requests that are handed over at once.
    pub together_max: usize,
}

/// The offered requests.
#[derive(Clone, Debug)]
pub struct Offered {
    /// The number of intended arrivals.
    pub arrivals: u64,
    /// The number that was handed over.
    pub submitted: u64,
    /// The ages of the others when the run gave up.
    pub left: Responses,
    /// The delays by the generator's own fault: from when it could have handed over a request (it had arrived, and the
    /// previous call had returned) to when it did.
    pub late: Responses,
}

/// Hands over arriving requests until the end.
///
/// # Errors
/// The service's error.
pub fn drive<S: Service>(
    clock: &impl Clock,
    mut arrivals: Arrivals,
    limits: Limits,
    service: &mut S,
) -> Result<Offered, S::Error> {
    let mut offered = Offered {
        arrivals: 0,
        submitted: 0,
        left: Responses::new(),
        late: Responses::new(),
    };
    let mut draw = move || arrivals.next().filter(|at| *at < limits.length);
    let mut next = draw();
    let mut due = Vec::with_capacity(limits.together_max);
    // The time since when nothing kept the generator from handing over.
    let mut free = Duration::ZERO;
    while let Some(at) = next {
        let now = clock.now();
        if now >= limits.give_up || service.is_stopped() {
            break;
        }
        if at > now {
            clock.wait_until(at);
            continue;
        }
        due.clear();
        while due.len() < limits.together_max
            && let Some(at) = next.filter(|at| *at <= now)
        {
            due.push(at);
            next = draw();
        }
        service.draw(due.len());
        let count = due.len() as u64;
        let could = due[0].max(free);
        offered
            .late
            .record_n(clock.now().saturating_sub(could), count);
        service.submit(&due)?;
        offered.submitted += count;
        free = clock.now();
    }
    offered.arrivals = offered.submitted;
    let end = clock.now();
    while let Some(at) = next {
        offered.arrivals += 1;
        offered.left.record_n(end.saturating_sub(at), 1);
        next = draw();
    }
    Ok(offered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    /// Time that passes only when the generator or the server works or waits.
    #[derive(Clone, Default)]
    struct Virtual(Rc<Cell<Duration>>);

    impl Clock for Virtual {
        fn now(&self) -> Duration {
            self.0.get()
        }

        fn wait_until(&self, time: Duration) {
            assert!(time > self.now());
            self.0.set(time);
        }
    }

    impl Virtual {
        fn pass(&self, time: Duration) {
            self.0.set(self.0.get() + time);
        }
    }

    const MS: Duration = Duration::from_millis(1);

    /// A server that takes 0.1 ms a request, and once stops for a second.
    struct Stalling {
        clock: Virtual,
        stall_at: Option<Duration>,
        draw_time: Duration,
        responses: Responses,
    }

    impl Service for Stalling {
        type Error = ();

        fn draw(&mut self, _: usize) {
            self.clock.pass(self.draw_time);
        }

        fn submit(&mut self, due: &[Duration]) -> Result<(), ()> {
            if self.stall_at.is_some_and(|at| self.clock.now() >= at) {
                self.stall_at = None;
                self.clock.pass(1000 * MS);
            }
            for &at in due {
                self.clock.pass(MS / 10);
                self.responses.record_n(self.clock.now() - at, 1);
            }
            Ok(())
        }
    }

    fn run(rate: f64, stall_at: Option<Duration>, draw_time: Duration) -> (Offered, Responses) {
        let clock = Virtual::default();
        let mut service = Stalling {
            clock: clock.clone(),
            stall_at,
            draw_time,
            responses: Responses::new(),
        };
        let limits = Limits {
            length: 10_000 * MS,
            give_up: 20_000 * MS,
            together_max: 64,
        };
        let arrivals = Arrivals::new(rate, 1);
        let offered = drive(&clock, arrivals, limits, &mut service).unwrap();
        (offered, service.responses)
    }

    #[test]
    fn a_stall_is_seen_by_all_that_were_meant_to_arrive_in_it() {
        let (offered, calm) = run(1000.0, None, Duration::ZERO);
        assert!(calm.max().unwrap() < 5 * MS);
        assert_eq!(calm.count(), offered.arrivals);
        let (offered, stalled) = run(1000.0, Some(5000 * MS), Duration::ZERO);
        assert_eq!(stalled.count(), offered.arrivals);
        // A closed loop would have one of 10,000 with more than 5 ms. Here the 1000 of that second wait half of it on
        // average. Those of the next 0.1 s, until the queue is empty, wait, too.
        let slow = 1.0 - stalled.share_within(5 * MS).unwrap();
        assert!((0.09..0.14).contains(&slow), "{slow}");
        let p95 = stalled.p95().unwrap();
        assert!(p95 > 400 * MS && p95 < 700 * MS, "{p95:?}");
        // The generator itself was never late: it was kept waiting.
        assert_eq!(offered.late.max(), Some(Duration::ZERO));
    }

    #[test]
    fn what_an_overloaded_server_never_took_counts_with_its_age() {
        // 20,000 a second where 10,000 can be served: after 20 s as many are served as arrived in 10.
        let (offered, taken) = run(25_000.0, None, Duration::ZERO);
        assert!((offered.arrivals as f64 - 250_000.0).abs() < 2_500.0);
        assert_eq!(taken.count(), offered.submitted);
        let left = offered.arrivals - offered.submitted;
        assert_eq!(offered.left.count(), left);
        assert!((left as f64 - 50_000.0).abs() < 3_000.0, "{left}");
        assert!(offered.left.p50().unwrap() > 10_000 * MS, "their age");
    }

    #[test]
    fn a_slow_generator_is_late_by_its_own_fault() {
        let (offered, _) = run(1000.0, None, 3 * MS);
        let late = offered.late.p50().unwrap();
        assert!(late >= 3 * MS && late < 5 * MS, "{late:?}");
    }
}
