//! Stock level: of how many items in a district's last 20 orders there is little.
//!
//! Source: TPC-C, clause 2.8.2.

use super::super::scale::{self, LINES_MAX};
use super::{Refusal, Tpcc, missing};
use sardonyx::Transaction;

/// Orders that are looked at.
const ORDERS: u32 = 20;

impl Tpcc {
    pub(super) fn stock_level(
        &self,
        district: u64,
        threshold: i16,
        transaction: &Transaction<'_>,
    ) -> Result<u32, Refusal> {
        let schema = &self.schema;
        let row = transaction.get(schema.districts, &district);
        let next = row
            .ok_or_else(|| missing("districts", district))?
            .next_order;
        let mut items = [0; ORDERS as usize * LINES_MAX];
        let mut count = 0;
        for number in next.saturating_sub(ORDERS).max(1)..next {
            let id = scale::order(district, number);
            let order = transaction.get(schema.orders, &id);
            let lines = order.ok_or_else(|| missing("orders", id))?.lines;
            for number in 1..=lines.into() {
                let key = scale::line(id, number);
                let line = transaction.get(schema.order_lines, &key);
                items[count] = line.ok_or_else(|| missing("order_lines", key))?.item;
                count += 1;
            }
        }
        let items = &mut items[..count];
        items.sort_unstable();
        let warehouse = scale::warehouse_of(district) as u32;
        let mut little = 0;
        for same in items.chunk_by(|one, other| one == other) {
            let key = scale::stock(warehouse, same[0]);
            let stock = transaction.get(schema.stock, &key);
            let stock = stock.ok_or_else(|| missing("stock", key))?;
            little += u32::from(stock.level.quantity < threshold);
        }
        Ok(little)
    }
}
