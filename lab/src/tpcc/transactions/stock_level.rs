//! Stock level: of how many items in a district's last 20 orders there is little.
//!
//! The orders, then all their lines, then the items' stocks are asked for together, so that the cache
//! misses of some hundred rows overlap.
//!
//! Source: TPC-C, clause 2.8.2.

use super::super::scale::{self, LINES_MAX};
use super::{Refusal, Tpcc, missing};
use sardonyx::{Prefetch, Record, Table, Transaction};

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
        let numbers = next.saturating_sub(ORDERS).max(1)..next;
        let ids = numbers.map(|number| scale::order(district, number));
        ask_for(transaction, schema.orders, ids.clone());

        let mut lines = [0; ORDERS as usize * LINES_MAX];
        let mut count = 0;
        for id in ids {
            let order = transaction.get(schema.orders, &id);
            let of_order = order.ok_or_else(|| missing("orders", id))?.lines;
            for number in 1..=of_order.into() {
                lines[count] = scale::line(id, number);
                count += 1;
            }
        }
        let lines = &lines[..count];
        ask_for(transaction, schema.order_lines, lines.iter().copied());

        let mut items = [0; ORDERS as usize * LINES_MAX];
        for (item, key) in items.iter_mut().zip(lines) {
            let line = transaction.get(schema.order_lines, key);
            *item = line.ok_or_else(|| missing("order_lines", *key))?.item;
        }
        let items = &mut items[..count];
        items.sort_unstable();
        let warehouse = scale::warehouse_of(district) as u32;
        let different = items.chunk_by(|one, other| one == other);
        let stocks = different.map(|same| scale::stock(warehouse, same[0]));
        ask_for(transaction, schema.stock, stocks.clone());

        let mut little = 0;
        for key in stocks {
            let stock = transaction.get(schema.stock, &key);
            let stock = stock.ok_or_else(|| missing("stock", key))?;
            little += u32::from(stock.level.quantity < threshold);
        }
        Ok(little)
    }
}

/// Asks the processor for the rows with these keys.
fn ask_for<R: Record<Key = u64>>(
    transaction: &Transaction<'_>,
    table: Table<R>,
    keys: impl Iterator<Item = u64> + Clone,
) {
    for what in [Prefetch::Index, Prefetch::Record] {
        keys.clone()
            .for_each(|key| transaction.prefetch(what, table, &key));
    }
}
