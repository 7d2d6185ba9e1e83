#!/usr/bin/env python3
"""Random statements of all types on Sardonyx and on PostgreSQL 15, in turn; each must give the same.

    bench/sql/generated.py [--seed N] [--queries N] [--only expressions,selects,forms,further,wire,changes] [--rows N] [--show N] [--shrink N]
                           [--seconds N] [--missing] [--ours DSN --theirs DSN] [--json]

The same tables, rows and statements go to both. Functions are those that docs/sql.md names, with all signatures that
PostgreSQL has of them; operators and casts are PostgreSQL's, of all types that docs/sql.md names (`drawn/`).

- *expressions* (3 of 10): one value of constants or of a row: functions, operators, casts, also wrong ones, aggregates and
  rows of functions. Compared are the type, the text to its last character, and the code of an error.
- *selects* (2 of 10): joins, subqueries, groups, sets of them, windows, recursion, set operations. Compared are names and types of
  columns and the rows, in their order where the query orders them. Where values that are equal can be written in two ways
  (`1.0` and `1.00`, `1 mon` and `30 days`), either is taken; floats are compared to twelve digits.
- *forms* (2 of 10): one value or a few rows of a form that the two have seldom: several types in one place, patterns, templates,
  spellings of intervals and moments, paths of JSON, arrays of arrays, frames, sets of groups, ends of types.
- *further* (2 of 10): as forms: names of objects, rows as values, JSON as rows, VALUES, lateral queries, first rows; aggregates
  and windows with all clauses; names in clauses, wrong statements, domains, labels, collations, WITH.
- *wire* (1 of 10): statements of expressions, forms and further, some constants of which are parameters with and without types,
  with results as text and in binary, and `COPY … TO`.
- *changes* (only if named): `INSERT`, `UPDATE`, `DELETE` and `MERGE` with `RETURNING` and `ON CONFLICT`, also as parts of `WITH`, and
  the tables after them.

One of ten statements of single values is run with another time zone, order of dates or style of intervals (`SETTINGS`).

Counted by cause, and no difference by docs/sql.md: unsupported SQL (`0A000`), a limit (38 digits of a `numeric`, memory,
`--seconds`), and the order of errors. If several values cannot be computed, either may be met first. PostgreSQL computes
constants when it plans, also unneeded ones. If several clauses are wrong, either may be found first. Of one value, a part of it
has each such error on both servers; of a query, the codes are of class 22 or 23, or none. Each pair of codes is a line of the
output.

`--missing` runs nothing: it names the functions of docs/sql.md, and PostgreSQL's operators, that none of the statements has.

`--shrink N` makes the first N differing statements of each kind small (shrinking.py). A statement follows from its seed alone:
`--seed N --queries 1` repeats it. `--ours` and `--theirs` take servers that run. Needed: what bench/clients/compare.py needs,
and `pip install psycopg[binary]`. Ends with 0 if nothing is different.
"""

import argparse
import collections
import decimal
import json
import pathlib
import random
import re
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "clients")]

import documented  # noqa: E402
import shrinking  # noqa: E402
from compare import PostgreSQL, Sardonyx, dsn  # noqa: E402
from documented import shortened  # noqa: E402
from drawn import kinds  # noqa: E402
from drawn.catalogue import OTHERS, Catalogue  # noqa: E402
from drawn.changes import Changes  # noqa: E402
from drawn.forms import Forms  # noqa: E402
from drawn.further import Further  # noqa: E402
from drawn.wire import Wire  # noqa: E402

# Errors of a query as a whole: of grouping, of the order of DISTINCT, of recursion. The servers look for them at other moments.
CHECKED_LAST = {"42803", "42P10", "42P19", "42P20"}
# Kinds of outcomes that are wrong answers.
DIFFERENT = ("rows", "columns", "code", "tag", "died")
NUMBERS, FLOATS = ("numeric", "float4", "float8"), ("float4", "float8")


# Parameters of the session, with the value that all other statements have.
SETTINGS = {
    "timezone": ("UTC", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "America/Sao_Paulo", "+03", "-05"]),
    "intervalstyle": ("postgres", ["postgres_verbose", "iso_8601"]),
    "datestyle": ("ISO, MDY", ["ISO, DMY", "ISO, YMD"]),
}
# Types whose numbers are others on each server, also within arrays and rows; and that whose trees are others (docs/sql.md).
OF_USERS = re.compile(r"hstore|mood|record|tsquery|regcollation")


