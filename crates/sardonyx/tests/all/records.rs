//! `#[derive(Record)]`: structs with fields of any length as rows, and back.

use sardonyx::schema::{Schema, Type, Value};
use sardonyx::types::{Date, Decimal, Timestamp, Uuid};
use sardonyx::{Error, Record, Tables};

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "customers", key = (country, r#number))]
struct Customer {
    r#number: u32,
    country: String,
    name: String,
    picture: Option<Vec<u8>>,
    vip: bool,
    state: State,
    credit: Decimal<2>,
    born: Option<Date>,
    seen: Timestamp,
    id: Uuid,
    mark: u128,
    code: [u8; 3],
    ratio: f32,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[repr(i16)]
enum State {
    Closed = -1,
    Open = 1,
    Late = 300,
}

fn customer(number: u32) -> Customer {
    Customer {
        number,
        country: "Österreich".to_string(),
        name: "N".repeat(number as usize * 997),
        picture: (number.is_multiple_of(2)).then(|| vec![number as u8; 5000]),
        vip: number.is_multiple_of(3),
        state: [State::Closed, State::Open, State::Late][number as usize % 3].clone(),
        credit: Decimal::from_units(-i128::from(number) << 70),
        born: (number.is_multiple_of(5)).then_some(Date(-(number as i32))),
        seen: Timestamp(i64::MIN + i64::from(number)),
        id: Uuid([number as u8; 16]),
        mark: u128::MAX - u128::from(number),
        code: *b"abc",
        ratio: 0.1,
    }
}

#[test]
fn structs_come_back_as_they_went() {
    let directory = tempfile::tempdir().unwrap();
    let shop = Tables::open(directory.path()).unwrap();
    let table = shop.table::<Customer>().unwrap();
    shop.run(|tx| (0..30).try_for_each(|number| tx.insert(table, &customer(number))))
        .unwrap();
    let again = shop.run(|tx| tx.insert(table, &customer(3)));
    assert!(matches!(again, Err(Error::Duplicate(_))), "{again:?}");
    let key = |number: u32| ("Österreich", number);
    let length = shop.run(|tx| {
        assert!(tx.put(table, &customer(4))?);
        assert!(tx.delete(table, key(5))?);
        assert!(!tx.delete(table, key(5))?);
        assert_eq!(tx.get(table, key(6))?, Some(customer(6)));
        tx.update(table, key(7), |customer| {
            customer.picture = Some(Vec::new());
            customer.state = State::Late;
            customer.name.len()
        })
    });
    assert_eq!(length.unwrap(), Some(7 * 997));
    let snapshot = shop.snapshot().unwrap();
    assert_eq!(snapshot.get(table, key(6)).unwrap(), Some(customer(6)));
    assert_eq!(snapshot.count(table).unwrap(), 29);
    let mut numbers: Vec<u32> = snapshot
        .scan(table)
        .unwrap()
        .map(|customer| customer.unwrap().number)
        .collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq((0..30).filter(|n| *n != 5)));
    shop.close().unwrap();

    let shop = Tables::open(directory.path()).unwrap();
    let table = shop.table::<Customer>().unwrap();
    let mut all: Vec<Customer> = shop.read(|view| view.scan(table)?.collect()).unwrap();
    all.sort_by_key(|customer| customer.number);
    let mut expected: Vec<_> = (0..30).filter(|n| *n != 5).map(customer).collect();
    let changed = expected.iter_mut().find(|c| c.number == 7).unwrap();
    changed.picture = Some(Vec::new());
    changed.state = State::Late;
    assert_eq!(all, expected);
    // By name all see the same rows.
    shop.read(|view| {
        let rows = view.rows("customers")?;
        let row = rows.get(&["Österreich".into(), 9.into()])?.expect("a row");
        assert_eq!(row.get("state")?.to_value(), Value::Int(-1));
        assert_eq!(row.get("vip")?.to_value(), Value::Bool(true));
        assert_eq!(row.get("born")?.to_value(), Value::Null);
        Ok(())
    })
    .unwrap();
}

#[derive(Record, Debug)]
#[record(table = "articles", key = id)]
struct Article {
    id: u64,
    name: String,
    stock: Option<i32>,
}

#[test]
fn columns_are_found_by_name_and_compared() {
    let refused = |schema| {
        let directory = tempfile::tempdir().unwrap();
        let shop = Tables::open(directory.path()).unwrap();
        shop.create_table("articles", schema).unwrap();
        match shop.table::<Article>() {
            Err(error) => error.to_string(),
            Ok(_) => String::new(),
        }
    };
    let table = || Schema::new().column("id", Type::U64).primary_key(["id"]);
    let name = || table().column("name", Type::Text);
    let whole = || name().column("stock", Type::I32).nullable();
    assert_eq!(refused(whole()), "");
    assert_eq!(refused(whole().column("note", Type::Text).nullable()), "");
    assert_eq!(
        refused(whole().column("note", Type::Text).default_value("")),
        ""
    );
    for (schema, said) in [
        (
            name(),
            "field \"stock\" is i32, nullable, and there is no such column: there are id, name",
        ),
        (
            name().column("stock", Type::I64).nullable(),
            "the column is i64, nullable",
        ),
        (name().column("stock", Type::I32), "the column is i32;"),
        (
            whole().column("note", Type::Text),
            "column \"note\" is text without a default",
        ),
    ] {
        let text = refused(schema);
        assert!(text.contains(said), "{text}");
    }
    assert_eq!(Article::TABLE, "articles");
}

#[test]
fn a_number_that_is_no_variant_is_an_error() {
    #[derive(Record, Debug)]
    #[record(table = "things", key = id)]
    struct Thing {
        id: u64,
        state: State,
    }
    let directory = tempfile::tempdir().unwrap();
    let database = Tables::open(directory.path()).unwrap();
    let things = database.table::<Thing>().unwrap();
    let thing = Thing {
        id: 1,
        state: State::Open,
    };
    database
        .run(|tx| {
            tx.insert(things, &thing)?;
            tx.rows("things")?
                .insert(&[("id", 2.into()), ("state", 2.into())])
        })
        .unwrap();
    let get = |id: u64| database.read(|view| view.get(things, id));
    assert_eq!(
        get(1).unwrap().map(|thing| (thing.id, thing.state)),
        Some((1, State::Open))
    );
    let text = get(2).unwrap_err().to_string();
    assert!(
        text.contains("\"state\"") && text.contains("Int(2)"),
        "{text}"
    );
    assert!(get(3).unwrap().is_none());
}

#[derive(Record, Debug, PartialEq, Clone)]
#[record(table = "invoices", key = code, ordered, index("by_date", date, code))]
struct Invoice {
    code: String,
    date: Date,
    note: Option<String>,
}

fn invoice(number: i32) -> Invoice {
    Invoice {
        code: format!("{number:03}"),
        date: Date(number % 10),
        note: (number % 3 == 0).then(|| format!("note {number}")),
    }
}

/// A shop with 30 invoices, and an index by their dates.
fn with_invoices(directory: &std::path::Path) -> (Tables, sardonyx::Table<Invoice>) {
    let shop = Tables::open(directory).unwrap();
    let invoices = shop.table::<Invoice>().unwrap();
    shop.run(|tx| (0..30).try_for_each(|number| tx.insert(invoices, &invoice(number))))
        .unwrap();
    (shop, invoices)
}

#[test]
fn a_text_that_is_no_date_is_refused_and_undoes_the_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let (shop, invoices) = with_invoices(directory.path());
    let insert = |code: &str, date: &str| {
        shop.run(|tx| {
            tx.delete(invoices, "000")?;
            let (code, date) = (code.to_string(), date.parse::<Date>()?);
            let note = None;
            tx.insert(invoices, &Invoice { code, date, note })
        })
    };
    let refused = insert("100", "2026-02-30").unwrap_err();
    assert!(matches!(refused, Error::Refused(_)), "{refused}");
    assert!(refused.to_string().contains("date"), "{refused}");
    assert_eq!(shop.read(|view| view.count(invoices)).unwrap(), 30);
    insert("100", "2026-02-28").unwrap();
    assert_eq!(shop.read(|view| view.count(invoices)).unwrap(), 30);
    let added = shop.read(|view| view.get(invoices, "100")).unwrap();
    assert_eq!(added.expect("inserted").date, Date(20_512));
}

