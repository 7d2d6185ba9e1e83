//! The lines of a body in PL/pgSQL, compiled to steps.

use super::super::code::{GivenRow, Message, Shape, Step};
use super::Compiling;
use super::records::Shapes;
use crate::error::{SqlError, code};
use crate::expression::{Scope, ScopeTable};
use crate::parse::{Line, Raise};
use crate::routines::Returns;
use crate::types::{SqlType, TypeSpec};

impl Compiling<'_> {
    pub(super) fn lines(&mut self, lines: &[Line]) -> Result<Vec<Step>, SqlError> {
        let mut steps = Vec::with_capacity(lines.len());
        for line in lines {
            steps.push(self.line(line)?);
        }
        Ok(steps)
    }

    fn line(&mut self, line: &Line) -> Result<Step, SqlError> {
        Ok(match line {
            Line::Sql(text) => {
                let query = self.query(text)?;
                if !query.plan.writes() {
                    return Err(
                        SqlError::syntax("query has no destination for result data").hint(
                            "If you want to discard the results of a SELECT, use PERFORM instead.",
                        ),
                    );
                }
                Step::Run(query)
            }
            Line::Perform(text) => Step::Run(self.expression(text)?),
            Line::Assign { target, value } => {
                let query = self.expression(value)?;
                if target.field.is_none() && self.found_place(&target.name, None).is_none() {
                    return Err(SqlError::unsupported(format!(
                        "an assignment to the whole of \"{}\" is not supported in functions",
                        target.name
                    )));
                }
                Step::Into {
                    places: vec![self.target(target)?],
                    query,
                    is_strict: false,
                    finds: false,
                }
            }
            Line::Into {
                text,
                targets,
                is_strict,
            } => {
                let query = self.query(text)?;
                Step::Into {
                    places: self.places(targets, &query)?,
                    query,
                    is_strict: *is_strict,
                    finds: true,
                }
            }
            Line::If {
                branches,
                otherwise,
            } => self.branches(branches, otherwise)?,
            Line::While { condition, lines } => {
                let condition = self.expression(condition)?;
                let lines = self.anywhere(true, |inner| inner.lines(lines))?;
                Step::While(Some(condition), lines)
            }
            Line::Loop(lines) => {
                Step::While(None, self.anywhere(true, |inner| inner.lines(lines))?)
            }
            Line::For {
                variable,
                query,
                lines,
            } => {
                let query = self.query(query)?;
                let places = self.record(variable, &query)?;
                let lines = self.anywhere(true, |inner| inner.lines(lines))?;
                Step::For(query, places, lines)
            }
            Line::Count {
                variable,
                from,
                to,
                step,
                is_reverse,
                lines,
            } => {
                let by = step.as_ref().map(|step| self.expression(step));
                let (from, to) = (self.expression(from)?, self.expression(to)?);
                let mut table = ScopeTable::default();
                let place = self.add(&mut table, variable, TypeSpec::plain(SqlType::Int4));
                self.scopes.push(Scope {
                    tables: vec![table],
                });
                let steps = self.anywhere(true, |inner| inner.lines(lines));
                self.scopes.pop();
                Step::Count {
                    place,
                    from,
                    to,
                    by: by.transpose()?,
                    is_reverse: *is_reverse,
                    steps: steps?,
                }
            }
            Line::Leave { continues, when } => Step::Leave {
                continues: *continues,
                when: when
                    .as_ref()
                    .map(|when| self.expression(when))
                    .transpose()?,
            },
            Line::Give(_) | Line::Return => self.give(match line {
                Line::Give(text) => text.as_deref(),
                _ => None,
            })?,
            Line::GiveRows(text) => {
                let query = self.query(text)?;
                let Shape::Rows(columns) = self.shape.clone() else {
                    return Err(no_rows("RETURN QUERY"));
                };
                if query.columns.len() != columns.len() {
                    let text = "structure of query does not match function result type";
                    return Err(SqlError::new(code::DATATYPE_MISMATCH, text));
                }
                Step::GiveRows(query)
            }
            Line::GiveNext(text) => self.next(text.as_deref())?,
            Line::Raise(raise) => Step::Raise(Box::new(self.message(raise)?)),
            Line::Block(block) => self.block(block)?,
            Line::Diagnostics(target) => Step::CountOfRows(self.target(target)?),
            Line::Execute(_) => {
                return Err(SqlError::unsupported(
                    "EXECUTE is not supported in functions",
                ));
            }
        })
    }

    fn branches(
        &mut self,
        branches: &[(String, Vec<Line>)],
        otherwise: &[Line],
    ) -> Result<Step, SqlError> {
        let (first, mut made) = (self.shapes(), Vec::with_capacity(branches.len()));
        let mut ends: Vec<Shapes> = Vec::with_capacity(branches.len());
        for (condition, lines) in branches {
            made.push((self.expression(condition)?, self.lines(lines)?));
            ends.push(self.shapes());
            self.set_shapes(&first);
        }
        let otherwise = self.lines(otherwise)?;
        for shapes in &ends {
            self.join_shapes(shapes);
        }
        Ok(Step::If(made, otherwise))
    }

    fn give(&mut self, text: Option<&str>) -> Result<Step, SqlError> {
        match (&self.shape, text) {
            (Shape::Row, Some(text)) => {
                let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
                Ok(Step::GiveRow(match plain.to_ascii_lowercase().as_str() {
                    "new" => GivenRow::New,
                    "old" => GivenRow::Old,
                    "coalesce(new,old)" => GivenRow::Either,
                    "null" => GivenRow::None,
                    _ => {
                        return Err(SqlError::unsupported(
                            "the function of a trigger returns NEW, OLD or NULL",
                        ));
                    }
                }))
            }
            (Shape::Void | Shape::Rows(_), None) => Ok(Step::Give(None)),
            (_, None) if !self.outs.is_empty() => Ok(Step::Give(None)),
            (Shape::Void, Some(_)) => Err(SqlError::new(
                code::DATATYPE_MISMATCH,
                "RETURN cannot have a parameter in function returning void",
            )),
            (Shape::Rows(_), Some(_)) => Err(SqlError::new(
                code::DATATYPE_MISMATCH,
                "RETURN cannot have a parameter in function returning set",
            )
            .hint("Use RETURN NEXT or RETURN QUERY.")),
            (_, Some(_)) if !self.outs.is_empty() => Err(SqlError::new(
                code::DATATYPE_MISMATCH,
                "RETURN cannot have a parameter in function with OUT parameters",
            )),
            (Shape::OneRow(_), Some(text)) => self.give_one_row(text),
            (_, Some(text)) => Ok(Step::Give(Some(self.expression(text)?))),
            (_, None) => Err(SqlError::syntax("missing expression at or near \";\"")),
        }
    }

    /// `RETURN NEXT`
    fn next(&mut self, text: Option<&str>) -> Result<Step, SqlError> {
        let Shape::Rows(columns) = self.shape.clone() else {
            return Err(no_rows("RETURN NEXT"));
        };
        let Some(text) = text else {
            if !self.outs.is_empty() {
                return Ok(Step::GiveNext(self.outs.clone()));
            }
            let Returns::Table(columns) = &self.definition.returns else {
                return Err(SqlError::syntax("RETURN NEXT must have a parameter"));
            };
            let places = columns.iter().map(|(name, _)| {
                let place = self.found_place(name, None);
                place.map_or(0, |place| place.at)
            });
            return Ok(Step::GiveNext(places.collect()));
        };
        if let Some(places) = self.fields_named(text) {
            if places.len() != columns.len() {
                let text = "wrong record type supplied in RETURN NEXT";
                return Err(SqlError::new(code::DATATYPE_MISMATCH, text));
            }
            let places = places.iter().map(|place| place.at);
            return Ok(Step::GiveNext(places.collect()));
        }
        if let Returns::RowsOf(_) | Returns::RowsOfType(_) = self.definition.returns {
            return Ok(Step::GiveNextOf(self.fields_of(text)?));
        }
        if columns.len() != 1 {
            return Err(SqlError::syntax(
                "RETURN NEXT cannot have a parameter in function with OUT parameters",
            ));
        }
        Ok(Step::GiveNextOf(self.expression(text)?))
    }

    fn message(&mut self, raise: &Raise) -> Result<Message, SqlError> {
        let mut arguments = Vec::with_capacity(raise.arguments.len());
        for argument in &raise.arguments {
            arguments.push(self.expression(argument)?);
        }
        let other = |compiling: &mut Self, text: &Option<String>| {
            let text = text.as_ref();
            text.map(|text| compiling.expression(text)).transpose()
        };
        Ok(Message {
            level: raise.level,
            format: raise.format.clone(),
            arguments,
            code: raise.code,
            detail: other(self, &raise.detail)?,
            hint: other(self, &raise.hint)?,
        })
    }
}

fn no_rows(word: &str) -> SqlError {
    let text = format!("cannot use {word} in a non-SETOF function");
    SqlError::new(code::DATATYPE_MISMATCH, text)
}
