//! Fields of rows and elements of arrays behind a value: `(row).field`, `array[1]`, `(row).rows[2].field`. Each applies to
//! the value before it.

use super::cast::Coercion;
use super::compile::Compiler;
use super::functions::{ELEMENT_AT, NAME_BYTE, ORDINALS, SLICE};
use super::{Expr, Function, Typed};
use crate::error::{SqlError, code};
use crate::names::{name_of, qualified};
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::Value;
use sqlparser::ast::{AccessExpr, Expr as Tree, Ident, Subscript};

/// The function whose rows have an element as `x` and its number as `n`. Here the function itself gives the element.
pub(crate) const EXPANDED: &str = "_pg_expandarray";

impl Compiler<'_> {
    /// A value with fields and subscripts behind it.
    ///
    /// # Errors
    /// `42809` for a field of a value that is no row, `42703` for one that the row has not; `42804` for a subscript of a
    /// value that is no array.
    pub(super) fn element(&mut self, root: &Tree, chain: &[AccessExpr]) -> Result<Typed, SqlError> {
        if let (Tree::Identifier(table), [AccessExpr::Dot(Tree::Identifier(column)), rest @ ..]) =
            (root, chain)
        {
            // A column after its table's name.
            let name = Tree::CompoundIdentifier(vec![table.clone(), column.clone()]);
            return self.element(&name, rest);
        }
        let mut rest = chain;
        let mut value = match chain {
            [] => return self.compile(root),
            [AccessExpr::Dot(Tree::Identifier(field)), behind @ ..]
                if let Some(name) = self.column_of_row(root, field) =>
            {
                rest = behind;
                self.compile(&name)?
            }
            [AccessExpr::Dot(Tree::Identifier(field)), behind @ ..] if is_expanded(root) => {
                rest = behind;
                let element = expanded(self.whole(root)?, field)?;
                self.placed_rows(element, EXPANDED)?
            }
            // Earlier versions took such subscripts without parentheses.
            [AccessExpr::Subscript(_), ..] if !has_subscripts(root) && !self.is_of_kept_text() => {
                return Err(SqlError::syntax("syntax error at or near \"[\""));
            }
            _ => self.compile(root)?,
        };
        loop {
            let subscripts = rest.iter();
            let is_subscript = |access: &&AccessExpr| matches!(access, AccessExpr::Subscript(_));
            let count = subscripts.take_while(is_subscript).count();
            let (subscripts, behind) = rest.split_at(count);
            if !subscripts.is_empty() {
                value = self.subscripted(value, subscripts)?;
            }
            let [AccessExpr::Dot(field), behind @ ..] = behind else {
                return Ok(value);
            };
            let Tree::Identifier(field) = field else {
                return Err(SqlError::unsupported(format!(
                    "the field {field} is not supported"
                )));
            };
            value = self.field(&value, field)?;
            rest = behind;
        }
    }

    /// Reads one column of a row by its name.
    fn field(&mut self, row: &Typed, field: &Ident) -> Result<Typed, SqlError> {
        match row.kind() {
            SqlType::Record | SqlType::Composite(_) => self.field_of(row, &name_of(field)),
            // The value of [`EXPANDED`] in a row of a query is its element.
            SqlType::Int2 if name_of(field) == "x" => Ok(row.clone()),
            kind => Err(no_row(field, kind)),
        }
    }

    /// The part of an array, of JSON or of a name at some subscripts.
    fn subscripted(&mut self, array: Typed, chain: &[AccessExpr]) -> Result<Typed, SqlError> {
        if array.kind() == SqlType::Jsonb {
            return self.part_of_json(array, chain);
        }
        if let (SqlType::Name, [AccessExpr::Subscript(Subscript::Index { index })]) =
            (array.kind(), chain)
        {
            let parts = vec![array.expr, self.subscript(index)?];
            let call = Expr::Call(Function(&NAME_BYTE), parts);
            return Ok(Typed::new(call, SqlType::OneChar));
        }
        let Some(element) = array.kind().element() else {
            let name = array.kind().name();
            if array.kind() == SqlType::Hstore {
                let text = "subscripts of hstore are not supported: use `->`";
                return Err(SqlError::unsupported(text));
            }
            let text =
                format!("cannot subscript type {name} because it does not support subscripting");
            return Err(SqlError::new(code::DATATYPE_MISMATCH, text));
        };
        let is_slice =
            |access: &AccessExpr| matches!(access, AccessExpr::Subscript(Subscript::Slice { .. }));
        if chain.iter().any(is_slice) {
            return self.slice(array, chain);
        }
        let kind = Expr::Literal(Value::Int(element.number().into()));
        let mut parts = vec![array.expr, kind];
        for access in chain {
            let AccessExpr::Subscript(Subscript::Index { index }) = access else {
                return Err(SqlError::unsupported("a subscript of another form"));
            };
            parts.push(self.subscript(index)?);
        }
        Ok(Typed::new(
            Expr::Call(Function(&ELEMENT_AT), parts),
            element,
        ))
    }

    fn subscript(&mut self, tree: &Tree) -> Result<Expr, SqlError> {
        let number = self.compile(tree)?;
        self.coerce(number, TypeSpec::plain(SqlType::Int4), Coercion::Assignment)
    }

    /// Elements of an array between bounds of each dimension. If one subscript is a slice, every other one is the last
    /// element of a slice from 1, as in PostgreSQL.
    fn slice(&mut self, array: Typed, chain: &[AccessExpr]) -> Result<Typed, SqlError> {
        if matches!(array.kind(), SqlType::Int2Vector | SqlType::OidVector) {
            let name = array.kind().name();
            let text = format!("slices of {name} are not supported");
            return Err(SqlError::unsupported(text));
        }
        let spec = array.spec;
        let mut parts = vec![array.expr];
        for access in chain {
            let one = Tree::value(sqlparser::ast::Value::Number("1".into(), false));
            let (lower, upper) = match access {
                AccessExpr::Subscript(Subscript::Index { index }) => (Some(&one), Some(index)),
                AccessExpr::Subscript(Subscript::Slice {
                    lower_bound,
                    upper_bound,
                    stride: None,
                }) => (lower_bound.as_ref(), upper_bound.as_ref()),
                _ => return Err(SqlError::unsupported("a slice of an array has two bounds")),
            };
            for bound in [lower, upper] {
                parts.push(Expr::Literal(Value::Bool(bound.is_some())));
                parts.push(match bound {
                    Some(bound) => self.subscript(bound)?,
                    None => Expr::Literal(Value::Null),
                });
            }
        }
        let expr = Expr::Call(Function(&SLICE), parts);
        Ok(Typed { expr, spec })
    }
}

