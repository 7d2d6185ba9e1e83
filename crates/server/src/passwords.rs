//! Passwords that clients send in plain text, over Redis' protocol and HTTP, compared with the users' verifiers.
//!
//! A comparison is slow on purpose, and any unauthenticated client can ask for one. So one runs at a time in the whole
//! server, and not on a thread that serves clients. An unknown user name takes as long as a known one, so response
//! times do not reveal which users exist.

use crate::options::User;
use crate::scram::Verifier;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// The users of a server by name.
pub type Users = BTreeMap<String, User>;

/// The users of a server and their verifiers.
#[derive(Debug)]
pub struct Passwords {
    users: Mutex<Arc<Users>>,
    /// For the verifiers of unknown names.
    secret: [u8; 32],
    one_at_a_time: Semaphore,
}

impl Passwords {
    /// Creates the store of these users. `secret` must be random and kept private.
    pub fn new(users: Users, secret: [u8; 32]) -> Self {
        Passwords {
            users: Mutex::new(Arc::new(users)),
            secret,
            one_at_a_time: Semaphore::new(1),
        }
    }

    /// The current users. A caller keeps this for all questions about one client, so that all answers are of the same
    /// users.
    pub fn users(&self) -> Arc<Users> {
        // No code panics while it holds this lock.
        self.users
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub fn replace(&self, users: Users) {
        *self.users.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(users);
    }

    /// Returns true if users are configured.
    pub fn has_users(&self) -> bool {
        !self.users().is_empty()
    }

    /// The verifier of a name; one that no password matches if the name is unknown.
    pub fn verifier(&self, users: &Users, name: &str) -> Verifier {
        match users.get(name) {
            Some(user) => user.verifier.clone(),
            None => Verifier::of_nobody(name, &self.secret),
        }
    }

    /// The user of this name, if the password is correct.
    pub async fn user(self: &Arc<Self>, name: &str, password: &str) -> Option<User> {
        // The semaphore is never closed.
        let turn = self.one_at_a_time.acquire().await.ok()?;
        let users = self.users();
        let verifier = self.verifier(&users, name);
        let password = password.to_string();
        let compared = tokio::task::spawn_blocking(move || verifier.matches(&password));
        let is_right = compared.await.unwrap_or(false);
        drop(turn);
        users.get(name).filter(|_| is_right).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Right;
    use std::sync::mpsc;
    use std::task::{Context, Poll, Waker};

    fn passwords() -> Arc<Passwords> {
        let user = User {
            verifier: Verifier::of_password("pencil").unwrap(),
            tables: Right::Own,
            table: BTreeMap::new(),
            keys: Right::Read,
        };
        Arc::new(Passwords::new(
            BTreeMap::from([("ada".to_string(), user)]),
            [7; 32],
        ))
    }

    #[test]
    fn a_password_is_its_users_alone() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let (runtime, passwords) = (runtime.unwrap(), passwords());
        let is_right = |name, password| {
            let user = passwords.user(name, password);
            runtime.block_on(user).is_some()
        };
        assert!(is_right("ada", "pencil"));
        for (name, password) in [
            ("ada", "pen"),
            ("ada", ""),
            ("eve", "pencil"),
            ("", "pencil"),
        ] {
            assert!(!is_right(name, password), "{name} {password}");
        }
    }

    #[test]
    fn who_shows_a_password_is_compared_with_the_users_of_now() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let (runtime, passwords) = (runtime.unwrap(), passwords());
        let before = passwords.users();
        let mut users = Users::clone(&before);
        let ada = users.remove("ada").unwrap();
        users.insert("eve".into(), ada);
        passwords.replace(users);
        let is_right = |name| runtime.block_on(passwords.user(name, "pencil")).is_some();
        assert!(!is_right("ada") && is_right("eve"));
        assert!(before.contains_key("ada"));
    }

    #[test]
    fn one_is_compared_at_a_time_and_none_on_the_thread_that_asks() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.max_blocking_threads(1).build().unwrap();
        let _inside = runtime.enter();
        let mut context = Context::from_waker(Waker::noop());
        // An unknown name is compared like a known one.
        for (first, second) in [("ada", "eve"), ("eve", "ada")] {
            let passwords = passwords();
            // The only thread that compares is busy.
            let (busy, free) = mpsc::channel::<()>();
            let waiting = runtime.spawn_blocking(move || free.recv());
            let mut one = Box::pin(passwords.user(first, "pencil"));
            let mut other = Box::pin(passwords.user(second, "pencil"));
            assert!(matches!(one.as_mut().poll(&mut context), Poll::Pending));
            assert_eq!(passwords.one_at_a_time.available_permits(), 0);
            assert!(matches!(other.as_mut().poll(&mut context), Poll::Pending));
            drop(busy);
            assert!(runtime.block_on(waiting).unwrap().is_err());
            assert_eq!(runtime.block_on(one).is_some(), first == "ada");
            assert_eq!(runtime.block_on(other).is_some(), second == "ada");
        }
    }
}
