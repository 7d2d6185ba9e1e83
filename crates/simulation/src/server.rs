//! Stations: equal servers with one queue, first come first served.
//!
//! Every device of the GEM paper (section 3.3: processors, disks, controllers, GEM) is a station. A
//! process either requests service of a known length ([`Server::serve`]), or takes one server and
//! keeps it while it does other things ([`Server::acquire`]): the processor that stays busy during
//! a synchronous GEM access. Both wait in the same queue.
//!
//! A server that becomes free goes to the first of the queue at once, in the same instant, so that
//! none overtakes. A customer dropped half-way, waiting or being served, leaves the station as if
//! it had never come back.

mod customers;
mod station;
mod statistics;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use self::customers::CustomerId;
use self::station::Station;
use crate::kernel::Kernel;
use crate::time::Span;

pub use self::statistics::{Little, ServerStatistics};

/// A station of equal servers with one queue, first come first served.
///
/// Clones are the same station.
///
/// ```
/// use sardonyx_simulation::kernel::Kernel;
/// use sardonyx_simulation::server::Server;
/// use sardonyx_simulation::time::{Span, Time};
///
/// let kernel = Kernel::new();
/// let disk = Server::new(&kernel, 1);
/// for place in 0..3 {
///     let disk = disk.clone();
///     kernel.spawn(async move {
///         let waited = disk.serve(Span::from_milliseconds(10.0)).await;
///         assert_eq!(waited, Span::from_milliseconds(10.0) * place);
///     });
/// }
/// kernel.run_until(Time::ZERO + Span::from_milliseconds(40.0));
/// assert_eq!(disk.statistics().completions, 3);
/// assert_eq!(disk.statistics().utilisation, 0.75);
/// ```
#[derive(Clone)]
pub struct Server {
    shared: Rc<Shared>,
}

struct Shared {
    kernel: Kernel,
    station: RefCell<Station>,
}

/// Service of a known length. Made by [`Server::serve`].
#[must_use = "nothing is served until it is awaited"]
pub struct Serve {
    shared: Rc<Shared>,
    service: Span,
    customer: Option<CustomerId>,
}

/// The wait for one server. Made by [`Server::acquire`].
#[must_use = "nothing is acquired until it is awaited"]
pub struct Acquire {
    shared: Rc<Shared>,
    customer: Option<CustomerId>,
}

/// One server of a station, held until dropped.
#[must_use = "a permit that is dropped at once holds nothing"]
pub struct Permit {
    shared: Rc<Shared>,
    customer: CustomerId,
    waited: Span,
}

impl Server {
    /// A station of `servers` idle servers.
    ///
    /// # Panics
    /// If `servers` is zero: no customer would ever be served.
    pub fn new(kernel: &Kernel, servers: u32) -> Server {
        assert!(servers > 0, "a station needs at least one server");
        Server {
            shared: Rc::new(Shared {
                kernel: kernel.clone(),
                station: RefCell::new(Station::new(servers, kernel.now())),
            }),
        }
    }

    /// Queues for a server at the first poll, is served for `service`, and resolves to the time
    /// waited in the queue.
    pub fn serve(&self, service: Span) -> Serve {
        Serve {
            shared: Rc::clone(&self.shared),
            service,
            customer: None,
        }
    }

    /// Queues for a server at the first poll, and holds it until the permit is dropped.
    ///
    /// A server that is free is held at once, without an event.
    pub fn acquire(&self) -> Acquire {
        Acquire {
            shared: Rc::clone(&self.shared),
            customer: None,
        }
    }

    /// The number of the station's servers.
    pub fn servers(&self) -> u32 {
        self.shared.station.borrow().servers()
    }

    /// The number waiting in the queue now.
    pub fn waiting(&self) -> usize {
        self.shared.station.borrow().waiting()
    }

    /// Starts measuring at the present instant: the end of the warm-up. Customers in the station
    /// stay in it.
    pub fn reset(&self) {
        self.shared
            .station
            .borrow_mut()
            .reset(self.shared.kernel.now());
    }

    /// The measurements since the last reset, or since the station was made.
    pub fn statistics(&self) -> ServerStatistics {
        self.shared
            .station
            .borrow()
            .statistics(self.shared.kernel.now())
    }
}

impl Future for Serve {
    type Output = Span;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Span> {
        let Some(customer) = self.customer else {
            let shared = &self.shared;
            let mut station = shared.station.borrow_mut();
            let customer = station.arrive(&shared.kernel, Some(self.service));
            drop(station);
            self.customer = Some(customer);
            return Poll::Pending;
        };
        let shared = &self.shared;
        let mut station = shared.station.borrow_mut();
        if !station.is_served(customer, shared.kernel.now()) {
            return Poll::Pending;
        }
        let waited = station.leave(&shared.kernel, customer);
        drop(station);
        self.customer = None;
        Poll::Ready(waited)
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        if let Some(customer) = self.customer {
            self.shared
                .station
                .borrow_mut()
                .abandon(&self.shared.kernel, customer);
        }
    }
}

impl Future for Acquire {
    type Output = Permit;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Permit> {
        let shared = Rc::clone(&self.shared);
        let mut station = shared.station.borrow_mut();
        let customer = match self.customer {
            Some(customer) => customer,
            None => station.arrive(&shared.kernel, None),
        };
        let Some(waited) = station.waited(customer) else {
            self.customer = Some(customer);
            return Poll::Pending;
        };
        self.customer = None;
        drop(station);
        Poll::Ready(Permit {
            shared,
            customer,
            waited,
        })
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        if let Some(customer) = self.customer {
            self.shared
                .station
                .borrow_mut()
                .abandon(&self.shared.kernel, customer);
        }
    }
}

impl Permit {
    /// The time that its process waited in the queue.
    pub fn waited(&self) -> Span {
        self.waited
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.shared
            .station
            .borrow_mut()
            .leave(&self.shared.kernel, self.customer);
    }
}
