//! Whether a document is an answer to a question. Words in a row are found by lists of places, of which one may be those where
//! something is not.

use super::vector::{PLACE_MAX, Position};
use super::{Lexeme, Node, Operand, Query, Vector};

/// An answer, as far as it is known: a lexeme without places may be anywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Truth {
    No,
    Yes,
    Maybe,
}

use Truth::{Maybe, No, Yes};

/// Where a part of a phrase ends.
#[derive(Clone, Default)]
struct Places {
    at: Vec<u32>,
    /// The places where it does not end.
    is_elsewhere: bool,
    /// The places from its beginning to its end.
    width: u32,
}

/// True if a document is an answer to a question.
pub(crate) fn matches(vector: &Vector, query: &Query) -> bool {
    match &query.0 {
        Some(node) => truth(vector, node) != No,
        None => false,
    }
}

fn truth(vector: &Vector, node: &Node) -> Truth {
    match node {
        Node::Word(operand) => word(vector, operand, None),
        Node::Not(inner) => match truth(vector, inner) {
            No => Yes,
            Yes => No,
            Maybe => Maybe,
        },
        Node::And(sides) => match truth(vector, &sides.0) {
            No => No,
            left => match (left, truth(vector, &sides.1)) {
                (_, No) => No,
                (Yes, Yes) => Yes,
                _ => Maybe,
            },
        },
        Node::Or(sides) => match truth(vector, &sides.0) {
            Yes => Yes,
            left => match (left, truth(vector, &sides.1)) {
                (_, Yes) => Yes,
                (No, No) => No,
                _ => Maybe,
            },
        },
        Node::Phrase(..) => match phrase(vector, node, &mut Places::default()) {
            Yes => Yes,
            // Without places nothing is in a row.
            No | Maybe => No,
        },
    }
}

/// Looks for a word, and for its places if they are asked for.
///
/// Many lexemes may begin with a word. Their places are marked in a table, so that the cost is the number of places.
fn word(vector: &Vector, operand: &Operand, places: Option<&mut Places>) -> Truth {
    let found = vector.found(&operand.word, operand.is_prefix);
    let has_weight =
        |one: &&Position| operand.weights == 0 || operand.weights & 1 << one.weight != 0;
    let Some(places) = places else {
        // Weights are not asked for where there are none.
        let mut found = found.iter();
        let is_it = |lexeme: &Lexeme| {
            lexeme.positions.is_empty() || lexeme.positions.iter().any(|one| has_weight(&one))
        };
        return match found.any(is_it) {
            true => Yes,
            false => No,
        };
    };
    if let [lexeme] = found {
        let positions = lexeme.positions.iter().filter(has_weight);
        places.at = positions.map(|one| one.place.into()).collect();
    } else if !found.is_empty() {
        let mut marked = vec![false; usize::from(PLACE_MAX) + 1];
        let positions = found.iter().flat_map(|lexeme| &lexeme.positions);
        for position in positions.filter(has_weight) {
            marked[usize::from(position.place.min(PLACE_MAX))] = true;
        }
        let marked = (0_u32..).zip(marked);
        places.at = marked
            .filter(|(_, is_it)| *is_it)
            .map(|(at, _)| at)
            .collect();
    }
    let is_unknown = found.iter().any(|lexeme| lexeme.positions.is_empty());
    match (places.at.is_empty(), is_unknown) {
        (false, _) => Yes,
        (true, true) => Maybe,
        (true, false) => No,
    }
}

