//! The keeper over a scripted etcd: lost requests and answers, servers that are silent or refuse, tokens, another
//! cluster, and states that were restored.

use super::client::Client;
use super::fake::{ScriptedEtcd, State};
use super::http::{Call, Effect};
use super::keeper::EtcdKeeper;
use super::{EtcdError, credentials::Credentials, http::Http};
use crate::rules::keeps_objects;
use sardonyx_storage::remote_log::objects::RemoteObjects;
use sardonyx_storage::remote_log::store::{
    Appended, Register, RegisterVersion, RemoteStore, StoreError, Swapped,
};
use serde_json::Value;
use std::fmt;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Names an endpoint for a test in a process of its own.
const ENDPOINT: &str = "SARDONYX_TEST_ENDPOINT";

/// No machine is so busy.
const LONG: Duration = Duration::from_secs(60);

/// An etcd whose calls are functions, for the exploration.
struct InProcess(Mutex<State>);

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an etcd in this process")
    }
}

impl Call for InProcess {
    fn call(&self, path: &'static str, body: &Value, _: Effect) -> Result<Value, EtcdError> {
        Ok(self.0.lock().unwrap().answer(path, body))
    }
}

/// The registers of an etcd of its own; a planted fault: its puts compare no revision.
pub(crate) fn in_process(compares_nothing: bool) -> EtcdKeeper {
    let mut state = State::default();
    state.compares_nothing = compares_nothing;
    let client = Client::over(Box::new(InProcess(Mutex::new(state))));
    EtcdKeeper::new(client, "etcd://here/bank", "bank")
}

/// An etcd that is restored from copies of it.
#[derive(Default)]
pub(crate) struct RestorableEtcd(Arc<Mutex<State>>);

struct Shared(Arc<Mutex<State>>);

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an etcd in this process")
    }
}

impl Call for Shared {
    fn call(&self, path: &'static str, body: &Value, _: Effect) -> Result<Value, EtcdError> {
        Ok(self.0.lock().unwrap().answer(path, body))
    }
}

impl RestorableEtcd {
    /// Its registers, as a process that starts now has them.
    pub(crate) fn keeper(&self) -> EtcdKeeper {
        let client = Client::over(Box::new(Shared(self.0.clone())));
        EtcdKeeper::new(client, "etcd://here/bank", "bank")
    }

    pub(crate) fn state(&self) -> State {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn restore(&self, state: State) {
        *self.0.lock().unwrap() = state;
    }
}

fn over(endpoints: &[&str], user: Option<(&str, &str)>) -> EtcdKeeper {
    let credentials = Credentials::from("here", false, |name: &str| match (name, user) {
        ("ETCDCTL_USER", Some((user, _))) => Some(user.into()),
        ("ETCDCTL_PASSWORD", Some((_, password))) => Some(password.into()),
        _ => None,
    });
    let endpoints = endpoints.iter().map(|endpoint| endpoint.to_string());
    let http = Http::new(endpoints.collect(), credentials.unwrap(), LONG);
    EtcdKeeper::new(Client::over(Box::new(http)), "etcd://here/bank", "bank")
}

fn keeper(etcd: &ScriptedEtcd) -> EtcdKeeper {
    over(&[etcd.endpoint(0), etcd.endpoint(1)], None)
}

fn read(keeper: &EtcdKeeper) -> Option<(Vec<u8>, RegisterVersion)> {
    let stored = keeper.read_register(Register::Copies).unwrap();
    stored.map(|stored| (stored.bytes, stored.version))
}

fn swap(
    keeper: &EtcdKeeper,
    expected: Option<&RegisterVersion>,
    bytes: &[u8],
) -> Result<Swapped, StoreError> {
    keeper.swap_register(Register::Copies, expected, bytes)
}

fn puts(etcd: &ScriptedEtcd) -> Vec<usize> {
    let asked = etcd.asked().into_iter();
    asked
        .filter(|(_, path)| path == "/v3/kv/txn")
        .map(|(number, _)| number)
        .collect()
}

#[test]
fn registers_are_replaced_by_comparison_and_objects_are_kept() {
    let etcd = ScriptedEtcd::start();
    let (one, other) = (keeper(&etcd), keeper(&etcd));
    keeps_objects(&one);
    assert!(one.is_near(), "hosts see a hand-over at once");
    assert_eq!(read(&one), None);
    assert_eq!(swap(&one, None, b"a").unwrap(), Swapped::Ok);
    assert_eq!(swap(&other, None, b"b").unwrap(), Swapped::Conflict);
    let (bytes, first) = read(&other).unwrap();
    assert_eq!(bytes, b"a");
    assert_eq!(swap(&other, Some(&first), b"").unwrap(), Swapped::Ok);
    assert_eq!(swap(&one, Some(&first), b"c").unwrap(), Swapped::Conflict);
    assert_eq!(read(&one).unwrap().0, b"", "an empty value is a value");
    // A version of another store is of no register here, and never means "absent".
    for version in ["0", "-1", "", "W/\"1\""] {
        let version = RegisterVersion(version.into());
        assert_eq!(swap(&one, Some(&version), b"c").unwrap(), Swapped::Conflict);
        let of_absent = one.swap_register(Register::Boundary, Some(&version), b"c");
        assert_eq!(of_absent.unwrap(), Swapped::Conflict);
    }
    // The registers are not each other.
    assert_eq!(one.read_register(Register::Primary).unwrap(), None);
    let long = vec![0; (1 << 20) + 1];
    let refused = swap(&one, Some(&first), &long).unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. }), "{refused}");
}

