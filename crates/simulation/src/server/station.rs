//! The customers in service and in the queue, and their measurements.
//!
//! Two accounts are kept that never look at each other: the levels of the station (waiting
//! customers, busy servers) integrated over time, and the time of every customer. By Little's law they agree, and in
//! whole picoseconds they must agree exactly, in every run.

use std::collections::VecDeque;

use super::customers::{Customer, CustomerId, Customers};
use super::statistics::{Little, ServerStatistics, mean};
use crate::kernel::Kernel;
use crate::time::{Span, Time};

/// A station's servers, queue and accounts.
pub(super) struct Station {
    servers: u32,
    busy: u32,
    queue: VecDeque<CustomerId>,
    customers: Customers,
    accounts: Accounts,
}

/// The measurements since `start`. Times are in picoseconds; 128 bits hold any sum of them.
#[derive(Default)]
struct Accounts {
    start: Time,
    /// Up to when the two integrals of levels reach.
    integrated: Time,
    waiting_integral: u128,
    busy_integral: u128,
    arrivals: u64,
    completions: u64,
    abandoned: u64,
    begins: u64,
    /// Sums of the full times of those whose wait or stay ended since `start`.
    wait_sum: u128,
    stay_sum: u128,
    /// Sums of the times within the measurement, of those whose wait or stay ended since `start`.
    wait_within: u128,
    stay_within: u128,
    most_waiting: u64,
    most_in_station: u64,
}

impl Station {
    pub(super) fn new(servers: u32, now: Time) -> Station {
        Station {
            servers,
            busy: 0,
            queue: VecDeque::new(),
            customers: Customers::default(),
            accounts: Accounts {
                start: now,
                integrated: now,
                ..Accounts::default()
            },
        }
    }

