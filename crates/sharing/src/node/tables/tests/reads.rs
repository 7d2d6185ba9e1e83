//! Counts of the pages that operations read: each is locked and copied, so no page is read needlessly.

use super::place::{Place, on_both};
use super::verbs::{Account, account};
use crate::node::tables::access::{Access, Change};
use crate::node::tables::known::{Known, Used};
use crate::node::tables::store::NodeTables;
use crate::node::work::WorkPoint;
use crate::node::{NodeError, TableNode};
use crate::protocol::LockMode;
use sardonyx_rows::schema::{ForeignKey, Schema, Type, Value};
use sardonyx_rows::{DefineRows, ReadRows, Rows, records};
use sardonyx_storage::tree::Page;

/// A transaction, and the pages that are read in it.
struct Counted<'t> {
    access: &'t mut dyn Access,
    pages: usize,
}

impl Access for Counted<'_> {
    fn slot(&self) -> usize {
        self.access.slot()
    }

    fn pages(&self) -> u64 {
        self.access.pages()
    }

    fn read_page(&mut self, page: u64, mode: LockMode, into: &mut Page) -> Result<(), NodeError> {
        self.pages += 1;
        self.access.read_page(page, mode, into)
    }

    fn lock_to_write(&mut self, page: u64) -> Result<(), NodeError> {
        self.access.lock_to_write(page)
    }

    fn write_all(&mut self, changes: &[Change<'_>]) -> Result<(), NodeError> {
        self.access.write_all(changes)
    }

    fn database(&self) -> u64 {
        self.access.database()
    }

    fn known(&self) -> Option<&Known> {
        self.access.known()
    }

    fn used(&mut self) -> &mut Used {
        self.access.used()
    }

    fn point(&mut self) -> Result<WorkPoint, NodeError> {
        self.access.point()
    }

    fn roll_back(&mut self, to: WorkPoint) -> Result<(), NodeError> {
        self.access.roll_back(to)
    }
}