class Statement:
    """A statement of a seed."""

    def __init__(self, seed, only, catalogue):
        family = only[seed % len(only)]
        self.seed, self.is_change, self.is_exact = seed, family == "changes", family in ("expressions", "forms", "further", "wire")
        self.given, self.is_binary, self.setting = None, False, None
        drawn = random.Random(f"setting {seed}")
        if self.is_exact and drawn.random() < 0.1:
            name = drawn.choice(["timezone", *SETTINGS])
            self.setting = name, drawn.choice(SETTINGS[name][1])
        if family in ("forms", "further"):
            self.text, self.is_ordered = {"forms": Forms, "further": Further}[family](seed, catalogue, is_plain=False).form()
            return
        if family == "wire":
            self.text, self.is_ordered, self.given, self.is_binary = Wire(seed, catalogue, is_plain=False).statement()
            return
        drawn = Changes(seed, catalogue, is_plain=not self.is_exact)
        self.text, self.is_ordered = (drawn.change(), False) if self.is_change else drawn.expression() if self.is_exact else drawn.query()

    def plain(self, text):
        """A text with constants in the place of its parameters."""
        given = [None if one is None else kinds.quoted(one) for one in self.given or []]
        return re.sub(r"\$(\d)", lambda found: given[int(found[1]) - 1] or "null", text) if given else text


def shown(cell):
    """Bytes of a value. The sign of a float that is no number is that of the processor."""
    return cell.hex().replace("fff8000000000000", "7ff8000000000000").replace("ffc00000", "7fc00000")


class Answer:
    def __init__(self, server, text, given=None, is_binary=False):
        pgconn = server.connection.pgconn
        if given is None:
            result = pgconn.exec_(text.encode())
        else:
            result = pgconn.exec_params(text.encode(), [one if one is None else one.encode() for one in given], result_format=int(is_binary))
        is_copy = result.status == 3
        copied, result = self.copied(pgconn, result) if is_copy else ([], result)
        self.code = (result.error_field(67) or b"").decode()
        self.message = (result.error_field(77) or b"").decode(errors="replace")
        self.detail = (result.error_field(68) or b"").decode(errors="replace")
        self.columns = [(result.fname(at).decode(), server.type_name(result.ftype(at))) for at in range(0 if is_copy else result.nfields)]
        self.rows = copied or [
            tuple(None if cell is None else shown(cell) if is_binary else cell.decode() for cell in (result.get_value(row, at) for at in range(result.nfields)))
            for row in range(result.ntuples)
        ]
        self.tag = (result.command_status or b"").decode()

    def copied(self, pgconn, result):
        """The data of a COPY to the client, and its last result."""
        import psycopg

        data = b""
        try:
            while (got := pgconn.get_copy_data(0))[0] > 0:
                data += bytes(got[1])
        except psycopg.Error:
            # The result has the error.
            pass
        while (last := pgconn.get_result()) is not None:
            result = last
        lines = data.decode(errors="backslashreplace").splitlines(keepends=True)
        return [] if result.error_field(67) else [(line,) for line in lines], result


class Server:
    """A connection, with the names of types: extensions' and users' have other numbers on each server."""

    def __init__(self, address, is_ours):
        import psycopg

        self.is_ours = is_ours
        self.connection = psycopg.connect(address, autocommit=True)
        self.types = {}

    def type_name(self, number):
        if number not in self.types:
            found = self.connection.execute("select typname::text from pg_type where oid = %s", [number]).fetchone()
            self.types[number] = found[0] if found else str(number)
        # An expression has the base type of a domain here (docs/sql.md).
        name = self.types[number]
        return kinds.DOMAINS.get(name) or ("_" + kinds.DOMAINS[name[1:]] if name[1:] in kinds.DOMAINS else name)


def micros(text):
    """The length of an interval, with months of 30 days."""
    total = 0
    for amount, unit in re.findall(r"([-+]?\d+) (year|mon|day)", text):
        total += int(amount) * {"year": 360, "mon": 30, "day": 1}[unit] * 86_400_000_000
    if clock := re.search(r"([-+]?)(\d+):(\d\d):(\d\d)(?:\.(\d+))?", text):
        seconds = (int(clock[2]) * 60 + int(clock[3])) * 60 + int(clock[4])
        total += (-1 if clock[1] == "-" else 1) * (seconds * 1_000_000 + int((clock[5] or "").ljust(6, "0")))
    return total


