//! Sorted sets: reads by member, score and rank.

use super::line::Line;
use super::range::{By, Limit, Range, Scored, count, rank, select};
use super::words::Words;
use super::{Command, ELEMENT, FAST, ONE_KEY, reads};
use crate::data::{Data, Kind, State};
use crate::failure::Failure;
use crate::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    reads!(
        "zscore",
        3,
        FAST | ELEMENT,
        ONE_KEY,
        zscore,
        "Returns the score of a member"
    ),
    reads!(
        "zmscore",
        -3,
        FAST | ELEMENT,
        ONE_KEY,
        zmscore,
        "Returns the scores of members"
    ),
    reads!(
        "zcard",
        2,
        FAST,
        ONE_KEY,
        zcard,
        "Counts the members of a sorted set"
    ),
    reads!(
        "zcount",
        4,
        FAST,
        ONE_KEY,
        zcount,
        "Counts the members in a range of scores"
    ),
    reads!(
        "zlexcount",
        4,
        FAST,
        ONE_KEY,
        zlexcount,
        "Counts the members in a range of names"
    ),
    reads!(
        "zrank",
        -3,
        FAST,
        ONE_KEY,
        zrank,
        "Returns how many members have lower scores"
    ),
    reads!(
        "zrevrank",
        -3,
        FAST,
        ONE_KEY,
        zrevrank,
        "Returns how many members have higher scores"
    ),
    reads!(
        "zrange",
        -4,
        0,
        ONE_KEY,
        zrange,
        "Returns the members in a range"
    ),
    reads!(
        "zrevrange",
        -4,
        0,
        ONE_KEY,
        zrevrange,
        "Returns the members in a range of ranks from the highest"
    ),
    reads!(
        "zrangebyscore",
        -4,
        0,
        ONE_KEY,
        zrangebyscore,
        "Returns the members in a range of scores"
    ),
    reads!(
        "zrevrangebyscore",
        -4,
        0,
        ONE_KEY,
        zrevrangebyscore,
        "Returns the members in a range of scores from the highest"
    ),
    reads!(
        "zrangebylex",
        -4,
        0,
        ONE_KEY,
        zrangebylex,
        "Returns the members in a range of names"
    ),
    reads!(
        "zrevrangebylex",
        -4,
        0,
        ONE_KEY,
        zrevrangebylex,
        "Returns the members in a range of names from the last"
    ),
];

/// A member's score.
fn score<S: State>(
    data: &mut Data<'_, S>,
    key: &[u8],
    member: &[u8],
) -> Result<Option<f64>, Failure> {
    match data.entry_of(key, Kind::SortedSet)? {
        Some(entry) => data.score(entry.id, member),
        None => Ok(None),
    }
}

fn zscore<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let score = score(data, line.part(1), line.part(2))?;
    Ok(score.map_or(Reply::Null, Reply::Double))
}

fn zmscore<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let mut scores = Vec::with_capacity(line.len() - 2);
    for member in line.parts(2) {
        scores.push(score(data, line.part(1), member)?.map_or(Reply::Null, Reply::Double));
    }
    Ok(Reply::Array(scores))
}

fn zcard<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let entry = data.entry_of(line.part(1), Kind::SortedSet)?;
    Ok(Reply::count(entry.map_or(0, |entry| entry.length)))
}

fn count_by<S: State>(data: &mut Data<'_, S>, line: &Line, by: By) -> Result<Reply, Failure> {
    let range = Range::between(by, line.part(2), line.part(3))?;
    match data.entry_of(line.part(1), Kind::SortedSet)? {
        Some(entry) => count(data, &entry, &range).map(Reply::count),
        None => Ok(Reply::Int(0)),
    }
}

fn zcount<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    count_by(data, line, By::Score)
}

fn zlexcount<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    count_by(data, line, By::Member)
}

fn rank_of<S: State>(data: &mut Data<'_, S>, line: &Line, reverse: bool) -> Result<Reply, Failure> {
    let mut words = Words::from(line, 3);
    let with_score = words.take("withscore");
    if words.left() > 0 {
        return Err(Failure::Syntax);
    }
    let nothing = if with_score {
        Reply::NullArray
    } else {
        Reply::Null
    };
    let Some(entry) = data.entry_of(line.part(1), Kind::SortedSet)? else {
        return Ok(nothing);
    };
    let Some(score) = data.score(entry.id, line.part(2))? else {
        return Ok(nothing);
    };
    let before = rank(data, &entry, line.part(2), score)?;
    let rank = Reply::count(if reverse {
        entry.length - 1 - before
    } else {
        before
    });
    Ok(match with_score {
        true => Reply::Array(vec![rank, Reply::Double(score)]),
        false => rank,
    })
}

