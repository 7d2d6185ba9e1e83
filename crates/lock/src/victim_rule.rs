//! The choice of a deadlock's victim among several candidates.
//!
//! The DASDBS paper does not give the rule by which its lock manager picks the victim. The rule decides how much a
//! system with many deadlocks gets done. So it is an option, and nothing else about deadlocks depends on it. Under
//! every rule a compensation is never chosen while another one can be. A restart of a subtransaction is preferred to
//! the end of a transaction ([`crate::deadlock`]).
//!
//! Only [`VictimRule::Youngest`] promises that a transaction that is run again at its old age commits some day. Under
//! [`VictimRule::Oldest`] the same transaction may be chosen again and again while the others commit. Under
//! [`VictimRule::Requester`] transactions that are run again *at once* may end one another for ever, and none commits
//! (livelock). Give them a random delay before they run again.

use crate::owner::Asker;
use sardonyx_base::random::Random;

/// The choice of the denied one to end a deadlock, among equal candidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum VictimRule {
    /// The transaction that began last: it has done least. No transaction starves if it is run again at
    /// its old age.
    #[default]
    Youngest,
    /// The transaction that began first.
    Oldest,
    /// Any, each as likely. The choice is a function of the seed and of the deadlock's members.
    Random {
        /// Another seed, other choices.
        seed: u64,
    },
    /// The transaction whose request closed the cycle; the youngest, where it is not a member. Without a
    /// random delay before transactions are run again they may end one another for ever.
    Requester,
}

impl VictimRule {
    /// All of them; the random one with this seed.
    pub fn all(seed: u64) -> [VictimRule; 4] {
        [
            VictimRule::Youngest,
            VictimRule::Oldest,
            VictimRule::Random { seed },
            VictimRule::Requester,
        ]
    }

    /// A word in lower case, as options and outputs have it.
    pub fn name(self) -> &'static str {
        match self {
            VictimRule::Youngest => "youngest",
            VictimRule::Oldest => "oldest",
            VictimRule::Random { .. } => "random",
            VictimRule::Requester => "requester",
        }
    }

    /// The place of the victim among these members of a deadlock, in order of their waiters; `requests`
    /// says whether one belongs to the transaction whose request closed the cycle.
    ///
    /// # Panics
    /// If there are none.
    pub(crate) fn choose(self, members: &[Asker], requests: impl Fn(&Asker) -> bool) -> usize {
        let youngest = |place: &usize| (members[*place].age, members[*place].waiter);
        let places = 0..members.len();
        let chosen = match self {
            VictimRule::Youngest => places.max_by_key(youngest),
            VictimRule::Oldest => places.min_by_key(youngest),
            VictimRule::Random { seed } => {
                let mix = |seed, member: &Asker| Random::stream(seed, member.waiter.bits()).next();
                let draw = members.iter().fold(seed, mix);
                Some(Random::new(draw).below(members.len() as u64) as usize)
            }
            VictimRule::Requester => {
                let rank = |place: &usize| (requests(&members[*place]), youngest(place));
                places.max_by_key(rank)
            }
        };
        chosen.expect("a deadlock has members")
    }
}