/// Looks for a part of a phrase, and for the places where it ends.
fn phrase(vector: &Vector, node: &Node, places: &mut Places) -> Truth {
    match node {
        Node::Word(operand) => word(vector, operand, Some(places)),
        Node::Not(inner) => match phrase(vector, inner, places) {
            // It is nowhere, so that what it is not is everywhere.
            No => {
                places.is_elsewhere = true;
                Yes
            }
            Yes if !places.at.is_empty() => {
                places.is_elsewhere = !places.is_elsewhere;
                Yes
            }
            Yes if places.is_elsewhere => {
                places.is_elsewhere = false;
                No
            }
            Yes | Maybe => Maybe,
        },
        Node::And(sides) | Node::Phrase(sides, _) => {
            let (mut left, mut right) = (Places::default(), Places::default());
            let is_left = phrase(vector, &sides.0, &mut left);
            if is_left == No {
                return No;
            }
            match phrase(vector, &sides.1, &mut right) {
                No => return No,
                is_right if is_left == Maybe || is_right == Maybe => return Maybe,
                _ => {}
            }
            match node {
                Node::Phrase(_, distance) => {
                    let distance = u32::from(*distance);
                    places.width = distance + left.width + right.width;
                    left.shift(distance + right.width);
                }
                _ => places.align(&mut left, &mut right),
            }
            match (left.is_elsewhere, right.is_elsewhere) {
                (true, true) => places.take(&left, &right, Kept::ALL, true),
                (true, false) => places.take(&left, &right, Kept::RIGHT, false),
                (false, true) => places.take(&left, &right, Kept::LEFT, false),
                (false, false) => places.take(&left, &right, Kept::BOTH, false),
            }
        }
        Node::Or(sides) => {
            let (mut left, mut right) = (Places::default(), Places::default());
            let is_left = phrase(vector, &sides.0, &mut left);
            let is_right = phrase(vector, &sides.1, &mut right);
            match (is_left, is_right) {
                (No, No) => return No,
                (Maybe, _) | (_, Maybe) => return Maybe,
                _ => {}
            }
            if is_left == No {
                left.width = 0;
            }
            if is_right == No {
                right.width = 0;
            }
            places.align(&mut left, &mut right);
            match (left.is_elsewhere, right.is_elsewhere) {
                (true, true) => places.take(&left, &right, Kept::BOTH, true),
                (true, false) => places.take(&left, &right, Kept::LEFT, true),
                (false, true) => places.take(&left, &right, Kept::RIGHT, true),
                (false, false) => places.take(&left, &right, Kept::ALL, false),
            }
        }
    }
}

/// Which places of two lists are kept: those of both, and those of one alone.
#[derive(Clone, Copy)]
struct Kept {
    both: bool,
    left: bool,
    right: bool,
}

impl Kept {
    const BOTH: Kept = Kept {
        both: true,
        left: false,
        right: false,
    };
    const LEFT: Kept = Kept {
        both: false,
        left: true,
        right: false,
    };
    const RIGHT: Kept = Kept {
        both: false,
        left: false,
        right: true,
    };
    const ALL: Kept = Kept {
        both: true,
        left: true,
        right: true,
    };
}

impl Places {
    fn shift(&mut self, by: u32) {
        self.at.iter_mut().for_each(|place| *place += by);
    }

    /// Shifts the ends of the narrower of two parts to that of the wider one, which is the width of both.
    fn align(&mut self, left: &mut Places, right: &mut Places) {
        self.width = left.width.max(right.width);
        left.shift(self.width - left.width);
        right.shift(self.width - right.width);
    }

    /// Takes places of two sorted lists. If they are those where it is not, it is somewhere in any case.
    fn take(&mut self, left: &Places, right: &Places, kept: Kept, is_elsewhere: bool) -> Truth {
        let (mut lefts, mut rights) = (left.at.iter().peekable(), right.at.iter().peekable());
        loop {
            let next = match (lefts.peek(), rights.peek()) {
                (None, None) => break,
                (Some(left), None) => (**left, true, false),
                (None, Some(right)) => (**right, false, true),
                (Some(left), Some(right)) => (**left.min(right), left <= right, right <= left),
            };
            let (place, is_left, is_right) = next;
            if is_left {
                lefts.next();
            }
            if is_right {
                rights.next();
            }
            let is_kept = match (is_left, is_right) {
                (true, true) => kept.both,
                (true, false) => kept.left,
                _ => kept.right,
            };
            if is_kept {
                self.at.push(place);
            }
        }
        self.is_elsewhere = is_elsewhere;
        match is_elsewhere || !self.at.is_empty() {
            true => Yes,
            false => No,
        }
    }
}
