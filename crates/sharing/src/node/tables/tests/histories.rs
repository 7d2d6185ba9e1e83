//! Random verbs by several nodes in turn, of either coupling, beside a `BTreeMap`. Each finds the result of all earlier
//! verbs of all nodes. Nodes leave and others join, and now and then every page is checked.

use super::place::{Place, on_both};
use crate::node::{NodeError, TableNode, Transaction};
use sardonyx_base::random::Random;
use sardonyx_rows::schema::{Schema, SchemaBuilder, Type, Value};
use std::collections::BTreeMap;
use std::ops::Bound;

const KEYS: u64 = 250;
const STEPS: u64 = 240;

/// By its key: a number under which an index finds it, and a text of any length.
type Model = BTreeMap<u64, (i64, String)>;

fn things() -> SchemaBuilder {
    Schema::new()
        .column("key", Type::U64)
        .column("number", Type::I64)
        .column("text", Type::Text)
        .primary_key(["key"])
        .ordered()
        .index("by_number", ["number desc", "key"])
}

fn verb(tx: &mut Transaction<'_>, model: &mut Model, random: &mut Random) -> Result<(), NodeError> {
    let mut rows = tx.rows("things")?;
    let key = random.below(KEYS);
    let number = random.below(20) as i64 - 10;
    let length = random.below(40) + 800 * random.below(2) * random.below(8);
    let text = "t".repeat(length as usize);
    let row: [(&str, Value); 3] = [
        ("key", key.into()),
        ("number", number.into()),
        ("text", text.clone().into()),
    ];
    match random.below(8) {
        0..2 => match rows.insert(&row).map_err(NodeError::from) {
            Ok(()) => assert!(model.insert(key, (number, text)).is_none(), "{key}"),
            Err(NodeError::Rows(_)) => assert!(model.contains_key(&key), "{key}"),
            Err(error) => return Err(error),
        },
        2..4 => {
            let there = rows.put(&row)?;
            assert_eq!(model.insert(key, (number, text)).is_some(), there, "{key}");
        }
        4 => {
            let there = rows.update(&[key.into()], &[("number", number.into())])?;
            let row = model.get_mut(&key);
            assert_eq!(row.is_some(), there, "{key}");
            row.into_iter().for_each(|row| row.0 = number);
        }
        5..7 => {
            let there = rows.delete(&[key.into()])?;
            assert_eq!(model.remove(&key).is_some(), there, "{key}");
        }
        _ => {
            let to = key + random.below(60);
            let found = rows.index("primary")?.range(key..=to)?;
            let found: Vec<Vec<Value>> = found
                .map(|row| row?.to_values())
                .collect::<Result<_, NodeError>>()?;
            let expected = model.range(key..=to).map(|(key, (number, text))| {
                vec![(*key).into(), (*number).into(), text.as_str().into()]
            });
            assert_eq!(found, expected.collect::<Vec<Vec<Value>>>());
            let by_number = rows.index("by_number")?;
            let found = by_number.range((Bound::Included(number), Bound::Included(number)))?;
            let found: Vec<Value> = found
                .map(|row| row?.get("key"))
                .collect::<Result<_, NodeError>>()?;
            let expected = model.iter().filter(|(_, row)| row.0 == number);
            assert_eq!(
                found,
                expected.map(|row| (*row.0).into()).collect::<Vec<Value>>()
            );
        }
    }
    Ok(())
}

fn verbs_of_nodes_in_turn_are_as_their_model<P: Place>() -> Result<(), NodeError> {
    let mut random = Random::new(9);
    let place = P::new();
    let mut nodes = vec![place.join()?, place.join()?, place.join()?];
    nodes[0].create_table("things", things())?;
    let mut model = Model::new();
    for step in 1..=STEPS {
        let node = &nodes[random.below(nodes.len() as u64) as usize];
        let before = (model.clone(), random.clone());
        let gives_up = random.chance(1, 10);
        let verbs = 1 + random.below(5);
        let did = node.run(|tx| {
            (model, random) = before.clone();
            for _ in 0..verbs {
                verb(tx, &mut model, &mut random)?;
            }
            match gives_up {
                true => Err(NodeError::TooManyTables),
                false => Ok(()),
            }
        });
        match did {
            Err(NodeError::TooManyTables) => model = before.0,
            did => did?,
        }
        if step % 60 == 0 {
            // The oldest leaves, and its parts become others'.
            drop(nodes.remove(0));
            nodes.push(place.join()?);
            let pages = nodes[0].check_tables()?;
            assert_eq!(pages.rows, model.len() as u64);
            assert!(pages.values > 0 && pages.nodes > 4, "{pages:?}");
        }
    }
    Ok(())
}

on_both!(verbs_of_nodes_in_turn_are_as_their_model);
