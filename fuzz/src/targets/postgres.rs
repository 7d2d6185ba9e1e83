//! Bytes of PostgreSQL clients: their messages, and the texts in them.

use crate::Target;
use crate::seeds::MEMORY_BYTES;
use sardonyx::schema::{Schema, Type};
use sardonyx::{Options, Shape};
use sardonyx_server::postgres::message::{
    Greeting, MESSAGE_BYTES_MAX, Message, split, split_greeting,
};
use sardonyx_sql::{CopyTuples, Database, Session, SessionOptions, SqlType, decode_binary};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::sync::{Arc, LazyLock};

pub(super) const MESSAGES: Target = Target {
    name: "postgres",
    what: "messages as PostgreSQL clients send them, the first one and those behind it",
    seeds: messages,
    run: |input| {
        greeting(input);
        let mut rest = input;
        while let Ok(Some((kind, end))) = split(rest, MESSAGE_BYTES_MAX) {
            assert_eq!(rest[0], kind);
            assert!((5..=rest.len()).contains(&end), "{end}");
            // While a byte is missing, the message is incomplete.
            assert_eq!(split(&rest[..end - 1], MESSAGE_BYTES_MAX), Ok(None));
            if let Ok(message) = Message::read(&rest[..end]) {
                look_at(message);
            }
            rest = &rest[end..];
        }
    },
    runs: 50_000,
};

pub(super) const STATEMENTS: Target = Target {
    name: "statements",
    what: "texts of SQL, as far as they are parsed and planned",
    seeds: statements,
    run: |input| {
        let text = String::from_utf8_lossy(input);
        let mut session = Session::new(Arc::clone(&DATABASE), SessionOptions::default())
            .expect("no parameter is given");
        if let Err(error) = session.prepare(&text, &[]) {
            assert_eq!(error.code.len(), 5, "{error:?}");
            let length = text.chars().count() + 1;
            assert!(
                error.position.is_none_or(|at| (1..=length).contains(&at)),
                "{error:?}"
            );
        }
    },
    runs: 10_000,
};

pub(super) const COPY: Target = Target {
    name: "copy",
    what: "rows of COPY in the binary format, and their values",
    seeds: copies,
    run: |input| {
        let whole = copied(&[input]);
        let (one, other) = input.split_at(input.len() / 2);
        assert_eq!(whole, copied(&[one, other]));
        for field in whole.0.into_iter().flatten() {
            for kind in SqlType::all() {
                if let Err(error) = decode_binary(kind, &field) {
                    assert_eq!(error.code.len(), 5, "{error:?}");
                }
            }
        }
    },
    runs: 20_000,
};

/// The fields of all rows of bytes that arrive in portions, and the error after them.
fn copied(portions: &[&[u8]]) -> (Vec<Option<Vec<u8>>>, Option<String>) {
    let (mut tuples, mut buffer, mut fields) = (CopyTuples::new(2), Vec::new(), Vec::new());
    for portion in portions {
        buffer.extend_from_slice(portion);
        let mut rest = &buffer[..];
        loop {
            match tuples.next(&mut rest) {
                Ok(Some(tuple)) => {
                    fields.extend(tuple.into_iter().map(|field| field.map(<[u8]>::to_vec)));
                }
                Ok(None) => break,
                Err(error) => return (fields, Some(error.to_string())),
            }
        }
        buffer = rest.to_vec();
    }
    (
        fields,
        tuples.finish(&buffer).err().map(|error| error.to_string()),
    )
}

fn copies() -> Vec<Vec<u8>> {
    let head = [&b"PGCOPY\n\xff\r\n\0"[..], &[0; 8]].concat();
    let number = b"\0\x02\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff";
    let array =
        b"\0\x02\0\0\0\x18\0\0\0\x01\0\0\0\0\0\0\0\x17\0\0\0\x01\0\0\0\x01\xff\xff\xff\xff\0\0\0\0";
    let numeric = b"\0\x02\0\0\0\x0a\0\x01\0\0\x40\0\0\x02\0\x07\0\0\0\x01t";
    let end = b"\xff\xff";
    vec![
        [&head[..], number, number, end].concat(),
        [&head[..], array, numeric, end].concat(),
        head,
    ]
}

