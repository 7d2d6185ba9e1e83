#!/usr/bin/env python3
"""PostgreSQL 15's regression scripts here and on PostgreSQL 15: how many statements have the same outcome.

    bench/sql/regression.py --source DIR [--only NAME,NAME] [--show N] [--reasons N] [--json]

DIR is `src/test/regress` of PostgreSQL's source: `apt-get source postgresql-15`, then unpack it. Every statement goes to
both servers, each script by a connection of its own, after `test_setup`. Compared are rows (in their order if the statement
says ORDER BY), the command's tag and the SQLSTATE; not texts of errors, names of columns, and what psql shows (`\\d`). A statement
that follows from one that failed here counts as it comes. A statement is given up after `--seconds`.

SCRIPTS names what Sardonyx claims to understand; the list is not to shrink. Needed: what compare.py needs, and psycopg.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "clients")]

from compare import PostgreSQL, Sardonyx, dsn  # noqa: E402
from scripts import Variables, statements  # noqa: E402

# In the order of PostgreSQL's schedule: later scripts use tables of earlier ones.
SETUP = "test_setup"
SCRIPTS = """
boolean char varchar text int2 int4 int8 oid float4 float8 numeric uuid strings date time timestamp timestamptz interval
numerology horology regex comments expressions unicode errors insert insert_conflict create_table create_misc create_index create_view
index_including create_table_like select select_into select_distinct select_distinct_on select_implicit select_having subselect union case
join aggregates transactions random portals arrays update delete namespace prepared_xacts matview generated identity
create_schema json jsonb limit copy copyselect copydml copy2 temp with truncate sequence alter_table constraints foreign_key
returning window async prepare plancache explain incremental_sort
""".split()


def copied(text, data):
    """A COPY of a file of the server as one from the client, with the file's data."""
    found = re.match(r"\s*copy\s+(.*?)\s+from\s+'([^']+)'(.*)$", text, re.IGNORECASE | re.DOTALL)
    if data is None and found and pathlib.Path(found[2]).is_file():
        return f"COPY {found[1]} FROM STDIN {found[3]}", pathlib.Path(found[2]).read_text()
    return text, data


class Client:
    """A connection, with psql's variables."""

    def __init__(self, engine, seconds):
        import psycopg

        self.engine, self.seconds, self.variables = engine, seconds, Variables()
        self.connection = psycopg.connect(dsn(engine), autocommit=True)
        for text in ("set timezone = 'UTC'", "set lc_messages = 'C'", f"set statement_timeout = '{seconds}s'"):
            self.connection.pgconn.exec_(text.encode())

    def outcome(self, statement):
        """The SQLSTATE and the sentence of an error, or the tag and rows."""
        import psycopg

        for command in statement.before:
            self.variables.command(command)
        text, data = copied(self.variables.put_into(statement.text), statement.data)
        try:
            return self.run(text, data, statement.sets)
        except psycopg.OperationalError as error:
            self.__init__(self.engine, self.seconds)
            return "08000", str(error).splitlines()[0], []

    def run(self, text, data, sets):
        from psycopg.pq import ExecStatus

        pgconn = self.connection.pgconn
        result = pgconn.exec_(text.encode())
        rows = []
        if result.status == ExecStatus.COPY_IN:
            pgconn.put_copy_data((data or "").encode())
            pgconn.put_copy_end()
            result = pgconn.get_result()
            while pgconn.get_result():
                pass
        elif result.status == ExecStatus.COPY_OUT:
            while (got := pgconn.get_copy_data(0))[0] > 0:
                rows.append((bytes(got[1]).decode(),))
            result = pgconn.get_result()
            while pgconn.get_result():
                pass
        code = (result.error_field(67) or b"").decode()
        if code:
            return code, (result.error_field(77) or b"").decode(), []
        for row in range(result.ntuples):
            cells = (result.get_value(row, at) for at in range(result.nfields))
            rows.append(tuple(None if cell is None else cell.decode(errors="replace") for cell in cells))
        if sets is not None and len(rows) == 1:
            for at, cell in enumerate(rows[0]):
                self.variables[sets + result.fname(at).decode()] = cell or ""
        return "", (result.command_status or b"").decode(), rows

    def close(self):
        self.connection.close()


