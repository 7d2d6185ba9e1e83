//! Every statement of the GEM paper's sections 4 and, of GEM's other uses, 2 and 6 as a check over outcomes (GEM paper).
//!
//! A [`Statement`] is data: the GEM paper's sentence, the [`Claim`]s that check it, and the reason for its tolerance.
//! [`Statement::judge`] is a pure function of a [`Study`], so that the same outcomes give the same [`Verdict`];
//! [`markdown`] writes them down. If the GEM paper is silent about a detail that matters, the tolerance mentions it.
//!
//! ```
//! use sardonyx_simulation::figures::Needs;
//! use sardonyx_simulation::statements;
//!
//! let mut needs = Needs::default();
//! let all = statements::all();
//! all.iter().for_each(|statement| statement.needs(&mut needs));
//! assert!(all.len() >= 40 && needs.outcomes().len() > 40);
//! ```

mod claim;
mod quantity;
mod read;
mod section_2;
mod section_4_1;
mod section_4_2;
mod section_4_3;
mod section_4_4;
mod section_4_5;
mod section_4_6;
mod section_6;

#[cfg(test)]
pub(crate) mod paper_world;
#[cfg(test)]
mod tests;

pub use claim::{Bounds, Claim, Finding, Met, in_words};
pub use quantity::{Quantity, Unknown};

use crate::figures::{Needs, Study};
use crate::search::Simulate;
use serde::Serialize;
use std::fmt::Write;

/// A statement of the GEM paper.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Its section of the GEM paper and its number within it: `4.2-3`.
    pub id: &'static str,
    /// Its text, in our words.
    pub says: &'static str,
    /// The GEM paper's figure or ordering.
    pub paper: &'static str,
    /// The reason for the bounds.
    pub tolerance: &'static str,
    /// The checked claims: all must be met.
    pub claims: Vec<Claim>,
}

/// The verdict of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// All its claims are met.
    Holds,
    /// A claim is missed: the GEM paper's own figure or ordering is not ours.
    Fails,
    /// No claim is missed, but an interval reaches over a bound.
    Undecided,
    /// All its claims are met, and none could be missed by any run.
    Arithmetic,
    /// Some of its points were not simulated.
    NotSimulated,
}

/// A statement beside its finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The statement's section and number.
    pub id: &'static str,
    /// The statement's section.
    pub section: &'static str,
    /// Its text.
    pub says: &'static str,
    /// The GEM paper's figure or ordering.
    pub paper: &'static str,
    /// Our values, with intervals.
    pub ours: String,
    /// The compared quantities and their bounds, in words.
    pub check: String,
    /// The reason for these bounds.
    pub tolerance: &'static str,
    /// Over all claims.
    pub holds: Holds,
    /// The evidence against it; empty if it holds.
    pub why: String,
    /// The verdict in words, with that evidence.
    pub judgement: String,
    /// In the order in which the statement makes them.
    pub claims: Vec<ClaimVerdict>,
}

/// A claim beside its finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimVerdict {
    /// The compared quantity and its bounds, in words.
    pub check: String,
    /// The comparison with its bounds.
    pub met: Met,
    /// True if no run can miss it.
    pub arithmetic: bool,
    /// The value found; absent without one.
    pub mean: Option<f64>,
    /// Half the width of its 95% interval.
    pub half_width: Option<f64>,
    /// Of the value and of half the width.
    pub unit: &'static str,
}

/// All statements, in the GEM paper's order.
pub fn all() -> Vec<Statement> {
    let mut all = section_2::statements();
    all.extend(section_4_1::statements());
    all.extend(section_4_2::statements());
    all.extend(section_4_3::statements());
    all.extend(section_4_4::statements());
    all.extend(section_4_5::statements());
    all.extend(section_4_6::statements());
    all.extend(section_6::statements());
    all
}

impl Statement {
    /// The GEM paper's section.
    pub fn section(&self) -> &'static str {
        self.id
            .split_once('-')
            .map_or(self.id, |(section, _)| section)
    }

    /// The points it needs.
    pub fn needs(&self, needs: &mut Needs) {
        for claim in &self.claims {
            claim.quantity.needs(needs);
        }
    }

    /// Compares each claim with the results in `study`.
    pub fn judge(&self, study: &Study) -> Verdict {
        let findings: Vec<_> = self.claims.iter().map(|claim| claim.judge(study)).collect();
        let pairs = || self.claims.iter().zip(&findings);
        let any = |met: Met| findings.iter().any(|finding| finding.met == met);
        let holds = if any(Met::Unknown) {
            Holds::NotSimulated
        } else if any(Met::No) {
            Holds::Fails
        } else if any(Met::Undecided) {
            Holds::Undecided
        } else if self.claims.iter().all(|claim| claim.arithmetic) {
            Holds::Arithmetic
        } else {
            Holds::Holds
        };
        let join = |parts: Vec<String>| parts.join("; ");
        let objections = pairs().filter_map(|(claim, finding)| claim.objection(finding));
        let why = join(objections.collect());
        let judgement = match why.as_str() {
            "" => holds.in_words().to_string(),
            why => format!("**{}**: {why}", holds.in_words()),
        };
        Verdict {
            id: self.id,
            section: self.section(),
            says: self.says,
            paper: self.paper,
            ours: join(
                pairs()
                    .map(|(claim, finding)| claim.found(finding))
                    .collect(),
            ),
            check: join(self.claims.iter().map(Claim::check).collect()),
            tolerance: self.tolerance,
            holds,
            why,
            judgement,
            claims: pairs()
                .map(|(claim, finding)| ClaimVerdict::new(claim, finding))
                .collect(),
        }
    }
}

