//! The requests of terminals: the arguments of the five transactions, in the standard's mix.
//!
//! There are ten terminals for each warehouse, each with a warehouse and a district of its own. A client
//! serves some of them in turn, and takes the kinds of their transactions from a shuffled deck of a
//! hundred cards: 45 new orders, 43 payments, and 4 of each other kind.
//!
//! Source: TPC-C, clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1, 5.2.3 and 5.2.4.2.

use super::draw::{Constants, Draw};
use super::scale::{self, DISTRICTS, LINES_MAX, Scale};
use serde::Serialize;

/// The five transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Enters an order.
    NewOrder,
    /// Pays.
    Payment,
    /// Reads a customer's newest order.
    OrderStatus,
    /// Delivers the oldest order of each district.
    Delivery,
    /// Counts items of recent orders with a low stock.
    StockLevel,
}

impl Kind {
    /// All of them, in the order of the standard.
    pub const ALL: [Kind; 5] = [
        Kind::NewOrder,
        Kind::Payment,
        Kind::OrderStatus,
        Kind::Delivery,
        Kind::StockLevel,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::NewOrder => "new-order",
            Kind::Payment => "payment",
            Kind::OrderStatus => "order-status",
            Kind::Delivery => "delivery",
            Kind::StockLevel => "stock-level",
        }
    }

    /// The number of this kind in a hundred transactions.
    pub fn percent(self) -> usize {
        match self {
            Kind::NewOrder => 45,
            Kind::Payment => 43,
            _ => 4,
        }
    }
}

/// A line of an order that is entered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Line {
    pub item: u32,
    /// The warehouse that it comes from.
    pub supplier: u32,
    pub quantity: u8,
}

/// The choice of a customer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    Key(u64),
    /// The one in the middle of those of a district with this last name.
    Named {
        /// The district's key.
        district: u64,
        /// The last name.
        last: [u8; 16],
    },
}

#[derive(Clone, Copy, Debug)]
// Requests of one batch are contiguous; most of them are new orders.
#[allow(clippy::large_enum_variant)]
pub enum Request {
    /// Enters an order.
    NewOrder {
        customer: u64,
        lines: [Line; LINES_MAX],
        /// The number of lines.
        count: u8,
        /// The time.
        now: i64,
    },
    /// Pays.
    Payment {
        /// The customer.
        who: Who,
        /// The district where it is paid.
        district: u64,
        amount: i64,
        /// The time.
        now: i64,
    },
    /// Reads a customer's newest order.
    OrderStatus {
        /// The customer.
        who: Who,
    },
    /// Delivers the oldest order of each district.
    Delivery {
        warehouse: u32,
        carrier: u8,
        /// The time.
        now: i64,
    },
    /// Counts items of recent orders with a low stock.
    StockLevel {
        district: u64,
        /// A stock below this is low.
        threshold: i16,
    },
}

impl Request {
    /// The kind of the transaction.
    pub fn kind(&self) -> Kind {
        match self {
            Request::NewOrder { .. } => Kind::NewOrder,
            Request::Payment { .. } => Kind::Payment,
            Request::OrderStatus { .. } => Kind::OrderStatus,
            Request::Delivery { .. } => Kind::Delivery,
            Request::StockLevel { .. } => Kind::StockLevel,
        }
    }
}

/// The requests of a client.
#[derive(Clone, Debug)]
pub struct Generator {
    draw: Draw,
    scale: Scale,
    deck: Vec<Kind>,
    dealt: usize,
    /// The next terminal, and the distance to this client's next one.
    terminal: u32,
    step: u32,
}

