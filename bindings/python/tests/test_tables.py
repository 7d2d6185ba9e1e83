"""Tables: rows by name, transactions as blocks, values of every type, exceptions by kind."""

import asyncio
import datetime
import decimal
import threading
import uuid

import numpy
import pytest

import sardonyx


@pytest.fixture
def bank(tmp_path):
    with sardonyx.open(tmp_path / "bank.sdx") as bank:
        bank.create_table(
            "accounts",
            {"id": "u64", "owner": "text", "balance": "i64", "note": "text?"},
            key="id",
            checks={"solvent": "balance >= 0"},
        )
        yield bank


def test_a_block_commits_or_undoes(bank):
    with bank.transaction() as tx:
        tx["accounts"].insert(id=1, owner="Ada", balance=100)
        tx["accounts"].update(1, balance=70)
        assert tx["accounts"][1]["balance"] == 70
    assert bank.get("accounts", 1) == {"id": 1, "owner": "Ada", "balance": 70, "note": None}
    with pytest.raises(ZeroDivisionError):
        with bank.transaction() as tx:
            tx["accounts"].delete(1)
            assert len(tx["accounts"]) == 0
            1 / 0
    assert bank.count("accounts") == 1


def test_conditions_are_any_of_sql(bank):
    checks = {"even": "b % 2 = 0", "named": "length(trim(name)) > 2"}
    for _ in range(2):
        bank.create_table("evens", {"id": "i64", "b": "i64", "name": "text"}, key="id", checks=checks)
    with bank.transaction() as tx:
        tx["evens"].insert(id=1, b=2, name="Ada")
        for wrong, of in [({"b": 3}, "even"), ({"name": "A  "}, "named")]:
            with pytest.raises(sardonyx.Refused, match=of):
                tx["evens"].update(1, **wrong)
    assert bank.get("evens", 1) == {"id": 1, "b": 2, "name": "Ada"}
    with pytest.raises(sardonyx.Refused, match="IMMUTABLE"):
        bank.create_table("later", {"id": "i64"}, key="id", checks={"now": "id < extract(epoch from now())"})


def test_integers_at_the_ends_of_64_bits_come_back(bank):
    bank.create_table("numbers", {"id": "i64", "wide": "i128", "unsigned": "u128"}, key="id")
    ends = [0, -1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 2**127 - 1, -(2**127)]
    with bank.transaction() as tx:
        numbers = tx["numbers"]
        for number, wide in enumerate(ends):
            numbers.insert(id=number, wide=wide, unsigned=abs(wide))
        for number, wide in enumerate(ends):
            assert numbers[number] == {"id": number, "wide": wide, "unsigned": abs(wide)}
    for number, wide in enumerate(ends):
        assert bank.get("numbers", number) == {"id": number, "wide": wide, "unsigned": abs(wide)}
    with pytest.raises(sardonyx.Refused), bank.transaction() as tx:
        tx["numbers"].insert(id=2**63, wide=0, unsigned=0)


def test_a_table_of_a_block_has_the_columns_of_its_schema(bank):
    with bank.transaction() as tx:
        accounts, others = tx["accounts"], tx["accounts"]
        accounts.insert(id=1, owner="Ada", balance=100)
        before = {"id": 1, "owner": "Ada", "balance": 100, "note": None}
        assert accounts[1] == before and others[1] == before
        tx.add_column("accounts", "branch", "u32?")
        assert accounts[1] == {**before, "branch": None}
        accounts.update(1, branch=7)
        assert others[1] == {**before, "branch": 7}