#[test]
fn an_entry_of_a_log_is_refused_by_name() {
    let etcd = ScriptedEtcd::start();
    let keeper = keeper(&etcd);
    for refused in [
        keeper.append_at(1, b"x").map(drop),
        keeper.read(1).map(drop),
        keeper.list(0).map(drop),
        keeper.remove(&[1]),
    ] {
        let said = refused.unwrap_err().to_string();
        assert!(said.contains("etcd keeps registers, and no log"), "{said}");
    }
    assert_eq!(etcd.asked(), []);
}

#[test]
fn i12_a_put_without_an_answer_is_unclear_and_is_not_sent_again() {
    let etcd = ScriptedEtcd::start();
    let keeper = keeper(&etcd);
    assert_eq!(swap(&keeper, None, b"a").unwrap(), Swapped::Ok);
    let (_, first) = read(&keeper).unwrap();
    etcd.asked();
    // It was done.
    etcd.lose_answers(1);
    let unclear = swap(&keeper, Some(&first), b"b").unwrap_err();
    assert!(matches!(unclear, StoreError::Unclear { .. }), "{unclear}");
    assert_eq!(puts(&etcd).len(), 1, "to one server, once");
    let (bytes, second) = read(&keeper).unwrap();
    assert_eq!(bytes, b"b");
    // It was not done.
    etcd.lose_requests(1);
    let unclear = swap(&keeper, Some(&second), b"c").unwrap_err();
    assert!(matches!(unclear, StoreError::Unclear { .. }), "{unclear}");
    assert_eq!(puts(&etcd).len(), 1);
    assert_eq!(read(&keeper).unwrap(), (b"b".to_vec(), second.clone()));
    // A server that could not reach the others in time: it may still be done.
    let timed_out = (
        503,
        r#"{"error":"etcdserver: request timed out","code":14}"#,
    );
    etcd.refuse(0, Some(timed_out));
    etcd.refuse(1, Some(timed_out));
    let unclear = swap(&keeper, Some(&second), b"d").unwrap_err();
    assert!(matches!(unclear, StoreError::Unclear { .. }), "{unclear}");
    assert_eq!(puts(&etcd).len(), 1);
}

