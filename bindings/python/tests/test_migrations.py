"""Migrations: each runs once in a database, in its order, whole or not at all; and tables changed inside of a transaction."""

import decimal

import pytest

import sardonyx


def add_customers(tx):
    tx.create_table("customers", {"id": "u64", "name": "text"}, key="id")
    tx["customers"].insert(id=1, name="Ada")


def add_notes(tx):
    tx.add_column("customers", "note", "text?")
    tx["customers"].update(1, note="first")


FIRST = [("customers", add_customers)]
BOTH = [*FIRST, ("notes of customers", add_notes)]


@pytest.fixture
def shop(tmp_path):
    with sardonyx.open(tmp_path / "shop.sdx") as shop:
        yield shop


def test_each_migration_runs_once_and_in_its_order(tmp_path):
    path = tmp_path / "shop.sdx"
    with sardonyx.open(path) as shop:
        assert shop.schema_version() == 0
        assert shop.migrate([]) == 0
        assert shop.migrate(FIRST) == 1
        assert shop.migrate(FIRST) == 1
    with sardonyx.open(path) as shop:
        assert shop.migrate(iter(BOTH)) == 2
        assert shop.schema_version() == 2
        assert shop.get("customers", 1) == {"id": 1, "name": "Ada", "note": "first"}
        assert list(shop.schema()) == ["customers"]


def test_one_that_raises_leaves_nothing_and_those_before_it_stay(shop):
    calls = []

    def fails(tx):
        calls.append("fails")
        tx.create_table("orders", {"id": "u64"}, key="id")
        tx.drop_table("customers")
        raise KeyError("not today")

    with pytest.raises(KeyError, match="not today"):
        shop.migrate([*FIRST, ("orders", fails), ("later", lambda tx: calls.append("later"))])
    assert calls == ["fails"]
    assert shop.schema_version() == 1
    assert list(shop.schema()) == ["customers"]
    # A refusal of the database undoes it, too, unless the function catches it.
    with pytest.raises(sardonyx.Refused, match="nothing"):
        shop.migrate([*FIRST, ("orders", lambda tx: tx.drop_column("customers", "nothing"))])
    assert shop.migrate(BOTH) == 2


def test_a_database_of_a_newer_program_or_another_is_left_as_it_is(shop):
    shop.migrate(BOTH)
    with pytest.raises(sardonyx.Refused, match="schema version 2.*notes of customers.*up to 1"):
        shop.migrate(FIRST)
    with pytest.raises(sardonyx.Refused, match="migration 2 was.*notes of customers.*other"):
        shop.migrate([*FIRST, ("other", add_notes), ("third", add_notes)])
    assert shop.schema_version() == 2


def test_what_is_no_migration_is_said_before_any_runs(shop):
    async def later(tx):
        pass

    def parts(tx):
        yield

    for wrong in ([add_customers], [("customers",)], [("customers", None)], [(1, add_customers)], 7):
        with pytest.raises(TypeError):
            shop.migrate([*FIRST, *wrong] if isinstance(wrong, list) else wrong)
    assert shop.schema_version() == 0
    for wrong in (later, parts):
        with pytest.raises(TypeError, match="coroutine"):
            shop.migrate([("customers", wrong)])
    assert shop.schema_version() == 0
    with shop.transaction() as tx:
        tx.create_table("orders", {"id": "u64"}, key="id")
        with pytest.raises(sardonyx.InsideTransaction):
            shop.migrate(FIRST)
        with pytest.raises(sardonyx.InsideTransaction):
            shop.schema_version()


def test_tables_are_changed_inside_of_a_transaction_as_a_whole(shop):
    def change(tx):
        tx.create_table("orders", {"id": "u64", "customer": "u64"}, key="id", ordered=True)
        tx["orders"].insert(id=7, customer=1)
        tx.create_index("orders", "by_customer", ["customer", "id desc"])
        tx.add_foreign_key("orders", "of_customer", "customer", "customers", on_delete="cascade")
        tx.add_column("orders", "price", "decimal(2)", default=decimal.Decimal("1.50"))
        tx.rename_column("orders", "price", "cost")
        assert tx["orders"].index("by_customer").prefix(1).list() == [
            {"id": 7, "customer": 1, "cost": decimal.Decimal("1.50")}
        ]
        tx.rename_table("orders", "sales")
        tx.drop_foreign_key("sales", "of_customer")
        tx.drop_index("sales", "by_customer")
        tx.drop_column("sales", "cost")

    shop.migrate(FIRST)
    with pytest.raises(ZeroDivisionError):
        with shop.transaction() as tx:
            change(tx)
            tx.drop_table("customers")
            1 / 0
    assert shop.schema() == {"customers": {"id": "u64", "name": "text"}}
    with shop.transaction() as tx:
        change(tx)
    assert shop.schema()["sales"] == {"id": "u64", "customer": "u64"}
    assert shop.get("sales", 7) == {"id": 7, "customer": 1}
    with pytest.raises(sardonyx.NoTransaction):
        tx.drop_table("sales")
