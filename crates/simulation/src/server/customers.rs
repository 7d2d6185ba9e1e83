//! The customers of a station, in places that are used again.

use crate::kernel::ProcessId;
use crate::time::{Span, Time};

/// A customer's place. It is used again when the customer has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CustomerId(u32);

/// A customer in the station.
#[derive(Clone, Copy)]
pub(super) struct Customer {
    pub(super) process: ProcessId,
    pub(super) arrival: Time,
    /// The time of the service; absent for a customer that holds the server at will.
    pub(super) service: Option<Span>,
    /// The beginning of the service; absent while waiting.
    pub(super) begin: Option<Time>,
}

/// All customers of a station.
#[derive(Default)]
pub(super) struct Customers {
    places: Vec<Option<Customer>>,
    free: Vec<u32>,
}

impl Customers {
    /// Gives the customer a place.
    #[inline]
    pub(super) fn insert(&mut self, customer: Customer) -> CustomerId {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = Some(customer);
            return CustomerId(place);
        }
        self.places.push(Some(customer));
        CustomerId(self.places.len() as u32 - 1)
    }

    /// The customer at a place, which is only asked for while it is in the station.
    #[inline]
    pub(super) fn get(&mut self, customer: CustomerId) -> &mut Customer {
        self.places[customer.0 as usize]
            .as_mut()
            .expect("a customer of this station")
    }

    /// Takes a customer away.
    #[inline]
    pub(super) fn remove(&mut self, customer: CustomerId) -> Customer {
        self.free.push(customer.0);
        self.places[customer.0 as usize]
            .take()
            .expect("a customer of this station")
    }

    /// All customers in the station, in order of their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Customer> {
        self.places.iter().flatten()
    }
}
