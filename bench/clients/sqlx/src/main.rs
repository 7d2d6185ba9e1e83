//! sqlx: migrations up and down, pools, typed rows, savepoints, arrays, JSON, enum types, COPY, LISTEN, and what its macros
//! (`query!`) ask for when a program is compiled: types of parameters and columns, and which of these may be null.

use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::types::chrono::{DateTime, NaiveDate, Utc};
use sqlx::types::{Decimal, Json, Uuid};
use sqlx::{Acquire, Column, Executor, QueryBuilder, Row};
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, sqlx::Type)]
#[sqlx(type_name = "sqlx_kind", rename_all = "lowercase")]
enum Kind {
    Asset,
    Debt,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Meta {
    color: String,
    sizes: Vec<i32>,
}

#[derive(Debug, sqlx::FromRow)]
struct Account {
    id: i64,
    key: Uuid,
    name: String,
    kind: Kind,
    balance: Decimal,
    tags: Vec<String>,
    meta: Option<Json<Meta>>,
    born: Option<NaiveDate>,
    made: DateTime<Utc>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args()
        .nth(1)
        .ok_or("usage: sqlx-client ADDRESS")?;
    let options: PgConnectOptions = address.parse()?;
    let pool = PgPoolOptions::new()
        .max_connections(4)
        .connect_with(options)
        .await?;

    let migrator = Migrator::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations")).await?;
    migrator.run(&pool).await?;
    // The second run finds nothing to do.
    migrator.run(&pool).await?;
    let applied: i64 = sqlx::query_scalar("select count(*) from _sqlx_migrations where success")
        .fetch_one(&pool)
        .await?;
    assert_eq!(applied, 2);

    let ada: Account = sqlx::query_as(
        "insert into sqlx_accounts (name, kind, balance, tags, meta, born) values ($1, $2, $3, $4, $5, $6) returning *",
    )
    .bind("Ada")
    .bind(Kind::Debt)
    .bind(Decimal::new(-1250, 2))
    .bind(vec!["a", "b,\"c\""])
    .bind(Json(Meta { color: "red".into(), sizes: vec![1, 2] }))
    .bind(NaiveDate::from_ymd_opt(1815, 12, 10))
    .fetch_one(&pool)
    .await?;
    assert_eq!(
        (ada.name.as_str(), ada.kind, ada.balance),
        ("Ada", Kind::Debt, Decimal::new(-1250, 2))
    );
    assert_eq!(ada.tags, ["a", "b,\"c\""]);
    assert_eq!(
        ada.meta.as_ref().map(|meta| meta.sizes.as_slice()),
        Some(&[1, 2][..])
    );
    assert!(ada.born.is_some_and(|born| born < ada.made.date_naive()) && !ada.key.is_nil());

    let mut many = QueryBuilder::new("insert into sqlx_accounts (name, balance) ");
    many.push_values(0..200, |mut row, i| {
        row.push_bind(format!("user {i:03}"))
            .push_bind(Decimal::from(i));
    });
    assert_eq!(many.build().execute(&pool).await?.rows_affected(), 200);

    let names: Vec<String> =
        sqlx::query_scalar("select name from sqlx_accounts where id = any($1) order by id")
            .bind(vec![ada.id, ada.id + 2])
            .fetch_all(&pool)
            .await?;
    assert_eq!(names, ["Ada", "user 001"]);
    let mut streamed = 0;
    {
        let mut rows = sqlx::query_as::<_, Account>("select * from sqlx_accounts where kind = $1")
            .bind(Kind::Asset)
            .fetch(&pool);
        while let Some(row) = rows.try_next().await? {
            assert!(row.meta.is_none() && row.tags.is_empty());
            streamed += 1;
        }
    }
    assert_eq!(streamed, 200);

