//! Databases that were created in different ways: each verb names the way, and how to open it. Tables of nodes are
//! read.

use crate::common::{json, run};
use crate::serving::Serving as Served;
use rustix::process::{Pid, Signal, kill_process};
use sardonyx::Tables;
use sardonyx_mapped::heap::Heap;
use sardonyx_sharing::node::loose::{LooseNode, LooseOptions, OneHost, PageServer, Serving};
use sardonyx_sharing::node::{NodeOptions, Nodes, TableNode};
use sardonyx_storage::engine::StorageOptions;
use std::net::TcpListener;
use std::path::Path;

sardonyx::record! {
    #[table("things", key = id)]
    struct Thing {
        id: u64,
        size: i64,
    }
}

const ROWS: u64 = 1300;

fn fill(node: &impl TableNode) {
    let things = node.table::<Thing>().unwrap();
    for hundred in 0..ROWS / 100 {
        let ids = 100 * hundred..100 * (hundred + 1);
        node.run(|tx| {
            ids.clone().try_for_each(|id| {
                let size = -(id as i64);
                tx.insert(things, &Thing { id, size })
            })
        })
        .unwrap();
    }
}

fn options(memory: &Path) -> NodeOptions {
    NodeOptions {
        pages: 512,
        shared_memory: memory.into(),
        ..NodeOptions::default()
    }
}

/// Tables of closely coupled nodes.
fn close(path: &Path) {
    let nodes = Nodes::open(path, options(path.parent().unwrap())).unwrap();
    fill(&nodes.join().unwrap());
}

/// Tables of loosely coupled nodes.
fn loose(path: &Path) {
    let server = PageServer::open(path, 2048, StorageOptions::default()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let serving = Serving::start(server, listener, None).unwrap();
    let members = OneHost::open(path.with_extension("members")).unwrap();
    let node = LooseNode::join(Box::new(members), LooseOptions::new(serving.address()));
    fill(&node.unwrap());
}

/// Pages that closely coupled nodes use by number.
fn by_number(path: &Path, page: u64) {
    let nodes = Nodes::open(path, options(path.parent().unwrap())).unwrap();
    let node = nodes.join().unwrap();
    node.run(|tx| tx.write(page, 8, &[1; 8])).unwrap();
}

/// The memory that processes share.
fn memory(path: &Path) {
    let place = path.parent().unwrap();
    let options = sardonyx_mapped::Options::new().address_space_bytes(64 << 20);
    let segment = options.shared_memory(place).open(path).unwrap();
    let made = segment.run(|tx| Heap::open_or_format(tx).map(drop));
    made.unwrap();
    segment.close().unwrap();
}

/// Every verb that opens or reads tables refuses with a sentence that has these words.
fn is_refused(path: &str, verbs: &[&[&str]], words: &str) {
    for verb in verbs {
        let arguments = [&[verb[0], path], &verb[1..]].concat();
        let (printed, said) = run(2, &arguments);
        assert!(said.contains(words), "{arguments:?}: {said}");
        assert!(!said.contains("damaged"), "{arguments:?}: {said}");
        assert_eq!(printed, "", "{arguments:?}");
    }
}

const OPEN: [&[&str]; 4] = [
    &["sql", "-c", "select 1"],
    &["serve"],
    &["checkpoint"],
    &["compact"],
];
const READ: [&[&str]; 3] = [
    &["schema"],
    &["rows", "things"],
    &["export", "things", "-", "--format", "csv"],
];

#[test]
fn every_verb_says_in_which_way_a_database_was_made() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let all = [
        (
            "close",
            close as fn(&Path),
            "closely coupled nodes, with tables",
        ),
        ("loose", loose, "page server of loosely coupled nodes"),
        ("first", |path| by_number(path, 0), "hold no tables"),
        ("later", |path| by_number(path, 100), "hold no tables"),
        ("memory", memory, "memory that processes share"),
    ];
    for (name, make, words) in all {
        let path = place.path().join(name);
        make(&path);
        let path = path.to_str().unwrap();
        match name {
            "close" => is_refused(path, &OPEN[2..], words),
            _ => is_refused(path, &OPEN, words),
        }
        if name != "close" && name != "loose" {
            is_refused(path, &READ, words);
        }
        // It is as it was.
        run(0, &["verify", path]);
    }
}

