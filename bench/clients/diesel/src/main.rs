//! Diesel: migrations up, down and again, inserts of many rows, upserts, joins, groups, savepoints, arrays, JSON, COPY, a pool.

use bigdecimal::BigDecimal;
use chrono::{DateTime, NaiveDate, Utc};
use diesel::connection::{Connection, SimpleConnection};
use diesel::dsl::{count_star, exists, sum};
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, Pool};
use diesel::result::{DatabaseErrorKind, Error};
use diesel_migrations::{FileBasedMigrations, MigrationHarness};

diesel::table! {
    diesel_accounts (id) {
        id -> Int4,
        key -> Uuid,
        name -> Varchar,
        balance -> Numeric,
        tags -> Array<Text>,
        meta -> Nullable<Jsonb>,
        born -> Nullable<Date>,
        updated_at -> Timestamptz,
    }
}
diesel::table! {
    diesel_entries (id) {
        id -> Int8,
        account_id -> Int4,
        amount -> Int8,
        note -> Nullable<Bytea>,
    }
}
diesel::joinable!(diesel_entries -> diesel_accounts (account_id));
diesel::allow_tables_to_appear_in_same_query!(diesel_accounts, diesel_entries);
use diesel_accounts::dsl as a;
use diesel_entries::dsl as e;

#[derive(Debug, Clone, Queryable, Selectable, Identifiable, AsChangeset)]
#[diesel(table_name = diesel_accounts)]
struct Account {
    id: i32,
    key: uuid::Uuid,
    name: String,
    balance: BigDecimal,
    tags: Vec<String>,
    meta: Option<serde_json::Value>,
    born: Option<NaiveDate>,
    updated_at: DateTime<Utc>,
}

#[derive(Insertable)]
#[diesel(table_name = diesel_accounts)]
struct NewAccount<'a> {
    name: &'a str,
    balance: Option<BigDecimal>,
    tags: Vec<&'a str>,
    meta: Option<serde_json::Value>,
    born: Option<NaiveDate>,
}

#[derive(Debug, Queryable, Selectable, Identifiable, Associations)]
#[diesel(belongs_to(Account))]
#[diesel(table_name = diesel_entries)]
struct Entry {
    id: i64,
    account_id: i32,
    amount: i64,
    note: Option<Vec<u8>>,
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let address = std::env::args()
        .nth(1)
        .ok_or("usage: diesel-client ADDRESS")?;
    let pool = Pool::builder()
        .max_size(2)
        .build(ConnectionManager::<PgConnection>::new(&address))?;
    let connection = &mut *pool.get()?;