impl Generator {
    /// The requests of client `number` of `clients`. `loading` has the constants of the loading, `seed` is the run's.
    pub fn new(
        scale: Scale,
        loading: &Constants,
        seed: u64,
        (number, clients): (u32, u32),
    ) -> Self {
        // One for all clients of the run.
        let mut common = Draw::new(seed, *loading);
        let constants = Constants::of_run(&mut common.random, loading);
        let deck = Kind::ALL
            .into_iter()
            .flat_map(|kind| vec![kind; kind.percent()])
            .collect();
        let mut generator = Generator {
            draw: Draw::new(seed.wrapping_add(1 + u64::from(number)), constants),
            scale,
            deck,
            dealt: 0,
            terminal: number % (scale.warehouses * DISTRICTS),
            step: clients,
        };
        generator.draw.shuffle(&mut generator.deck);
        generator
    }

    /// The next request, made at `now`.
    pub fn request(&mut self, now: i64) -> Request {
        let warehouse = self.terminal / DISTRICTS + 1;
        let own_district = scale::district(warehouse, self.terminal % DISTRICTS + 1);
        self.terminal = (self.terminal + self.step) % (self.scale.warehouses * DISTRICTS);
        match self.deal() {
            Kind::NewOrder => self.new_order(warehouse, now),
            Kind::Payment => self.payment(warehouse, now),
            Kind::OrderStatus => {
                let district = scale::district(warehouse, self.draw.within(1, DISTRICTS));
                Request::OrderStatus {
                    who: self.who(district),
                }
            }
            Kind::Delivery => Request::Delivery {
                warehouse,
                carrier: self.draw.within(1, 10) as u8,
                now,
            },
            Kind::StockLevel => Request::StockLevel {
                district: own_district,
                threshold: self.draw.within(10, 20) as i16,
            },
        }
    }

    fn deal(&mut self) -> Kind {
        if self.dealt == self.deck.len() {
            self.draw.shuffle(&mut self.deck);
            self.dealt = 0;
        }
        self.dealt += 1;
        self.deck[self.dealt - 1]
    }

    fn new_order(&mut self, warehouse: u32, now: i64) -> Request {
        let draw = &mut self.draw;
        let district = scale::district(warehouse, draw.within(1, DISTRICTS));
        let customer = scale::customer(district, draw.customer(self.scale.customers));
        let count = draw.within(5, LINES_MAX as u32) as usize;
        let mut lines = [Line::default(); LINES_MAX];
        for line in &mut lines[..count] {
            line.item = draw.item(self.scale.items);
            let remote = self.scale.warehouses > 1 && draw.random.chance(1);
            line.supplier = match remote {
                true => another(draw, warehouse, self.scale.warehouses),
                false => warehouse,
            };
            line.quantity = draw.within(1, 10) as u8;
        }
        if draw.random.chance(1) {
            // An item that does not exist: the order is rolled back.
            lines[count - 1].item = self.scale.items + 1;
        }
        Request::NewOrder {
            customer,
            lines,
            count: count as u8,
            now,
        }
    }

    fn payment(&mut self, warehouse: u32, now: i64) -> Request {
        let draw = &mut self.draw;
        let district = scale::district(warehouse, draw.within(1, DISTRICTS));
        let remote = self.scale.warehouses > 1 && draw.random.chance(15);
        let of = match remote {
            true => {
                let other = another(draw, warehouse, self.scale.warehouses);
                scale::district(other, draw.within(1, DISTRICTS))
            }
            false => district,
        };
        let amount = draw.within(100, 500_000).into();
        Request::Payment {
            who: self.who(of),
            district,
            amount,
            now,
        }
    }

    /// By last name in 60 of a hundred cases.
    fn who(&mut self, district: u64) -> Who {
        match self.draw.random.chance(60) {
            true => Who::Named {
                district,
                last: self.draw.last_name(self.scale.customers),
            },
            false => Who::Key(scale::customer(
                district,
                self.draw.customer(self.scale.customers),
            )),
        }
    }
}

/// Another one of so many warehouses, all equally likely.
fn another(draw: &mut Draw, warehouse: u32, warehouses: u32) -> u32 {
    let other = draw.within(1, warehouses - 1);
    other + u32::from(other >= warehouse)
}