def normal(cell, kind):
    """A cell with one form for values that are equal."""
    if cell is None:
        return None
    if kind == "interval":
        return micros(cell)
    if kind in NUMBERS:
        try:
            number = decimal.Decimal(cell)
            digits = 5 if kind == "float4" else 12
            return cell if not number.is_finite() else "0" if number == 0 else format(number.normalize(decimal.Context(prec=digits if kind in FLOATS else 60)), "f")
        except decimal.InvalidOperation:
            return cell
    # Numbers within texts, arrays and documents.
    return shortened(cell).rstrip() if "." in cell or kind == "bpchar" else cell


def is_of_class(code, *classes):
    return code[:2] in classes or code == "42846"


def difference(ours, theirs, is_ordered, is_exact):
    """The difference and its kind; None if there is none."""
    if ours.code or theirs.code:
        if ours.code == theirs.code:
            return None
        both = f"{ours.code} {ours.message} / {theirs.code} {theirs.message}"
        if ours.code == "0A000":
            return "not supported", ours.message
        if ours.code in ("53200", "57014", "54000", "54001") or theirs.code in ("57014", "54000"):
            return "a limit", both
        if ours.code == "22003" and ("more than 38 digits" in ours.message or "it has 38 digits" in ours.detail or ours.message in ("numeric out of range", "value overflows numeric format")):
            return "a limit", "more than 38 digits of a numeric"
        if ours.code in ("22003", "22P02") and not theirs.code and any(is_beyond(cell) for row in theirs.rows for cell in row):
            return "a limit", "more than 38 digits of a numeric, or an infinite one"
        if theirs.code in ("42P18", "42P08") and theirs.message.startswith("could not determine data type of parameter"):
            return "as documented", "a parameter without a type"
        if (ours.code, theirs.code) == ("42601", "XX000") and "hstore" in ours.message:
            return "as documented", "an hstore that cannot be read"
        if not ours.code and theirs.code == "0A000":
            return "not supported there", theirs.message
        if ours.code == "22P02" and not theirs.code and re.search(r'"-?0x[0-9A-Fa-f]+"$', ours.message):
            return "as documented", "a hexadecimal float"
        if ours.code == "42601" and not theirs.code and ours.message == "invalid range bound flags":
            return "order of errors", "the flags of a range that nothing needs"
        if ours.code == "42725" and ours.message == "operator is not unique: unknown % unknown":
            return "as documented", "% of two texts without a type"
        if (ours.code, theirs.code) == ("22023", "XX000") and "weight" in ours.message:
            return "as documented", "an unknown weight"
        if theirs.code == "42883" and re.match(r"function (max|min)\((boolean|uuid|bytea)\)", theirs.message):
            return "as documented", "max and min of more types"
        if {ours.code, theirs.code} & CHECKED_LAST and all(code[:2] in ("42", "0A") for code in (ours.code, theirs.code)):
            return "order of errors", f"{ours.code} / {theirs.code}, of clauses"
        if not is_exact and all(is_of_class(code, "", "21", "22", "23") for code in (ours.code, theirs.code)):
            return "order of errors", f"{ours.code or 'no error'} / {theirs.code or 'no error'}, in a query"
        return "code", f"{ours.code or 'no error'} / {theirs.code or 'no error'}: {ours.message or theirs.message}"
    if ours.columns != theirs.columns and [(name, "_oid" if kind.startswith("_reg") else kind) for name, kind in theirs.columns] == ours.columns:
        return "as documented", "arrays of numbers of objects"
    if ours.columns != theirs.columns:
        return "columns", f"{ours.columns} / {theirs.columns}"
    if ours.tag != theirs.tag:
        return "tag", f"{ours.tag} / {theirs.tag}"
    types = [kind for _, kind in ours.columns]
    one, other = ours.rows, theirs.rows
    if not is_exact:
        one, other = ([tuple(map(normal, row, types)) for row in rows] for rows in (one, other))
    if not is_ordered:
        key = lambda row: [(cell is None, str(cell)) for cell in row]  # noqa: E731
        one, other = sorted(one, key=key), sorted(other, key=key)
    if one == other:
        return None
    if is_exact and all(cells[0] == cells[1] or is_last_digit(*cells) for rows in zip(one, other) for cells in zip(*rows)) and len(one) == len(other):
        return "as documented", "the last digit of a float"
    if [kind for kind in types if "numrange" in kind] and [[shortened(cell) for cell in row] for row in one] == [[shortened(cell) for cell in row] for row in other]:
        return "as documented", "zeros at the end of a numrange's bounds"
    first = next((pair for pair in zip(one, other) if pair[0] != pair[1]), (len(one), len(other)))
    if len(one) == len(other) and all(is_cut(*cells) for rows in zip(one, other) for cells in zip(*rows)):
        return "a limit", "digits of a numeric behind the 38th"
    return "rows", f"{first[0]} / {first[1]}"


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?")


