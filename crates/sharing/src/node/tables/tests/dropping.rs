//! Tables that are dropped while others use them. The user of an older handle gets an error, and no handle leads into
//! another table. Every page comes back except a mark for each tree, also if the dropping node dies in between.

use super::place::{Place, on_both};
use super::verbs::{Account, account};
use crate::node::tables::catalogue::KEY_OF_VERSION;
use crate::node::tables::dropping::take_out;
use crate::node::tables::entries;
use crate::node::tables::space::FIRST_PAGE;
use crate::node::tables::view::View;
use crate::node::{NodeError, TableNode};
use sardonyx_rows::TableError;
use sardonyx_rows::schema::{Schema, SchemaBuilder, Type};

fn notes() -> SchemaBuilder {
    Schema::new()
        .column("id", Type::U64)
        .column("kind", Type::U64)
        .column("text", Type::Text)
        .primary_key(["id"])
        .ordered()
        .index("by_kind", ["kind"])
}

fn fill(node: &impl TableNode) -> Result<(), NodeError> {
    node.create_table("notes", notes())?;
    for id in 0..60_u64 {
        let row = [
            ("id", id.into()),
            ("kind", (id % 7).into()),
            ("text", "n".repeat(id as usize % 10 * 700).into()),
        ];
        node.run(|tx| tx.rows("notes")?.insert(&row))?;
    }
    Ok(())
}

fn older_handles_are_told_and_pages_come_back<P: Place>() -> Result<(), NodeError> {
    let place = P::new();
    let (one, other) = (place.join()?, place.join()?);
    assert!(!one.drop_table("accounts")?);
    let accounts = one.table::<Account>()?;
    let same = other.table::<Account>()?;
    one.run(|tx| (0..900).try_for_each(|id| tx.insert(accounts, &account(id, 1))))?;
    let mut first = None;
    for round in 0..6 {
        fill(&one)?;
        let found = other.run(|tx| tx.rows("notes")?.count())?;
        assert_eq!(found, 60);
        let pages = one.check_tables()?;
        assert_eq!((pages.tables, pages.marks), (2, 2 * round));
        // Only the marks are left of dropped tables.
        let in_use = (pages.nodes, pages.values);
        assert_eq!(in_use, *first.get_or_insert(in_use));
        assert!(pages.values > 10, "{pages:?}");
        assert!(other.drop_table("notes")?);
        let unknown = one.run(|tx| tx.rows("notes").map(drop)).unwrap_err();
        assert_eq!(unknown.to_string(), "there is no table \"notes\"");
        assert_eq!(one.table_names()?, ["accounts"]);
    }
    assert!(other.drop_table("accounts")?);
    for (node, handle) in [(&one, accounts), (&other, same)] {
        let told = node.run(|tx| tx.get(handle, 7)).unwrap_err();
        assert!(matches!(told, NodeError::Dropped), "{told}");
        let told = node.run(|tx| tx.put(handle, &account(7, 7))).unwrap_err();
        assert!(matches!(told, NodeError::Dropped), "{told}");
    }
    let again = one.table::<Account>()?;
    one.run(|tx| tx.insert(again, &account(7, 8)))?;
    let told = other.run(|tx| tx.get(same, 7)).unwrap_err();
    assert!(matches!(told, NodeError::Dropped), "{told}");
    let again = other.table::<Account>()?;
    assert_eq!(other.run(|tx| tx.get(again, 7))?, Some(account(7, 8)));
    let pages = other.check_tables()?;
    assert_eq!((pages.tables, pages.rows, pages.marks), (1, 1, 13));
    Ok(())
}

