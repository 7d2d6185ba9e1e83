//! Window functions of random queries: generated, written as SQL, and computed for each row from all others.

use super::evaluated::aggregated;
use super::model::{Aggregate, Cell, Choices, Row};
use super::written::name_of;
use std::cmp::Ordering;

#[derive(Clone, Copy, Debug)]
enum Function {
    RowNumber,
    Rank,
    DenseRank,
    Ntile(usize),
    Lag(usize),
    Lead(usize),
    First,
    Last,
    Nth(usize),
    Aggregate(Aggregate),
}

/// The number of rows before or behind the row; `None` for all.
#[derive(Clone, Copy, Debug)]
enum Bound {
    Preceding(Option<i64>),
    Current,
    Following(Option<i64>),
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    is_rows: bool,
    start: Bound,
    end: Bound,
}

/// A key of the order, and the place of larger values and of nulls.
#[derive(Clone, Copy, Debug)]
struct Key {
    descending: bool,
    nulls_first: bool,
}

/// A window function over its operands: the argument, then those of the partition, then those of the order.
#[derive(Clone, Debug)]
pub struct Window {
    function: Function,
    partition: usize,
    order: Vec<Key>,
    frame: Option<Frame>,
}

impl Window {
    pub fn random(choices: &mut Choices) -> Window {
        use Aggregate::{Count, Max, Min, Sum};
        let some = 1 + choices.below(3);
        let function = match choices.below(15) {
            0 => Function::RowNumber,
            1 => Function::Rank,
            2 => Function::DenseRank,
            3 => Function::Ntile(some),
            4 => Function::Lag(some - 1),
            5 => Function::Lead(some - 1),
            6 => Function::First,
            7 => Function::Last,
            8 => Function::Nth(some),
            _ => Function::Aggregate([Count, Max, Min, Sum][choices.below(4)]),
        };
        let order = (0..choices.below(3))
            .map(|_| Key::random(choices))
            .collect();
        Window {
            function,
            partition: choices.below(3),
            order,
            frame: (choices.below(2) == 0).then(|| Frame::random(choices)),
        }
    }

    pub fn operands(&self) -> usize {
        1 + self.partition + self.order.len()
    }

    /// True if the function's value differs between rows that are equal in order.
    pub fn tells_peers_apart(&self) -> bool {
        let has_frame = !matches!(self.function, Function::Rank | Function::DenseRank);
        let is_aggregate = matches!(self.function, Function::Aggregate(_));
        has_frame && (!is_aggregate || self.frame.is_some_and(|frame| frame.is_rows))
    }

    /// Adds a key to its order.
    pub fn add_key(&mut self, choices: &mut Choices) {
        self.order.push(Key::random(choices));
    }

    pub fn written(&self, operands: &[String]) -> String {
        let argument = &operands[0];
        let call = match self.function {
            Function::RowNumber => "row_number()".into(),
            Function::Rank => "rank()".into(),
            Function::DenseRank => "dense_rank()".into(),
            Function::Ntile(parts) => format!("ntile({parts})"),
            Function::Lag(offset) => format!("lag({argument}, {offset})"),
            Function::Lead(offset) => format!("lead({argument}, {offset}, 7)"),
            Function::First => format!("first_value({argument})"),
            Function::Last => format!("last_value({argument})"),
            Function::Nth(nth) => format!("nth_value({argument}, {nth})"),
            Function::Aggregate(aggregate) => format!("{}({argument})", name_of(aggregate)),
        };
        let mut clauses = Vec::new();
        let (partition, order) = operands[1..].split_at(self.partition);
        if !partition.is_empty() {
            clauses.push(format!("partition by {}", partition.join(", ")));
        }
        let keys = order.iter().zip(&self.order).map(|(operand, key)| {
            let direction = if key.descending { " desc" } else { "" };
            let nulls = if key.nulls_first { "first" } else { "last" };
            format!("{operand}{direction} nulls {nulls}")
        });
        let keys: Vec<_> = keys.collect();
        if !keys.is_empty() {
            clauses.push(format!("order by {}", keys.join(", ")));
        }
        if let Some(frame) = &self.frame {
            let unit = if frame.is_rows { "rows" } else { "range" };
            let (start, end) = (frame.start.written(), frame.end.written());
            clauses.push(format!("{unit} between {start} and {end}"));
        }
        format!("{call} over ({})", clauses.join(" "))
    }