def is_last_digit(ours, theirs):
    """Floats, also those of an array, that differ in their last binary digit: functions of C libraries do."""
    if None in (ours, theirs) or NUMBER.sub("", ours) != NUMBER.sub("", theirs):
        return False
    for one, other in zip(NUMBER.findall(ours), NUMBER.findall(theirs)):
        if one == other:
            continue
        bound = 2 * sys.float_info.epsilon * abs(float(other))
        if len(other) <= 12 or "." not in other or abs(float(one) - float(other)) > bound:
            return False
    return True


def is_beyond(cell):
    """Is it, or has it, a number of more than 38 digits, or none that is finite?"""
    return cell is not None and (any(len(digits.replace(".", "")) > 38 for digits in re.findall(r"[\d.]+", cell)) or re.search(r"\b(Infinity|NaN)\b", cell))


def is_cut(ours, theirs):
    """Is it the same text, or a number of more than 38 digits, rounded?"""
    if ours == theirs:
        return True
    # Numbers of an array.
    numbers = [NUMBER.findall(str(cell)) for cell in (ours, theirs)]
    if str(ours).startswith("{") and len(numbers[0]) == len(numbers[1]) > 0 and NUMBER.sub("", str(ours)) == NUMBER.sub("", str(theirs)):
        return all(map(is_cut, *numbers))
    # With the unit of pg_size_pretty.
    ours, theirs = (re.sub(r" (bytes|[kMGTP]B)$", "", str(cell)) for cell in (ours, theirs))
    try:
        one, other = decimal.Decimal(ours), decimal.Decimal(theirs)
    except (decimal.InvalidOperation, TypeError, ValueError):
        return False
    digits = len(re.sub(r"\D", "", str(theirs)).lstrip("0"))
    digits = max(digits, -other.as_tuple().exponent if other.is_finite() else 0)
    return digits > 38 and one.is_finite() and abs(one - other) <= decimal.Decimal(1).scaleb(one.as_tuple().exponent)


def parts_of(tree):
    """The texts of parts of a statement that may be values: groups with the function before them, texts, and all with casts."""
    for path in shrinking.groups(tree):
        parts = shrinking.at(tree, path)
        for at, part in enumerate(parts):
            is_group = isinstance(part, list)
            if not is_group and not part.startswith("'"):
                continue
            before = parts[at - 1] if at and is_group else ""
            is_name = isinstance(before, str) and re.fullmatch(r"[a-z_][a-z_0-9]*", before)
            # The word before is a function's name, or one of SQL.
            for word in [before, ""] if is_name else [""]:
                yield from with_casts(f"{word}{shrinking.written([part])}", parts[at + 1 :])


def with_casts(text, rest):
    """A part, and the same with the casts and subscripts behind it."""
    yield text
    while rest[:1] == ["::"] or rest and isinstance(rest[0], list) and rest[0][0] == "[":
        length = 1 if rest[0] != "::" else 2 if not (len(rest) > 2 and isinstance(rest[2], list)) else 3
        text, rest = f"{text} {shrinking.written(rest[:length])}", rest[length:]
        yield text