impl ClaimVerdict {
    fn new(claim: &Claim, finding: &Finding) -> Self {
        let value = finding.value.as_ref().ok();
        ClaimVerdict {
            check: claim.check(),
            met: finding.met,
            arithmetic: claim.arithmetic,
            mean: value.map(|value| value.mean),
            half_width: value.map(|value| value.half_width),
            unit: claim.unit,
        }
    }
}

/// All verdicts, in the order in which they are counted up.
pub const VERDICTS: [Holds; 5] = [
    Holds::Holds,
    Holds::Fails,
    Holds::Undecided,
    Holds::Arithmetic,
    Holds::NotSimulated,
];

/// The numbers of verdicts of each kind: "66 hold, 4 fail, …". Kinds without one are left out.
pub fn count(verdicts: &[Verdict]) -> String {
    let counts = VERDICTS.into_iter().filter_map(|holds| {
        let number = verdicts.iter().filter(|one| one.holds == holds).count();
        (number > 0).then(|| format!("{number} {}", holds.of(number)))
    });
    counts.collect::<Vec<_>>().join(", ")
}

impl Holds {
    /// In words, of so many statements.
    pub fn of(self, number: usize) -> &'static str {
        match (self, number) {
            (Holds::Holds, 1) => "holds",
            (Holds::Holds, _) => "hold",
            (Holds::Fails, 1) => "fails",
            (Holds::Fails, _) => "fail",
            (Holds::Undecided, 1) => "is undecided",
            (Holds::Undecided, _) => "are undecided",
            (Holds::Arithmetic, 1) => "is arithmetic, which no run can miss",
            (Holds::Arithmetic, _) => "are arithmetic, which no run can miss",
            (Holds::NotSimulated, 1) => "was not simulated",
            (Holds::NotSimulated, _) => "were not simulated",
        }
    }

    /// As the tables write it.
    pub fn in_words(self) -> &'static str {
        match self {
            Holds::Holds => "holds",
            Holds::Fails => "fails",
            Holds::Undecided => "undecided",
            Holds::Arithmetic => "arithmetic",
            Holds::NotSimulated => "not simulated",
        }
    }
}

/// The replications with which the points of undecided claims are simulated again, round by round,
/// as far as the parameters allow so many. (Looking twice makes an interval of 95% a little less
/// sure; the bounds that matter are missed or met by far more.)
const MORE_REPLICATIONS: [u32; 2] = [12, 40];

/// Judges `statements` in `study`; where an interval leaves a claim open, its points are simulated
/// again with more replications, which `study` then has.
///
/// # Errors
/// That of `simulate`.
pub fn judge<E>(
    statements: &[Statement],
    study: &mut Study,
    simulate: &Simulate<'_, E>,
) -> Result<Vec<Verdict>, E> {
    let most = study.base().run.most_replications;
    let mut rounds = MORE_REPLICATIONS
        .map(|replications| replications.min(most))
        .to_vec();
    rounds.dedup();
    for replications in rounds {
        let mut open = Needs::default();
        for claim in statements.iter().flat_map(|statement| &statement.claims) {
            if claim.judge(study).met == Met::Undecided {
                claim.quantity.needs(&mut open);
            }
        }
        if !open.outcomes().is_empty() || !open.throughputs().is_empty() {
            study.replicate(&open, replications, simulate)?;
        }
    }
    Ok(statements.iter().map(|one| one.judge(study)).collect())
}

/// Verdicts as Markdown tables, one per section.
pub fn markdown(verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    let mut section = "";
    for verdict in verdicts {
        if verdict.section != section {
            section = verdict.section;
            let gap = if text.is_empty() { "" } else { "\n" };
            let _ = write!(
                text,
                "{gap}### Section {section}\n\n\
                 | | The GEM paper says | The GEM paper's figure | Ours | Holds? | Bounds, and why |\n\
                 | --- | --- | --- | --- | --- | --- |\n"
            );
        }
        let bounds = format!("{}. {}", verdict.check, verdict.tolerance);
        let cells = [
            verdict.id,
            verdict.says,
            verdict.paper,
            &verdict.ours,
            &verdict.judgement,
            &bounds,
        ];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}