#[test]
fn another_server_is_asked_when_one_is_down_or_silent_or_refuses() {
    let etcd = ScriptedEtcd::start();
    // No server listens at the first one: also a put goes to the next, as it cannot have arrived.
    let keeper = over(&["http://127.0.0.1:1", etcd.endpoint(1)], None);
    assert_eq!(swap(&keeper, None, b"a").unwrap(), Swapped::Ok);
    assert_eq!(puts(&etcd), [1]);

    let keeper = over(&[etcd.endpoint(0), etcd.endpoint(1)], None);
    let (_, version) = read(&keeper).unwrap();
    etcd.be_silent([true, false]);
    assert!(read(&keeper).is_some(), "a read is asked of the next one");
    etcd.asked();
    assert_eq!(swap(&keeper, Some(&version), b"b").unwrap(), Swapped::Ok);
    assert_eq!(
        puts(&etcd),
        [1],
        "the one that answered last is asked first"
    );
    etcd.be_silent([false; 2]);
    etcd.refuse(
        1,
        Some((503, r#"{"error":"etcdserver: no leader","code":14}"#)),
    );
    assert_eq!(read(&keeper).unwrap().0, b"b");
    // After an unclear put the next request begins at the other one.
    etcd.refuse(1, None);
    etcd.be_silent([true, false]);
    let (_, version) = read(&keeper).unwrap();
    etcd.be_silent([false, true]);
    swap(&keeper, Some(&version), b"c").unwrap_err();
    assert_eq!(swap(&keeper, Some(&version), b"c").unwrap(), Swapped::Ok);
    etcd.be_silent([true; 2]);
    let unclear = keeper.read_register(Register::Copies).unwrap_err();
    assert!(matches!(unclear, StoreError::Unclear { .. }), "{unclear}");
}

#[test]
fn each_refusal_has_its_kind() {
    let etcd = ScriptedEtcd::start();
    let keeper = over(&[etcd.endpoint(0)], None);
    type Kind = fn(&StoreError) -> bool;
    let refused: Kind = |error| matches!(error, StoreError::Refused { .. });
    let not_now: Kind = |error| matches!(error, StoreError::NotNow { .. });
    let unclear: Kind = |error| matches!(error, StoreError::Unclear { .. });
    for (status, text, is_kind, says) in [
        (
            403,
            r#"{"error":"etcdserver: permission denied","code":7}"#,
            refused,
            "permission denied",
        ),
        (
            400,
            r#"{"error":"etcdserver: user name is empty","code":3}"#,
            refused,
            "set ETCDCTL_USER",
        ),
        (
            429,
            r#"{"error":"etcdserver: mvcc: database space exceeded","code":8}"#,
            not_now,
            "is full",
        ),
        (
            429,
            r#"{"error":"etcdserver: too many requests","code":8}"#,
            not_now,
            "too many requests",
        ),
        (
            500,
            r#"{"error":"etcdserver: corrupt cluster","code":15}"#,
            refused,
            "corrupt cluster",
        ),
        (404, "404 page not found", refused, "no etcd of version 3.4"),
        (502, "<html>", unclear, "502"),
        (429, "slow down", unclear, "429"),
        (200, "<html>", unclear, "JSON"),
        (200, "{}", unclear, "the cluster's id"),
        (
            200,
            r#"{"header":{"cluster_id":"x","revision":"7"}}"#,
            unclear,
            "the cluster's id",
        ),
        (
            200,
            r#"{"header":{"cluster_id":"14841639068965178418"},"kvs":[{}]}"#,
            unclear,
            "a key",
        ),
    ] {
        etcd.refuse(0, Some((status, text)));
        let error = keeper.read_register(Register::Copies).unwrap_err();
        assert!(is_kind(&error), "{text}: {error:?}");
        assert!(error.to_string().contains(says), "{text}: {error}");
    }
}

#[test]
fn a_user_has_a_token_and_another_one_when_it_expires() {
    let etcd = ScriptedEtcd::start();
    etcd.ask_for_user("bank", "secret");
    let one = over(&[etcd.endpoint(0)], Some(("bank", "secret")));
    assert_eq!(swap(&one, None, b"a").unwrap(), Swapped::Ok);
    assert_eq!(read(&one).unwrap().0, b"a");
    etcd.ask_for_user("bank", "secret");
    let (_, version) = read(&one).unwrap();
    etcd.ask_for_user("bank", "secret");
    assert_eq!(swap(&one, Some(&version), b"b").unwrap(), Swapped::Ok);
    for user in [None, Some(("bank", "other"))] {
        let refused = over(&[etcd.endpoint(0)], user);
        let refused = refused.read_register(Register::Copies).unwrap_err();
        assert!(matches!(refused, StoreError::Refused { .. }), "{refused}");
        assert!(!refused.to_string().contains("other"), "{refused}");
    }
}

#[test]
fn authentication_is_enabled_while_a_host_with_a_user_runs() {
    let etcd = ScriptedEtcd::start();
    let one = over(&[etcd.endpoint(0)], Some(("bank", "secret")));
    assert_eq!(swap(&one, None, b"a").unwrap(), Swapped::Ok);
    let (_, version) = read(&one).unwrap();
    let asked = etcd.asked();
    let tokens = asked
        .iter()
        .filter(|(_, path)| path.ends_with("authenticate"));
    assert_eq!(
        tokens.count(),
        1,
        "a token is not asked for with each request"
    );
    etcd.ask_for_user("bank", "secret");
    assert_eq!(swap(&one, Some(&version), b"b").unwrap(), Swapped::Ok);
    assert_eq!(read(&one).unwrap().0, b"b");
    // A refusal that a new token does not end is an error after one more request.
    etcd.asked();
    let expired = (
        401,
        r#"{"error":"etcdserver: invalid auth token","code":16}"#,
    );
    etcd.refuse(0, Some(expired));
    let refused = one.read_register(Register::Copies).unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. }), "{refused}");
    assert_eq!(etcd.asked().len(), 2);
}