#[test]
fn structs_are_found_by_indexes_in_transactions_and_snapshots() {
    let directory = tempfile::tempdir().unwrap();
    let (shop, invoices) = with_invoices(directory.path());
    let snapshot = shop.snapshot().unwrap();
    let days = Date(3)..Date(5);
    let expected = [3, 13, 23, 4, 14, 24].map(invoice);
    let by_date = snapshot.index(invoices, "by_date").unwrap();
    let found: Result<Vec<_>, Error> = by_date.range(days.clone()).unwrap().collect();
    assert_eq!(found.unwrap(), expected);
    assert_eq!(by_date.last().unwrap(), Some(invoice(29)));
    shop.run(|tx| {
        let by_date = tx.index(invoices, "by_date")?;
        let found: Result<Vec<_>, Error> = by_date.range(days.clone())?.rev().collect();
        assert_eq!(found?, expected.iter().rev().cloned().collect::<Vec<_>>());
        let primary = tx.index(invoices, "primary")?;
        assert_eq!(primary.get_by("017")?, Some(invoice(17)));
        assert_eq!(primary.first()?, Some(invoice(0)));
        assert_eq!(tx.remove(invoices, "003")?, Some(invoice(3)));
        assert_eq!(tx.remove(invoices, "003")?, None);
        assert_eq!(tx.retain(invoices, |invoice| invoice.date != Date(4))?, 3);
        let mut taken = tx.get_mut(invoices, "013")?.expect("there");
        taken.note = Some("taken out".to_string());
        taken.save()?;
        assert_eq!(tx.count(invoices)?, 26);
        Ok(())
    })
    .unwrap();
    // A range that ends before it begins is no empty one; one that ends where it begins is.
    let reversed = |range: std::ops::RangeInclusive<Date>| {
        said(by_date.range(range.clone()).map(drop));
        said(by_date.count_range(range.clone()));
        let range = *range.start()..=*range.end();
        said(shop.read(|view| {
            view.index(invoices, "by_date")?
                .range(range.clone())
                .map(drop)
        }))
    };
    let text = reversed(Date(5)..=Date(4));
    assert!(
        text.contains("\"by_date\"") && text.contains("ends before it begins"),
        "{text}"
    );
    assert_eq!(by_date.range(Date(5)..Date(5)).unwrap().count(), 0);
    assert_eq!(
        by_date
            .range((Date(5), "015")..(Date(5), "015"))
            .unwrap()
            .count(),
        0
    );
    said(by_date.range((Date(5), "015")..(Date(5), "005")).map(drop));
    let notes = shop.read(|view| {
        let found = view.index(invoices, "by_date")?.range(days)?;
        found.map(|invoice| Ok(invoice?.note)).collect()
    });
    let notes: Vec<Option<String>> = notes.unwrap();
    assert_eq!(notes, [Some("taken out".to_string()), None]);
}

