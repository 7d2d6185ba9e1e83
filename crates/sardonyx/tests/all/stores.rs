//! Tables of nodes beside tables in main memory. The same random operations on both give the same answers, the same
//! errors and the same rows. They are on rows with constraints of every kind and on the schemas themselves.

use sardonyx::nodes::{Node, NodeOptions, NodeTables, Nodes, StorageOptions, TableNode};
use sardonyx::rows::{ReadRow, Rows};
use sardonyx::schema::{
    Declared, DeclaredDefault, ForeignKey, IndexDefinition, IndexKind, KeyPart, OnDelete, Schema,
    SchemaBuilder, Type, Value,
};
use sardonyx::{Error, Options, Tables, Transaction};
use sardonyx_base::random::Random;
use sardonyx_rows::{DefineRows, ReadRows, ScanPlace};
use std::fmt::Write;

/// A transaction of either store, by the verbs that its traits do not have.
trait Store: DefineRows {
    fn widen(&mut self, table: &str, column: &str, to: Type) -> Result<(), Error>;
    fn nullable(&mut self, table: &str, column: &str) -> Result<(), Error>;
    /// Does something, and undoes it.
    fn undone(&mut self, act: impl FnOnce(&mut Self)) -> Result<(), Error>;
}

impl Store for Transaction<'_> {
    fn widen(&mut self, table: &str, column: &str, to: Type) -> Result<(), Error> {
        self.widen_column(table, column, to)
    }

    fn nullable(&mut self, table: &str, column: &str) -> Result<(), Error> {
        self.allow_nulls(table, column)
    }

    fn undone(&mut self, act: impl FnOnce(&mut Self)) -> Result<(), Error> {
        let before = self.savepoint();
        act(self);
        self.rollback_to(before)
    }
}

