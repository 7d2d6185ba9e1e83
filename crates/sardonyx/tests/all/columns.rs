//! Fields as columns: the columns that `record!` declares for a struct. They are compared with the database whenever
//! its table is opened, and taken into a database of version 0.1 that has none.

use sardonyx::schema::{Type, Value};
use sardonyx::types::{Date, Decimal, Timestamp, Uuid};
use sardonyx::{Error, Journal, Record, Tables, plain, record};

plain! {
    /// The place of something.
    pub struct Place {
        /// East.
        pub x: i32,
        /// North.
        pub y: i32,
    }
}

record! {
    #[table("parcels", key = id)]
    #[derive(Debug, PartialEq)]
    struct Parcel {
        id: u64,
        price: Decimal<2>,
        sent: Timestamp,
        owner: Uuid,
        day: Date,
        weight: f32,
        place: PlaceOf,
        codes: [u16; 4],
    }
}

plain! {
    #[derive(Debug, PartialEq)]
    struct PlaceOf {
        r#type: u32,
        size: [u8; 4],
    }
}

#[test]
fn fields_are_columns_of_their_types() {
    let directory = tempfile::tempdir().unwrap();
    let database = Tables::open(directory.path()).unwrap();
    let parcels = database.table::<Parcel>().unwrap();
    let schema = |number| {
        database
            .read(|view| Ok(view.schema(number).cloned()))
            .unwrap()
    };
    let schema = schema(parcels.number()).unwrap();
    let columns: Vec<String> = schema
        .live_columns()
        .map(|(_, c)| format!("{} {} {}", c.name, c.kind, c.offset))
        .collect();
    let expected = [
        "id u64 0",
        "price decimal(2) 8",
        "sent timestamp 24",
        "owner uuid 32",
        "day date 48",
        "weight f32 52",
        "place.type u32 56",
        "place.size plain(4) 60",
        "codes plain(8) 64",
    ];
    assert_eq!(columns, expected);
    assert_eq!(schema.plain_key(), Some(0..8));
    assert_eq!(
        (schema.row_bytes, &schema.columns[0].default),
        (72, &Value::Null)
    );
    assert!(matches!(
        schema.columns[8].kind,
        Type::Plain { align: 2, .. }
    ));
    // Opened again, from disk, it is the same.
    database.close().unwrap();
    let database = Tables::open(directory.path()).unwrap();
    let again = database.table::<Parcel>().unwrap();
    assert_eq!(again.number(), parcels.number());
    let parcel = Parcel {
        id: 1,
        price: Decimal::from_units(-1999),
        sent: Timestamp(7),
        owner: Uuid([9; 16]),
        day: Date(20_000),
        weight: 1.5,
        place: PlaceOf {
            r#type: 3,
            size: [1; 4],
        },
        codes: [1, 2, 3, 4],
    };
    database
        .run(|tx| tx.insert(again, &parcel).map(drop))
        .unwrap();
    let read = database
        .read(|view| Ok(view.get(again, 1)?.copied()))
        .unwrap();
    assert_eq!(read, Some(parcel));
}

record! {
    #[table("accounts", key = id)]
    #[derive(Debug)]
    struct Account {
        id: u64,
        balance: i64,
        owner: u32,
        flags: [u8; 4],
    }
}

macro_rules! other_account {
    ($name:ident { key = $key:ident, $($field:ident: $type:ty),* }) => {
        record! {
            #[table("accounts", key = $key)]
            struct $name { $($field: $type),* }
        }
    };
}

other_account!(Swapped { key = id, balance: i64, id: u64, owner: u32, flags: [u8; 4] });
other_account!(Float { key = id, id: u64, balance: f64, owner: u32, flags: [u8; 4] });
other_account!(Renamed { key = id, id: u64, money: i64, owner: u32, flags: [u8; 4] });
other_account!(OtherArray { key = id, id: u64, balance: i64, owner: u32, flags: [u16; 2] });
other_account!(Longer { key = id, id: u64, balance: i64, owner: u32, flags: [u8; 4], more: u64 });
other_account!(OtherKey { key = balance, id: u64, balance: i64, owner: u32, flags: [u8; 4] });

#[test]
fn another_struct_of_the_same_name_is_refused_with_both_sides() {
    let directory = tempfile::tempdir().unwrap();
    let database = Tables::open(directory.path()).unwrap();
    database.table::<Account>().unwrap();
    fn refused<R: Record>(database: &Tables) -> String {
        let error = database.table::<R>().expect_err("refused");
        assert!(matches!(error, Error::Refused(_)), "{error:?}");
        let in_transaction = database
            .run(|tx| tx.declare_table::<R>())
            .expect_err("refused");
        assert_eq!(error.to_string(), in_transaction.to_string());
        error.to_string()
    }
    let text = refused::<Float>(&database);
    let said = "table \"accounts\" differs from the program's declaration: \n\
                \x20 column   in the database       in the program\n\
                \x20 id       u64 at 0              u64 at 0\n\
                * balance  i64 at 8              f64 at 8\n\
                \x20 owner    u32 at 16             u32 at 16\n";
    assert!(text.starts_with(said), "{text}");
    assert!(
        text.contains("\ndeclare the type as the database has it"),
        "{text}"
    );
    let text = refused::<Swapped>(&database);
    assert!(
        text.contains("\n* id       u64 at 0              u64 at 8"),
        "{text}"
    );
    let text = refused::<Renamed>(&database);
    assert!(
        text.contains("\n* money    -                     i64 at 8"),
        "{text}"
    );
    let text = refused::<OtherArray>(&database);
    assert!(text.contains("\n* flags "), "{text}");
    let text = refused::<Longer>(&database);
    assert!(
        text.contains("\n* (row)    24 bytes              32 bytes"),
        "{text}"
    );
    let text = refused::<OtherKey>(&database);
    assert!(text.contains("a key of 8 bytes at 0"), "{text}");
    assert!(database.table::<Account>().is_ok());
}