fn what_is_left_of_a_drop_is_done_by_the_next<P: Place>() -> Result<(), NodeError> {
    let mut place = P::new();
    {
        let node = place.join()?;
        fill(&node)?;
        node.run(|tx| {
            let database = tx.database();
            let mut view = View::new(tx);
            assert!(take_out(&mut view, "notes", database)?);
            view.finish()
        })?;
        let pages = node.check_tables()?;
        assert!(
            pages.tables == 0 && pages.nodes > 4 && pages.values > 10,
            "{pages:?}"
        );
    }
    place.reopen();
    let node = place.join()?;
    fill(&node)?;
    node.table::<Account>()?;
    assert!(node.drop_table("accounts")?);
    let before = node.check_tables()?;
    assert_eq!((before.tables, before.rows, before.marks), (1, 60, 3));
    assert!(node.drop_table("notes")?);
    let pages = node.check_tables()?;
    // The catalogue's are left.
    assert_eq!((pages.nodes, pages.values, pages.marks), (2, 0, 5));
    Ok(())
}

/// Users of a table find it whole or not at all, while it is dropped and made again.
fn users_of_a_table_that_is_dropped_find_it_whole_or_not<P: Place>() -> Result<(), NodeError> {
    let place = P::new();
    let nodes = [place.join()?, place.join()?, place.join()?];
    std::thread::scope(|scope| {
        for (number, node) in nodes[1..].iter().enumerate() {
            scope.spawn(move || {
                for turn in 0..60 {
                    let id = 1000 * number as u64 + turn;
                    let done = node.table::<Account>().and_then(|accounts| {
                        node.run(|tx| {
                            tx.insert(accounts, &account(id, 1))?;
                            tx.insert(accounts, &account(id + 500, -1))?;
                            let mut sum = 0;
                            for account in tx.scan(accounts)? {
                                sum += account?.balance;
                            }
                            assert_eq!(sum, 0);
                            Ok::<(), NodeError>(())
                        })
                    });
                    match done {
                        Ok(()) | Err(NodeError::Dropped) => {}
                        Err(NodeError::Rows(error))
                            if matches!(*error, TableError::DuplicateKey { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        for _ in 0..8 {
            nodes[0].drop_table("accounts")?;
            fill(&nodes[0])?;
            nodes[0].drop_table("notes")?;
        }
        Ok::<(), NodeError>(())
    })?;
    nodes[0].check_tables()?;
    Ok(())
}

/// The first change of the catalogue raises its version to 2.
fn an_older_version_opens_and_a_newer_one_is_refused_by_its_number<P: Place>()
-> Result<(), NodeError> {
    let place = P::new();
    place.join()?.create_table("notes", notes())?;
    let written = |node: &P::Node| -> Result<u32, NodeError> {
        let bytes = node.run(|tx| tx.read(0, 8..12))?;
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |all, byte| all << 8 | u32::from(*byte)))
    };
    place.join()?.run(|tx| {
        tx.write(0, 8, &1_u32.to_le_bytes())?;
        let mut view = View::new(tx);
        assert!(entries::remove(&mut view, FIRST_PAGE as u32, &KEY_OF_VERSION)?.is_some());
        view.finish()
    })?;
    let node = place.join()?;
    let row = [("id", 1.into()), ("kind", 1.into()), ("text", "n".into())];
    node.run(|tx| tx.rows("notes")?.insert(&row))?;
    assert_eq!(written(&node)?, 1);
    node.run(|tx| tx.tables()?.rename_table("notes", "words"))?;
    assert_eq!(written(&node)?, 2);
    assert_eq!(place.join()?.run(|tx| tx.rows("words")?.count())?, 1);
    node.run(|tx| tx.write(0, 8, &3_u32.to_le_bytes()))?;
    let refused = place
        .join()?
        .run(|tx| tx.rows("words").map(drop))
        .unwrap_err();
    assert!(
        matches!(refused, NodeError::TablesVersion { version: 3 }),
        "{refused}"
    );
    assert!(refused.to_string().contains("of version 3"), "{refused}");
    Ok(())
}

on_both!(
    an_older_version_opens_and_a_newer_one_is_refused_by_its_number,
    older_handles_are_told_and_pages_come_back,
    what_is_left_of_a_drop_is_done_by_the_next,
    users_of_a_table_that_is_dropped_find_it_whole_or_not,
);
