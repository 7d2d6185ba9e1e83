//! `EXPLAIN` as JSON, YAML and XML: the lines of a plan as a tree, whose properties have PostgreSQL's names.

use crate::kept::Format;
use crate::values::json_text::push_text;

/// A value of a property.
#[derive(Clone, PartialEq, Debug)]
enum Part {
    Text(String),
    /// A number, or a truth.
    Plain(String),
    List(Vec<String>),
    Group(Vec<(String, Part)>),
    Groups(Vec<Vec<(String, Part)>>),
}

/// The lines of a plan in another form, with the times behind it.
pub(super) fn formatted(lines: &[String], format: Format) -> String {
    let is_time = |line: &&String| line.contains(" Time: ") && !line.starts_with(' ');
    let plan: Vec<&str> = lines
        .iter()
        .filter(|line| !is_time(line))
        .map(String::as_str)
        .collect();
    let mut query = vec![("Plan".to_string(), Part::Group(group(&plan, None)))];
    for line in lines.iter().filter(is_time) {
        if let Some((name, time)) = line.split_once(": ") {
            let time = time.trim_end_matches(" ms").to_string();
            query.push((name.to_string(), Part::Plain(time)));
        }
    }
    let mut out = String::new();
    match format {
        Format::Text => out = lines.join("\n"),
        Format::Json => {
            out.push_str("[\n  ");
            push_json(&Part::Group(query), 1, &mut out);
            out.push_str("\n]");
        }
        Format::Yaml => {
            for (at, (name, part)) in query.iter().enumerate() {
                out.push_str(if at == 0 { "- " } else { "\n  " });
                push_yaml(name, part, 1, &mut out);
            }
        }
        Format::Xml => {
            out.push_str("<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n");
            push_xml("Query", &Part::Group(query), 1, &mut out);
            out.push_str("</explain>");
        }
    }
    out
}

/// The properties of a node whose lines these are, with its place among the parts of another one.
fn group(lines: &[&str], place: Option<Place>) -> Vec<(String, Part)> {
    let (head, rest) = lines
        .split_first()
        .map_or(("", lines), |(head, rest)| (*head, rest));
    let mut parts = head_of(head, place);
    let mut plans = Vec::new();
    let mut at = 0;
    let mut name = None;
    while let Some(line) = rest.get(at) {
        let own = line.trim_start();
        let indent = line.len() - own.len();
        let inner = match own.strip_prefix("->  ") {
            Some(first) => {
                // The lines below are deeper than the arrow.
                let behind = rest[at + 1..].iter();
                let below = behind.take_while(|line| line.starts_with(&" ".repeat(indent + 1)));
                let below: Vec<&str> = below
                    .map(|line| line.get(indent + 4..).unwrap_or_default())
                    .collect();
                at += below.len();
                let mut inner = vec![first];
                inner.extend(below);
                Some(inner)
            }
            None => None,
        };
        at += 1;
        match inner {
            Some(inner) => {
                let number = plans.len();
                let place = match name.take() {
                    Some(name) => Place::Named(name),
                    None => Place::of(head, number),
                };
                plans.push(group(&inner, Some(place)));
            }
            None if own.starts_with("SubPlan ") || own.starts_with("CTE ") => {
                name = Some(own.to_string());
            }
            None => {
                if let Some((key, value)) = own.split_once(": ") {
                    let value = match key {
                        "Sort Key" | "Output" => Part::List(listed(value)),
                        _ => Part::Text(value.to_string()),
                    };
                    parts.push((key.to_string(), value));
                }
            }
        }
    }
    if !plans.is_empty() {
        parts.push(("Plans".to_string(), Part::Groups(plans)));
    }
    parts
}

/// The parts of a list of expressions: a comma inside of parentheses or quotes ends none.
fn listed(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut depth, mut quote) = (0_usize, None);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 && chars.peek() == Some(&' ') => {
                chars.next();
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts
}

