//! Queues that can be solved on paper, to check the simulated ones by.
//!
//! A model that is too complex to solve is trusted only if its parts give the right figures where
//! these are known. All are open stations with Poisson arrivals, first come first served, in
//! statistical equilibrium. They are M/M/1, M/M/c (Erlang's C formula), M/D/1, and M/G/1 (Pollaczek
//! and Khinchine). Rates are per second, times in seconds.

/// The figures of a station in equilibrium.
///
/// ```
/// use sardonyx_simulation::queueing::Equilibrium;
///
/// // A disk of 15 ms, asked 50 times a second.
/// let disk = Equilibrium::m_m_1(50.0, 0.015).expect("busy three quarters of the time");
/// assert!((disk.mean_stay_seconds - 0.060).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equilibrium {
    /// The share of the servers' time in which they are busy, from 0 to 1.
    pub utilisation: f64,
    /// Mean length of the queue, without those being served.
    pub mean_waiting: f64,
    /// Mean number in the station, with those being served.
    pub mean_in_station: f64,
    /// Mean time in the queue, in seconds.
    pub mean_wait_seconds: f64,
    /// Mean time in the station, in seconds.
    pub mean_stay_seconds: f64,
}

impl Equilibrium {
    /// One server, exponential service times. Absent if there is no equilibrium.
    pub fn m_m_1(arrivals_per_second: f64, mean_service_seconds: f64) -> Option<Equilibrium> {
        Equilibrium::m_g_1(arrivals_per_second, mean_service_seconds, 1.0)
    }

    /// One server, every service as long as the other. Absent if there is no equilibrium.
    pub fn m_d_1(arrivals_per_second: f64, service_seconds: f64) -> Option<Equilibrium> {
        Equilibrium::m_g_1(arrivals_per_second, service_seconds, 0.0)
    }

    /// One server, service times of any distribution, given by its mean and its squared coefficient
    /// of variation (variance over squared mean: 0 constant, 1 exponential). Absent if there is no
    /// equilibrium.
    pub fn m_g_1(
        arrivals_per_second: f64,
        mean_service_seconds: f64,
        squared_variation: f64,
    ) -> Option<Equilibrium> {
        let utilisation = utilisation(arrivals_per_second, mean_service_seconds, 1);
        let delay = (1.0 + squared_variation) / 2.0 * mean_service_seconds;
        Equilibrium::from_wait(
            arrivals_per_second,
            mean_service_seconds,
            1,
            utilisation / (1.0 - utilisation) * delay,
        )
    }

    /// `servers` equal servers with one queue, exponential service times. Absent if there is no
    /// equilibrium.
    pub fn m_m_c(
        arrivals_per_second: f64,
        mean_service_seconds: f64,
        servers: u32,
    ) -> Option<Equilibrium> {
        let offered = arrivals_per_second * mean_service_seconds;
        let waits = erlang_c(offered, servers);
        let wait = waits * mean_service_seconds / (f64::from(servers) - offered);
        Equilibrium::from_wait(arrivals_per_second, mean_service_seconds, servers, wait)
    }

    /// The rest follows from the mean wait by Little's law.
    fn from_wait(rate: f64, service: f64, servers: u32, wait: f64) -> Option<Equilibrium> {
        let utilisation = utilisation(rate, service, servers);
        // Also refuses a NaN, and negative rates or times.
        if !(rate >= 0.0 && service >= 0.0 && (0.0..1.0).contains(&utilisation)) {
            return None;
        }
        Some(Equilibrium {
            utilisation,
            mean_waiting: rate * wait,
            mean_in_station: rate * (wait + service),
            mean_wait_seconds: wait,
            mean_stay_seconds: wait + service,
        })
    }
}

/// The share of their time in which `servers` are busy; above 1 if they cannot keep up.
pub fn utilisation(arrivals_per_second: f64, mean_service_seconds: f64, servers: u32) -> f64 {
    arrivals_per_second * mean_service_seconds / f64::from(servers)
}

/// Erlang's C formula: the probability that an arrival finds all `servers` busy and waits, when
/// `offered` (arrival rate times service time) of them are busy on average.
///
/// By the recurrence of Erlang's B formula, which neither overflows nor cancels at thousands of
/// servers, as the factorials of the textbook form do.
pub fn erlang_c(offered: f64, servers: u32) -> f64 {
    let mut blocked = 1.0;
    for busy in 1..=servers {
        blocked = offered * blocked / (f64::from(busy) + offered * blocked);
    }
    let utilisation = offered / f64::from(servers);
    blocked / (1.0 - utilisation * (1.0 - blocked))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
    }

    #[test]
    fn a_single_server_by_hand() {
        // 8 a second, 100 ms each: busy 80%, so 0.8 / 0.2 = 4 in the station, 0.5 s each.
        let exponential = Equilibrium::m_m_1(8.0, 0.1).unwrap();
        close(exponential.utilisation, 0.8);
        close(exponential.mean_in_station, 4.0);
        close(exponential.mean_waiting, 3.2);
        close(exponential.mean_stay_seconds, 0.5);
        close(exponential.mean_wait_seconds, 0.4);
        // Constant service times halve the wait.
        let constant = Equilibrium::m_d_1(8.0, 0.1).unwrap();
        close(constant.mean_wait_seconds, 0.2);
        close(constant.mean_waiting, 1.6);
        // Twice the variance: three halves of the exponential's wait.
        close(
            Equilibrium::m_g_1(8.0, 0.1, 2.0).unwrap().mean_wait_seconds,
            0.6,
        );
    }

    #[test]
    fn several_servers_by_hand() {
        // Two servers, each busy half of the time: 1/3 wait (1 + 1 + 1/2·2 = 3 in the denominator).
        close(erlang_c(1.0, 2), 1.0 / 3.0);
        let two = Equilibrium::m_m_c(10.0, 0.1, 2).unwrap();
        close(two.mean_wait_seconds, 1.0 / 30.0);
        close(two.mean_in_station, 4.0 / 3.0);
        // One server is M/M/1.
        assert_eq!(erlang_c(0.8, 1), 0.8);
        // Published tables: 10 Erlang on 14 servers.
        assert!(
            (erlang_c(10.0, 14) - 0.1741).abs() < 5e-5,
            "{}",
            erlang_c(10.0, 14)
        );
        // Many servers neither overflow nor cancel.
        assert!((0.0..1.0).contains(&erlang_c(3_900.0, 4_000)));
    }

    #[test]
    fn the_paper_s_processors_are_busy_five_eighths_of_the_time() {
        // The GEM paper, section 4.1: 100 TPS of 250,000 instructions on 4 processors of 10 MIPS.
        let node = Equilibrium::m_m_c(100.0, 0.025, 4).unwrap();
        close(node.utilisation, 0.625);
    }

    #[test]
    fn without_equilibrium_there_are_no_figures() {
        assert_eq!(Equilibrium::m_m_1(10.0, 0.1), None);
        assert_eq!(Equilibrium::m_d_1(11.0, 0.1), None);
        assert_eq!(Equilibrium::m_m_c(40.0, 0.1, 4), None);
        assert_eq!(Equilibrium::m_m_c(1.0, 0.1, 0), None);
        assert_eq!(Equilibrium::m_m_1(-1.0, 0.1), None);
        assert_eq!(Equilibrium::m_m_1(f64::NAN, 0.1), None);
    }
}