    let migrations =
        || FileBasedMigrations::from_path(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations"));
    connection.run_pending_migrations(migrations()?)?;
    connection.revert_last_migration(migrations()?)?;
    connection.run_pending_migrations(migrations()?)?;
    assert!(!connection.has_pending_migration(migrations()?)?);

    let new = |name| NewAccount {
        name,
        balance: None,
        tags: vec!["x", "y z"],
        meta: Some(serde_json::json!({"a": [1, 2]})),
        born: NaiveDate::from_ymd_opt(1815, 12, 10),
    };
    let ada: Account = diesel::insert_into(a::diesel_accounts)
        .values(new("Ada"))
        .returning(Account::as_returning())
        .get_result(connection)?;
    assert_eq!(
        (
            ada.name.as_str(),
            &ada.tags[1],
            ada.meta.as_ref().map(|meta| &meta["a"][1])
        ),
        ("Ada", &"y z".to_owned(), Some(&2.into()))
    );
    assert!(ada.born.is_some() && !ada.key.is_nil() && ada.updated_at > DateTime::<Utc>::MIN_UTC);
    let names: Vec<_> = (0..100).map(|i| format!("user {i:03}")).collect();
    let many: Vec<_> = names
        .iter()
        .map(|name| NewAccount {
            balance: Some(5.into()),
            tags: vec![],
            meta: None,
            born: None,
            ..new(name)
        })
        .collect();
    assert_eq!(
        diesel::insert_into(a::diesel_accounts)
            .values(&many)
            .execute(connection)?,
        100
    );

    let upserted: (i32, BigDecimal) = diesel::insert_into(a::diesel_accounts)
        .values(NewAccount {
            balance: Some(7.into()),
            ..new("Ada")
        })
        .on_conflict(a::name)
        .do_update()
        .set(a::balance.eq(a::balance + diesel::upsert::excluded(a::balance)))
        .returning((a::id, a::balance))
        .get_result(connection)?;
    assert_eq!(upserted, (ada.id, BigDecimal::from(7)));
    assert_eq!(
        diesel::insert_into(a::diesel_accounts)
            .values(new("Ada"))
            .on_conflict_do_nothing()
            .execute(connection)?,
        0
    );

    let entries: Vec<_> = (1..=5)
        .map(|i| {
            (
                e::account_id.eq(ada.id),
                e::amount.eq(i),
                e::note.eq((i > 2).then(|| vec![0, i as u8])),
            )
        })
        .collect();
    diesel::insert_into(e::diesel_entries)
        .values(entries)
        .execute(connection)?;
    let of_ada: Vec<Entry> = Entry::belonging_to(&ada)
        .order(e::id.desc())
        .select(Entry::as_select())
        .load(connection)?;
    assert_eq!(
        (
            of_ada.len(),
            of_ada[0].amount,
            of_ada[0].note.as_deref(),
            of_ada[4].note.is_none()
        ),
        (5, 5, Some(&[0, 5][..]), true)
    );
    assert!(
        of_ada
            .iter()
            .all(|entry| entry.account_id == ada.id && entry.id > 0)
    );
    let groups: Vec<(String, i64, Option<BigDecimal>)> = a::diesel_accounts
        .inner_join(e::diesel_entries)
        .group_by(a::name)
        .having(count_star().gt(2))
        .select((a::name, count_star(), sum(e::amount)))
        .load(connection)?;
    assert_eq!(groups, [("Ada".to_owned(), 5, Some(15.into()))]);
    let found: Vec<String> = a::diesel_accounts
        .filter(
            a::name
                .ilike("USER 00%")
                .and(a::id.eq_any(vec![ada.id, ada.id + 1, ada.id + 2])),
        )
        .or_filter(a::tags.contains(vec!["x"]))
        .order(a::name)
        .select(a::name)
        .distinct()
        .load(connection)?;
    assert_eq!(found, ["Ada", "user 000", "user 001"]);
    let with_entries: bool =
        diesel::select(exists(e::diesel_entries.filter(e::amount.gt(4)))).get_result(connection)?;
    assert!(with_entries);
    let joined: Vec<(Account, Option<Entry>)> = a::diesel_accounts
        .left_join(e::diesel_entries)
        .filter(a::born.is_null())
        .order((a::name.asc(), e::id.asc().nulls_first()))
        .limit(3)
        .offset(1)
        .select((Account::as_select(), Option::<Entry>::as_select()))
        .load(connection)?;
    assert!(
        joined.len() == 3
            && joined[0].0.name == "user 001"
            && joined.iter().all(|(_, entry)| entry.is_none())
    );

    let outcome = connection
        .build_transaction()
        .serializable()
        .run(|connection| {
            let mut locked: Account = a::diesel_accounts
                .find(ada.id)
                .for_update()
                .select(Account::as_select())
                .first(connection)?;
            locked.balance = 40.into();
            diesel::update(&locked).set(&locked).execute(connection)?;
            let back = connection.transaction::<(), _, _>(|connection| {
                diesel::delete(e::diesel_entries).execute(connection)?;
                Err(Error::RollbackTransaction)
            });
            assert!(matches!(back, Err(Error::RollbackTransaction)));
            e::diesel_entries.count().get_result::<i64>(connection)
        })?;
    assert_eq!(outcome, 5);

    let failures: [(&str, fn(&DatabaseErrorKind) -> bool); 3] = [
        (
            "insert into diesel_accounts (name) values ('Ada')",
            |kind| matches!(kind, DatabaseErrorKind::UniqueViolation),
        ),
        (
            "insert into diesel_entries (account_id, amount) values (-1, 1)",
            |kind| matches!(kind, DatabaseErrorKind::ForeignKeyViolation),
        ),
        ("update diesel_accounts set balance = -2000", |kind| {
            matches!(kind, DatabaseErrorKind::CheckViolation)
        }),
    ];
    for (statement, is) in failures {
        match diesel::sql_query(statement).execute(connection) {
            Err(Error::DatabaseError(kind, info)) => assert!(
                is(&kind) && info.constraint_name().is_some(),
                "{statement}: {kind:?}"
            ),
            other => panic!("{statement}: {other:?}"),
        }
    }

    let copied = diesel::copy_from(e::diesel_entries)
        .from_raw_data((e::account_id, e::amount), |out| {
            writeln!(out, "{}\t70\n{}\t80", ada.id, ada.id)
                .map_err(|error| Error::SerializationError(Box::new(error)))
        })
        .execute(connection)?;
    assert_eq!(copied, 2);
    assert_eq!(
        diesel::delete(a::diesel_accounts.filter(a::name.like("user%"))).execute(connection)?,
        100
    );
    let total: Option<BigDecimal> = e::diesel_entries.select(sum(e::amount)).first(connection)?;
    assert_eq!(total, Some(165.into()));

    connection.revert_all_migrations(migrations()?)?;
    connection.batch_execute("drop table __diesel_schema_migrations")?;
    println!("diesel ok");
    Ok(())
}