/// The relation of a node to the one above it.
enum Place {
    Outer,
    Inner,
    Member,
    Subquery,
    /// That of a subplan, or of a query of `WITH`, by its name.
    Named(String),
}

impl Place {
    fn of(above: &str, number: usize) -> Place {
        match above {
            above if above.starts_with("Append") || above.starts_with("HashSetOp") => Place::Member,
            above if above.starts_with("Index Union") => Place::Member,
            above if above.starts_with("Subquery Scan") => Place::Subquery,
            _ if number == 0 => Place::Outer,
            _ => Place::Inner,
        }
    }
}

/// The name at the beginning of a text, without quotes, and the text behind it.
fn name_in(text: &str) -> (String, &str) {
    let Some(inner) = text.strip_prefix('"') else {
        let end = text.find([' ', '.']).unwrap_or(text.len());
        let (name, behind) = text.split_at(end);
        return (name.to_string(), behind);
    };
    let (mut name, mut rest) = (String::new(), inner);
    while let Some((part, behind)) = rest.split_once('"') {
        name.push_str(part);
        match behind.strip_prefix('"') {
            Some(behind) => rest = behind,
            None => return (name, behind),
        }
        name.push('"');
    }
    (name + rest, "")
}

/// The properties that the first line of a node names.
fn head_of(head: &str, place: Option<Place>) -> Vec<(String, Part)> {
    let (head, rows) = match head.split_once(" (actual rows=") {
        Some((head, rows)) => (head, Some(rows.trim_end_matches(')'))),
        None => (head, None),
    };
    let text = |text: &str| Part::Text(text.to_string());
    let (what, on) = match head.split_once(" on ") {
        Some((what, on)) => (what, Some(on)),
        None => (head, None),
    };
    let (what, index) = match what.split_once(" using ") {
        Some((what, index)) => (what, Some(index)),
        None => (what, None),
    };
    let (kind, more): (&str, Vec<(&str, &str)>) = match what {
        "Insert" | "Update" | "Delete" | "Merge" => ("ModifyTable", vec![("Operation", what)]),
        "Aggregate" => ("Aggregate", vec![("Strategy", "Plain")]),
        "HashAggregate" => ("Aggregate", vec![("Strategy", "Hashed")]),
        "HashSetOp" => ("SetOp", vec![("Strategy", "Hashed")]),
        "Index Scan Backward" => ("Index Scan", vec![("Scan Direction", "Backward")]),
        "Index Scan" => ("Index Scan", vec![("Scan Direction", "Forward")]),
        _ => {
            let joined = what
                .strip_prefix("Hash")
                .map(|kind| ("Hash Join", kind))
                .or_else(|| Some(("Nested Loop", what.strip_prefix("Nested Loop")?)));
            match joined {
                Some((join, kind)) => {
                    let kind = kind.trim().trim_end_matches("Join").trim();
                    let kind = if kind.is_empty() { "Inner" } else { kind };
                    (join, vec![("Join Type", kind)])
                }
                None => (what, Vec::new()),
            }
        }
    };
    let mut parts = vec![("Node Type".to_string(), text(kind))];
    for (name, value) in more {
        parts.push((name.to_string(), text(value)));
    }
    match place {
        None => {}
        Some(Place::Named(name)) => {
            let relation = if name.starts_with("CTE") {
                "InitPlan"
            } else {
                "SubPlan"
            };
            parts.push(("Parent Relationship".into(), text(relation)));
            parts.push(("Subplan Name".into(), text(&name)));
        }
        Some(place) => {
            let relation = match place {
                Place::Outer => "Outer",
                Place::Inner => "Inner",
                Place::Member => "Member",
                _ => "Subquery",
            };
            parts.push(("Parent Relationship".into(), text(relation)));
        }
    }
    for flag in ["Parallel Aware", "Async Capable"] {
        parts.push((flag.to_string(), Part::Plain("false".to_string())));
    }
    if let Some(index) = index {
        let (index, _) = name_in(index);
        parts.push(("Index Name".to_string(), Part::Text(index)));
    }
    if let Some(on) = on {
        let named = match kind {
            "CTE Scan" => "CTE Name",
            "Function Scan" => "Function Name",
            _ => "Relation Name",
        };
        let (mut name, mut behind) = name_in(on);
        let mut schema = None;
        if let Some(local) = behind.strip_prefix('.') {
            let (local, rest) = name_in(local);
            behind = rest;
            match named {
                "Relation Name" => (schema, name) = (Some(name), local),
                _ => name = format!("{name}.{local}"),
            }
        }
        let alias = match behind.trim_start() {
            "" => name.clone(),
            alias => name_in(alias).0,
        };
        parts.push((named.to_string(), Part::Text(name)));
        parts.extend(schema.map(|schema| ("Schema".to_string(), Part::Text(schema))));
        parts.push(("Alias".to_string(), Part::Text(alias)));
    }
    if let Some(rows) = rows {
        parts.push(("Actual Rows".to_string(), Part::Plain(rows.to_string())));
    }
    parts
}

