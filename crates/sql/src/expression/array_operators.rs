//! `x operator ANY (array)` and `ALL` for operators that do not compare, such as `@>`, `&&`, `~` and `LIKE`, compiled.
//!
//! The value, the array and the test of an element are compiled once each: nested ones take no more steps than their
//! text is long. See [`Each`].

use super::arrays::array_kind;
use super::compile::Compiler;
use super::each::{ELEMENT, Each, Elements, VALUE};
use super::functions::MADE;
use super::{Expr, Scope, ScopeColumn, ScopeTable, Typed};
use crate::error::{SqlError, code};
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::Value;
use sqlparser::ast::{Expr as Tree, Ident};

/// The names of the value and of the element in the test.
const NAMES: [&str; 2] = ["?value", "?element"];

fn without_parentheses(mut tree: &Tree) -> &Tree {
    while let Tree::Nested(inner) = tree {
        tree = inner;
    }
    tree
}

fn named(place: usize) -> Tree {
    Tree::Identifier(Ident::with_quote('"', NAMES[place]))
}

impl Compiler<'_> {
    /// `left operator ANY (right)`; `test` makes the test of one element.
    ///
    /// # Errors
    /// `42809` if the right side is no array; errors of the operator.
    pub(super) fn each_of_array(
        &mut self,
        left: &Tree,
        right: &Tree,
        is_all: bool,
        symbol: &str,
        test: &dyn Fn(Tree, Tree) -> Tree,
    ) -> Result<Typed, SqlError> {
        let left = without_parentheses(left);
        let mut value = self.compile(left)?;
        // The operator gives a literal, or a parameter, its type.
        let mut tree = named(VALUE);
        if value.kind() == SqlType::Unknown {
            match left {
                Tree::Value(_) => tree = left.clone(),
                _ => value = self.as_type(value, SqlType::Text)?,
            }
        }
        let mut array = match without_parentheses(right) {
            Tree::Subquery(query) => self.array_of(query)?,
            right => self.compile(right)?,
        };
        let is_untyped = array.kind() == SqlType::Unknown;
        let element = match array.kind().element() {
            // As the other side, or text if the operator has none such.
            None if is_untyped => array_kind(value.kind()).element().unwrap_or(SqlType::Text),
            Some(element) => element,
            None => {
                return Err(SqlError::new(
                    code::WRONG_OBJECT_TYPE,
                    "op ANY/ALL (array) requires array on right side",
                ));
            }
        };
        let of_array = array.spec.collation;
        let tree = test(tree, named(ELEMENT));
        let mut compiled = |element: SqlType| {
            let element = TypeSpec::plain(element).with_collation(of_array);
            self.test_of(&tree, value.spec, element)
        };
        let (test, element) = match compiled(element) {
            Err(_) if is_untyped && element != SqlType::Text => {
                (compiled(SqlType::Text)?, SqlType::Text)
            }
            test => (test?, element),
        };
        if is_untyped {
            array = self.as_type(array, element.array())?;
        }
        let kind = Expr::Literal(Value::Int(element.number().into()));
        let elements = match array.expr {
            // The elements of an array of arrays are theirs.
            Expr::Call(function, mut items)
                if function.is(MADE.name) && items.first() == Some(&kind) =>
            {
                items.remove(0);
                Elements::Items(items)
            }
            array => Elements::Array(array, element),
        };
        let each = Each {
            value: value.expr,
            elements,
            test,
            is_all,
            symbol: symbol.to_string(),
        };
        Ok(Typed::new(Expr::Each(Box::new(each)), SqlType::Bool))
    }

    /// The test of an element, over a row of the value and the element.
    fn test_of(
        &mut self,
        tree: &Tree,
        value: TypeSpec,
        element: TypeSpec,
    ) -> Result<Expr, SqlError> {
        let columns = [(VALUE, value), (ELEMENT, element)];
        let columns = columns.map(|(place, spec)| ScopeColumn {
            spec,
            ..ScopeColumn::new(NAMES[place], spec, place)
        });
        let scope = Scope {
            tables: vec![ScopeTable {
                alias: String::new(),
                columns: columns.into(),
                ..ScopeTable::default()
            }],
        };
        let mut compiler = Compiler::new(&scope, self.parameters);
        let test = compiler.condition(tree, "ANY");
        let crosses_zone = compiler.crosses_zone;
        self.crosses_zone |= crosses_zone;
        test
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Parameters;
    use crate::parse::parse_expression;

    /// The number of compiled expressions of a text, with those of the tests of elements.
    fn nodes_of(text: &str) -> usize {
        let tree = parse_expression(text).expect(text);
        let (scope, mut parameters) = (Scope::default(), Parameters::default());
        let mut compiler = Compiler::new(&scope, &mut parameters);
        let compiled = compiler.compile(&tree).expect(text);
        let mut nodes = 0;
        compiled.expr.walk(&mut |part| {
            nodes += 1;
            if let Expr::Each(each) = part {
                each.test.walk(&mut |_| nodes += 1);
            }
        });
        nodes
    }

    fn nested(depth: usize, array: &str) -> String {
        let mut text = String::from("'a'");
        for _ in 0..depth {
            text = format!("({text} LIKE ANY ({array}))::text");
        }
        text
    }

    #[test]
    fn nested_tests_are_compiled_in_steps_of_their_number() {
        // As large as a stage's: the compiler is recursive.
        let stack = std::thread::Builder::new().stack_size(16 << 20);
        let checked = stack.spawn(check_nested).expect("a thread").join();
        checked.expect("checked");
    }

    #[test]
    fn nested_lists_are_compiled_in_steps_of_their_number() {
        let stack = std::thread::Builder::new().stack_size(16 << 20);
        let checked = stack.spawn(check_lists).expect("a thread").join();
        checked.expect("checked");
    }

    fn check_lists() {
        let with = |first: &str, list: &str, levels: usize| {
            let mut text = String::from(first);
            for _ in 0..levels {
                text = format!("({text} {list})");
            }
            text
        };
        // Compiled twice at each level, these would take 2^40 steps.
        for list in ["= ANY (ARRAY[]::text[])", "= ANY (ARRAY[])", "IN (true)"] {
            let tree = parse_expression(&with("true", list, 40)).expect(list);
            let (scope, mut parameters) = (Scope::default(), Parameters::default());
            let mut compiler = Compiler::new(&scope, &mut parameters);
            let _ = compiler.compile(&tree);
        }
        // Items of two types get one, so the value has one cast at each level.
        let list = " IN ('2020-01-01'::date, '2020-01-01 00:00'::timestamptz))::text::date";
        let text = format!("{}{}", "(".repeat(25), "'2020-01-01'::date");
        let text = text + &list.repeat(25);
        let tree = parse_expression(&text).expect("an expression");
        let (scope, mut parameters) = (Scope::default(), Parameters::default());
        let compiled = Compiler::new(&scope, &mut parameters).compile(&tree);
        assert!(compiled.is_ok());
    }

    fn check_nested() {
        for array in [
            "ARRAY['a', 'b', 'c', 'd', 'e']",
            "'{a,b}'",
            "'{a,b}'::text[]",
        ] {
            let of_one = nodes_of(&nested(1, array));
            let of_many = nodes_of(&nested(40, array));
            assert!(of_many <= 40 * of_one, "{array}: {of_many} of {of_one}");
        }
        // In the array. A statement has at most 100 levels of brackets.
        let mut text = String::from("'a'");
        for _ in 0..20 {
            text = format!("('t' LIKE ANY (ARRAY[{text}, 'f']))::text");
        }
        assert!(nodes_of(&text) <= 20 * nodes_of(&nested(1, "ARRAY['a', 'f']")));
    }
}