mod of_version_0_1 {
    //! The debit-credit benchmark's tables.

    sardonyx::record! {
        #[table("accounts", key = id)]
        pub struct Account {
            pub id: u64,
            pub balance: i64,
            pub code: u64,
            pub branch: u64,
            pub filler: [u8; 96],
        }
    }

    sardonyx::record! {
        #[journal("history")]
        pub struct Row {
            pub transaction: u64,
            pub account: u64,
            pub amount: i64,
            pub teller: u32,
            pub branch: u32,
        }
    }
}

/// The kept database was made by version 0.1: `sardonyx debit-credit --accounts 20 --tellers 3 --branches 2 --transactions 40
/// --clients 2`.
#[test]
fn a_database_of_version_0_1_opens_is_adopted_and_reads_right() {
    use of_version_0_1::{Account, Row};
    const SUM: i64 = -587_904;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bank.sdx");
    crate::kept::unpack(include_bytes!("data/version-0.1"), &path);
    for adopted in [false, true] {
        let bank = Tables::open(&path).unwrap();
        let number = bank
            .read(|view| Ok(view.definitions().iter().position(|d| d.name == "accounts")))
            .unwrap()
            .unwrap() as u16;
        let known = |number| {
            bank.read(|view| Ok(view.schema(number).cloned()))
                .unwrap()
                .unwrap()
        };
        assert_eq!(known(number).column("balance").is_some(), adopted);
        let refused = bank
            .table::<super_account::Account>()
            .expect_err("another type");
        assert!(matches!(refused, Error::Refused(_)), "{refused}");
        assert_eq!(known(number).column("balance").is_some(), adopted);
        let accounts = bank.table::<Account>().unwrap();
        assert_eq!(known(number).column("balance"), Some(1));
        let sum = bank.read(|view| {
            assert_eq!(view.count(accounts)?, 20);
            let balances = view.scan(accounts)?.map(|account| Ok(account?.balance));
            balances.sum::<Result<i64, Error>>()
        });
        assert_eq!(sum.unwrap(), SUM);
        let history: Journal<Row> = bank.journal().unwrap();
        let (mut rows, mut moved) = (0, 0);
        bank.journal_rows(history, |row| {
            rows += 1;
            moved += row.amount;
            true
        })
        .unwrap();
        assert_eq!((rows, moved), (40, SUM));
        bank.run(|tx| tx.update(accounts, 3, |account| account.filler[0] = 1))
            .unwrap();
        bank.close().unwrap();
    }
}

mod super_account {
    sardonyx::record! {
        /// One of another length.
        #[table("accounts", key = id)]
        pub struct Account {
            pub id: u64,
            pub balance: i64,
        }
    }
}

#[derive(Clone, Copy, sardonyx::low_level::Resident)]
#[repr(C)]
struct Elsewhere {
    id: u64,
    place: Place,
}

record!(Elsewhere { table: "elsewhere", key: id: u64 });

mod with_fields {
    use super::{Place, record};

    #[derive(Clone, Copy, sardonyx::low_level::Resident)]
    #[repr(C)]
    pub struct Listed {
        id: u64,
        place: Place,
    }
    record!(Listed { table: "elsewhere", key: id: u64, fields: { id: u64, place: Place } });
}

#[test]
fn a_struct_whose_fields_are_not_named_is_adopted_when_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let database = Tables::open(directory.path()).unwrap();
    let table = database.table::<Elsewhere>().unwrap();
    let column = |name: &str| {
        let schema = database.read(|view| Ok(view.schema(table.number()).cloned()));
        schema.unwrap().unwrap().column(name)
    };
    assert_eq!(column("place.y"), None);
    let row = Elsewhere {
        id: 1,
        place: Place { x: 2, y: 3 },
    };
    database.run(|tx| tx.insert(table, &row).map(drop)).unwrap();
    let listed = database.table::<with_fields::Listed>().unwrap();
    assert_eq!(
        (listed.number(), column("place.y")),
        (table.number(), Some(2))
    );
    // And still opened by the one that names none.
    let again = database.table::<Elsewhere>().unwrap();
    let place = database.read(|view| Ok(view.get(again, 1)?.map(|row| row.place.y)));
    assert_eq!(place.unwrap(), Some(3));
}