/// SQL works on the tables of closely coupled nodes. Changes of rows and of tables are kept, also those of imported
/// files, and features that nodes lack are refused by name.
#[test]
fn sql_and_import_work_on_the_tables_of_nodes() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = place.path().join("close");
    close(&path);
    let path = path.to_str().unwrap();
    let script =
        "create table owners (id int8 primary key, name text not null unique check (name <> ''));
            insert into owners values (1, 'Ada'), (2, 'Grace');
            alter table things add column owner int8 references owners on delete cascade;
            create index things_owner on things (owner);
            begin;
            update things set owner = 1 where id < 10;
            update things set owner = 2 where id between 10 and 14;
            savepoint s;
            delete from things;
            rollback to s;
            commit;
            delete from owners where name = 'Ada'";
    run(0, &["sql", path, "-c", script]);
    let left = "select count(*), min(id), sum(owner) from things";
    let left = run(0, &["sql", path, "--format", "csv", "-c", left]).0;
    assert_eq!(left.lines().last(), Some("1290,10,10"), "{left}");
    let orphan = "update things set owner = 7 where id = 20";
    let said = run(4, &["sql", path, "-c", orphan]).1;
    assert!(said.contains("things_owner_fkey"), "{said}");
    let said = run(4, &["sql", path, "-c", "create sequence s"]).1;
    assert!(said.contains("nodes' database"), "{said}");
    let file = format!("{path}.csv");
    std::fs::write(&file, "id,size,owner\n5000,1,2\n5001,1,9\n5002,1,2\n").unwrap();
    let (printed, said) = run(1, &["import", path, "things", &file, "--on-error", "skip"]);
    assert!(printed.contains("2 rows inserted"), "{printed}{said}");
    let rows = ["rows", path, "things", "--where", "id >= 5000", "--json"];
    let rows = run(0, &rows).0;
    assert_eq!(rows.lines().count(), 2, "{rows}");
    let schema = run(0, &["schema", path]).0;
    assert!(schema.contains("REFERENCES owners"), "{schema}");
    run(0, &["verify", path]);
}

/// Redis, which nodes do not serve, is never dropped silently: the log names it if it is on by default, also with a
/// configuration that does not name it, but not again when that is read again; an address that the configuration names is
/// refused. HTTP is served.
#[test]
fn a_node_serves_http_and_names_redis() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = place.path().join("shared.sdx");
    let configuration = place.path().join("node.toml");
    std::fs::write(&configuration, "[limits]\nconnections = 7\n").unwrap();
    let given = ["--node", "--config", configuration.to_str().unwrap()];
    let with_http = [&given[..], &["--http", ":0"]].concat();
    let node = Served::start_with_defaults(&path, &with_http);
    assert_eq!(node.redis, None);
    assert!(node.http("/readyz").starts_with("HTTP/1.1 200"));
    let metrics = node.http("/metrics");
    assert!(metrics.contains("\nsardonyx_ready 1\n"), "{metrics}");
    std::fs::write(&configuration, "[limits]\nconnections = 8\n").unwrap();
    kill_process(Pid::from_child(&node.process), Signal::HUP).unwrap();
    let said: Vec<String> = node.log.iter().take(2).collect();
    assert!(
        said[0].contains("--redis off ends this message"),
        "{said:?}"
    );
    assert!(said[1].contains("limits.connections"), "{said:?}");
    assert_eq!(node.end(), [""; 0]);
    std::fs::write(&configuration, "redis = \"127.0.0.1:0\"\n").unwrap();
    let verb = [
        "serve",
        path.to_str().unwrap(),
        "--postgres",
        ":0",
        "--http",
        "off",
    ];
    let said = run(2, &[&verb[..], &given[..]].concat()).1;
    assert!(said.contains("--redis off"), "{said}");
}

/// Servers of one host begin with the same command: the one that finds the default address of HTTP taken leaves it out. An
/// address that is named is needed.
#[test]
fn a_node_leaves_the_default_address_of_http_to_another_program() {
    // Held here, or by another program.
    let _held = TcpListener::bind("127.0.0.1:8080");
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = place.path().join("shared.sdx");
    let configuration = place.path().join("node.toml");
    std::fs::write(&configuration, "[limits]\nconnections = 7\n").unwrap();
    let config = ["--config", configuration.to_str().unwrap()];
    let given = [&["--node", "--redis", "off"][..], &config].concat();
    let node = Served::start_with_defaults(&path, &given);
    assert_eq!(node.http, None);
    // It is no default of a configuration that is read again either.
    std::fs::write(&configuration, "[limits]\nconnections = 8\n").unwrap();
    kill_process(Pid::from_child(&node.process), Signal::HUP).unwrap();
    let said: Vec<String> = node.log.iter().take(2).collect();
    assert!(said[0].contains("--http off"), "{said:?}");
    assert!(said[1].contains("limits.connections"), "{said:?}");
    let url = format!("postgres://{}", node.postgres);
    let sql = ["sql", &url, "--format", "csv", "--quiet", "-c", "select 1"];
    assert!(run(0, &sql).0.contains('1'));
    let verb = ["serve", path.to_str().unwrap(), "--postgres", ":0"];
    let named = ["--node", "--redis", "off", "--http", "127.0.0.1:8080"];
    let said = run(4, &[&verb[..], &named].concat()).1;
    assert!(said.contains("127.0.0.1:8080"), "{said}");
    assert_eq!(node.end(), [""; 0]);
}