    let mut transaction = pool.begin().await?;
    sqlx::query("select balance from sqlx_accounts where id = $1 for update")
        .bind(ada.id)
        .fetch_one(&mut *transaction)
        .await?;
    let mut savepoint = transaction.begin().await?;
    sqlx::query("insert into sqlx_entries (account, amount) values ($1, 1)")
        .bind(ada.id)
        .execute(&mut *savepoint)
        .await?;
    savepoint.rollback().await?;
    let mut savepoint = transaction.begin().await?;
    sqlx::query(
        "insert into sqlx_entries (account, amount) select $1, n from generate_series(1, 3) n",
    )
    .bind(ada.id)
    .execute(&mut *savepoint)
    .await?;
    savepoint.commit().await?;
    transaction.commit().await?;
    let (count, sum): (i64, Option<Decimal>) =
        sqlx::query_as("select count(*), sum(amount) from sqlx_entries")
            .fetch_one(&pool)
            .await?;
    assert_eq!((count, sum), (3, Some(Decimal::from(6))));

    for (statement, is) in [
        (
            "insert into sqlx_accounts (name, key) select name, key from sqlx_accounts limit 1",
            "unique",
        ),
        (
            "insert into sqlx_entries (account, amount) values (-1, 1)",
            "foreign",
        ),
        ("insert into sqlx_accounts (name) values ('')", "check"),
    ] {
        let error = sqlx::query(statement).execute(&pool).await.unwrap_err();
        let error = error
            .as_database_error()
            .ok_or("an error of the database was expected")?;
        let good = match is {
            "unique" => {
                error.is_unique_violation() && error.constraint() == Some("sqlx_accounts_key_key")
            }
            "foreign" => error.is_foreign_key_violation() && error.table() == Some("sqlx_entries"),
            _ => error.is_check_violation(),
        };
        assert!(good, "{statement}: {error:?}");
    }

    let described = pool
        .describe(
            "select a.id, a.meta, e.amount, a.name from sqlx_accounts a left join sqlx_entries e on e.account = a.id \
             where a.kind = $1 and a.balance > $2",
        )
        .await?;
    let nullable: Vec<_> = (0..4).map(|column| described.nullable(column)).collect();
    assert_eq!(nullable, [Some(false), Some(true), Some(true), Some(false)]);
    let kinds: Vec<_> = described.columns().iter().map(|column| column.type_info().to_string()).collect();
    assert_eq!(kinds, ["INT8", "JSONB", "NUMERIC", "TEXT"]);
    let described = pool
        .describe("insert into sqlx_entries (account, amount) values ($1, $2) returning id, amount * 2 as double")
        .await?;
    assert_eq!((described.nullable(0), described.nullable(1)), (Some(false), None));

    let mut connection = pool.acquire().await?;
    let mut copy = connection
        .copy_in_raw("copy sqlx_entries (account, amount) from stdin with (format csv)")
        .await?;
    copy.send(format!("{0},10.5\n{0},20\n", ada.id).into_bytes())
        .await?;
    assert_eq!(copy.finish().await?, 2);
    let out: Vec<_> = connection
        .copy_out_raw("copy (select amount from sqlx_entries order by id desc limit 2) to stdout")
        .await?
        .try_collect()
        .await?;
    assert_eq!(out.concat(), b"20.00\n10.50\n");

    drop(connection);

    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen("sqlx_news").await?;
    sqlx::query("select pg_notify('sqlx_news', $1)")
        .bind("hello")
        .execute(&pool)
        .await?;
    let heard = listener.recv().await?;
    assert_eq!((heard.channel(), heard.payload()), ("sqlx_news", "hello"));
    drop(listener);

    let row = sqlx::query("select $1::int4 + 1 as n, null::text as t, array[1, null]::int4[] as a")
        .bind(41)
        .fetch_one(&pool)
        .await?;
    assert_eq!(
        (
            row.try_get::<i32, _>("n")?,
            row.try_get::<Option<String>, _>("t")?
        ),
        (42, None)
    );
    assert_eq!(row.try_get::<Vec<Option<i32>>, _>("a")?, [Some(1), None]);

    migrator.undo(&pool, 0).await?;
    let left: i64 = sqlx::query_scalar(
        "select count(*) from pg_class where relname in ('sqlx_accounts', 'sqlx_entries')",
    )
    .fetch_one(&pool)
    .await?;
    assert_eq!(left, 0);
    pool.execute("drop table _sqlx_migrations").await?;
    pool.close().await;
    println!("sqlx ok");
    Ok(())
}
