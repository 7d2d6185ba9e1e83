"""Tables that change: columns, indexes, foreign keys, tables; backups, checkpoints, options, and what is shown of handles."""

import asyncio
import decimal
import os
import signal
import threading
import uuid

import numpy
import pytest

import sardonyx


@pytest.fixture
def shop(tmp_path):
    with sardonyx.open(tmp_path / "shop.sdx") as shop:
        shop.create_table("customers", {"id": "u64", "name": "text"}, key="id")
        shop.create_table("orders", {"id": "u64", "customer": "u64", "n": "i64?"}, key="id")
        with shop.transaction() as tx:
            tx["customers"].insert(id=1, name="Ada")
            tx["orders"].insert(id=7, customer=1, n=3)
        yield shop


def test_columns_come_and_go(shop):
    shop.add_column("orders", "note", "text?")
    shop.add_column("orders", "price", "decimal(2)", default=decimal.Decimal("1.50"))
    assert shop.get("orders", 7) == {
        "id": 7, "customer": 1, "n": 3, "note": None, "price": decimal.Decimal("1.50"),
    }
    shop.rename_column("orders", "note", "remark")
    shop.drop_column("orders", "price")
    assert shop.schema()["orders"] == {"id": "u64", "customer": "u64", "n": "i64?", "remark": "text?"}
    for wrong in (
        lambda: shop.add_column("orders", "n", "i64?"),
        lambda: shop.add_column("orders", "m", "i64"),
        lambda: shop.add_column("nothing", "m", "i64?"),
        lambda: shop.drop_column("orders", "nothing"),
        lambda: shop.drop_column("orders", "id"),
        lambda: shop.add_column("orders", "m", "colour"),
    ):
        with pytest.raises(ValueError):
            wrong()


def test_indexes_come_and_go(shop):
    shop.create_index("orders", "by_customer", ["customer", "id desc"])
    with shop.transaction() as tx:
        tx["orders"].insert(id=8, customer=1)
    with shop.snapshot() as snapshot:
        found = snapshot["orders"].index("by_customer").prefix(1).list()
        assert [row["id"] for row in found] == [8, 7]
    with pytest.raises(sardonyx.Duplicate):
        shop.create_index("orders", "once", "customer", unique=True)
    with pytest.raises(sardonyx.Refused, match="colour"):
        shop.create_index("orders", "by_colour", "colour")
    shop.drop_index("orders", "by_customer")
    with pytest.raises(sardonyx.Refused):
        shop.drop_index("orders", "by_customer")


def test_foreign_keys_hold_until_they_are_dropped(shop):
    shop.create_index("orders", "by_customer", "customer")
    shop.add_foreign_key("orders", "of_customer", "customer", "customers")
    with pytest.raises(sardonyx.Refused, match="of_customer"):
        with shop.transaction() as tx:
            tx["orders"].insert(id=9, customer=2)
    with pytest.raises(sardonyx.Refused, match="of_customer"):
        with shop.transaction() as tx:
            tx["customers"].delete(1)
    shop.drop_foreign_key("orders", "of_customer")
    shop.add_foreign_key("orders", "of_customer", "customer", "customers", "id", on_delete="cascade")
    with shop.transaction() as tx:
        tx["customers"].delete(1)
    assert shop.count("orders") == 0
    with pytest.raises(ValueError, match="cascade"):
        shop.add_foreign_key("orders", "other", "customer", "customers", on_delete="nothing")
    with pytest.raises(sardonyx.Refused, match="nothing"):
        shop.add_foreign_key("orders", "other", "customer", "nothing")


def test_tables_are_renamed_and_dropped(shop):
    shop.rename_table("orders", "sales")
    assert shop.count("sales") == 1
    shop.drop_table("sales")
    assert list(shop.schema()) == ["customers"]
    with pytest.raises(sardonyx.Refused):
        shop.drop_table("sales")