/// The number of pages that a transaction reads.
fn pages_read(
    node: &impl TableNode,
    mut act: impl FnMut(&mut NodeTables<'_>) -> Result<(), NodeError>,
) -> Result<usize, NodeError> {
    node.run(|tx| {
        let mut counted = Counted {
            access: tx,
            pages: 0,
        };
        act(&mut NodeTables::of(&mut counted)?)?;
        Ok(counted.pages)
    })
}

fn rows_are_looked_at_for_references_that_are_new<P: Place>() -> Result<(), NodeError> {
    let place = P::new();
    let node = place.join()?;
    let id = Schema::new().column("id", Type::U64).primary_key(["id"]);
    node.create_table("parents", id.clone().ordered())?;
    let children = id.column("parent", Type::U64).ordered();
    let reference = |name: &str| ForeignKey {
        name: name.into(),
        columns: vec![1],
        table: 0,
        referenced: vec![0],
        on_delete: Default::default(),
        unchecked: Default::default(),
    };
    let number = node.create_table("children", children)?;
    node.run(|tx| tx.rows("parents")?.insert(&[("id", 1.into())]))?;
    node.run(|tx| {
        let mut rows = tx.rows("children")?;
        (0..500_u64).try_for_each(|id| rows.insert(&[("id", id.into()), ("parent", 1.into())]))
    })?;
    let add = |name| {
        move |tables: &mut NodeTables<'_>| Ok(tables.add_reference(number, reference(name))?)
    };
    let added = pages_read(&node, add("one"))?;
    assert!(added > 500, "{added}");
    let added = pages_read(&node, add("other"))?;
    assert!(added > 500, "{added}");
    let dropped = pages_read(&node, |tables| Ok(tables.drop_reference(number, "one")?))?;
    assert!(dropped < 100, "{dropped}");
    // One that is new is looked at beside others that are not.
    node.run(|tx| {
        tx.rows("children")?
            .update(&[7.into()], &[("parent", 1.into())])
    })?;
    node.run(|tx| {
        let mut tables = tx.tables()?;
        tables.drop_reference(number, "other")?;
        let found =
            Rows::numbered(&mut tables, number)?.update(&[7.into()], &[("parent", 2.into())]);
        assert!(found?, "it is there");
        let refused = tables
            .add_reference(number, reference("other"))
            .unwrap_err();
        assert!(refused.to_string().contains("\"other\""), "{refused}");
        Rows::numbered(&mut tables, number)?.update(&[7.into()], &[("parent", 1.into())])?;
        tables.add_reference(number, reference("other"))?;
        assert_eq!(
            tables
                .row_schema(number)
                .expect("a table")
                .foreign_keys
                .len(),
            1
        );
        Ok::<_, NodeError>(())
    })
}

fn a_row_in_hand_is_not_read_again_to_be_checked<P: Place>() -> Result<(), NodeError> {
    let place = P::new();
    let node = place.join()?;
    let id = Schema::new().column("id", Type::U64).primary_key(["id"]);
    node.create_table("parents", id.clone())?;
    let plain = id.column("parent", Type::U64).column("x", Type::I64);
    let checked = plain.clone().check("positive", "x > 0");
    let referring = checked
        .clone()
        .foreign_key("of", ["parent"], "parents", ["id"]);
    node.run(|tx| tx.rows("parents")?.insert(&[("id", 1.into())]))?;
    let mut read = Vec::new();
    for (name, schema) in [
        ("plain", plain),
        ("checked", checked),
        ("referring", referring),
    ] {
        let number = node.create_table(name, schema)?;
        let row = [("id", 1.into()), ("parent", 1.into()), ("x", 1.into())];
        let inserted = pages_read(&node, |tables| {
            Ok(Rows::numbered(tables, number)?.insert(&row)?)
        })?;
        let updated = |change: [(&'static str, Value); 1]| {
            pages_read(&node, |tables| {
                assert!(Rows::numbered(tables, number)?.update(&[1.into()], &change)?);
                Ok(())
            })
        };
        read.push((inserted, updated([("x", 2.into())])?));
        if name != "plain" {
            let refused = updated([("x", 0.into())]).unwrap_err().to_string();
            assert!(refused.contains("\"positive\""), "{refused}");
        }
        if name == "referring" {
            let refused = updated([("parent", 2.into())]).unwrap_err().to_string();
            assert!(refused.contains("\"of\""), "{refused}");
        }
    }
    assert_eq!(read[1], read[0]);
    assert_eq!(read[2].1, read[0].1);
    // The row to which it refers.
    let parent = pages_read(&node, |tables| {
        Ok(tables.get_row(0, &[1.into()]).map(drop)?)
    })?;
    assert!(read[2].0 <= read[0].0 + parent, "{read:?}, {parent}");
    Ok(())
}

/// A row that is found to be changed is not found again: one look for it, and one for its place.
fn a_row_that_is_changed_is_looked_for_once<P: Place>() -> Result<(), NodeError> {
    let place = P::new();
    let node = place.join()?;
    let accounts = node.table::<Account>()?;
    node.run(|tx| (0..2000).try_for_each(|id| tx.insert(accounts, &account(id, 0))))?;
    let number = accounts.number();
    // The catalogue's version is looked at in each transaction.
    let catalogue = pages_read(&node, |_| Ok(()))?;
    let look = pages_read(&node, |tables| {
        Ok(tables.get_row(number, &[7.into()]).map(drop)?)
    })? - catalogue;
    assert!(look > 1, "{look}");
    let by_name = pages_read(&node, |tables| {
        let change = [("balance", 1.into())];
        assert!(Rows::numbered(tables, number)?.update(&[7.into()], &change)?);
        Ok(())
    })?;
    let as_record = pages_read(&node, |tables| {
        let change = |account: &mut Account| {
            account.balance += 1;
            Ok::<_, NodeError>(())
        };
        let changed = records::try_update(tables, accounts, &7, change)?;
        assert!(changed.is_some());
        Ok(())
    })?;
    let removed = pages_read(&node, |tables| {
        let removed = records::remove(tables, accounts, &7)?;
        assert_eq!(removed, Some(account(7, 2)));
        // It is looked for again.
        assert_eq!(records::remove(tables, accounts, &7)?, None);
        Ok(())
    })?;
    let changed = [by_name, as_record].map(|pages| pages - catalogue);
    assert_eq!(changed, [2 * look, 2 * look]);
    assert_eq!(removed - catalogue, 3 * look);
    Ok(())
}

on_both!(
    a_row_that_is_changed_is_looked_for_once,
    rows_are_looked_at_for_references_that_are_new,
    a_row_in_hand_is_not_read_again_to_be_checked,
);