/// The error of a field of a value that is no row.
#[cold]
fn no_row(field: &Ident, kind: SqlType) -> SqlError {
    let text = format!(
        "column notation .{} applied to type {}, which is not a composite type",
        field.value,
        kind.name()
    );
    SqlError::new(code::WRONG_OBJECT_TYPE, text)
}

/// True for a call of [`EXPANDED`].
fn is_expanded(mut tree: &Tree) -> bool {
    while let Tree::Nested(inner) = tree {
        tree = inner;
    }
    match tree {
        Tree::Function(function) => {
            qualified(&function.name).is_ok_and(|(_, name)| name == EXPANDED)
        }
        _ => false,
    }
}

/// A field of `information_schema._pg_expandarray`, by which JDBC's driver asks for the columns of keys.
fn expanded(typed: Typed, field: &Ident) -> Result<Typed, SqlError> {
    let kind = typed.kind();
    match (typed.expr, name_of(field).as_str()) {
        (Expr::Call(function, parts), "n") if function.is(EXPANDED) => Ok(Typed::new(
            Expr::Call(Function(&ORDINALS), parts),
            SqlType::Int4,
        )),
        (expr, "x") => Ok(Typed::new(expr, kind)),
        _ => Err(no_row(field, kind)),
    }
}

/// True for an expression that PostgreSQL's grammar lets subscripts follow: a column, a parameter, or one in parentheses.
fn has_subscripts(root: &Tree) -> bool {
    match root {
        Tree::Value(value) => matches!(value.value, sqlparser::ast::Value::Placeholder(_)),
        Tree::Array(_) | Tree::Function(_) | Tree::Cast { .. } | Tree::Case { .. } => false,
        _ => true,
    }
}
