//! The wish of a person that another host serves: `promote`, `drain`. Without I/O.
//!
//! Its replacement of the register may be done without an answer, or may conflict with a sign of the serving host. Then the
//! register is read again. If it has the wish, that is enough: each later sign of the serving host keeps it. If the term
//! has ended meanwhile, the hand-over may have happened, and is not repeated: the next host would hand over, too.
//!
//! - *Any other host*: another term is one. The next host may be the same one, if no other came. Its process has another
//!   number in each term. Of a record that was released, only another host is.
//! - *A named host* that does not come: any other one serves then. The person decides on the next step ([`Wished::Other`]).
//!
//! A conflict is an answer: the replacement was not done. It may be due to an earlier one without an answer, which was done late.

use super::{ANY_OTHER, Primary, Replacement};
use crate::remote_log::RemoteLogError;
use crate::remote_log::store::StoredRegister;

/// A wish that a host of this name serves, or [`ANY_OTHER`].
#[derive(Debug)]
pub struct Wish {
    identity: u64,
    to: String,
    /// The first record of a serving host on which the wish was put.
    put_on: Option<Primary>,
    /// The record on which it may have been put: the last replacement has no answer yet.
    may_be_on: Option<Primary>,
    /// A replacement before that one has no answer either, and may be done late.
    has_unanswered: bool,
}

/// The next act for a wish.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wished {
    /// No host ever served.
    NoHost,
    /// The register is to be replaced so.
    Put(Replacement),
    /// The wish is in the register, or a host serves that is as wanted.
    Done,
    /// This host serves by now. The named one did not come, or the wish was lost with the term before.
    Other(String),
}

impl Wish {
    /// A wish for the database of this identity.
    pub fn new(identity: u64, to: &str) -> Wish {
        Wish {
            identity,
            to: to.into(),
            put_on: None,
            may_be_on: None,
            has_unanswered: false,
        }
    }

    /// The last replacement was refused, as a conflict: it was not done.
    pub fn is_refused(&mut self) {
        if !self.has_unanswered {
            self.may_be_on = None;
        }
    }

    /// The next act after the register was read.
    ///
    /// # Errors
    /// The record is damaged, or another database's.
    pub fn found(&mut self, stored: Option<&StoredRegister>) -> Result<Wished, RemoteLogError> {
        let Some(record) = Primary::decode(self.identity, stored)? else {
            return Ok(Wished::NoHost);
        };
        if self.is_there(&record) || (!record.released && self.is_as_wanted(&record)) {
            return Ok(Wished::Done);
        }
        if self.is_of_next_term(&record) && self.to != ANY_OTHER {
            return Ok(Wished::Other(record.host));
        }
        // A host that comes after a released record has not seen the wish, if that met the host's claim.
        if !record.released {
            self.put_on.get_or_insert_with(|| record.clone());
        }
        self.has_unanswered |= self.may_be_on.is_some();
        self.may_be_on = Some(record.clone());
        Ok(Wished::Put(Replacement {
            expected: stored.map(|stored| stored.version.clone()),
            record: Primary {
                wanted: Some(self.to.clone()),
                ..record
            },
        }))
    }

    /// True if the register has the wish, by a replacement without an answer.
    fn is_there(&self, record: &Primary) -> bool {
        let of = self.may_be_on.as_ref();
        of.is_some_and(|of| is_term_of(of, record)) && record.wanted.as_deref() == Some(&self.to)
    }

    /// True if a term began after a replacement without an answer.
    fn is_of_next_term(&self, record: &Primary) -> bool {
        let of = self.may_be_on.as_ref();
        !record.released && of.is_some_and(|of| !is_term_of(of, record))
    }

    fn is_as_wanted(&self, record: &Primary) -> bool {
        let (put_on, may_be_on) = (self.put_on.as_ref(), self.may_be_on.as_ref());
        match &*self.to {
            ANY_OTHER => {
                // The host that had released may have claimed before the wish was there.
                let is_next = |of: &Primary| of.released && of.host != record.host;
                put_on.is_some_and(|of| !is_term_of(of, record)) || may_be_on.is_some_and(is_next)
            }
            // A wish that it has by now is a later one, of another person.
            wanted => record.host == wanted && (record.wanted.is_none() || put_on.is_some()),
        }
    }
}