/// The text of the refusal by the handle's table.
fn said<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let error = result.expect_err("refused");
    assert!(matches!(error, Error::Refused(_)), "{error:?}");
    error.to_string()
}

#[test]
fn a_handle_of_a_table_whose_columns_changed_says_which() {
    let directory = tempfile::tempdir().unwrap();
    let (shop, invoices) = with_invoices(directory.path());
    let before = shop.snapshot().unwrap();
    // Other columns beside the fields, and their order, do not matter.
    shop.run(|tx| {
        tx.add_column(
            "invoices",
            "paid",
            sardonyx::schema::Type::Bool,
            false,
            false.into(),
        )
    })
    .unwrap();
    shop.run(|tx| {
        tx.insert(invoices, &invoice(40))?;
        tx.rename_column("invoices", "note", "remark")
    })
    .unwrap();
    let read = |code: &str| shop.read(|view| view.get(invoices, code));
    let text = said(read("001"));
    assert!(
        text.contains("field \"note\" is text, nullable, and there is no such column: there are code, date, remark"),
        "{text}"
    );
    for text in [
        said(shop.run(|tx| tx.insert(invoices, &invoice(41)))),
        said(shop.run(|tx| tx.put(invoices, &invoice(1)))),
        said(shop.run(|tx| tx.update(invoices, "001", |invoice| invoice.date = Date(9)))),
        said(shop.run(|tx| tx.scan(invoices).map(drop))),
        said(shop.run(|tx| tx.index(invoices, "by_date").map(drop))),
        said(shop.snapshot().unwrap().get(invoices, "001")),
        said(shop.snapshot().unwrap().scan(invoices).map(drop)),
    ] {
        assert!(text.contains("\"note\""), "{text}");
    }
    assert_eq!(before.get(invoices, "001").unwrap(), Some(invoice(1)));
    // A dropped column is not one without a value, even when another one takes its name.
    shop.run(|tx| {
        tx.drop_column("invoices", "remark")?;
        tx.add_column(
            "invoices",
            "note",
            sardonyx::schema::Type::I32,
            true,
            Value::Null,
        )
    })
    .unwrap();
    let text = said(read("001"));
    assert!(text.contains("the column is i32, nullable"), "{text}");
    // Another table in the place of this one.
    shop.drop_table("invoices").unwrap();
    let other = shop.create_table("others", Invoice::declared()).unwrap();
    assert_eq!(other, invoices.number());
    said(read("001"));
    said(shop.run(|tx| tx.insert(invoices, &invoice(1))));
    said(shop.run(|tx| tx.count(invoices)));
    said(shop.run(|tx| tx.delete(invoices, "001")));
}

