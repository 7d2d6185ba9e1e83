//! Nodes by the face: structs with `#[derive(Record)]`, one error for everything, and a database that is another
//! way's.

use sardonyx::nodes::{
    LooseNode, LooseOptions, NodeError, NodeOptions, Nodes, OneHost, PageServer, Serving,
    StorageOptions, TableNode,
};
use sardonyx::{Error, Record, Tables, record};

#[derive(Record, Debug, PartialEq, Clone)]
#[record(table = "customers", key = id)]
struct Customer {
    id: u64,
    name: String,
    discount: Option<f64>,
    state: State,
}

#[derive(Record, Debug, PartialEq, Clone)]
enum State {
    Open,
    Closed,
}

mod later {
    use super::Record;

    #[derive(Record, Debug)]
    #[record(table = "customers", key = id)]
    pub struct Customer {
        pub id: u64,
        pub name: Option<String>,
    }
}

record! {
    #[table("accounts", key = id)]
    #[derive(Debug, PartialEq)]
    struct Account { id: u64, balance: i64 }
}

struct Place {
    directory: tempfile::TempDir,
    memory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place {
            directory: tempfile::tempdir().expect("a directory"),
            memory: tempfile::tempdir_in("/dev/shm").expect("a directory"),
        }
    }

    fn open(&self) -> Result<Nodes, Error> {
        let options = NodeOptions {
            pages: 1024,
            slots: 4,
            shared_memory: self.memory.path().into(),
            storage: StorageOptions {
                memory_bytes_max: 1 << 26,
                ..StorageOptions::default()
            },
            ..NodeOptions::default()
        };
        Ok(Nodes::open(self.directory.path(), options)?)
    }
}

fn customer(id: u64, name: &str) -> Customer {
    Customer {
        id,
        name: name.to_string(),
        discount: None,
        state: State::Open,
    }
}

#[test]
fn structs_of_any_length_by_every_verb() -> Result<(), Error> {
    let place = Place::new();
    let nodes = place.open()?;
    structs(&nodes.join()?, &nodes.join()?)
}

#[test]
fn structs_of_any_length_by_every_verb_on_loosely_coupled_nodes() -> Result<(), Error> {
    let (directory, members) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let storage = StorageOptions {
        memory_bytes_max: 1 << 26,
        ..StorageOptions::default()
    };
    let server = PageServer::open(directory.path(), 1024, storage)?;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let serving = Serving::start(server, listener, None)?;
    let join = || {
        let register = Box::new(OneHost::open(members.path())?);
        LooseNode::join(register, LooseOptions::new(serving.address()))
    };
    structs(&join()?, &join()?)
}

fn structs(one: &impl TableNode, other: &impl TableNode) -> Result<(), Error> {
    let schema = Customer::declared().index("by_discount", ["discount", "id desc"]);
    one.create_table("customers", schema)?;
    let customers = one.table::<Customer>()?;
    let same = other.table::<Customer>()?;
    let long = "Ada, Countess of Lovelace, ".repeat(200);
    one.run(|tx| {
        for id in 1..=50 {
            tx.insert(customers, &customer(id, "Ada"))?;
        }
        tx.insert(customers, &customer(60, &long))
    })?;
    let duplicate = other.run(|tx| tx.insert(same, &customer(60, "Grace")));
    assert!(matches!(
        Error::from(duplicate.unwrap_err()),
        Error::Duplicate(_)
    ));
    other.run(|tx| {
        let state = tx.update(same, 60, |customer| {
            customer.discount = Some(0.25);
            std::mem::replace(&mut customer.state, State::Closed)
        })?;
        assert_eq!(state, Some(State::Open));
        assert_eq!(tx.update(same, 61, |_| ())?, None);
        assert!(tx.put(same, &customer(7, "Grace"))?);
        assert!(!tx.put(same, &customer(70, "Grace"))?);
        assert!(tx.delete(same, 8)? && !tx.delete(same, 8)?);
        Ok::<(), Error>(())
    })?;
    let found = one.run(|tx| tx.get(customers, 60))?;
    let expected = Customer {
        discount: Some(0.25),
        state: State::Closed,
        ..customer(60, &long)
    };
    assert_eq!(found, Some(expected));
    let (cheap, dear) = one.run(|tx| {
        let by_discount = tx.index(customers, "by_discount")?;
        let cheap = by_discount.get_by(0.25)?.map(|customer| customer.id);
        // Nulls come last; those of one discount by descending numbers.
        let dear = by_discount.range::<f64>(..)?.nth(1).transpose()?;
        Ok::<_, NodeError>((cheap, dear.map(|customer| customer.id)))
    })?;
    assert_eq!((cheap, dear), (Some(60), Some(70)));
    let last = one.run(|tx| {
        let last = tx.range(customers, 50_u64..)?.rev();
        last.map(|customer| Ok(customer?.id))
            .collect::<Result<Vec<u64>, NodeError>>()
    })?;
    assert_eq!(last, [70, 60, 50]);
    let all = other.run(|tx| Ok::<_, NodeError>(tx.scan(same)?.count()))?;
    assert_eq!(all, 51);
    let differs = one.table::<later::Customer>().unwrap_err();
    assert!(differs.to_string().contains("\"name\""), "{differs}");
    assert!(matches!(Error::from(differs), Error::Refused(_)));
    assert_eq!(one.check_tables()?.rows, 51);
    Ok(())
}

