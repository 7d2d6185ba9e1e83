//! `VARIADIC array` in a call: the elements of the array are the arguments. Their number is known when the call runs, so
//! that a function of its own calls the named one.

use super::compile::Compiler;
use super::functions::{SPREAD, element_number, named, place_of, unknown};
use super::{Expr, Function, Typed};
use crate::error::{SqlError, code};
use crate::types::{SqlType, TypeSpec};
use crate::values::cast::{Coercion, can_cast};
use sardonyx::schema::Value;
use sqlparser::ast::{Expr as Tree, FunctionArg, FunctionArgExpr};

impl Compiler<'_> {
    /// The call of a function with `VARIADIC` before its last argument.
    ///
    /// # Errors
    /// `42883` if no function of the name takes the arguments so; `42804` for an argument that is no array; the errors
    /// of the arguments.
    pub(super) fn spread(
        &mut self,
        name: &str,
        before: &[FunctionArg],
        array: &Tree,
    ) -> Result<Typed, SqlError> {
        let mut arguments = Vec::with_capacity(before.len() + 1);
        for argument in before {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) = argument else {
                return Err(SqlError::unsupported(format!(
                    "the argument {argument} of {name} is not supported"
                )));
            };
            arguments.push(self.compile(tree)?);
        }
        let array = self.compile(array)?;
        let mut kinds: Vec<SqlType> = arguments.iter().map(Typed::kind).collect();
        kinds.push(array.kind());
        let takes = |function: &&Function| {
            let wanted = function.0.arguments.iter().zip(&kinds);
            function.0.is_variadic
                && function.0.arguments.len() == kinds.len()
                && wanted
                    .take(kinds.len() - 1)
                    .all(|(wanted, given)| match wanted.plain() {
                        Some(to) => can_cast(*given, to, Coercion::Implicit),
                        None => true,
                    })
        };
        let functions = named(name);
        let function = functions.iter().find(takes);
        let function = *function.ok_or_else(|| unknown(name, &kinds))?;
        let last = function.0.arguments.last().and_then(|kind| kind.plain());
        let array = match (array.kind().element(), last) {
            (None, None) => {
                return Err(SqlError::new(
                    code::DATATYPE_MISMATCH,
                    "VARIADIC argument must be an array",
                ));
            }
            (_, Some(of)) => {
                let to = of.array();
                if !can_cast(array.kind(), to, Coercion::Implicit) {
                    return Err(unknown(name, &kinds));
                }
                Typed::new(
                    self.coerce(array, TypeSpec::plain(to), Coercion::Implicit)?,
                    to,
                )
            }
            (Some(_), None) => array,
        };
        let element = array.kind().element().unwrap_or(SqlType::Text);
        let mut parts = vec![Expr::Literal(Value::Int(place_of(function) as i128))];
        for (argument, wanted) in arguments.into_iter().zip(function.0.arguments) {
            parts.push(match wanted.plain() {
                Some(to) => self.coerce(argument, TypeSpec::plain(to), Coercion::Implicit)?,
                None => argument.expr,
            });
        }
        parts.extend([element_number(element), array.expr]);
        let result = function.0.result.plain().unwrap_or(SqlType::Text);
        Ok(Typed::new(Expr::Call(Function(&SPREAD), parts), result))
    }
}