def test_an_open_transaction_is_in_nobodys_way(shop):
    with pytest.raises(sardonyx.Conflict) as met:
        with shop.transaction() as tx:
            tx["orders"].update(7, n=9)
            shop.add_column("orders", "note", "text?")
            shop.checkpoint()
    assert (met.value.table, met.value.key) == ("orders", None)
    assert shop.get("orders", 7)["n"] == 3


def test_what_waits_for_the_stage_is_refused_where_a_transaction_has_it(shop):
    with shop.transaction() as tx:
        tx["orders"].update(7, n=9)
        tx.add_column("orders", "note", "text?")
        for inside in (
            lambda: shop.drop_table("orders"),
            lambda: shop.get("orders", 7),
            lambda: shop.transaction().__enter__(),
            lambda: shop.retry(lambda tx: None),
            shop.checkpoint,
            shop.snapshot,
        ):
            with pytest.raises(sardonyx.InsideTransaction):
                inside()
        # The transaction keeps its earlier changes.
        tx["orders"].update(7, note=str(tx["orders"][7]["n"]))
    assert shop.get("orders", 7) == {"id": 7, "customer": 1, "n": 9, "note": "9"}


def test_a_change_of_tables_behind_a_conflict_is_one(shop):
    with pytest.raises(sardonyx.Conflict):
        with shop.transaction() as tx:
            tx["orders"].update(7, n=9)
            with shop.transaction() as other:
                other["orders"].update(7, n=4)
            tx.add_column("orders", "note", "text?")
    assert shop.get("orders", 7) == {"id": 7, "customer": 1, "n": 4}


def test_a_change_of_tables_behind_a_stale_read_is_a_conflict(shop):
    with pytest.raises(sardonyx.Conflict):
        with shop.transaction() as tx:
            n = tx["orders"][7]["n"]
            with shop.transaction() as other:
                other["orders"].update(7, n=4)
            tx.add_column("orders", "note", "text?")
            tx["orders"].update(7, n=n + 1)
    assert shop.get("orders", 7) == {"id": 7, "customer": 1, "n": 4}


def test_a_call_that_changes_tables_ends_in_the_stage(shop):
    calls = []

    def change(tx):
        n = tx["orders"][7]["n"]
        calls.append(n)
        if len(calls) <= 5:
            with shop.transaction() as other:
                other["orders"].update(7, n=n + 1)
        tx.add_column("orders", "note", "text?")
        tx["orders"].update(7, n=2 * n)

    shop.retry(change)
    assert calls == [3, 4, 5, 6, 7, 8]
    assert shop.get("orders", 7) == {"id": 7, "customer": 1, "n": 16, "note": None}


def test_a_call_that_was_ended_by_others_is_run_again(shop):
    begun = []

    def change(tx):
        if not begun:
            begun.extend(shop.transaction().__enter__() for _ in range(10_000))
        tx["orders"].update(7, n=8)

    shop.retry(change)
    assert shop.get("orders", 7)["n"] == 8
    with pytest.raises(sardonyx.TransactionEnded, match="open_transactions_max"):
        with shop.transaction() as tx:
            begun.extend(shop.transaction().__enter__() for _ in range(10_000))
            tx["orders"].update(7, n=9)


def test_a_backup_is_a_database_of_its_own(shop, tmp_path):
    shop.checkpoint()
    shop.backup(tmp_path / "copy.sdx")
    with pytest.raises(sardonyx.Refused):
        shop.backup(tmp_path / "copy.sdx")
    with shop.transaction() as tx:
        tx["customers"].update(1, name="Eve")
    with sardonyx.open(tmp_path / "copy.sdx") as copy:
        assert copy.get("customers", 1) == {"id": 1, "name": "Ada"}