def test_a_block_that_other_threads_use_at_once_has_all_their_rows(bank):
    with bank.transaction() as tx:
        def insert(first):
            accounts = tx["accounts"]
            for number in range(first, 400, 4):
                accounts.insert(id=number, owner="Ada", balance=number)
                assert accounts[number]["balance"] == number

        threads = [threading.Thread(target=insert, args=[first]) for first in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(tx["accounts"]) == 400
    assert bank.count("accounts") == 400


def test_what_cannot_be_is_an_exception_of_its_kind_and_changes_nothing(bank):
    with bank.transaction() as tx:
        accounts = tx["accounts"]
        accounts.insert(id=1, owner="Ada", balance=1)
        with pytest.raises(sardonyx.Duplicate):
            accounts.insert(id=1, owner="Bob", balance=1)
        for wrong in ({"id": 2, "owner": "Bob", "balance": 2**63}, {"id": 2, "owner": 7, "balance": 0}):
            with pytest.raises(sardonyx.Refused, match="accounts"):
                accounts.insert(**wrong)
        with pytest.raises(sardonyx.Refused, match="colour"):
            accounts.insert(id=2, owner="Bob", balance=0, colour="red")
        with pytest.raises(sardonyx.Refused, match="solvent"):
            accounts.update(1, balance=-1)
        with pytest.raises(KeyError):
            accounts.update(9, balance=1)
        with pytest.raises(KeyError):
            accounts[9]
        with pytest.raises(TypeError):
            accounts.insert(id=2, owner=object(), balance=0)
        with pytest.raises(sardonyx.Refused):
            tx["nothing"]
    assert bank.count("accounts") == 1


def test_a_table_is_iterated_by_its_rows_and_has_its_keys(bank):
    with bank.transaction() as tx:
        accounts = tx["accounts"]
        assert list(accounts) == [] and 1 not in accounts
        for n in (1, 5, 7):
            accounts.insert(id=n, owner="Ada", balance=n)
        assert sorted(row["id"] for row in accounts) == [1, 5, 7]
        assert 5 in accounts and (7,) in accounts and 0 not in accounts
    with bank.snapshot() as snapshot:
        accounts = snapshot["accounts"]
        assert sorted(row["balance"] for row in accounts) == [1, 5, 7]
        assert 1 in accounts and 2 not in accounts
        with pytest.raises(sardonyx.Refused):
            "one" in accounts


def test_a_database_that_is_open_elsewhere_is_locked(bank, tmp_path):
    with pytest.raises(sardonyx.Locked, match="LOCK"):
        sardonyx.open(tmp_path / "bank.sdx")
    with pytest.raises(sardonyx.Locked, match="LOCK"):
        sardonyx.segment(tmp_path / "bank.sdx")


def test_every_type_comes_back_as_it_went_in(bank):
    columns = {
        "id": "u64",
        "flag": "bool",
        "small": "i8",
        "wide": "u128",
        "real": "f64",
        "price": "decimal(2)",
        "name": "text",
        "data": "bytes",
        "day": "date",
        "hour": "time",
        "moment": "timestamp",
        "uuid": "uuid",
    }
    bank.create_table("things", columns, key="id")
    utc = datetime.timezone.utc
    row = {
        "id": 2**64 - 1,
        "flag": True,
        "small": -128,
        "wide": 2**128 - 1,
        "real": -0.5,
        "price": decimal.Decimal("-12.30"),
        "name": "ünï" * 5000,
        "data": bytes(range(256)) * 40,
        "day": datetime.date(1969, 12, 31),
        "hour": datetime.time(23, 59, 59, 999999),
        "moment": datetime.datetime(1901, 2, 3, 4, 5, 6, 7, tzinfo=utc),
        "uuid": uuid.UUID(int=0x0102030405060708090A0B0C0D0E0F10),
    }
    with bank.transaction() as tx:
        tx["things"].insert(**row)
        assert tx["things"].scan() == [row]
    assert bank.get("things", row["id"]) == row
    assert bank.schema()["things"] == columns


def test_many_rows_at_once_and_after_reopening(tmp_path):
    path = tmp_path / "shop.sdx"
    with sardonyx.open(path) as shop:
        shop.create_table("orders", {"customer": "text", "number": "u32"}, key=["customer", "number"])
        with shop.transaction() as tx:
            rows = ({"customer": f"c{n % 10}", "number": n} for n in range(500))
            assert tx["orders"].insert_many(rows) == 500
            assert tx["orders"]["c3", 13] == {"customer": "c3", "number": 13}
    with sardonyx.open(path) as shop:
        assert shop.count("orders") == 500
        assert shop.get("orders", "c3", 13)["number"] == 13


def test_threads_that_meet_are_called_again(bank):
    with bank.transaction() as tx:
        tx["accounts"].insert(id=1, owner="Ada", balance=0)

    def pay(tx):
        tx["accounts"].update(1, balance=tx["accounts"][1]["balance"] + 1)
        return "paid"

    def run():
        for _ in range(20):
            assert bank.retry(pay) == "paid"

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bank.get("accounts", 1)["balance"] == 80


def test_a_transaction_that_takes_long_delays_nobody(bank):
    with bank.transaction() as tx:
        tx["accounts"].insert(id=1, owner="Ada", balance=0)
        tx["accounts"].insert(id=2, owner="Bob", balance=0)
    ended = threading.Event()

    def other():
        with bank.transaction() as tx:
            tx["accounts"].update(2, balance=5)
        assert bank.count("accounts") == 2
        bank.checkpoint()
        ended.set()

    with bank.transaction() as tx:
        tx["accounts"].update(1, balance=1)
        thread = threading.Thread(target=other)
        thread.start()
        # It would wait for ever if this block held the stage.
        ended.wait()
        thread.join()
        # It sees the state of its begin, and its own changes.
        assert tx["accounts"].get(2) is not None and bank.get("accounts", 1)["balance"] == 0
        assert tx["accounts"][1]["balance"] == 1
        other()
        # The other row was read, and was changed.
        with pytest.raises(sardonyx.Conflict) as met:
            tx.__exit__(None, None, None)
        assert (met.value.table, met.value.key) == ("accounts", (2,))
        tx.__enter__()
    assert bank.get("accounts", 1)["balance"] == 0


def test_a_transaction_goes_from_thread_to_thread(bank):
    tx = bank.transaction().__enter__()
    thread = threading.Thread(target=lambda: tx["accounts"].insert(id=1, owner="Ada", balance=1))
    thread.start()
    thread.join()
    tx.__exit__(None, None, None)
    assert bank.count("accounts") == 1


def test_tasks_hold_transactions_while_they_wait(bank):
    with bank.transaction() as tx:
        tx["accounts"].insert_many({"id": n, "owner": "Ada", "balance": 0} for n in range(8))

    async def pay(number, all_begun):
        with bank.transaction() as tx:
            tx["accounts"].update(number, balance=number)
            await all_begun.wait()

    async def main():
        all_begun = asyncio.Barrier(8)
        await asyncio.gather(*(pay(number, all_begun) for number in range(8)))

    asyncio.run(main())
    with bank.snapshot() as snapshot:
        assert sorted(row["balance"] for row in snapshot["accounts"]) == list(range(8))


def test_a_call_that_always_meets_another_ends_in_the_stage(bank):
    with bank.transaction() as tx:
        tx["accounts"].insert(id=1, owner="Ada", balance=0)
    calls = []

    def pay(tx):
        balance = tx["accounts"][1]["balance"]
        tx["accounts"].update(1, balance=balance + 1)
        calls.append(balance)
        with bank.transaction() as other:
            other["accounts"].update(1, balance=100 * len(calls))

    with pytest.raises(sardonyx.InsideTransaction):
        bank.retry(pay)
    assert calls == [0, 100, 200, 300, 400, 500]
    assert bank.get("accounts", 1)["balance"] == 500

    def pay_if_possible(tx):
        try:
            pay(tx)
        except sardonyx.InsideTransaction:
            return tx["accounts"][1]["balance"]

    calls.clear()
    assert bank.retry(pay_if_possible) == 501
    assert bank.get("accounts", 1)["balance"] == 501

    # An exception of the function undoes it, wherever it runs.
    def fails(tx):
        tx["accounts"].update(1, balance=7)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        bank.retry(fails)

    async def later(tx):
        pass

    with pytest.raises(TypeError, match="coroutine"):
        bank.retry(later)
    assert bank.get("accounts", 1)["balance"] == 501


def test_other_calls_inside_of_a_block_see_what_is_committed(bank):
    with bank.transaction() as tx:
        tx["accounts"].insert(id=1, owner="Ada", balance=0)
        assert bank.count("accounts") == 0
        with bank.transaction() as other:
            other["accounts"].insert(id=2, owner="Bob", balance=0)
        with pytest.raises(sardonyx.InsideTransaction, match="already"):
            with tx:
                pass
    assert bank.count("accounts") == 2


def test_a_closed_database_ends_its_transactions(tmp_path):
    bank = sardonyx.open(tmp_path / "bank.sdx")
    bank.create_table("accounts", {"id": "u64"}, key="id")
    tx = bank.transaction().__enter__()
    tx["accounts"].insert(id=1)
    bank.close()
    with pytest.raises(sardonyx.Error, match="closed"):
        tx["accounts"].insert(id=2)
    with pytest.raises(sardonyx.Error, match="closed"):
        tx.__exit__(None, None, None)
    with sardonyx.open(tmp_path / "bank.sdx") as bank:
        assert bank.count("accounts") == 0


def test_a_forgotten_transaction_is_undone(bank):
    forgotten = bank.transaction().__enter__()
    forgotten["accounts"].insert(id=1, owner="Ada", balance=0)
    with pytest.raises(sardonyx.NoTransaction):
        bank.transaction()["accounts"]
    forgotten.__exit__(ValueError, ValueError(), None)
    assert bank.count("accounts") == 0


def test_a_snapshot_stands_while_the_bank_goes_on(bank):
    with bank.transaction() as tx:
        tx["accounts"].insert_many({"id": n, "owner": f"o{n}" * n, "balance": n} for n in range(1, 101))
    with bank.snapshot() as then:
        with bank.transaction() as tx:
            for n in range(1, 101):
                tx["accounts"].update(n, balance=0, note="closed")
        columns = then.numpy("accounts", ["balance", "owner", "note"])
        assert columns["balance"].sum() == 5050 and columns["balance"].dtype == "i8"
        assert columns["owner"][columns["balance"] == 3].tolist() == ["o3o3o3"]
        assert columns["note"].mask.all()
        assert then.get("accounts", 7)["balance"] == 7
        with pytest.raises(sardonyx.Refused, match="colour"):
            then.numpy("accounts", ["colour"])
    with pytest.raises(sardonyx.NoTransaction):
        then.count("accounts")
    with bank.snapshot() as now:
        columns = now.numpy("accounts")
        assert columns["balance"].sum() == 0 and not columns["note"].mask.any()


def test_a_snapshot_as_an_arrow_table(bank):
    pyarrow = pytest.importorskip("pyarrow")
    columns = {"id": "u64", "flag": "bool", "price": "decimal(2)?", "name": "text?", "moment": "timestamp", "day": "date"}
    bank.create_table("things", columns, key="id")
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc)
    rows = [
        {"id": n, "flag": n % 2 == 0, "price": None if n % 3 else decimal.Decimal(n) / 4, "name": "x" * n or None,
         "moment": moment, "day": moment.date()}
        for n in range(20)
    ]
    with bank.transaction() as tx:
        tx["things"].insert_many(rows)
    with bank.snapshot() as snapshot:
        table = snapshot.arrow("things").sort_by("id")
        assert table.schema.field("price").type == pyarrow.decimal128(38, 2)
        assert table.to_pylist() == rows
        assert snapshot.numpy("things")["day"][0] == numpy.datetime64("2026-01-02")