/// Two servers on one database, each a node of it: one reads the other's commits and uses its changed tables. When one
/// is killed the other continues.
#[test]
fn each_node_serves_and_goes_on_when_the_other_is_killed() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = place.path().join("shared.sdx");
    let [one, mut other] = [(); 2].map(|()| Served::start_at(&path, &["--node"]));
    let sql = |serving: &Served, code: i32, text: &str| {
        let url = format!("postgres://{}", serving.postgres);
        run(
            code,
            &["sql", &url, "--format", "csv", "--quiet", "-c", text],
        )
    };
    let tables = "create table parents (id int primary key, name text default 'none');
        create table children (id int primary key, parent int not null references parents)";
    sql(&one, 0, tables);
    let ids: Vec<String> = (1..=20).map(|id| format!("({id})")).collect();
    let parents = format!("insert into parents (id) values {}", ids.join(", "));
    sql(&one, 0, &parents);
    sql(
        &other,
        0,
        "insert into children select id, id from parents where id < 10",
    );
    sql(
        &one,
        0,
        "alter table children add column age int default 7 check (age > 0)",
    );
    sql(&other, 0, "insert into children values (50, 10, 1)");
    let said = sql(&other, 4, "insert into children values (51, 10, 0)").1;
    assert!(said.contains("children_age_check"), "{said}");
    let said = sql(&one, 4, "delete from parents where id = 10").1;
    assert!(said.contains("children_parent_fkey"), "{said}");
    let transaction =
        "begin; update parents set name = 'x' where id = 1; select sum(age) from children; commit";
    sql(&one, 0, transaction);
    let sum = "select sum(age), max(name) from children, parents where parent = parents.id";
    assert!(sql(&other, 0, sum).0.ends_with("64,x\n"));
    other.process.kill().unwrap();
    other.process.wait().unwrap();
    sql(
        &one,
        0,
        "delete from children where id = 50; delete from parents where id = 10",
    );
    assert!(
        sql(&one, 0, "select count(*) from parents")
            .0
            .ends_with("19\n")
    );
    let mut said = one.end();
    // A busy machine makes statements slow.
    said.retain(|line| !line.contains("a slow statement"));
    assert!(said.is_empty(), "{said:?}");
    let refused = [
        "serve",
        path.to_str().unwrap(),
        "--node",
        "--redis",
        "127.0.0.1:0",
    ];
    let said = run(2, &refused).1;
    assert!(said.contains("--redis off"), "{said}");
    let rows = ["rows", path.to_str().unwrap(), "children", "--json"];
    assert_eq!(run(0, &rows).0.lines().count(), 9);
}

#[test]
fn tables_of_nodes_are_read_as_those_of_tables_are() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    for (name, make) in [("close", close as fn(&Path)), ("loose", loose)] {
        let path = place.path().join(name);
        make(&path);
        let path = path.to_str().unwrap();
        let schema = run(0, &["schema", path]).0;
        assert!(schema.contains("CREATE TABLE things"), "{schema}");
        assert!(schema.contains("PRIMARY KEY (id)"), "{schema}");
        let condition = ["rows", path, "things", "--where", "size < -1297"];
        let rows = run(0, &[&condition[..], &["--json"]].concat()).0;
        assert_eq!(
            rows,
            "{\"id\":1298,\"size\":-1298}\n{\"id\":1299,\"size\":-1299}\n"
        );
        let some = run(0, &["rows", path, "things", "--limit", "3", "--json"]).0;
        assert_eq!(some.lines().count(), 3);
        let file = format!("{path}.csv");
        let done = json(&["export", path, "things", &file]);
        assert_eq!(done["rows"], ROWS);
        let lines = std::fs::read_to_string(&file).unwrap();
        assert_eq!(lines.lines().count() as u64, ROWS + 1);
        let (_, said) = run(4, &["rows", path, "nothing"]);
        assert!(said.contains("there is no table"), "{said}");
    }
}

#[test]
fn an_empty_database_and_one_of_tables_are_read_as_before() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("some.sdx");
    Tables::open(&path).unwrap().close().unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(run(0, &["schema", path]).0, "");
    let tables = Tables::open(path).unwrap();
    tables.table::<Thing>().unwrap();
    tables.close().unwrap();
    assert!(run(0, &["schema", path]).0.contains("things"));
    assert_eq!(run(0, &["rows", path, "things", "--json"]).0, "");
}

#[test]
fn the_directory_of_nodes_is_told_from_their_database() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("cluster.json"), "{}").unwrap();
    let (_, said) = run(2, &["schema", place.path().to_str().unwrap()]);
    assert!(said.contains("bank.sdx in it"), "{said}");
}
