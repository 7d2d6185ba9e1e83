//! Procedures are registered by name, for as long as a handle exists.

use sardonyx::procedures::{Procedure, TableSpace};
use sardonyx::{Error, Tables, Transaction};

struct Give(u64);

impl Procedure for Give {
    type Arguments = ();
    type Output = u64;
    type Error = ();
    type Located = ();

    fn name(&self) -> &str {
        "give"
    }
    fn locate(&self, _: &(), _: &TableSpace) {}
    fn execute(&self, _: &(), (): (), _: &mut Transaction<'_>) -> Result<u64, ()> {
        Ok(self.0)
    }
}

/// Another type with the same name.
struct Other;

impl Procedure for Other {
    type Arguments = ();
    type Output = ();
    type Error = ();
    type Located = ();

    fn name(&self) -> &str {
        "give"
    }
    fn locate(&self, _: &(), _: &TableSpace) {}
    fn execute(&self, _: &(), (): (), _: &mut Transaction<'_>) -> Result<(), ()> {
        Ok(())
    }
}

fn is_refused<T>(outcome: Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::Refused(_)))
}

#[test]
fn a_name_is_taken_for_as_long_as_somebody_has_the_procedure() {
    let directory = tempfile::tempdir().expect("a directory");
    let tables = Tables::open(directory.path().join("x.sdx")).expect("opens");
    let first = tables.register(Give(1)).expect("the first");
    let second = first.clone();
    assert!(is_refused(tables.register(Give(2))));
    assert!(is_refused(tables.register(Other)));
    drop(first);
    assert!(is_refused(tables.register(Give(3))));
    assert_eq!(tables.call(&second, ()).expect("runs").expect("gives"), 1);
    drop(second);
    let other = tables.register(Other).expect("the name is free");
    assert!(is_refused(tables.register_or_share(Give(4))));
    drop(other);
    let shared = tables.register_or_share(Give(5)).expect("registered");
    let same = tables.register_or_share(Give(6)).expect("shared");
    for procedure in [&shared, &same] {
        let given = tables.call(procedure, ()).expect("runs").expect("gives");
        assert_eq!(given, 5);
    }
    drop(shared);
    assert!(is_refused(tables.register(Give(7))));
    drop(same);
    let anew = tables.register_or_share(Give(8)).expect("registered anew");
    assert_eq!(anew.procedure().0, 8);
}