def test_options_are_kept_or_refused(tmp_path):
    path = tmp_path / "new.sdx"
    with pytest.raises(sardonyx.Error):
        sardonyx.open(path, create=False)
    assert not path.exists()
    with sardonyx.open(path, memory_bytes_max=64 << 20, log_bytes_max=512 << 20):
        with pytest.raises(sardonyx.Locked):
            sardonyx.open(path, wait_for_lock=0.01)
    with pytest.raises(ValueError, match="wait_for_lock"):
        sardonyx.open(path, wait_for_lock=-1)
    with pytest.raises(TypeError, match="colour"):
        sardonyx.open(path, colour="red")


def test_columns_that_numpy_has_no_type_for_are_objects(tmp_path):
    with sardonyx.open(tmp_path / "types.sdx") as db:
        db.create_table(
            "t", {"id": "i64", "price": "decimal(2)?", "code": "uuid", "big": "i128", "huge": "u128"}, key="id", ordered=True
        )
        rows = [
            {"id": 1, "price": decimal.Decimal("-12.50"), "code": uuid.UUID(int=7), "big": -(2**100), "huge": 2**128 - 1},
            {"id": 2, "price": None, "code": uuid.UUID(int=8), "big": 5, "huge": 0},
            {"id": 3, "price": decimal.Decimal(10**35) / 100, "code": uuid.UUID(int=2**127), "big": 0, "huge": 1},
        ]
        with db.transaction() as tx:
            tx["t"].insert_many(rows)
        with db.snapshot() as snapshot:
            columns = snapshot["t"].index("primary").range().numpy()
        for name in ("price", "code", "big", "huge"):
            assert columns[name].dtype == numpy.dtype(object), name
            assert columns[name].tolist() == [row[name] for row in rows], name
        assert str(columns["price"][0]) == "-12.50"
        empty = db.create_table("empty", {"id": "i64", "code": "uuid"}, key="id")
        assert empty is None
        with db.snapshot() as snapshot:
            assert len(snapshot.numpy("empty")["code"]) == 0


def test_decimals_that_are_no_numbers(tmp_path):
    with sardonyx.open(tmp_path / "types.sdx") as db:
        db.create_table("t", {"id": "i64", "d": "decimal(2)"}, key="id", ordered=True)
        texts = ["NaN", "Infinity", "-Infinity", "1.50"]
        rows = [{"id": number, "d": decimal.Decimal(text)} for number, text in enumerate(texts)]
        with db.transaction() as tx:
            tx["t"].insert_many(rows)
        with db.transaction() as tx:
            assert [str(tx["t"][number]["d"]) for number in range(4)] == texts
        with db.snapshot() as snapshot:
            found = snapshot["t"].index("primary").range().numpy()["d"]
            assert [str(value) for value in found] == texts
        # By its text: a division rounds to 28 digits.
        largest = str(2**127 - 1)
        with pytest.raises(sardonyx.Refused):
            with db.transaction() as tx:
                tx["t"].insert(id=9, d=decimal.Decimal(f"{largest[:-2]}.{largest[-2:]}"))


def test_a_float_for_an_integer_says_that_it_is_one(shop):
    for number in (1.0, numpy.float64(1.0), float("nan")):
        with pytest.raises(sardonyx.Refused, match=r'column "n".*i64, and the float (1\.0|NaN) is not'):
            with shop.transaction() as tx:
                tx["orders"].insert(id=10, customer=1, n=number)
    with pytest.raises(sardonyx.Refused, match="the decimal 1 is not"):
        with shop.transaction() as tx:
            tx["orders"].insert(id=10, customer=1, n=decimal.Decimal(1))
    assert shop.count("orders") == 1


def test_handles_say_what_they_are(shop, tmp_path):
    assert repr(shop) == f'<sardonyx.Tables "{tmp_path / "shop.sdx"}">'
    with shop.transaction() as tx:
        assert repr(tx) == "<sardonyx.TableTransaction, running>"
        assert repr(tx["orders"]) == '<sardonyx.Table "orders">'
    assert repr(tx) == "<sardonyx.TableTransaction, not running>"
    with shop.snapshot() as snapshot:
        assert repr(snapshot) == "<sardonyx.TablesSnapshot>"
        assert repr(snapshot["orders"]) == '<sardonyx.SnapshotTable "orders">'
    assert repr(snapshot) == "<sardonyx.TablesSnapshot, closed>"