mod declared {
    use super::{said, with_invoices};
    use sardonyx::{Error, Record, Tables};

    #[derive(Record, Debug, PartialEq, Clone)]
    #[record(table = "payments", key = id)]
    #[record(unique("by_number", number desc), check("paid", "paid <= sum"))]
    struct Payment {
        id: u64,
        number: i64,
        #[field(check = "sum >= 0")]
        sum: i64,
        #[field(default = 7)]
        paid: i64,
        #[field(references("invoices", code, cascade))]
        invoice: Option<String>,
    }

    fn payment(id: u64) -> Payment {
        Payment {
            id,
            number: id as i64,
            sum: 10,
            paid: 3,
            invoice: Some("001".to_string()),
        }
    }

    #[test]
    fn what_a_type_declares_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let (shop, invoices) = with_invoices(directory.path());
        let payments = shop.table::<Payment>().unwrap();
        assert_eq!(shop.table::<Payment>().unwrap().number(), payments.number());
        let insert = |payment: Payment| shop.run(|tx| tx.insert(payments, &payment));
        insert(payment(1)).unwrap();
        let twice = insert(Payment {
            id: 2,
            ..payment(1)
        });
        assert!(matches!(twice, Err(Error::Duplicate(_))), "{twice:?}");
        let text = said(insert(Payment {
            sum: -1,
            paid: -2,
            ..payment(3)
        }));
        assert!(text.contains("payments_sum_check"), "{text}");
        let text = said(insert(Payment {
            paid: 11,
            ..payment(3)
        }));
        assert!(text.contains("\"paid\""), "{text}");
        let nobody = Some("nobody".to_string());
        let text = said(insert(Payment {
            invoice: nobody,
            ..payment(3)
        }));
        assert!(text.contains("payments_invoice_fkey"), "{text}");
        shop.run(|tx| {
            let row = [("id", 4.into()), ("number", 4.into()), ("sum", 9.into())];
            tx.rows("payments")?.insert(&row)?;
            assert_eq!(tx.get(payments, 4)?.map(|payment| payment.paid), Some(7));
            let newest = tx.index(payments, "by_number")?.first()?;
            assert_eq!(newest.map(|payment| payment.id), Some(4));
            tx.delete(invoices, "001")?;
            assert_eq!(tx.count(payments)?, 1);
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn a_table_that_lacks_what_a_type_declares_is_refused() {
        #[derive(Record)]
        #[record(table = "plain", key = id)]
        struct Bare {
            id: u64,
            amount: i64,
        }
        #[derive(Record)]
        #[record(table = "plain", key = id, index("by_amount", amount))]
        struct Indexed {
            id: u64,
            amount: i64,
        }
        #[derive(Record)]
        #[record(table = "plain", key = id)]
        struct Checked {
            id: u64,
            #[field(check = "amount > 0")]
            amount: i64,
        }
        #[derive(Record)]
        #[record(table = "plain", key = id)]
        struct Filled {
            id: u64,
            #[field(default = 3)]
            amount: i64,
        }
        let directory = tempfile::tempdir().unwrap();
        let shop = Tables::open(directory.path()).unwrap();
        let bare = shop.table::<Bare>().unwrap();
        shop.run(|tx| tx.insert(bare, &Bare { id: 1, amount: 2 }))
            .unwrap();
        for (text, lacks) in [
            (said(shop.table::<Indexed>()), "index \"by_amount\""),
            (
                said(shop.table::<Checked>()),
                "condition \"plain_amount_check\"",
            ),
            (said(shop.table::<Filled>()), "default of column \"amount\""),
        ] {
            assert!(text.contains(lacks), "{text}");
        }
        let row = shop.read(|view| Ok(view.get(bare, 1)?.map(|row| (row.id, row.amount))));
        assert_eq!(row.unwrap(), Some((1, 2)));
        let _ = |indexed: Indexed, checked: Checked, filled: Filled| {
            (
                indexed.id,
                indexed.amount,
                checked.id,
                checked.amount,
                filled.id,
                filled.amount,
            )
        };
    }
}