@pytest.fixture
def shop(tmp_path):
    with sardonyx.open(tmp_path / "shop.sdx") as shop:
        columns = {"id": "u64", "customer": "text", "total": "i64", "note": "text?"}
        indexes = {"by_customer": ["customer", "id desc"], "by_note": "note"}
        shop.create_table("orders", columns, key="id", ordered=True, indexes=indexes)
        with shop.transaction() as tx:
            tx["orders"].insert_many(
                {"id": n, "customer": ["Ada", "Adam", "Bob"][n % 3], "total": n * 10, "note": None if n % 2 else f"n{n}"}
                for n in range(30)
            )
        yield shop


def ids(rows):
    return [row["id"] for row in rows]


def test_ranges_of_a_transaction_and_of_a_snapshot(shop):
    with shop.snapshot() as snapshot, shop.transaction() as tx:
        for table in (tx["orders"], snapshot["orders"]):
            by_customer, primary = table.index("by_customer"), table.index("primary")
            assert ids(by_customer.prefix("Ada", limit=3)) == [27, 24, 21]
            assert ids(by_customer.prefix("Ada", reverse=True, limit=2)) == [0, 3]
            assert ids(by_customer.starts_with("Ad", reverse=True, limit=1)) == [1]
            assert by_customer.starts_with("Ad").count() == 20
            assert by_customer.prefix("Ada", 3).list() == [table[3]]
            assert ids(by_customer.range(("Ada", 6), "Ada")) == [6, 3, 0]
            assert by_customer.range("Adam").count() == 20
            assert by_customer.range("Adam", limit=7).count() == 7
            assert by_customer.get("Bob")["id"] == 29 and by_customer.get("Eve") is None
            assert ids(primary.range(3, 5)) == [3, 4, 5]
            for inclusive, expected in (("left", [3, 4]), ("right", [4, 5]), ("neither", [4])):
                assert ids(primary.range(3, 5, inclusive=inclusive)) == expected
            assert ids(primary.range(last=2, reverse=True)) == [2, 1, 0]
            assert primary.range(40).first() is None and primary.range().first()["id"] == 0
            assert table.index("by_note").range(reverse=True).first()["note"] is None
            assert table.rows().count() == 30 == len(table)