    pub(super) fn servers(&self) -> u32 {
        self.servers
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The running process comes to the station, and is served at once if a server is free.
    ///
    /// A customer with a known service is resumed when it ends; others when it begins, unless it
    /// begins at once.
    #[inline]
    pub(super) fn arrive(&mut self, kernel: &Kernel, service: Option<Span>) -> CustomerId {
        let now = kernel.now();
        self.integrate(now);
        self.accounts.arrivals += 1;
        let customer = self.customers.insert(Customer {
            process: kernel.current(),
            arrival: now,
            service,
            begin: None,
        });
        if self.busy < self.servers {
            self.busy += 1;
            self.begin(kernel, customer, now);
        } else {
            self.queue.push_back(customer);
        }
        self.note_levels();
        customer
    }

    /// True if the service of a known length has ended.
    #[inline]
    pub(super) fn is_served(&mut self, customer: CustomerId, now: Time) -> bool {
        let customer = self.customers.get(customer);
        match (customer.begin, customer.service) {
            (Some(begin), Some(service)) => begin + service <= now,
            _ => false,
        }
    }

    /// The time that a customer waited, if its wait is over.
    pub(super) fn waited(&mut self, customer: CustomerId) -> Option<Span> {
        let customer = self.customers.get(customer);
        customer.begin.map(|begin| begin - customer.arrival)
    }

    /// A customer leaves its server to the next of the queue. Returns how long it had waited.
    #[inline]
    pub(super) fn leave(&mut self, kernel: &Kernel, customer: CustomerId) -> Span {
        let now = kernel.now();
        self.integrate(now);
        let customer = self.customers.remove(customer);
        self.accounts.completions += 1;
        self.accounts.stay_sum += picoseconds(now - customer.arrival);
        self.accounts.stay_within += picoseconds(now - customer.arrival.max(self.accounts.start));
        self.hand_over(kernel, now);
        let begin = customer
            .begin
            .expect("only those who are served leave a server");
        begin - customer.arrival
    }

    /// A customer goes away half-way, waiting or being served.
    pub(super) fn abandon(&mut self, kernel: &Kernel, customer: CustomerId) {
        let now = kernel.now();
        self.integrate(now);
        let gone = self.customers.remove(customer);
        self.accounts.abandoned += 1;
        let within = picoseconds(now - gone.arrival.max(self.accounts.start));
        self.accounts.stay_within += within;
        if gone.begin.is_some() {
            self.hand_over(kernel, now);
        } else {
            self.accounts.wait_within += within;
            self.queue.retain(|&waiting| waiting != customer);
        }
    }

    pub(super) fn reset(&mut self, now: Time) {
        self.accounts = Accounts {
            start: now,
            integrated: now,
            ..Accounts::default()
        };
        self.note_levels();
    }

    pub(super) fn statistics(&self, now: Time) -> ServerStatistics {
        let accounts = &self.accounts;
        let length = picoseconds(now - accounts.start);
        let since = picoseconds(now - accounts.integrated);
        let waiting_integral = accounts.waiting_integral + since * self.queue.len() as u128;
        let busy_integral = accounts.busy_integral + since * u128::from(self.busy);
        let mut wait_within = accounts.wait_within;
        let mut stay_within = accounts.stay_within;
        for customer in self.customers.iter() {
            let within = picoseconds(now - customer.arrival.max(accounts.start));
            stay_within += within;
            if customer.begin.is_none() {
                wait_within += within;
            }
        }
        let seconds = |sum: u128, count: u64| mean(sum, u128::from(count)) / 1e12;
        ServerStatistics {
            measured: now - accounts.start,
            servers: self.servers,
            arrivals: accounts.arrivals,
            completions: accounts.completions,
            abandoned: accounts.abandoned,
            utilisation: mean(busy_integral, length * u128::from(self.servers)),
            mean_waiting: mean(waiting_integral, length),
            mean_in_station: mean(waiting_integral + busy_integral, length),
            most_waiting: accounts.most_waiting,
            most_in_station: accounts.most_in_station,
            mean_wait_seconds: seconds(accounts.wait_sum, accounts.begins),
            mean_stay_seconds: seconds(accounts.stay_sum, accounts.completions),
            queue_little: Little {
                level_integral: waiting_integral,
                customer_time: wait_within,
            },
            station_little: Little {
                level_integral: waiting_integral + busy_integral,
                customer_time: stay_within,
            },
        }
    }

    /// Gives the server that became free to the first of the queue.
    #[inline]
    fn hand_over(&mut self, kernel: &Kernel, now: Time) {
        match self.queue.pop_front() {
            Some(next) => self.begin(kernel, next, now),
            None => self.busy -= 1,
        }
    }

    /// A customer has got a server.
    #[inline]
    fn begin(&mut self, kernel: &Kernel, customer: CustomerId, now: Time) {
        let customer = self.customers.get(customer);
        customer.begin = Some(now);
        let wait = now - customer.arrival;
        match customer.service {
            Some(service) => kernel.schedule(now + service, customer.process),
            None if kernel.is_current(customer.process) => {}
            None => kernel.schedule(now, customer.process),
        }
        self.accounts.begins += 1;
        self.accounts.wait_sum += picoseconds(wait);
        let since_start = now - customer.arrival.max(self.accounts.start);
        self.accounts.wait_within += picoseconds(since_start);
    }

    /// Brings the integrals of the levels up to `now`; before every change of a level.
    #[inline]
    fn integrate(&mut self, now: Time) {
        let accounts = &mut self.accounts;
        let since = picoseconds(now - accounts.integrated);
        accounts.waiting_integral += since * self.queue.len() as u128;
        accounts.busy_integral += since * u128::from(self.busy);
        accounts.integrated = now;
    }

    #[inline]
    fn note_levels(&mut self) {
        let waiting = self.queue.len() as u64;
        let accounts = &mut self.accounts;
        accounts.most_waiting = accounts.most_waiting.max(waiting);
        accounts.most_in_station = accounts.most_in_station.max(waiting + u64::from(self.busy));
    }
}

#[inline]
fn picoseconds(span: Span) -> u128 {
    u128::from(span.as_picoseconds())
}