    /// Its value for each row, of which the operands are given.
    pub fn values(&self, rows: &[Row]) -> Vec<Cell> {
        let mut values = vec![None; rows.len()];
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let of = 1..1 + self.partition;
            let is_of = |part: &&mut Vec<usize>| rows[part[0]][of.clone()] == row[of.clone()];
            match parts.iter_mut().find(is_of) {
                Some(part) => part.push(at),
                None => parts.push(vec![at]),
            }
        }
        for part in &mut parts {
            part.sort_by(|a, b| self.compared(&rows[*a], &rows[*b]));
            for (place, at) in part.iter().enumerate() {
                values[*at] = self.value(rows, part, place);
            }
        }
        values
    }

    fn compared(&self, a: &Row, b: &Row) -> Ordering {
        let from = 1 + self.partition;
        let keys = self.order.iter().zip(a[from..].iter().zip(&b[from..]));
        let orders = keys.map(|(key, (a, b))| match (a, b) {
            (None, None) => Ordering::Equal,
            (None, _) if key.nulls_first => Ordering::Less,
            (None, _) => Ordering::Greater,
            (_, None) if key.nulls_first => Ordering::Greater,
            (_, None) => Ordering::Less,
            (a, b) if key.descending => b.cmp(a),
            (a, b) => a.cmp(b),
        });
        orders.fold(Ordering::Equal, Ordering::then)
    }

    /// Its value for the row at a place of its sorted part.
    fn value(&self, rows: &[Row], part: &[usize], place: usize) -> Cell {
        let own = &rows[part[place]];
        let of = 1..1 + self.partition;
        let before = |row: &&usize| self.compared(&rows[**row], own).is_lt();
        let argument = |place: usize| part.get(place).and_then(|row| rows[*row][0]);
        let frame = || self.frame_of(rows, part, place);
        match self.function {
            Function::RowNumber => Some(place as i64 + 1),
            Function::Rank => Some(part.iter().filter(before).count() as i64 + 1),
            Function::DenseRank => {
                let mut keys: Vec<&[Cell]> = part
                    .iter()
                    .filter(before)
                    .map(|row| &rows[*row][of.end..])
                    .collect();
                keys.sort();
                keys.dedup();
                Some(keys.len() as i64 + 1)
            }
            Function::Ntile(parts) => {
                // The sizes of parts are those of dealing rows out in turn; a part's rows are consecutive.
                let mut sizes = vec![0; parts];
                (0..part.len()).for_each(|row| sizes[row % parts] += 1);
                let mut ends = sizes.iter().scan(0, |end, size| {
                    *end += size;
                    Some(*end)
                });
                ends.position(|end| place < end)
                    .map(|bucket| bucket as i64 + 1)
            }
            Function::Lag(offset) => argument(place.checked_sub(offset)?),
            Function::Lead(offset) if place + offset >= part.len() => Some(7),
            Function::Lead(offset) => argument(place + offset),
            Function::First => argument(*frame().first()?),
            Function::Last => argument(*frame().last()?),
            Function::Nth(nth) => argument(*frame().get(nth - 1)?),
            Function::Aggregate(aggregate) => {
                aggregated(aggregate, frame().into_iter().map(argument))
            }
        }
    }

    fn frame_of(&self, rows: &[Row], part: &[usize], place: usize) -> Vec<usize> {
        let frame = self.frame.unwrap_or(Frame {
            is_rows: false,
            start: Bound::Preceding(None),
            end: Bound::Current,
        });
        let is_inside = |other: &usize| {
            // The distance behind the row: for ranges, only its sign.
            let distance = match frame.is_rows {
                true => *other as i64 - place as i64,
                false => self.compared(&rows[part[*other]], &rows[part[place]]) as i64,
            };
            let starts = match frame.start {
                Bound::Preceding(None) => true,
                Bound::Preceding(Some(offset)) => distance >= -offset,
                Bound::Current => distance >= 0,
                Bound::Following(offset) => offset.is_some_and(|offset| distance >= offset),
            };
            let ends = match frame.end {
                Bound::Preceding(offset) => offset.is_some_and(|offset| distance <= -offset),
                Bound::Current => distance <= 0,
                Bound::Following(None) => true,
                Bound::Following(Some(offset)) => distance <= offset,
            };
            starts && ends
        };
        (0..part.len()).filter(is_inside).collect()
    }
}

impl Key {
    fn random(choices: &mut Choices) -> Key {
        Key {
            descending: choices.below(2) == 0,
            nulls_first: choices.below(2) == 0,
        }
    }
}

impl Frame {
    fn random(choices: &mut Choices) -> Frame {
        let is_rows = choices.below(3) > 0;
        let mut offset = || is_rows.then(|| choices.below(4) as i64);
        let starts = [
            Bound::Preceding(None),
            Bound::Preceding(offset()),
            Bound::Current,
            Bound::Following(offset()),
        ];
        let ends = [
            Bound::Preceding(offset()),
            Bound::Current,
            Bound::Following(offset()),
            Bound::Following(None),
        ];
        loop {
            let start = starts[choices.below(starts.len())];
            let end = ends[choices.below(ends.len())];
            let is_said = !matches!(
                (start, end),
                (Bound::Following(None), _)
                    | (_, Bound::Preceding(None))
                    | (Bound::Current, Bound::Preceding(_))
                    | (Bound::Following(_), Bound::Preceding(_) | Bound::Current)
            );
            if is_said {
                return Frame {
                    is_rows,
                    start,
                    end,
                };
            }
        }
    }
}

impl Bound {
    fn written(self) -> String {
        let side = |offset: Option<i64>, word: &str| match offset {
            Some(offset) => format!("{offset} {word}"),
            None => format!("unbounded {word}"),
        };
        match self {
            Bound::Preceding(offset) => side(offset, "preceding"),
            Bound::Current => "current row".into(),
            Bound::Following(offset) => side(offset, "following"),
        }
    }
}