class Pair:
    """A connection to each of the two servers, with the same tables."""

    def __init__(self, addresses, rows, seconds):
        self.ours, self.theirs = (Server(address, at == 0) for at, address in enumerate(addresses))
        self.catalogue = Catalogue(self.theirs.connection)
        for text in ["drop schema public cascade", "create schema public"]:
            self.theirs.connection.execute(text)
        for name, (value, _) in SETTINGS.items():
            self.both(f"set {name} = '{value}'")
        self.both(f"set statement_timeout = '{seconds}s'")
        # Compiling for seconds what runs for milliseconds is of no use.
        self.both("set jit = off")
        self.both("set client_min_messages = 'error'")
        for text in ["create extension hstore", "create extension pgcrypto", "create extension pg_trgm", "create extension unaccent", *kinds.TYPES, *map(kinds.definition, kinds.TABLES), *kinds.INDEXES, *self.rows(rows)]:
            for answer in self.both(text):
                if answer.code not in ("", "23505", "42710", "42P07"):
                    sys.exit(f"{text}: {answer.code} {answer.message}")

    def rows(self, count):
        drawn = Changes(0, self.catalogue, is_plain=True)
        for table in kinds.TABLES:
            for number in range(count):
                values = [str(number)]
                for column, kind in list(kinds.COLUMNS.items())[1:]:
                    value = drawn.literal(kind) if column != "p" else drawn.pick(["1", "7", "null"])
                    value = f"{kinds.quoted(drawn.pick(kinds.VALUES['numeric'][:8]))}::numeric" if column == "n" else value
                    values.append("5" if value.startswith("null") and column == "i" else value)
                yield f"insert into {table} values ({', '.join(values)})"

    def both(self, text, given=None, is_binary=False):
        return Answer(self.ours, text, given, is_binary), Answer(self.theirs, text, given, is_binary)

    def is_other_first(self, text, codes):
        """Do both errors come of parts of the statement, so that only their order is another one?"""
        # A text that cannot be read, or has a name or a type that is missing, is refused before anything is computed.
        if "42601" in codes or "" in codes and not all(is_of_class(code, "", "21", "22", "23", "0A") for code in codes):
            return False
        found = set()
        for part in parts_of(shrinking.tree(text)):
            ours, theirs = self.both(f"select {part}")
            # A part with one error is the same on both.
            documented = difference(ours, theirs, True, True)
            if ours.code == theirs.code or documented and documented[0] == "as documented":
                found |= {ours.code, theirs.code}
            if all(code in found for code in codes if code):
                return True
        return False

    def compared(self, statement, text=None):
        """The difference, if there is one, and our answer, with the statement's setting."""
        if not statement.setting:
            return self.compared_as_set(statement, text)
        name, value = statement.setting
        self.both(f"set {name} = '{value}'")
        try:
            return self.compared_as_set(statement, text)
        finally:
            self.both(f"set {name} = '{SETTINGS[name][0]}'")

    def compared_as_set(self, statement, text):
        """Changes are looked at and undone, so that each can be repeated alone."""
        text = statement.text if text is None else text
        if not statement.is_change:
            one, other = self.both(text, statement.given, statement.is_binary)
            if statement.is_binary and not one.code and not other.code and one.rows != other.rows:
                if any(OF_USERS.search(kind) for _, kind in one.columns):
                    return None, one
                # If the texts differ in a way that is documented, so do the bytes.
                texts = self.both(text, statement.given)
                found = difference(*texts, statement.is_ordered, True)
                if found:
                    return self.as_documented(statement, text, found, *texts), one
            found = difference(one, other, statement.is_ordered, statement.is_exact)
            if found and found[0] == "code" and statement.is_exact:
                codes = (one.code, other.code)
                reads = re.search(r" from [ace] where id", text)
                are_of_values = all(is_of_class(code, "", "22", "23", "0A") for code in codes)
                if are_of_values and reads or self.is_other_first(statement.plain(text), codes):
                    found = ("order of errors", f"{one.code or 'no error'} / {other.code or 'no error'}")
            else:
                found = self.as_documented(statement, text, found, one, other)
            return found, one
        self.both("begin")
        one, other = self.both(text)
        found = difference(one, other, False, False)
        if found is None and not one.code:
            for table in kinds.TABLES:
                found = found or difference(*self.both(f"table {table}"), False, False)
        self.both("rollback")
        return found, one

    def as_documented(self, statement, text, found, one, other):
        """The difference, with its documented cause if that explains all of it."""
        if not found or found[0] != "rows":
            return found
        cause = documented.cause(text, one.rows, other.rows, statement.is_ordered)
        if cause:
            return "as documented", cause
        literal = documented.as_literal(text)
        if literal and not difference(one, Answer(self.theirs, literal, statement.given), statement.is_ordered, statement.is_exact):
            return "as documented", "a text as an interval with fields"
        return found

    def smallest(self, statement, found, tries):
        """The statement shrunk: the same kind of difference, and for errors the same sentence."""
        alike = (lambda one: one) if found[0] in ("code", "not supported") else (lambda one: one[0])

        def is_like(shorter):
            other, _ = self.compared(statement, shorter)
            return other is not None and alike(other) == alike(found)

        return shrinking.shrink(statement.text, is_like, tries)