impl Store for NodeTables<'_> {
    fn widen(&mut self, table: &str, column: &str, to: Type) -> Result<(), Error> {
        self.widen_column(table, column, to)
    }

    fn nullable(&mut self, table: &str, column: &str) -> Result<(), Error> {
        self.allow_nulls(table, column)
    }

    fn undone(&mut self, act: impl FnOnce(&mut Self)) -> Result<(), Error> {
        let before = self.savepoint();
        act(self);
        self.rollback_to(before)
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert(&'static str, Vec<(&'static str, Value)>),
    Put(&'static str, Vec<(&'static str, Value)>),
    Update(&'static str, u64, Vec<(&'static str, Value)>),
    Delete(&'static str, u64),
    AddColumn(&'static str, &'static str, Type, bool, Value),
    DropColumn(&'static str, &'static str),
    RenameColumn(&'static str, &'static str, &'static str),
    Widen(&'static str, &'static str, Type),
    AllowNulls(&'static str, &'static str),
    CreateIndex(&'static str, &'static str, &'static str, bool),
    DropIndex(&'static str, &'static str),
    AddCheck(&'static str, &'static str, &'static str),
    DropCheck(&'static str, &'static str),
    AddReference(&'static str, &'static str, OnDelete),
    DropReference(&'static str, &'static str),
    Declare(&'static str, &'static str, bool),
    Rename(&'static str, &'static str),
    Empty(&'static str),
    Create(&'static str, bool),
    Drop(&'static str),
    Undone(Vec<Op>),
}

fn parents() -> SchemaBuilder {
    Schema::new()
        .column("id", Type::U64)
        .primary_key(["id"])
        .ordered()
        .column("code", Type::Text)
        .index("by_code", ["code"])
        .unique()
        .column("size", Type::I32)
        .default_value(5)
        .column("note", Type::Bytes)
        .nullable()
        .check("fits", "size >= 0 and size < 100")
}

fn children() -> SchemaBuilder {
    Schema::new()
        .column("id", Type::U64)
        .primary_key(["id"])
        .ordered()
        .column("parent", Type::U64)
        .nullable()
        .index("by_parent", ["parent"])
        .column("code", Type::Text)
        .nullable()
        .column("fallback", Type::U64)
        .default_value(1_u64)
        .column("strict", Type::U64)
        .nullable()
        .foreign_key("of_parent", ["parent"], "parents", ["id"])
        .cascade()
        .foreign_key("of_code", ["code"], "parents", ["code"])
        .on_delete(OnDelete::SetNull)
        .foreign_key("of_fallback", ["fallback"], "parents", ["id"])
        .on_delete(OnDelete::SetDefault)
        .foreign_key("of_strict", ["strict"], "parents", ["id"])
}

fn grand() -> SchemaBuilder {
    Schema::new()
        .column("id", Type::U64)
        .primary_key(["id"])
        .ordered()
        .column("child", Type::U64)
        .column("up", Type::U64)
        .nullable()
        .foreign_key("of_child", ["child"], "children", ["id"])
        .cascade()
        .foreign_key("of_up", ["up"], "grand", ["id"])
}

/// A table that comes and goes, and refers to itself and to another.
fn more(is_other: bool) -> SchemaBuilder {
    let schema = Schema::new()
        .column("id", Type::U64)
        .primary_key(["id"])
        .ordered()
        .column("parent", Type::U64)
        .nullable()
        .foreign_key("of_grand", ["parent"], "grand", ["id"])
        .foreign_key("of_itself", ["parent"], "more", ["id"]);
    match is_other {
        true => schema.index("by_more", ["parent"]),
        false => schema,
    }
}

const TABLES: [&str; 3] = ["parents", "children", "grand"];

fn text(random: &mut Random) -> Value {
    let length = [1, 3, 9, 40, 700][random.below(5) as usize];
    let letter = b'a' + random.below(4) as u8;
    String::from_utf8(vec![letter; length])
        .unwrap_or_default()
        .into()
}

fn or_null(random: &mut Random, value: Value) -> Value {
    match random.chance(1, 4) {
        true => Value::Null,
        false => value,
    }
}

fn values(random: &mut Random, table: &'static str, is_new: bool) -> Vec<(&'static str, Value)> {
    let key = |random: &mut Random| Value::from(random.below(5));
    let mut values = Vec::new();
    if is_new {
        values.push(("id", key(random)));
    }
    let mut columns: Vec<(&'static str, Value)> = match table {
        "parents" => {
            let note = Value::Bytes(vec![7; random.below(60) as usize]);
            vec![
                ("code", text(random)),
                ("size", (random.below(130) as i64 - 15).into()),
                ("note", or_null(random, note)),
            ]
        }
        "children" => {
            let (parent, code, strict) = (key(random), text(random), key(random));
            let code = or_null(random, code);
            vec![
                ("parent", or_null(random, parent)),
                ("code", or_null(random, code)),
                ("fallback", key(random)),
                ("strict", or_null(random, strict)),
            ]
        }
        _ => {
            let up = key(random);
            vec![("child", key(random)), ("up", or_null(random, up))]
        }
    };
    columns.push(("extra", or_null(random, 3.into())));
    columns.push(("moved", or_null(random, 4.into())));
    for (name, value) in columns {
        // Wrong types and missing values, too.
        match random.below(24) {
            0 => values.push((name, Value::Bool(true))),
            1 => values.push((name, Value::Null)),
            2..10 if !is_new => {}
            2 => {}
            _ if matches!(name, "extra" | "moved") && random.chance(2, 3) => {}
            _ => values.push((name, value)),
        }
    }
    values
}

fn op(random: &mut Random) -> Op {
    let table = TABLES[random.below(3) as usize];
    let column = ["extra", "moved", "size", "note"][random.below(4) as usize];
    match random.below(64) {
        0..22 => Op::Insert(table, values(random, table, true)),
        22..26 => Op::Put(table, values(random, table, true)),
        26..36 => Op::Update(table, random.below(6), values(random, table, false)),
        36..42 => Op::Delete(table, random.below(6)),
        42 => Op::AddColumn(table, "extra", Type::I16, true, Value::Null),
        43 => Op::AddColumn(table, "moved", Type::I64, false, 9.into()),
        44 => Op::DropColumn(table, column),
        45 => match random.chance(1, 2) {
            true => Op::RenameColumn(table, "extra", "moved"),
            false => Op::RenameColumn(table, "moved", "extra"),
        },
        46 => match random.chance(1, 2) {
            true => Op::Widen(table, column, Type::I64),
            false => Op::AllowNulls(table, column),
        },
        47 | 48 => {
            let (name, column) = [("by_extra", "extra"), ("by_size", "size"), ("by_up", "up")]
                [random.below(3) as usize];
            Op::CreateIndex(table, name, column, random.chance(1, 3))
        }
        49 => Op::DropIndex(
            table,
            ["by_extra", "by_size", "by_parent"][random.below(3) as usize],
        ),
        50 => Op::AddCheck(table, "small", "id < 7"),
        51 => Op::DropCheck(table, ["small", "fits"][random.below(2) as usize]),
        52 => Op::AddReference("grand", "again", OnDelete::SetNull),
        53 => Op::DropReference(
            table,
            ["of_strict", "again", "of_up"][random.below(3) as usize],
        ),
        54 => Op::Declare("parents", "code", random.chance(1, 2)),
        55 => match random.chance(1, 2) {
            true => Op::Rename("grand", "later"),
            false => Op::Rename("later", "grand"),
        },
        56 => Op::Empty(table),
        57..60 => Op::Create("more", random.chance(1, 3)),
        60 => Op::Drop(["more", "more", "more", "parents"][random.below(4) as usize]),
        _ => Op::Undone((0..1 + random.below(4)).map(|_| op(random)).collect()),
    }
}

fn number<S: Store>(store: &mut S, table: &str) -> Result<u16, Error> {
    Ok(Rows::named(&mut *store, table)?.number())
}

fn place<S: Store>(store: &mut S, table: u16, column: &str) -> usize {
    let schema = store.row_schema(table);
    schema.and_then(|schema| schema.column(column)).unwrap_or(0)
}

fn apply<S: Store>(store: &mut S, op: &Op) -> Result<String, Error> {
    match op {
        Op::Insert(table, values) => Rows::named(&mut *store, table)?.insert(values)?,
        Op::Put(table, values) => {
            return Ok(Rows::named(&mut *store, table)?.put(values)?.to_string());
        }
        Op::Update(table, key, values) => {
            let mut rows = Rows::named(&mut *store, table)?;
            return Ok(rows.update(&[(*key).into()], values)?.to_string());
        }
        Op::Delete(table, key) => {
            let mut rows = Rows::named(&mut *store, table)?;
            return Ok(rows.delete(&[(*key).into()])?.to_string());
        }
        Op::AddColumn(table, name, kind, nullable, default) => {
            store.add_column(table, name, *kind, *nullable, default.clone())?;
        }
        Op::DropColumn(table, name) => store.drop_column(table, name)?,
        Op::RenameColumn(table, name, new) => store.rename_column(table, name, new)?,
        Op::Widen(table, name, to) => store.widen(table, name, *to)?,
        Op::AllowNulls(table, name) => store.nullable(table, name)?,
        Op::CreateIndex(table, name, column, unique) => {
            let number = number(store, table)?;
            let key = vec![KeyPart {
                column: place(store, number, column),
                descending: false,
            }];
            let definition = IndexDefinition {
                name: name.to_string(),
                kind: IndexKind::Ordered,
                unique: *unique,
                deferrable: false,
                nulls_equal: false,
                key,
            };
            store.create_index(number, definition)?;
        }
        Op::DropIndex(table, name) => {
            let number = number(store, table)?;
            store.drop_index(number, name)?;
        }
        Op::AddCheck(table, name, condition) => {
            let number = number(store, table)?;
            store.add_check(number, name, condition)?;
        }
        Op::DropCheck(table, name) => {
            let number = number(store, table)?;
            store.drop_check(number, name)?;
        }
        Op::AddReference(table, name, on_delete) => {
            let (number, parents) = (number(store, table)?, number(store, "parents")?);
            let reference = ForeignKey {
                name: name.to_string(),
                columns: vec![place(store, number, "up")],
                table: parents,
                referenced: vec![0],
                on_delete: *on_delete,
                unchecked: Default::default(),
            };
            store.add_reference(number, reference)?;
        }
        Op::DropReference(table, name) => {
            let number = number(store, table)?;
            store.drop_reference(number, name)?;
        }
        Op::Declare(table, column, is_short) => {
            let number = number(store, table)?;
            let declared = is_short.then(|| Declared {
                column: place(store, number, column),
                // varchar(20)
                kind: 1043,
                modifier: 24,
                not_null: true,
                default: Some(DeclaredDefault::Value("none".into())),
            });
            store.declare_columns(number, declared.into_iter().collect())?;
        }
        Op::Rename(table, to) => store.rename_table(table, to)?,
        Op::Empty(table) => store.truncate(table)?,
        Op::Create(table, is_other) => {
            store.create_table(table, more(*is_other))?;
        }
        Op::Drop(table) => store.drop_table(table)?,
        Op::Undone(ops) => {
            store.undone(|store| {
                for op in ops {
                    let _ = apply(store, op);
                }
            })?;
        }
    }
    Ok(String::new())
}

fn row(row: &impl ReadRow, columns: &[usize]) -> Result<String, Error> {
    let mut shown = String::new();
    for column in columns {
        let _ = write!(shown, "{:?} ", row.value_at(*column)?);
    }
    Ok(shown)
}

/// The whole content of the tables, and the order of their indexes.
fn contents<S: ReadRows>(store: &S) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    let names_of = |numbers: Vec<u16>| {
        let definitions = store.definitions();
        let names = numbers
            .iter()
            .map(|number| &definitions[usize::from(*number)].name);
        let mut names: Vec<&String> = names.collect();
        // Numbers differ where one was dropped.
        names.sort_unstable();
        format!("{names:?}")
    };
    for index in ["by_parent", "by_extra", "by_more", "by_none"] {
        found.push(names_of(store.indexed(index)));
    }
    for name in ["parents", "children", "grand", "later", "more"] {
        let mut definitions = store.definitions().iter();
        let Some(number) = definitions.position(|there| there.name == name) else {
            continue;
        };
        let number = number as u16;
        let Some(schema) = store.row_schema(number).cloned() else {
            continue;
        };
        found.push(names_of(store.referring(number)));
        let columns: Vec<usize> = schema.live_columns().map(|(number, _)| number).collect();
        let names = schema.live_columns().map(|(_, column)| &column.name);
        found.push(format!("{name}: {:?}", names.collect::<Vec<_>>()));
        let mut rows = Vec::new();
        for each in store.scan_rows(number, ScanPlace::default())? {
            rows.push(row(&each?, &columns)?);
        }
        rows.sort_unstable();
        assert_eq!(store.count_rows(number)?, rows.len() as u64);
        found.extend(rows);
        for index in &schema.indexes {
            let columns: Vec<usize> = index.key.iter().map(|part| part.column).collect();
            found.push(index.name.clone());
            let there = store.row_index(number, &index.name)?;
            for each in there.all()? {
                found.push(row(&each?, &columns)?);
            }
            let up_to = there.count_range(..=(3_i64,)).unwrap_or_default();
            found.push(up_to.to_string());
        }
    }
    Ok(found)
}

struct Both {
    tables: Tables,
    nodes: [Node; 2],
    _nodes: Nodes,
    _places: [tempfile::TempDir; 3],
}

impl Both {
    fn new() -> Result<Both, Error> {
        let directory = || tempfile::tempdir_in("/dev/shm").expect("a directory");
        let places = [directory(), directory()];
        let memory = directory();
        let options = NodeOptions {
            pages: 2048,
            slots: 4,
            shared_memory: memory.path().into(),
            storage: StorageOptions {
                memory_bytes_max: 1 << 26,
                workers: 1,
                ..StorageOptions::default()
            },
            ..NodeOptions::default()
        };
        let nodes = Nodes::open(places[1].path(), options)?;
        let [own, other] = places;
        Ok(Both {
            tables: Options::new().open_tables(own.path())?,
            nodes: [nodes.join()?, nodes.join()?],
            _nodes: nodes,
            _places: [own, other, memory],
        })
    }

    fn make(&self) -> Result<(), Error> {
        for (name, schema) in TABLES.into_iter().zip([parents(), children(), grand()]) {
            self.tables.create_table(name, schema.clone())?;
            self.nodes[0].create_table(name, schema)?;
        }
        Ok(())
    }

    /// Does the same on both, on either of the nodes.
    fn step(&self, op: &Op, node: usize) -> Result<String, Error> {
        let there = self.tables.run(|tx| apply(tx, op));
        let node = &self.nodes[node];
        let here = node.run(|tx| apply(&mut tx.tables()?, op));
        let told = |done: &Result<String, Error>| match done {
            Ok(answer) => answer.clone(),
            Err(error) => error.to_string(),
        };
        assert_eq!(told(&here), told(&there), "{op:?}");
        let kind = |done: &Result<String, Error>| done.as_ref().err().map(std::mem::discriminant);
        assert!(kind(&here) == kind(&there), "{op:?}");
        Ok(told(&here))
    }

    fn compare(&self, op: &Op) -> Result<(), Error> {
        let there = self.tables.run(|tx| contents(tx))?;
        for node in &self.nodes {
            let here = node.run(|tx| contents(&tx.tables()?))?;
            assert_eq!(here, there, "{op:?}");
        }
        Ok(())
    }
}

fn explore(seed: u64, steps: usize) -> Result<Vec<String>, Error> {
    let both = Both::new()?;
    both.make()?;
    let mut random = Random::new(seed);
    let mut told = Vec::new();
    for step in 0..steps {
        let op = op(&mut random);
        told.push(both.step(&op, step % 2)?);
        if step % 8 == 0 {
            both.compare(&op)?;
        }
    }
    let pages = both.nodes[1].check_tables()?;
    let more = both
        .tables
        .run(|tx| Ok::<_, Error>(tx.definitions().named("more").is_some()))?;
    assert_eq!(pages.tables, 3 + u64::from(more), "{pages:?}");
    Ok(told)
}

#[test]
fn nodes_and_main_memory_answer_alike() -> Result<(), Error> {
    let mut told = Vec::new();
    for seed in 0..sardonyx_base::random::asked("SARDONYX_SEEDS").unwrap_or(16) {
        told.extend(explore(seed, 250)?);
    }
    // Everything was refused once, and for each reason.
    for text in [
        "already",
        "\"fits\"",
        "violates foreign key constraint \"of_",
        "refer to",
        "unique index",
        "null",
        "no column",
        "open the table as it is",
        // A table that came later is known to refer to another.
        "of_grand",
    ] {
        assert!(told.iter().any(|told| told.contains(text)), "{text}");
    }
    assert!(told.iter().filter(|told| told.is_empty()).count() > 100);
    Ok(())
}
