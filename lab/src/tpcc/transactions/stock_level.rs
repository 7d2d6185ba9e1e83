//! Stock level: the number of items in a district's last 20 orders with a low stock.
//!
//! The orders, then all their lines, then the items' stocks are prefetched together, so that the cache misses of some
//! hundred rows overlap.
//!
//! Source: TPC-C, clause 2.8.2.

use super::super::scale::{self, LINES_MAX};
use super::{Refusal, Tpcc, missing};
use sardonyx::Transaction;

/// The number of orders that are read.
const ORDERS: u32 = 20;

impl Tpcc {
    pub(super) fn stock_level(
        &self,
        district: u64,
        threshold: i16,
        transaction: &Transaction<'_>,
    ) -> Result<u32, Refusal> {
        let schema = &self.schema;
        let row = transaction.get(schema.districts, district)?;
        let next = row
            .ok_or_else(|| missing("districts", district))?
            .next_order;
        let numbers = next.saturating_sub(ORDERS).max(1)..next;
        let ids = numbers.map(|number| scale::order(district, number));
        let mut lines = [0; ORDERS as usize * LINES_MAX];
        let mut count = 0;
        transaction.get_each(schema.orders, ids, |id, order| {
            let of_order = order.ok_or_else(|| missing("orders", id))?.lines;
            for number in 1..=of_order.into() {
                lines[count] = scale::line(id, number);
                count += 1;
            }
            Ok::<_, Refusal>(())
        })?;
        let lines = lines[..count].iter().copied();

        let mut items = [0; ORDERS as usize * LINES_MAX];
        let mut places = items.iter_mut();
        transaction.get_each(schema.order_lines, lines, |key, line| {
            let line = line.ok_or_else(|| missing("order_lines", key))?;
            places.next().into_iter().for_each(|item| *item = line.item);
            Ok::<_, Refusal>(())
        })?;
        let items = &mut items[..count];
        items.sort_unstable();
        let warehouse = scale::warehouse_of(district) as u32;
        let different = items.chunk_by(|one, other| one == other);
        let stocks = different.map(|same| scale::stock(warehouse, same[0]));
        let mut little = 0;
        transaction.get_each(schema.stock, stocks, |key, stock| {
            let stock = stock.ok_or_else(|| missing("stock", key))?;
            little += u32::from(stock.level.quantity < threshold);
            Ok::<_, Refusal>(())
        })?;
        Ok(little)
    }
}