#[test]
fn refusals_say_the_thing_to_do() {
    let etcd = ScriptedEtcd::start();
    etcd.ask_for_user("bank", "secret");
    let other = over(&[etcd.endpoint(0)], Some(("bank", "other")));
    let said = other
        .read_register(Register::Copies)
        .unwrap_err()
        .to_string();
    assert!(said.contains("set the right ETCDCTL_USER"), "{said}");
    assert!(!said.contains("bucket"), "{said}");
    let denied = (403, r#"{"error":"etcdserver: permission denied","code":7}"#);
    etcd.refuse(0, Some(denied));
    let none = over(&[etcd.endpoint(0)], None);
    let said = none
        .read_register(Register::Copies)
        .unwrap_err()
        .to_string();
    assert!(said.contains("grant its role the keys"), "{said}");
}

#[test]
fn a_proxy_of_the_environment_is_not_used() {
    let etcd = ScriptedEtcd::start();
    let test = "etcd::tests::over_the_endpoint_of_the_environment";
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args([test, "--exact", "--ignored"])
        .env(ENDPOINT, etcd.endpoint(0));
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        child.env(name, "http://127.0.0.1:1");
    }
    child.env_remove("NO_PROXY").env_remove("no_proxy");
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert_eq!(puts(&etcd), [0], "{said}");
}

#[test]
#[ignore = "a part of a_proxy_of_the_environment_is_not_used"]
fn over_the_endpoint_of_the_environment() {
    let endpoint = std::env::var(ENDPOINT).unwrap();
    assert_eq!(
        swap(&over(&[&endpoint], None), None, b"a").unwrap(),
        Swapped::Ok
    );
}

#[test]
fn an_etcd_that_was_restored_from_an_older_state_and_another_cluster_are_refused() {
    let etcd = ScriptedEtcd::start();
    let keeper = keeper(&etcd);
    swap(&keeper, None, b"a").unwrap();
    let backup = etcd.state();
    let (_, first) = read(&keeper).unwrap();
    swap(&keeper, Some(&first), b"b").unwrap();
    read(&keeper).unwrap();
    let newest = etcd.state();
    let refused = |state: State, says: &str| {
        etcd.restore(state);
        for answer in [
            keeper.read_register(Register::Copies).map(drop),
            keeper.read_object("copies/identity").map(drop),
        ] {
            let error = answer.unwrap_err();
            assert!(matches!(error, StoreError::Setup { .. }), "{error:?}");
            assert!(error.to_string().contains(says), "{error}");
        }
    };
    refused(backup.clone(), "restored from an older state");
    let mut other = newest.clone();
    other.cluster = 7;
    refused(other, "0000000000000007 answers");
    // As `--bump-revision` does: the cluster's revision is newer, and the key's is older.
    let mut bumped = backup;
    bumped.revision += 1_000_000;
    etcd.restore(bumped);
    let error = keeper.read_register(Register::Copies).unwrap_err();
    assert!(matches!(error, StoreError::Setup { .. }), "{error:?}");
    assert!(error.to_string().contains("the key bank/copies"), "{error}");
    assert_eq!(keeper.create_object("a", b"").unwrap(), Appended::Ok);
}

#[test]
fn a_server_of_another_cluster_is_not_asked_again_first() {
    let (etcd, stranger) = (ScriptedEtcd::start(), ScriptedEtcd::start());
    let mut other = stranger.state();
    other.cluster = 7;
    stranger.restore(other);
    let keeper = over(&[etcd.endpoint(0), stranger.endpoint(0)], None);
    swap(&keeper, None, b"a").unwrap();
    etcd.refuse(0, Some((503, "away")));
    for _ in 0..3 {
        keeper.read_register(Register::Copies).unwrap_err();
    }
    etcd.refuse(0, None);
    stranger.asked();
    for _ in 0..3 {
        assert_eq!(read(&keeper).unwrap().0, b"a");
    }
    let (_, first) = read(&keeper).unwrap();
    assert_eq!(swap(&keeper, Some(&first), b"b").unwrap(), Swapped::Ok);
    assert!(stranger.asked().len() <= 1, "it is asked no more");
    assert_eq!(stranger.state().revision, 1, "nothing was put there");
}

#[test]
fn a_register_that_was_deleted_is_absent() {
    let etcd = ScriptedEtcd::start();
    let keeper = keeper(&etcd);
    swap(&keeper, None, b"a").unwrap();
    let (_, version) = read(&keeper).unwrap();
    etcd.delete("bank/copies");
    assert_eq!(read(&keeper), None);
    assert_eq!(
        swap(&keeper, Some(&version), b"b").unwrap(),
        Swapped::Conflict
    );
}