def compare_all(pair, arguments, counts, causes):
    only, shown = arguments.only.split(","), collections.Counter()
    begun = time.monotonic()
    for seed in range(arguments.seed, arguments.seed + arguments.queries):
        statement = Statement(seed, only, pair.catalogue)
        found, answer = pair.compared(statement)
        if any(server.connection.closed or server.connection.pgconn.status != 0 for server in (pair.ours, pair.theirs)):
            counts["died"] += 1
            print(f"-- seed {seed}, died: {answer.message}\n{statement.text}", file=sys.stderr, flush=True)
            return
        kind, what = found or ("the same, an error" if answer.code else "the same", "")
        counts[kind] += 1
        if kind in ("not supported", "not supported there", "a limit", "code", "as documented", "order of errors"):
            causes[f"{kind}: {what[:70]}"] += 1
        if found and kind in DIFFERENT:
            # Of one error, a statement is enough.
            cause = what if kind == "code" else kind
            cause = re.sub(r"'.*?'|\".*?\"|\d{3,}|\(.*", "", cause) if "function" not in cause else re.sub(r"\(.*", "", cause)
            shown[kind] += not shown[cause] or kind != "code"
            shown[cause] += kind == "code"
            if shown[kind] <= arguments.show and (kind != "code" or shown[cause] == 1):
                text = pair.smallest(statement, found, arguments.tries) if shown[kind] <= arguments.shrink else statement.text
                what = (pair.compared(statement, text)[0] or found)[1]
                more = f"{' with ' + str(statement.setting) if statement.setting else ''}{' given ' + str(statement.given) if statement.given else ''}{' in binary' if statement.is_binary else ''}"
                print(f"-- seed {seed}{more}, {kind}: {what}\n{text}", file=sys.stderr, flush=True)
        done = seed - arguments.seed + 1
        if done % arguments.progress == 0:
            wrong = sum(counts[one] for one in DIFFERENT)
            print(f"{done} of {arguments.queries}, {wrong} different, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)


def missing(only, seeds, catalogue):
    """Functions of docs/sql.md, with the reason if none is drawn on purpose, and operators, that no statement of some seeds has."""
    words, operators = set(), set()
    for seed in seeds:
        tokens = shrinking.TOKEN.findall(Statement(seed, only, catalogue).text)
        words |= set(tokens)
        operators |= {token for token in tokens if not token[0].isalnum() and token[0] not in "'\"()"}
    for name in catalogue.names:
        if name not in words:
            yield f"function {name}{' (of the session, the moment or the server)' if OTHERS.match(name) else ''}"
    for name in sorted({call.name for calls in catalogue.operators_of.values() for of in calls for call in of} - operators):
        yield f"operator {name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=20, help="of each table")
    parser.add_argument("--only", default=",".join(["expressions"] * 3 + ["selects"] * 2 + ["forms"] * 2 + ["further"] * 2 + ["wire"]), help="families, in turn")
    parser.add_argument("--seconds", type=int, default=20, help="after which a statement is given up")
    parser.add_argument("--show", type=int, default=20, help="how many of each kind are shown")
    parser.add_argument("--shrink", type=int, default=0, help="how many of each kind are made smaller")
    parser.add_argument("--tries", type=int, default=1000, help="of making one smaller")
    parser.add_argument("--progress", type=int, default=5000, help="a line after so many statements")
    parser.add_argument("--ours", help="the address of a server of Sardonyx that runs")
    parser.add_argument("--theirs", help="of PostgreSQL; its schema public is dropped")
    parser.add_argument("--missing", action="store_true", help="name what docs/sql.md has and no statement")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    counts, causes = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        place.chmod(0o755)
        engines = []
        try:
            addresses = [arguments.ours, arguments.theirs]
            for at, engine in enumerate((Sardonyx, PostgreSQL)):
                if not addresses[at]:
                    engines.append(engine(place / engine.__name__.lower()))
                    addresses[at] = dsn(engines[-1])
            pair = Pair(addresses, arguments.rows, arguments.seconds)
            if arguments.missing:
                seeds = range(arguments.seed, arguments.seed + arguments.queries)
                print("\n".join(missing(arguments.only.split(","), seeds, pair.catalogue)))
                return
            compare_all(pair, arguments, counts, causes)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
        finally:
            for engine in engines:
                engine.end()
    different = sum(counts[kind] for kind in DIFFERENT)
    if arguments.json:
        print(json.dumps({"different": different, "counts": counts, "causes": causes}))
    else:
        for kind, count in counts.most_common():
            print(f"{count:>8}  {kind}")
        for cause, count in causes.most_common():
            print(f"{count:>8}    {cause}")
        print(f"{different:>8}  different, of {sum(counts.values())}")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