fn line(depth: usize, out: &mut String) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
}

fn push_json(part: &Part, depth: usize, out: &mut String) {
    match part {
        Part::Text(text) => push_text(text, out),
        Part::Plain(plain) => out.push_str(plain),
        Part::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                push_text(item, out);
            }
            out.push(']');
        }
        Part::Group(parts) => {
            out.push('{');
            for (at, (name, part)) in parts.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(depth + 1, out);
                push_text(name, out);
                out.push_str(": ");
                push_json(part, depth + 1, out);
            }
            line(depth, out);
            out.push('}');
        }
        Part::Groups(groups) => {
            out.push('[');
            for (at, group) in groups.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(depth + 1, out);
                push_json(&Part::Group(group.clone()), depth + 1, out);
            }
            line(depth, out);
            out.push(']');
        }
    }
}

fn push_yaml(name: &str, part: &Part, depth: usize, out: &mut String) {
    out.push_str(name);
    out.push_str(": ");
    match part {
        Part::Text(text) => push_text(text, out),
        Part::Plain(plain) => out.push_str(plain),
        Part::List(items) => {
            for item in items {
                line(depth + 1, out);
                out.push_str("- ");
                push_text(item, out);
            }
        }
        Part::Group(parts) => {
            for (name, part) in parts {
                line(depth + 1, out);
                push_yaml(name, part, depth + 1, out);
            }
        }
        Part::Groups(groups) => {
            for group in groups {
                for (at, (name, part)) in group.iter().enumerate() {
                    line(depth + 1, out);
                    out.push_str(if at == 0 { "- " } else { "  " });
                    push_yaml(name, part, depth + 2, out);
                }
            }
        }
    }
}

fn push_xml(name: &str, part: &Part, depth: usize, out: &mut String) {
    let tag: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect();
    let indent = "  ".repeat(depth);
    let escaped = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        text.replace('>', "&gt;").replace('\r', "&#x0d;")
    };
    match part {
        Part::Text(text) | Part::Plain(text) => {
            *out += &format!("{indent}<{tag}>{}</{tag}>\n", escaped(text));
            return;
        }
        _ => *out += &format!("{indent}<{tag}>\n"),
    }
    match part {
        Part::List(items) => {
            for item in items {
                *out += &format!("{indent}  <Item>{}</Item>\n", escaped(item));
            }
        }
        Part::Group(parts) => {
            for (name, part) in parts {
                push_xml(name, part, depth + 1, out);
            }
        }
        Part::Groups(groups) => {
            for group in groups {
                push_xml("Plan", &Part::Group(group.clone()), depth + 1, out);
            }
        }
        _ => {}
    }
    *out += &format!("{indent}</{tag}>\n");
}