def difference(text, ours, theirs):
    """Why the outcomes are different; None if they are the same."""
    if ours[0] != theirs[0]:
        said = ours[1] if ours[0] else f"no error; there {theirs[1]}"
        return f"{ours[0] or 'none'} for {theirs[0] or 'none'}: {said}"
    if ours[0]:
        return None
    if ours[1] != theirs[1]:
        return f"the tag {ours[1]} for {theirs[1]}"
    one, other = ours[2], theirs[2]
    if not re.search(r"\border\s+by\b", text, re.IGNORECASE):
        key = lambda row: [(cell is None, cell or "") for cell in row]  # noqa: E731
        one, other = sorted(one, key=key), sorted(other, key=key)
    return None if one == other else "other rows"


def kind(reason):
    """A reason without the names in it."""
    codes, _, said = reason.partition(": ")
    said = re.sub(r'"[^"]*"|\'[^\']*\'|\d{3,}', "…", said)
    said = re.sub(r"(function [\w.]+)\(.*\)", r"\1(…)", said, flags=re.DOTALL)
    said = re.sub(r"^((?:CREATE|ALTER|DROP) \w+) .* is not supported$", r"\1 is not supported", said, flags=re.DOTALL)
    return f"{codes}: {said}"[:110] if said else codes


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", metavar="NAMES")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--show", type=int, default=0, help="how many differences of each script are shown")
    parser.add_argument("--reasons", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    only = [name for name in arguments.only.split(",") if name] or SCRIPTS
    if unknown := [name for name in only if name not in SCRIPTS]:
        parser.error(f"no scripts of the list: {', '.join(unknown)}")
    os.environ["PG_ABS_SRCDIR"] = str(arguments.source.resolve())
    every, reasons, places = [], collections.Counter(), collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        place.chmod(0o755)
        engines = [Sardonyx(place / "sardonyx"), PostgreSQL(place / "postgresql")]
        try:
            for name in [SETUP, *(one for one in SCRIPTS if one in only)]:
                clients = [Client(engine, arguments.seconds) for engine in engines]
                same = count = 0
                show = arguments.show
                for statement in statements((arguments.source / "sql" / f"{name}.sql").read_text()):
                    ours, theirs = (client.outcome(statement) for client in clients)
                    reason = difference(statement.text, ours, theirs)
                    count += 1
                    same += reason is None
                    if reason and name != SETUP:
                        reasons[kind(reason)] += 1
                        places[kind(reason)][name] += 1
                    if reason and show > 0:
                        show -= 1
                        rows = f"\n   {ours[2][:3]}\n   {theirs[2][:3]}" if reason == "other rows" else ""
                        print(f"-- {name}: {reason}{rows}\n{statement.text}", file=sys.stderr)
                for client in clients:
                    client.close()
                if name != SETUP:
                    every.append({"script": name, "same": same, "of": count})
                if not arguments.json:
                    print(f"{name:<22}{same:>5} of {count:>5}", flush=True)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
        finally:
            for engine in engines:
                engine.end()
    same, count = (sum(one[key] for one in every) for key in ("same", "of"))
    if arguments.json:
        print(json.dumps({"scripts": every, "same": same, "of": count, "reasons": reasons.most_common(arguments.reasons)}))
    else:
        print(f"{same} of {count} statements have the same outcome ({100 * same / max(count, 1):.1f} %)")
        for reason, times in reasons.most_common(arguments.reasons):
            print(f"{times:>6} {reason}  [{', '.join(one for one, _ in places[reason].most_common(3))}]")


if __name__ == "__main__":
    main()
