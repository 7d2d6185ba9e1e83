//! Every statement of the GEM paper's section 4 as a check over outcomes (GEM paper).
//!
//! A [`Statement`] is data: what the GEM paper says, in which [`Claim`]s that is checked, and why
//! with that tolerance. [`Statement::judge`] is a pure function of a [`Study`], so that the same
//! outcomes give the same [`Verdict`]; [`markdown`] writes them down. Where the GEM paper is silent
//! about a detail that matters the tolerance says so.
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
mod section_4_1;
mod section_4_2;
mod section_4_3;
mod section_4_4;
mod section_4_5;
mod section_4_6;

#[cfg(test)]
pub(crate) mod paper_world;
#[cfg(test)]
mod tests;

pub use claim::{Bounds, Claim, Finding, Met, in_words};
pub use quantity::{Quantity, Unknown};

use crate::figures::{Needs, Study};
use serde::Serialize;
use std::fmt::Write;

/// A statement of the GEM paper.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Its section of the GEM paper and its number within it: `4.2-3`.
    pub id: &'static str,
    /// What it says, in our words.
    pub says: &'static str,
    /// The GEM paper's figure or ordering.
    pub paper: &'static str,
    /// Why the bounds are as they are.
    pub tolerance: &'static str,
    /// What is checked: all must be met.
    pub claims: Vec<Claim>,
}

/// Whether a statement holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// All its claims are met.
    Holds,
    /// Some are, or their intervals leave it open.
    HoldsPartly,
    /// None is.
    DoesNotHold,
    /// Not all of its points were simulated.
    NotSimulated,
}

/// A statement beside what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The statement's section and number.
    pub id: &'static str,
    /// The statement's section.
    pub section: &'static str,
    /// What it says.
    pub says: &'static str,
    /// The GEM paper's figure or ordering.
    pub paper: &'static str,
    /// What was found, with intervals.
    pub ours: String,
    /// How it was checked.
    pub check: String,
    /// Why with these bounds.
    pub tolerance: &'static str,
    /// Whether it holds.
    pub holds: Holds,
    /// What speaks against it; empty if it holds.
    pub why: String,
}

/// All statements, in the GEM paper's order.
pub fn all() -> Vec<Statement> {
    let mut all = section_4_1::statements();
    all.extend(section_4_2::statements());
    all.extend(section_4_3::statements());
    all.extend(section_4_4::statements());
    all.extend(section_4_5::statements());
    all.extend(section_4_6::statements());
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

    /// Whether it holds in `study`.
    pub fn judge(&self, study: &Study) -> Verdict {
        let findings: Vec<_> = self.claims.iter().map(|claim| claim.judge(study)).collect();
        let pairs = || self.claims.iter().zip(&findings);
        let number = |met: Met| findings.iter().filter(|finding| finding.met == met).count();
        let unknown = |finding: &Finding| finding.value == Err(Unknown::NotSimulated);
        let holds = if findings.iter().any(unknown) {
            Holds::NotSimulated
        } else if number(Met::Yes) == findings.len() {
            Holds::Holds
        } else if number(Met::Yes) + number(Met::Undecided) > 0 {
            Holds::HoldsPartly
        } else {
            Holds::DoesNotHold
        };
        let join = |parts: Vec<String>| parts.join("; ");
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
            why: join(
                pairs()
                    .filter_map(|(claim, finding)| claim.objection(finding))
                    .collect(),
            ),
        }
    }
}

impl Holds {
    /// In words.
    pub fn in_words(self) -> &'static str {
        match self {
            Holds::Holds => "holds",
            Holds::HoldsPartly => "holds partly",
            Holds::DoesNotHold => "does not hold",
            Holds::NotSimulated => "not simulated",
        }
    }
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
        let judgement = match verdict.why.as_str() {
            "" => verdict.holds.in_words().to_string(),
            why => format!("**{}**: {why}", verdict.holds.in_words()),
        };
        let bounds = format!("{}. {}", verdict.check, verdict.tolerance);
        let cells = [
            verdict.id,
            verdict.says,
            verdict.paper,
            &verdict.ours,
            &judgement,
            &bounds,
        ];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}
