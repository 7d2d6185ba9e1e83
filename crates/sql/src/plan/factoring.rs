//! Factoring of disjunctions: a condition common to all alternatives is moved in front of them, so that it finds keys
//! and indexes. Conditions on one table alone are derived for that table.

use super::choice::all_of;
use crate::expression::Expr;

/// The conjuncts of a condition.
fn parts(condition: &Expr) -> &[Expr] {
    match condition {
        Expr::And(parts) => parts,
        one => std::slice::from_ref(one),
    }
}

/// Converts alternatives of a disjunction to conjuncts. `(a and b) or (a and c)` becomes `a and (b or c)`, and `a or (a
/// and b)` becomes `a`.
pub(super) fn factored(conditions: Vec<Expr>) -> Vec<Expr> {
    let Some((first, others)) = conditions.split_first() else {
        return vec![Expr::Or(conditions)];
    };
    let is_of_all = |part: &&Expr| {
        let mut others = others.iter();
        others.all(|other| parts(other).contains(part)) && part.is_plain()
    };
    let common: Vec<Expr> = parts(first).iter().filter(is_of_all).cloned().collect();
    if common.is_empty() {
        return vec![Expr::Or(conditions)];
    }
    let left = conditions.iter().map(|condition| {
        let own = parts(condition)
            .iter()
            .filter(|part| !common.contains(part));
        all_of(own.cloned().collect())
    });
    let left: Option<Vec<Expr>> = left.collect();
    let mut all = common;
    all.extend(left.map(Expr::Or));
    all
}

/// The condition on some columns alone that follows from a disjunction, if each alternative restricts them.
pub(super) fn implied(conditions: &[Expr], is_of: &dyn Fn(&Expr) -> bool) -> Option<Expr> {
    let says = |condition: &Expr| {
        let own = parts(condition).iter();
        let own = own.filter(|part| is_of(part) && cannot_fail(part));
        all_of(own.cloned().collect())
    };
    let all: Option<Vec<Expr>> = conditions.iter().map(says).collect();
    all.map(Expr::Or)
}

/// True for comparisons of present values: they may be computed for rows that the statement does not test.
fn cannot_fail(condition: &Expr) -> bool {
    !condition.any(&|part| {
        !matches!(
            part,
            Expr::Column(_)
                | Expr::Literal(_)
                | Expr::Parameter(_)
                | Expr::And(_)
                | Expr::Or(_)
                | Expr::Not(_)
                | Expr::Compare(..)
                | Expr::In(..)
                | Expr::IsNull(_)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Comparison;
    use sardonyx::schema::Value;

    fn part(column: usize) -> Expr {
        let one = Expr::Literal(Value::Int(1));
        let sides = (Expr::Column(column), one);
        Expr::Compare(Comparison::Equal, Box::new(sides))
    }

    fn all(columns: &[usize]) -> Expr {
        Expr::And(columns.iter().map(|column| part(*column)).collect())
    }

    #[test]
    fn what_all_say_is_said_once() {
        let left = Expr::Or(vec![part(1), all(&[2, 3])]);
        assert_eq!(
            factored(vec![all(&[0, 1]), all(&[2, 0, 3])]),
            [part(0), left]
        );
        assert_eq!(factored(vec![part(0), all(&[0, 1])]), [part(0)]);
        let apart = vec![part(0), all(&[1, 2])];
        assert_eq!(factored(apart.clone()), [Expr::Or(apart)]);
    }

    #[test]
    fn what_each_says_of_some_columns_follows_for_them() {
        let is_low = |part: &Expr| !part.any(&|part| matches!(part, Expr::Column(2..)));
        let conditions = [all(&[0, 2]), all(&[1, 3, 0])];
        let expected = Expr::Or(vec![part(0), all(&[1, 0])]);
        assert_eq!(implied(&conditions, &is_low), Some(expected));
        assert_eq!(implied(&[part(0), part(2)], &is_low), None);
        let fails = Expr::IsNull(Box::new(Expr::Negate(
            crate::types::SqlType::Int4,
            Box::new(Expr::Column(0)),
        )));
        assert_eq!(implied(&[part(0), fails], &is_low), None);
    }
}
