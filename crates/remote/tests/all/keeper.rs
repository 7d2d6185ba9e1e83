//! Copies whose register a real etcd keeps, at the place that SARDONYX_KEEPER names:
//!
//! ```text
//! SARDONYX_KEEPER=etcd://127.0.0.1:2379/test cargo test -p sardonyx-remote --test all keeper -- --ignored
//! ```

use crate::stores::rules::{keeps_the_contract, own_in_turn};
use sardonyx_base::random::system_random;
use sardonyx_remote::{RemoteOptions, Standing, copies_of, open};
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::{RemoteStore, StoreError};
use std::path::Path;
use std::sync::Arc;

fn place(keeper: &str, directory: &Path) -> String {
    let directory = directory.display();
    format!("copies:{keeper};file:{directory}/a;file:{directory}/b")
}

fn copies(place: &str) -> Arc<dyn RemotePlace> {
    open(place, &RemoteOptions::default()).expect("a set of copies")
}

#[test]
#[ignore = "wants a real etcd"]
fn copies_whose_register_is_in_an_etcd_keep_the_contract() {
    let etcd = std::env::var("SARDONYX_KEEPER").expect("SARDONYX_KEEPER names a place in an etcd");
    let name = || format!("{etcd}/{:016x}", system_random());
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (keeper, another) = (name(), name());
    keeps_the_contract(&*copies(&place(&keeper, one.path())));
    let store: Arc<dyn RemoteStore> = copies(&place(&another, other.path()));
    own_in_turn(0, &store);
    // Opened again, it is the same set.
    let set = copies_of(&place(&keeper, one.path()), &RemoteOptions::default());
    let set = set.unwrap().expect("its register");
    assert!(
        set.copies
            .iter()
            .all(|copy| copy.standing == Standing::InSync)
    );
    // A second database under the name of the first one, and a register that was lost.
    let third = tempfile::tempdir().unwrap();
    let refused = open(&place(&keeper, third.path()), &RemoteOptions::default()).unwrap_err();
    assert!(matches!(refused, StoreError::Setup { .. }), "{refused}");
    let refused = open(&place(&name(), one.path()), &RemoteOptions::default()).unwrap_err();
    assert!(matches!(refused, StoreError::Setup { .. }), "{refused}");
    assert!(
        refused.to_string().contains("a new set of copies begins"),
        "{refused}"
    );
}