fn greeting(input: &[u8]) {
    if let Ok(Some(end)) = split_greeting(input) {
        assert!(end <= input.len());
        if let Ok(greeting) = Greeting::read(&input[..end]) {
            let _ = format!("{greeting:?}");
        }
    }
}

/// Reads all parts of a message that are decoded on demand.
fn look_at(message: Message<'_>) {
    match message {
        Message::Parse { types, .. } => assert_eq!(types.iter().count(), types.len()),
        Message::Bind(bind) => {
            let parameters: Vec<_> = bind.parameters().collect();
            assert_eq!(parameters.len(), bind.count());
        }
        _ => {}
    }
}

/// Two tables for the statements.
static DATABASE: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let options = Options::new()
        .shape(Shape::Threadless)
        .memory_bytes_max(MEMORY_BYTES);
    let disk = SimulatedDisk::new(1, Faults::default());
    let tables = options.open_tables_on(Arc::new(disk)).expect("opens");
    let accounts = Schema::new()
        .column("id", Type::I64)
        .column("owner", Type::Text)
        .column("balance", Type::Decimal { scale: 2 })
        .primary_key(["id"]);
    tables.create_table("accounts", accounts).expect("a table");
    let entries = Schema::new()
        .column("number", Type::I64)
        .column("account", Type::I64)
        .column("made", Type::Timestamp)
        .primary_key(["number"]);
    tables.create_table("entries", entries).expect("a table");
    Database::new(Arc::new(tables)).expect("it speaks SQL")
});

fn messages() -> Vec<Vec<u8>> {
    let message = |kind: &[u8], body: &[u8]| {
        let length = (body.len() as u32 + 4).to_be_bytes();
        [kind, &length, body].concat()
    };
    let parse = message(b"P", b"s\0select $1 + $2\0\0\x02\0\0\0\x17\0\0\0\0");
    let bind = message(
        b"B",
        b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff\0\x01\0\x01",
    );
    let rest = [
        message(b"D", b"Pp\0"),
        message(b"E", b"p\0\0\0\0\x05"),
        message(b"C", b"Ss\0"),
        message(b"S", b""),
    ];
    let copy = [
        message(b"d", b"1\t2\n"),
        message(b"c", b""),
        message(b"f", b"no\0"),
    ];
    vec![
        message(b"", b"\0\x03\0\0user\0ada\0database\0bank\0\0"),
        message(b"", b"\x04\xd2\x16\x2f"),
        message(b"", b"\x04\xd2\x16\x2e\0\0\0\x07secretsecret"),
        [parse, bind, rest.concat()].concat(),
        message(b"Q", b"begin; select 1; commit\0"),
        message(b"p", b"SCRAM-SHA-256\0\0\0\0\x03n,,"),
        copy.concat(),
        message(b"X", b""),
    ]
}

fn statements() -> Vec<Vec<u8>> {
    let texts = [
        "select a.owner, sum(e.number) from accounts a left join entries e on e.account = a.id \
         where a.balance between 1.5 and $1 group by a.owner having count(*) > 2 order by 2 desc limit 5",
        "with big as (select id from accounts where balance > 100) \
         select * from entries where account in (select id from big) union all table entries",
        "insert into accounts (id, owner) values (1, 'ada'), ($1, $2) \
         on conflict (id) do update set owner = excluded.owner returning *",
        "update accounts set balance = balance - (select max(number) from entries) where id = any (array[1, 2])",
        "delete from entries where made < now() - interval '1 day' and exists (select 1 from accounts)",
        "create table t (a int primary key, b varchar(10) default 'x' check (length(b) > 0) references accounts (owner))",
        "copy accounts (id, owner) from stdin with (format csv, header true)",
        "explain select case when id % 2 = 0 then upper(owner) else null end from accounts",
        "create procedure p(a int) begin atomic update accounts set balance = balance + a; end",
        "select date '2026-01-31' + 1, '1.5'::numeric(5,2) * 3, extract(year from timestamp '2026-01-01 10:00')",
        "set application_name = 'x'; show all; prepare q as select $1::text; execute q('a')",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