/// A program's own error of any type undoes the transaction and is returned.
#[test]
fn an_error_undoes_and_comes_back() -> Result<(), Error> {
    let place = Place::new();
    let node = place.open()?.join()?;
    let accounts = node.table::<Account>()?;
    let refused = node.run(|tx| {
        tx.insert(accounts, &Account { id: 1, balance: 1 })?;
        Err::<(), Error>(Error::other("no"))
    });
    assert_eq!(refused.unwrap_err().to_string(), "no");
    assert_eq!(node.run(|tx| tx.count(accounts))?, 0);
    Ok(())
}

/// Each way names the kind of the other's database.
#[test]
fn nodes_and_tables_refuse_each_others_databases() -> Result<(), Error> {
    let place = Place::new();
    {
        let node = place.open()?.join()?;
        node.table::<Account>()?;
    }
    let refused = Tables::open(place.directory.path()).unwrap_err();
    let text = refused.to_string();
    assert!(
        text.contains("closely coupled nodes, with tables"),
        "{text}"
    );
    let place = Place::new();
    let tables = Tables::open(place.directory.path())?;
    tables.table::<Account>()?;
    tables.close()?;
    {
        let node = place.open()?.join()?;
        let refused = node.table::<Account>().unwrap_err();
        assert!(matches!(refused, NodeError::OtherPages), "{refused}");
    }
    let storage = StorageOptions::default();
    let refused = PageServer::open(place.directory.path(), 1024, storage.clone()).unwrap_err();
    assert!(matches!(refused, NodeError::NotAPageServers), "{refused}");
    let place = Place::new();
    drop(PageServer::open(
        place.directory.path(),
        1024,
        storage.clone(),
    )?);
    let refused = Tables::open(place.directory.path()).unwrap_err();
    assert!(
        matches!(refused, Error::Refused(_) | Error::Damaged(_)),
        "{refused}"
    );
    let node = place.open()?.join()?;
    let refused = node.table::<Account>().unwrap_err();
    assert!(matches!(refused, NodeError::OtherPages), "{refused}");
    drop(node);
    drop(PageServer::open(place.directory.path(), 1024, storage)?);
    Ok(())
}

#[test]
fn journals_of_texts() -> Result<(), Error> {
    use crate::journal_texts::{Event, event};
    let place = Place::new();
    let nodes = place.open()?;
    let (one, other) = (nodes.join()?, nodes.join()?);
    for number in 0..20 {
        let node = if number % 2 == 0 { &one } else { &other };
        let events = node.journal::<Event>()?;
        node.run(|tx| tx.append(&events, &event(number)))?;
    }
    let events = other.journal::<Event>()?;
    let rows = other.journal_range(events, ..)?;
    let rows: Vec<Event> = rows
        .map(|row| row.map(|(_, row)| row))
        .collect::<Result<_, _>>()?;
    assert!(rows.into_iter().eq((0..20).map(event)));
    Ok(())
}
