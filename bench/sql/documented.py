#!/usr/bin/env python3
"""Differences of rows that docs/sql.md states: both answers are put into the stated form, and must then be the same.

    bench/sql/documented.py

tries the forms: each takes the stated difference away, and no other one. Ends with 0 if they do.
"""

import re
import sys

from drawn import kinds

# A text that is read as an interval with fields: they read a literal alone there.
FIELDS = re.compile(r"::text(\)*)::interval (?=year|month|day|hour|minute|second)")
# Collations in which PostgreSQL gives cases to letters of ASCII alone.
CASES = re.compile(r'collate (pg_catalog\.)?"(C|POSIX|ucs_basic)"')


def shortened(cell):
    """Without zeros behind the last digit of decimals."""
    return cell and re.sub(r"(?<=\d)\.(?!\d)", "", re.sub(r"(\.\d*?)0+(?!\d)", r"\1", cell))


def of_base(cell):
    """A text with the names of types in the place of domains'."""
    names = {"int4": "integer", "varchar": "character varying"}
    return re.sub(r"\b(" + "|".join(kinds.DOMAINS) + r")\b", lambda found: names.get(kinds.DOMAINS[found[0]], kinds.DOMAINS[found[0]]), cell)


def without_blanks(cell):
    """Without blanks at the ends of an array's elements, and of one that was taken out of it; then they need no quotes."""
    bare = re.sub(r' +(?=["},]|$)', "", cell)
    return re.sub(r'(?<=[{,])"([^"\\{},\s]+)"(?=[},])', lambda found: found[0] if found[1].lower() == "null" else found[1], bare)


def in_lower_case(cell):
    """With no cases of letters beyond ASCII."""
    return "".join(one if one.isascii() else one.lower() for one in cell)


def without_mask(cell):
    """Quoted addresses without the mask of a whole one."""
    return re.sub(r"('[0-9.]+)/32(?=')|('[0-9a-f.:]*:[0-9a-f.:]*)/128(?=')", lambda found: found[1] or found[2], cell)


# The cause, the statements that it can concern, and the form.
FORMS = [
    # A range may be a text, too.
    ("zeros at the end of a numrange's bounds", lambda text: "numrange" in text, shortened),
    ("cases of letters beyond ASCII in the collation C", lambda text: CASES.search(text) and not text.isascii(), in_lower_case),
    # A letter without a case ends a word there, so the next one begins one.
    ("words after letters beyond ASCII in the collation C", lambda text: CASES.search(text) and "initcap" in text and not text.isascii(), str.lower),
    ("the base type of a domain", lambda text: set(kinds.DOMAINS) & set(re.findall(r"\w+", text)), of_base),
    ("an address as a literal", lambda text: re.search(r"quote_(literal|nullable)", text) and "inet" in text, without_mask),
    (
        "blanks of an array's elements",
        lambda text: re.search(r"bpchar|char\(\d+\)", text) and re.search(r"array|unnest|\[", text),
        without_blanks,
    ),
]


def cause(text, ours, theirs, is_ordered=True):
    """The documented cause of all differences between the rows of two answers to a statement; None if there is none."""
    concerning = [(what, form) for what, concerns, form in FORMS if concerns(text)]
    # Each alone, and then all together.
    for some in [*([one] for one in concerning), concerning]:
        one, other = (formed(rows, [form for _, form in some], is_ordered) for rows in (ours, theirs))
        if some and one == other:
            return ", ".join(what for what, _ in some)
    return None


def formed(rows, forms, is_ordered):
    for form in forms:
        rows = [tuple(cell and form(cell) for cell in row) for row in rows]
    return rows if is_ordered else sorted(rows, key=lambda row: [(cell is None, str(cell)) for cell in row])


def as_literal(text):
    """A statement with literals where it reads texts as intervals with fields; None if it has none."""
    changed = FIELDS.sub(r"\1::interval ", text)
    return changed if changed != text else None


# A statement, our answer and PostgreSQL's, and the cause.
TRIED = [
    ("select array['a'::char(3)]", "{a}", '{"a  "}', "blanks of an array's elements"),
    ("select (array['a'::char(3)])[1]", "a", "a  ", "blanks of an array's elements"),
    ("select array['a b'::char(4), null]", '{"a b",NULL}', '{"a b ",NULL}', "blanks of an array's elements"),
    ("select array['a'::char(3)], sum(1)", "{a} 2", '{"a  "} 3', None),
    ("select array['a'::char(3)]", "{b}", '{"a  "}', None),
    ("select array['null'::char(5)]", "{NULL}", '{"null "}', None),
    ("select array['a']", "{a}", '{"a  "}', None),
    ("select upper('aä' collate \"C\")", "AÄ", "Aä", "cases of letters beyond ASCII in the collation C"),
    ("select upper('aä' collate \"C\")", "aÄ", "Aä", None),
    ("select upper('aä' collate \"C\")", "AÖ", "Aä", None),
    ("select initcap('naïve' collate \"C\")", "Naïve", "NaïVe", "words after letters beyond ASCII in the collation C"),
    ("select lower('naïVe' collate \"C\")", "naïve", "naïVe", None),
    ("select quote_literal(inet '10.0.0.1')", "'10.0.0.1'", "'10.0.0.1/32'", "an address as a literal"),
    ("select quote_literal(inet '::1')", "'::1'", "'::1/128'", "an address as a literal"),
    ("select quote_literal(inet '10.0.0.1')", "'10.0.0.2'", "'10.0.0.1/32'", None),
    ("select quote_literal(inet '10.0.0.1/24')", "'10.0.0.1'", "'10.0.0.1/24'", None),
    ("select numrange(1.0, 2)", "[1,2)", "[1.0,2)", "zeros at the end of a numrange's bounds"),
    ("select numrange(1.5, 2)", "[1,2)", "[1.5,2)", None),
]


def main():
    wrong = [one for one in TRIED if cause(one[0], [(one[1],)], [(one[2],)]) != one[3]]
    wrong += [one for one in TRIED if cause(one[0], [(one[1],)], [(one[2],), (None,)])]
    both = "select quote_literal(inet '10.0.0.1'), array['a'::char(3)]"
    rows = [("'10.0.0.1'", "{a}"), (None, "{}")], [(None, "{}"), ("'10.0.0.1/32'", '{"a  "}')]
    if cause(both, *rows, is_ordered=False) is None or cause(both, *rows):
        wrong.append((both, *rows))
    texts = {"select ('90'::text)::interval minute": "select ('90')::interval minute", "select '90'::text::interval": None}
    wrong += [(text, as_literal(text)) for text, expected in texts.items() if as_literal(text) != expected]
    for one in wrong:
        print("FAILED:", *one)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
