//! Every store behaves as the model.

use sardonyx_lab::ycsb::operations::key_of;
use sardonyx_lab::ycsb::store::Model;
use sardonyx_lab::ycsb::workload::{Operations, Workload};
use sardonyx_lab::ycsb::{Engine, Store};
use sardonyx_peers::stores::registry;

const ROWS: u64 = 200;

fn is_as_the_model(engine: &Engine, fields: u8) {
    let directory = tempfile::tempdir().unwrap();
    let mut model = Model::open(directory.path(), fields).unwrap();
    let mut store = (engine.open)(directory.path(), fields).unwrap();
    model.load(&mut (0..ROWS).map(key_of)).unwrap();
    store.load(&mut (0..ROWS).map(key_of)).unwrap();
    let mut rows = ROWS;
    for workload in Workload::YCSB.into_iter().chain([Workload::Scans]) {
        let mut operations = Operations::new(workload, rows, fields, 4);
        for batch in [1, 60, 7] {
            let drawn: Vec<_> = (0..batch).map(|_| operations.operation()).collect();
            let seen = store.run(&drawn).unwrap();
            assert_eq!(seen, model.run(&drawn).unwrap(), "{}", engine.name);
        }
        rows = operations.rows();
        drop(store);
        store = (engine.open)(directory.path(), fields).unwrap();
    }
}

#[test]
fn every_store_sees_what_the_model_sees_and_keeps_it() {
    for engine in registry() {
        is_as_the_model(&engine, 1);
        is_as_the_model(&engine, 10);
    }
}