def test_ctrl_c_ends_waiting_for_the_transaction_of_another_thread(shop):
    def block():
        with shop.transaction():
            raise AssertionError("it is another's turn")

    def end_of_a_block(tx):
        tx["orders"].update(7, n=9)
        return lambda: tx.__exit__(None, None, None)

    waits = [
        lambda _: block,
        end_of_a_block,
        lambda _: lambda: shop.get("orders", 7),
        lambda _: shop.schema,
        lambda _: shop.snapshot,
        lambda _: lambda: shop.create_table("others", {"id": "u64"}, key="id"),
        lambda _: lambda: shop.retry(lambda tx: None),
    ]
    waiting = []

    def interrupted(*_):
        if waiting:
            waiting.clear()
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupted)
    for prepared in waits:
        begun, end = threading.Event(), threading.Event()

        def other():
            # A transaction that changes tables' definitions has the stage.
            with shop.transaction() as tx:
                tx.rename_column("orders", "n", "m")
                tx.rename_column("orders", "m", "n")
                begun.set()
                while not end.wait(0.01):
                    os.kill(os.getpid(), signal.SIGINT)

        wait = prepared(shop.transaction().__enter__())
        thread = threading.Thread(target=other)
        thread.start()
        begun.wait()
        with pytest.raises(KeyboardInterrupt):
            waiting.append(True)
            wait()
        end.set()
        thread.join()
    signal.signal(signal.SIGINT, before)
    # An abandoned call has no effect and blocks no other call.
    assert sorted(shop.schema()) == ["customers", "orders"]
    with shop.transaction() as tx:
        assert tx["orders"][7]["n"] == 3
        tx["orders"].update(7, n=5)
    assert shop.get("orders", 7)["n"] == 5


def test_a_task_s_block_does_not_wait_for_the_task_that_has_the_stage(shop):
    async def main():
        has_changed, ended = asyncio.Event(), asyncio.Event()

        async def changes_a_table():
            with shop.transaction() as tx:
                tx.add_column("orders", "note", "text?")
                has_changed.set()
                await ended.wait()

        async def only_reads():
            with shop.transaction() as tx:
                assert tx["orders"][7]["n"] == 3
                await has_changed.wait()

        async def ends_meanwhile():
            with pytest.raises(sardonyx.InsideTransaction):
                with shop.transaction() as tx:
                    tx["orders"].update(7, n=9)
                    await has_changed.wait()
            ended.set()

        await asyncio.gather(only_reads(), ends_meanwhile(), changes_a_table())

    asyncio.run(main())
    assert shop.get("orders", 7) == {"id": 7, "customer": 1, "n": 3, "note": None}


def child(body):
    """Runs a function in a forked child. Returns ``True`` if it succeeded."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            body()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status) == 0


def test_a_child_forked_inside_of_a_transaction_is_refused_at_once(shop):
    with shop.transaction() as tx:
        orders = tx["orders"]
        orders.update(7, n=4)

        def refused():
            for use in (
                lambda: orders.update(7, n=9),
                lambda: orders[7],
                lambda: tx["orders"],
                lambda: shop.get("orders", 7),
                lambda: shop.snapshot(),
                lambda: shop.transaction().__enter__(),
                lambda: tx.__exit__(None, None, None),
            ):
                with pytest.raises(sardonyx.Forked):
                    use()

        assert child(refused)

        def left_by_an_exception():
            with pytest.raises(ZeroDivisionError):
                try:
                    1 / 0
                except ZeroDivisionError as error:
                    tx.__exit__(type(error), error, None)
                    raise

        assert child(left_by_an_exception)
        assert child(lambda: None)
        # The parent continues.
        orders.update(7, n=orders[7]["n"] + 1)
    assert shop.get("orders", 7)["n"] == 5