fn zrank<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    rank_of(data, line, false)
}

fn zrevrank<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    rank_of(data, line, true)
}

/// The parsed words of a command of ranges.
pub(super) struct Selection<'l> {
    pub range: Range<'l>,
    pub reverse: bool,
    pub limit: Limit,
    pub with_scores: bool,
}

/// The words that a command of ranges allows.
#[derive(Clone, Copy)]
pub(super) struct Grammar {
    pub by: By,
    pub reverse: bool,
    /// The words may say the range's order, and if it is reversed.
    pub says: bool,
    pub with_scores: bool,
}

impl Grammar {
    /// The grammar of `ZRANGE`.
    const ALL: Grammar = Grammar {
        by: By::Rank,
        reverse: false,
        says: true,
        with_scores: true,
    };

    /// The grammar of `ZRANGESTORE`.
    pub const STORED: Grammar = Grammar {
        with_scores: false,
        ..Grammar::ALL
    };

    const fn fixed(by: By, reverse: bool) -> Grammar {
        Grammar {
            by,
            reverse,
            says: false,
            with_scores: true,
        }
    }

    /// Reads a command whose range begins at a part.
    pub fn read<'l>(mut self, line: &'l Line, from: usize) -> Result<Selection<'l>, Failure> {
        let (mut limit, mut with_scores) = (Limit::NONE, false);
        // The range's order and its reversal are said once at most.
        let (mut by, mut reverse) = (None, false);
        let mut words = Words::from(line, from + 2);
        while words.left() > 0 {
            match () {
                () if self.with_scores && words.take("withscores") => with_scores = true,
                () if words.left() > 2 && words.take("limit") => {
                    let (offset, count) = (words.integer()?, words.integer()?);
                    limit = Limit { offset, count };
                }
                () if self.says && by.is_none() && words.take("byscore") => by = Some(By::Score),
                () if self.says && by.is_none() && words.take("bylex") => by = Some(By::Member),
                () if self.says && !reverse && words.take("rev") => reverse = true,
                () => return Err(Failure::Syntax),
            }
        }
        self.by = by.unwrap_or(self.by);
        self.reverse |= reverse;
        // A count of -1 is no limit, as Redis reads it.
        if limit.count != Limit::NONE.count && self.by == By::Rank {
            return Err(Failure::Told(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
            ));
        }
        if with_scores && self.by == By::Member {
            return Err(Failure::Told(
                "ERR syntax error, WITHSCORES not supported in combination with BYLEX",
            ));
        }
        let (first, second) = (line.part(from), line.part(from + 1));
        // Reversed ranges are said from the highest, except those of ranks, which count from there.
        let range = match self.reverse && self.by != By::Rank {
            true => Range::between(self.by, second, first)?,
            false => Range::between(self.by, first, second)?,
        };
        let range = match (range, self.reverse) {
            (Range::Rank(start, end), true) => Range::Rank(!end, !start),
            (range, _) => range,
        };
        let limit = match self.by {
            By::Rank => Limit::NONE,
            By::Score | By::Member => limit,
        };
        Ok(Selection {
            range,
            reverse: self.reverse,
            limit,
            with_scores,
        })
    }
}

pub(super) fn answer(members: Vec<Scored>, with_scores: bool) -> Reply {
    let pairs = members
        .into_iter()
        .map(|(member, score)| (Reply::Bulk(member), Reply::Double(score)));
    match with_scores {
        true => Reply::Pairs(pairs.collect()),
        false => Reply::Array(pairs.map(|(member, _)| member).collect()),
    }
}

fn range_of<S: State>(
    data: &mut Data<'_, S>,
    line: &Line,
    grammar: Grammar,
) -> Result<Reply, Failure> {
    let Selection {
        range,
        reverse,
        limit,
        with_scores,
    } = grammar.read(line, 2)?;
    let members = match data.entry_of(line.part(1), Kind::SortedSet)? {
        Some(entry) => select(data, &entry, &range, reverse, limit)?,
        None => Vec::new(),
    };
    Ok(answer(members, with_scores))
}

fn zrange<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    range_of(data, line, Grammar::ALL)
}

fn zrevrange<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    range_of(data, line, Grammar::fixed(By::Rank, true))
}

fn zrangebyscore<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    range_of(data, line, Grammar::fixed(By::Score, false))
}

fn zrevrangebyscore<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    range_of(data, line, Grammar::fixed(By::Score, true))
}

fn zrangebylex<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    range_of(data, line, Grammar::fixed(By::Member, false))
}

fn zrevrangebylex<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    range_of(data, line, Grammar::fixed(By::Member, true))
}
