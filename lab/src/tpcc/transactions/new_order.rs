//! New order: enters an order of 5 to 15 lines. One of a hundred has an unused item and is undone, after all other
//! work.
//!
//! Source: TPC-C, clause 2.4.2.

use super::super::draw::is_original;
use super::super::records::{Customer, District, Item, Level, NewOrder, Order, OrderLine, Stock};
use super::super::requests::Line;
use super::super::scale;
use super::{Refusal, Tpcc, missing};
use sardonyx::procedures::Prefetch;
use sardonyx::rows::Row;
use sardonyx::{Field, Transaction, field};

const NEXT_ORDER: Field<District, u32> = field!(District.next_order: u32);
const LEVEL: Field<Stock, Level> = field!(Stock.level: Level);

/// A hundred percent, of rates.
const WHOLE: i64 = 10_000;

/// A new order that was entered.
#[derive(Clone, Debug)]
pub struct Sold {
    /// Its number in its district.
    pub order: u32,
    /// The customer's last name.
    pub last: [u8; 16],
    /// The customer's credit.
    pub credit: [u8; 2],
    /// The customer's discount.
    pub discount: i32,
    pub warehouse_tax: i32,
    pub district_tax: i32,
    /// The total price.
    pub total: i64,
    pub lines: Vec<SoldLine>,
}

#[derive(Clone, Copy, Default, Debug)]
pub struct SoldLine {
    /// The item's name.
    pub name: [u8; 24],
    pub price: i32,
    /// The price of all.
    pub amount: i32,
    /// The remaining stock.
    pub quantity: i16,
    /// True if both the item and the stock are original: the standard's `B`, otherwise `G`.
    pub is_brand: bool,
}

impl Tpcc {
    pub(super) fn new_order(
        &self,
        customer: u64,
        lines: &[Line],
        now: i64,
        transaction: &mut Transaction<'_>,
    ) -> Result<Sold, Refusal> {
        let schema = &self.schema;
        let district = scale::district_of_customer(customer);
        let warehouse = scale::warehouse_of(district);
        let of_warehouse = transaction.get(schema.warehouses, warehouse)?;
        let warehouse_tax = of_warehouse
            .ok_or_else(|| missing("warehouses", warehouse))?
            .tax;
        let row = transaction.find(schema.districts, district);
        let row = row.ok_or_else(|| missing("districts", district))?;
        let &District {
            next_order: number,
            tax: district_tax,
            ..
        } = transaction.record(row)?;
        transaction.set(row, NEXT_ORDER, number + 1)?;
        let buyer = transaction.get(schema.customers, customer)?;
        let &Customer {
            discount,
            credit,
            last,
            ..
        } = buyer.ok_or_else(|| missing("customers", customer))?;

        let id = scale::order(district, number);
        let ids = (1..=lines.len() as u32).map(|number| scale::line(id, number));
        // The places in the index of the later inserts; the first insert comes after other work.
        ids.for_each(|id| transaction.prefetch(Prefetch::Index, schema.order_lines, id));
        transaction.prefetch(Prefetch::Index, schema.orders, id);
        transaction.prefetch(Prefetch::Index, schema.new_orders, id);
        let is_local = |line: &Line| u64::from(line.supplier) == warehouse;
        let order = Order {
            id,
            customer,
            entered: now,
            carrier: 0,
            lines: lines.len() as u8,
            all_local: u8::from(lines.iter().all(is_local)),
            reserved: [0; 5],
        };
        let mut sold = Vec::with_capacity(lines.len());
        for (line, number) in lines.iter().zip(1..) {
            let place = Place {
                id: scale::line(id, number),
                district,
                is_local: is_local(line),
            };
            sold.push(self.sell(line, place, transaction)?);
        }
        transaction.insert(schema.orders, &order)?;
        transaction.insert(schema.new_orders, &NewOrder { id })?;
        let sum: i64 = sold.iter().map(|line| i64::from(line.amount)).sum();
        let taxed = WHOLE + i64::from(warehouse_tax) + i64::from(district_tax);
        Ok(Sold {
            order: number,
            last,
            credit,
            discount,
            warehouse_tax,
            district_tax,
            total: sum * (WHOLE - i64::from(discount)) * taxed / (WHOLE * WHOLE),
            lines: sold,
        })
    }

    /// Takes a line's items from the stock and inserts the line.
    #[inline]
    fn sell(
        &self,
        line: &Line,
        place: Place,
        transaction: &mut Transaction<'_>,
    ) -> Result<SoldLine, Refusal> {
        let schema = &self.schema;
        let Some(item) = transaction.get(schema.items, line.item.into())? else {
            return Err(Refusal::UnusedItem { item: line.item });
        };
        let &Item {
            price, ref name, ..
        } = item;
        let (name, item_is_original) = (*name, is_original(&item.data));
        let key = scale::stock(line.supplier, line.item);
        let row: Row<Stock> = transaction
            .find(schema.stock, key)
            .ok_or_else(|| missing("stock", key))?;
        let stock = transaction.record(row)?;
        let district_text = stock.district_texts[(place.district & 15) as usize - 1];
        let is_brand = item_is_original && is_original(&stock.data);
        let level = taken(stock.level, line.quantity, place.is_local);
        transaction.set(row, LEVEL, level)?;
        let amount = i32::from(line.quantity) * price;
        let row = OrderLine {
            id: place.id,
            delivered: 0,
            amount,
            item: line.item,
            supplier: line.supplier,
            quantity: line.quantity,
            district_text,
            reserved: [0; 3],
        };
        transaction.insert(schema.order_lines, &row)?;
        Ok(SoldLine {
            name,
            price,
            amount,
            quantity: level.quantity,
            is_brand,
        })
    }
}

/// The place of a line.
#[derive(Clone, Copy, Debug)]
struct Place {
    id: u64,
    district: u64,
    is_local: bool,
}

/// The remaining stock; if it would be low, 91 are added.
fn taken(level: Level, quantity: u8, is_local: bool) -> Level {
    let sold = i16::from(quantity);
    let more = if level.quantity >= sold + 10 { 0 } else { 91 };
    Level {
        year_to_date: level.year_to_date + u32::from(quantity),
        quantity: level.quantity - sold + more,
        reserved: 0,
        orders: level.orders + 1,
        remote_orders: level.remote_orders + u32::from(!is_local),
    }
}
