//! The ordered accesses of TPC-C, each by an ordered index: customers by last name, a customer's newest
//! order, a district's oldest new order.

use super::records::{Customer, NewOrder, Order, Schema};
use super::scale;
use super::transactions::Refusal;
use sardonyx::rows::Row;
use sardonyx::schema::{IndexDefinition, IndexKind, KeyPart};
use sardonyx::{Error, Record, Table, Tables, Transaction};

/// Of customers: district, last name, first name.
const BY_NAME: &str = "by_name";
/// Of orders: customer, order.
const BY_CUSTOMER: &str = "by_customer";
/// Of new orders: order.
const IN_ORDER: &str = "in_order";

/// Creates the indexes that are absent.
///
/// # Errors
/// The database's error.
pub fn create(database: &Tables, schema: &Schema) -> Result<(), Error> {
    let names = &["district", "last", "first"];
    create_one(database, schema.customers, BY_NAME, names)?;
    create_one(database, schema.orders, BY_CUSTOMER, &["customer", "id"])?;
    create_one(database, schema.new_orders, IN_ORDER, &["id"])
}

fn create_one<R: Record>(
    database: &Tables,
    table: Table<R>,
    name: &str,
    columns: &[&str],
) -> Result<(), Error> {
    let key = database.read(|view| {
        let schema = view.schema(table.number());
        let part = |column: &&str| {
            Some(KeyPart {
                column: schema?.column(column)?,
                descending: false,
            })
        };
        Ok(columns.iter().map(part).collect::<Option<Vec<_>>>())
    })?;
    let definition = IndexDefinition {
        name: name.into(),
        kind: IndexKind::Ordered,
        unique: false,
        deferrable: false,
        nulls_equal: false,
        key: key.expect("fields of the record are columns of the table"),
    };
    database.run(|transaction| match transaction.index(table, name) {
        Ok(_) => Ok(()),
        Err(_) => transaction.create_index(table.number(), definition),
    })
}

/// The customer in the middle of those of a district with this last name, by first name: of `n` the one at `n / 2`,
/// rounded up (clause 2.5.2.2).
pub(super) fn named(
    transaction: &Transaction<'_>,
    customers: Table<Customer>,
    (district, last): (u64, &[u8; 16]),
) -> Result<Option<Row<Customer>>, Refusal> {
    let index = transaction.index(customers, BY_NAME)?;
    let key = (district, &last[..]);
    let mut found = Vec::with_capacity(8);
    found.extend(index.prefix(key)?.rows());
    Ok(found.len().div_ceil(2).checked_sub(1).map(|at| found[at]))
}

/// The newest order of a customer.
pub(super) fn newest_order<'t>(
    transaction: &'t Transaction<'_>,
    orders: Table<Order>,
    customer: u64,
) -> Result<Option<&'t Order>, Refusal> {
    let index = transaction.index(orders, BY_CUSTOMER)?;
    Ok(index.prefix(customer)?.next_back().transpose()?)
}

/// The oldest new order of a district.
pub(super) fn oldest_new_order(
    transaction: &Transaction<'_>,
    new_orders: Table<NewOrder>,
    district: u64,
) -> Result<Option<u64>, Refusal> {
    let index = transaction.index(new_orders, IN_ORDER)?;
    let all = scale::order(district, 0)..scale::order(district + 1, 0);
    let first = index.range(all)?.next().transpose()?;
    Ok(first.map(|order| order.id))
}