/// True if two records are of one term of a host's process.
fn is_term_of(one: &Primary, other: &Primary) -> bool {
    (&one.host, one.process) == (&other.host, other.process)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote_log::store::RegisterVersion;
    use std::time::Duration;

    fn stored(host: &str, released: bool, wanted: Option<&str>) -> StoredRegister {
        stored_of(1, host, released, wanted)
    }

    fn stored_of(process: u64, host: &str, released: bool, wanted: Option<&str>) -> StoredRegister {
        let record = Primary {
            identity: 7,
            host: host.into(),
            process,
            count: 1,
            wait: Duration::from_secs(2),
            released,
            wanted: wanted.map(String::from),
        };
        StoredRegister {
            bytes: record.encode().into(),
            version: RegisterVersion("1".into()),
        }
    }

    fn wanted(wish: &mut Wish, stored: &StoredRegister) -> Option<String> {
        match wish.found(Some(stored)).unwrap() {
            Wished::Put(replacement) => replacement.record.wanted,
            _ => None,
        }
    }

    #[test]
    fn a_wish_without_an_answer_is_repeated_until_it_is_there_or_another_host_serves() {
        let mut drain = Wish::new(7, ANY_OTHER);
        assert_eq!(drain.found(None).unwrap(), Wished::NoHost);
        for _ in 0..2 {
            let found = stored("a", false, None);
            assert_eq!(wanted(&mut drain, &found).as_deref(), Some(ANY_OTHER));
        }
        for released in [false, true] {
            let there = stored("a", released, Some("*"));
            assert_eq!(drain.found(Some(&there)).unwrap(), Wished::Done);
        }
        let other = stored("b", false, None);
        assert_eq!(drain.found(Some(&other)).unwrap(), Wished::Done);
        // No other host came: the same process has begun another term.
        let mut drain = Wish::new(7, ANY_OTHER);
        let [before, after] = [1, 2].map(|process| stored_of(process, "a", false, None));
        assert_eq!(wanted(&mut drain, &before).as_deref(), Some(ANY_OTHER));
        assert_eq!(drain.found(Some(&after)).unwrap(), Wished::Done);
        // Another person's wish is another one.
        let mut again = Wish::new(7, ANY_OTHER);
        assert_eq!(wanted(&mut again, &other).as_deref(), Some(ANY_OTHER));
    }

    #[test]
    fn a_wish_that_met_the_claim_after_a_released_record_is_put_on_that_and_no_other_host_is_drained()
     {
        let (released, other) = (stored("a", true, None), stored("b", false, None));
        // Refused: the host that came has not seen it.
        let mut drain = Wish::new(7, ANY_OTHER);
        assert_eq!(wanted(&mut drain, &released).as_deref(), Some(ANY_OTHER));
        drain.is_refused();
        assert_eq!(wanted(&mut drain, &other).as_deref(), Some(ANY_OTHER));
        let third = stored("c", false, None);
        assert_eq!(drain.found(Some(&third)).unwrap(), Wished::Done);
        // Without an answer: another host serves, as was wanted.
        let mut drain = Wish::new(7, ANY_OTHER);
        assert_eq!(wanted(&mut drain, &released).as_deref(), Some(ANY_OTHER));
        assert_eq!(drain.found(Some(&other)).unwrap(), Wished::Done);
        // The host that had released serves again: perhaps it claimed before.
        let mut drain = Wish::new(7, ANY_OTHER);
        assert_eq!(wanted(&mut drain, &released).as_deref(), Some(ANY_OTHER));
        let again = stored_of(2, "a", false, None);
        assert_eq!(wanted(&mut drain, &again).as_deref(), Some(ANY_OTHER));
    }

    #[test]
    fn a_named_host_that_serves_is_not_asked_and_one_that_was_released_is() {
        let mut promote = Wish::new(7, "b");
        assert_eq!(
            wanted(&mut promote, &stored("a", false, None)).as_deref(),
            Some("b")
        );
        promote.is_refused();
        assert_eq!(
            wanted(&mut promote, &stored("b", true, None)).as_deref(),
            Some("b")
        );
        // Another host came first: it is asked, too.
        promote.is_refused();
        let another = stored("c", false, None);
        assert_eq!(wanted(&mut promote, &another).as_deref(), Some("b"));
        // It is asked to hand over: that wish is the later one, unless this one was not put yet.
        let asked = stored("b", false, Some("a"));
        assert_eq!(promote.found(Some(&asked)).unwrap(), Wished::Done);
        let mut later = Wish::new(7, "b");
        assert_eq!(wanted(&mut later, &asked).as_deref(), Some("b"));
        let serves = stored("b", false, None);
        assert_eq!(promote.found(Some(&serves)).unwrap(), Wished::Done);
    }

    #[test]
    fn hosts_do_not_hand_over_in_turn_for_a_named_host_that_does_not_come() {
        for released in [false, true] {
            let mut promote = Wish::new(7, "b");
            let found = stored("a", released, None);
            assert_eq!(wanted(&mut promote, &found).as_deref(), Some("b"));
            // There is no answer, and each later one is lost, too.
            let other = stored("c", false, None);
            let served = Wished::Other("c".into());
            assert_eq!(promote.found(Some(&other)).unwrap(), served);
            assert_eq!(promote.found(Some(&other)).unwrap(), served);
        }
    }

    #[test]
    fn a_refused_wish_does_not_forget_an_earlier_one_without_an_answer() {
        let mut promote = Wish::new(7, "b");
        let found = stored("a", false, None);
        // The first one is done after the second one has read the register, which conflicts for that reason.
        assert_eq!(wanted(&mut promote, &found).as_deref(), Some("b"));
        assert_eq!(wanted(&mut promote, &found).as_deref(), Some("b"));
        promote.is_refused();
        let other = stored("c", false, None);
        let served = Wished::Other("c".into());
        assert_eq!(promote.found(Some(&other)).unwrap(), served);
    }
}
