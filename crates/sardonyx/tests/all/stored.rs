//! `#[derive(Record)]`: structs with fields of any length as rows, and back.

use sardonyx::schema::{Schema, Type, Value};
use sardonyx::types::{Date, Decimal, Timestamp, Uuid};
use sardonyx::{Error, Record, Stored, Tables};

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
    let table = shop.stored::<Customer>().unwrap();
    shop.run(|tx| (0..30).try_for_each(|number| tx.insert_stored(&table, &customer(number))))
        .unwrap();
    let again = shop.run(|tx| tx.insert_stored(&table, &customer(3)));
    assert!(matches!(again, Err(Error::Duplicate(_))), "{again:?}");
    let key = |number: u32| ("Österreich", number);
    let length = shop.run(|tx| {
        assert!(tx.put_stored(&table, &customer(4))?);
        assert!(tx.delete_stored(&table, key(5))?);
        assert!(!tx.delete_stored(&table, key(5))?);
        assert_eq!(tx.get_stored(&table, key(6))?, Some(customer(6)));
        tx.update_stored(&table, key(7), |customer| {
            customer.picture = Some(Vec::new());
            customer.state = State::Late;
            customer.name.len()
        })
    });
    assert_eq!(length.unwrap(), Some(7 * 997));
    shop.close().unwrap();

    let shop = Tables::open(directory.path()).unwrap();
    let table = shop.stored::<Customer>().unwrap();
    let mut all: Vec<Customer> = shop
        .read(|view| view.scan_stored(&table)?.collect::<Result<_, Error>>())
        .unwrap()
        .unwrap();
    all.sort_by_key(|customer| customer.number);
    let mut expected: Vec<_> = (0..30).filter(|n| *n != 5).map(customer).collect();
    let changed = expected.iter_mut().find(|c| c.number == 7).unwrap();
    changed.picture = Some(Vec::new());
    changed.state = State::Late;
    assert_eq!(all, expected);
    // By their names they are what everybody sees.
    shop.read(|view| {
        let rows = view.rows("customers")?;
        let row = rows.get(&["Österreich".into(), 9.into()])?.expect("a row");
        assert_eq!(row.get("state")?.to_value(), Value::Int(-1));
        assert_eq!(row.get("vip")?.to_value(), Value::Bool(true));
        assert_eq!(row.get("born")?.to_value(), Value::Null);
        Ok::<_, Error>(())
    })
    .unwrap()
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
        match shop.stored::<Article>() {
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
    let things = database.stored::<Thing>().unwrap();
    let thing = Thing {
        id: 1,
        state: State::Open,
    };
    database
        .run(|tx| {
            tx.insert_stored(&things, &thing)?;
            tx.rows("things")?
                .insert(&[("id", 2.into()), ("state", 2.into())])
        })
        .unwrap();
    let get = |id: u64| database.read(|view| view.get_stored(&things, id)).unwrap();
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