def test_ranges_as_arrays_and_arrow_tables(shop):
    pyarrow = pytest.importorskip("pyarrow")
    with shop.snapshot() as snapshot:
        rows = snapshot["orders"].index("by_customer").prefix("Bob", limit=4)
        columns = rows.numpy(["id", "total"])
        assert columns["id"].tolist() == [29, 26, 23, 20] and columns["id"].dtype == "u8"
        assert (columns["total"] == 10 * columns["id"].astype("i8")).all()
        table = rows.arrow()
        assert isinstance(table, pyarrow.Table) and table.to_pylist() == rows.list()
        assert table.column("note").null_count == 2
    with shop.transaction() as tx:
        tx["orders"].update(29, total=-1)
        rows = tx["orders"].index("by_customer").prefix("Bob", limit=1)
        assert rows.numpy(["total"])["total"].tolist() == [-1]
        assert tx["orders"].rows().arrow(["id"]).num_rows == 30


def test_what_an_index_refuses(shop):
    with shop.snapshot() as snapshot:
        orders = snapshot["orders"]
        with pytest.raises(sardonyx.Refused, match="by_colour"):
            orders.index("by_colour")
        with pytest.raises(sardonyx.Refused):
            snapshot["nothing"]
        with pytest.raises(sardonyx.Refused, match="customer"):
            orders.index("by_customer").prefix(7).list()
        with pytest.raises(sardonyx.Refused):
            orders.index("by_customer").prefix("Ada", 1, 2).list()
        with pytest.raises(ValueError, match="inclusive"):
            orders.index("primary").range(1, 2, inclusive="some")
        with pytest.raises(KeyError):
            orders[77]
        with pytest.raises(sardonyx.Refused, match="colour"):
            orders.rows().numpy(["colour"])
        rows = orders.index("primary").range(1, 2)
    with pytest.raises(sardonyx.NoTransaction):
        rows.list()
    with shop.transaction() as tx:
        rows = tx["orders"].index("primary").range(1, 2)
        assert ids(rows) == [1, 2]
        tx["orders"].delete(1)
        assert ids(rows) == [2]
    with pytest.raises(sardonyx.NoTransaction):
        rows.count()


def test_programs_that_opened_a_segment_by_open_are_told(tmp_path):
    with sardonyx.segment(tmp_path / "arrays.sdx", address_space_bytes=1 << 30) as segment:
        segment.array("a", 3, "i8")
    with pytest.raises(sardonyx.Mismatch, match="sardonyx.segment"):
        sardonyx.open(tmp_path / "arrays.sdx")
    with pytest.raises(TypeError, match="sardonyx.segment"):
        sardonyx.open(tmp_path / "new.sdx", mechanism="signal")
    assert not (tmp_path / "new.sdx").exists()
    with sardonyx.open(tmp_path / "new.sdx") as tables:
        with pytest.raises(AttributeError, match="sardonyx.segment"):
            tables.array("a", 3, "i8")
        with pytest.raises(AttributeError) as nothing:
            tables.colour
        assert "segment" not in str(nothing.value)


def test_a_transaction_that_is_forgotten_is_undone(bank):
    bank.transaction().__enter__()["accounts"].insert(id=1, owner="Ada", balance=1)
    assert bank.count("accounts") == 0
    tx = bank.transaction()
    with tx:
        pass
    with pytest.raises(sardonyx.NoTransaction):
        tx["accounts"]
