"""Further libraries of Python on PostgreSQL, each with its everyday calls: python3 python_libraries.py DSN NAME.

Each is an ORM, a pool or a tool. A control is the same with the address of a
PostgreSQL 15. Ends with 0 if the library works, and with 77 if it is not installed.
"""

import asyncio
import datetime
import decimal
import os
import tempfile
import uuid

from python_trial import DSN, PLACE, check, fails, run, try_library


def pony():
    """Pony: entities, queries in generators, relations, locks, JSON and arrays."""
    from pony import orm
    from urllib.parse import urlsplit

    run("DROP TABLE IF EXISTS pn_group_person, pn_phone, pn_person, pn_group CASCADE")
    at = urlsplit(DSN)
    db = orm.Database(provider="postgres", user=at.username, host=at.hostname, port=at.port, database=at.path[1:])

    class Person(db.Entity):
        _table_ = "pn_person"
        name = orm.Required(str, 60, unique=True)
        age = orm.Optional(int, size=16, unsigned=True, index=True)
        money = orm.Required(decimal.Decimal, 12, 2, default=0)
        born = orm.Optional(datetime.date)
        made = orm.Required(datetime.datetime, default=datetime.datetime.now)
        took = orm.Optional(datetime.timedelta)
        key = orm.Required(uuid.UUID, default=uuid.uuid4)
        data = orm.Optional(orm.Json)
        tags = orm.Optional(orm.StrArray)
        raw = orm.Optional(bytes)
        big = orm.Optional(int, size=64)
        phones = orm.Set("Phone")
        groups = orm.Set("Group", table="pn_group_person")

    class Phone(db.Entity):
        _table_ = "pn_phone"
        number = orm.PrimaryKey(str)
        owner = orm.Required(Person)

    class Group(db.Entity):
        _table_ = "pn_group"
        a = orm.Required(int)
        b = orm.Required(str)
        people = orm.Set(Person)
        orm.PrimaryKey(a, b)

    db.generate_mapping(create_tables=True)
    with orm.db_session:
        ada = Person(name="Ada", age=36, money="12.50", born=datetime.date(1815, 12, 10), data={"a": [1, {"b": 2}]}, tags=["x", "y"], raw=b"\0\xff", took=datetime.timedelta(hours=3), big=2**40)
        Phone(number="1", owner=ada), Phone(number="2", owner=ada)
        Group(a=1, b="g", people=[ada])
        for i in range(200):
            Person(name=f"p{i:03}", age=i % 100)
    with orm.db_session:
        ada = Person.get(name="Ada")
        check((ada.money, ada.tags, ada.data["a"][1]["b"], ada.raw, ada.took, ada.big), (decimal.Decimal("12.50"), ["x", "y"], 2, b"\0\xff", datetime.timedelta(hours=3), 2**40))
        check(sorted(ada.phones.number), ["1", "2"])
        check(orm.select(p.name for p in Person if "x" in p.tags)[:], ["Ada"])
        check(orm.select(p.name for p in Person if p.data["a"][1]["b"] == 2)[:], ["Ada"])
        check(orm.count(p for p in Person if p.name.startswith("p0") and p.age > 90), 9)
        check(orm.select((p.name, orm.count(p.phones)) for p in Person if orm.count(p.phones) > 1)[:], [("Ada", 2)])
        check(orm.max(p.age for p in Person), 99)
        check([p.name for p in Person.select().order_by(orm.desc(Person.age), Person.name).page(1, 2)], ["p099", "p199"])
        check(orm.select(p for p in Person for g in p.groups if g.b == "g").first(), ada)
        check(orm.select(p.born.year for p in Person if p.born)[:], [1815])
        check(orm.select(p for p in Person if p.name in orm.select(q.owner.name for q in Phone)).count(), 1)
        check(len(Person.select_random(3)), 3)
        check(Person.get_for_update(name="Ada", nowait=True), ada)
        ada.data["c"] = [1]
        ada.tags.append("z")
        ada.money += 1
        check(orm.group_concat(p.name for p in Person if p.age > 98), "p099,p199")
        check(db.select("SELECT name FROM pn_person WHERE age = $wanted ORDER BY name LIMIT 1", {"wanted": 36}), ["Ada"])
    with orm.db_session(serializable=True):
        check((Person["1"].data["c"], Person[1].tags), ([1], ["x", "y", "z"]))
        check(orm.delete(p for p in Person if p.age > 50 and p.name.startswith("p")), 98)
        check(Person.select(lambda p: p.age == 3).delete(bulk=True), 2)
        orm.rollback()
        check(Person.select().count(), 201)
    with orm.db_session:
        fails(orm.TransactionIntegrityError, lambda: (Person(name="Ada"), orm.commit()))
        orm.rollback()
    db.drop_all_tables(with_all_data=True)
    db.disconnect()


def sqlmodel():
    """SQLModel: models that are schemas too, relations, JSON, arrays, enums, upserts, streams."""
    import enum

    import sqlalchemy as sa
    from sqlalchemy.dialects import postgresql
    from sqlmodel import Field, Relationship, Session, SQLModel, col, create_engine, func, select

    class Mood(str, enum.Enum):
        sad = "sad"
        happy = "happy"

    class Link(SQLModel, table=True):
        __tablename__ = "sm_links"
        team_id: int | None = Field(default=None, foreign_key="sm_teams.id", primary_key=True)
        hero_id: int | None = Field(default=None, foreign_key="sm_heroes.id", primary_key=True)

    class Team(SQLModel, table=True):
        __tablename__ = "sm_teams"
        id: int | None = Field(default=None, primary_key=True)
        name: str = Field(index=True, unique=True, max_length=40)
        heroes: list["Hero"] = Relationship(back_populates="teams", link_model=Link)

    class Hero(SQLModel, table=True):
        __tablename__ = "sm_heroes"
        __table_args__ = (sa.CheckConstraint("age < 200"), sa.Index("sm_tags", "tags", postgresql_using="gin"), sa.Index("sm_lower", sa.text("lower(name)")))
        id: int | None = Field(default=None, primary_key=True)
        name: str
        age: int | None = None
        key: uuid.UUID = Field(default_factory=uuid.uuid4)
        money: decimal.Decimal = Field(default=0, max_digits=12, decimal_places=2)
        mood: Mood = Mood.happy
        data: dict = Field(default_factory=dict, sa_column=sa.Column(postgresql.JSONB, nullable=False))
        tags: list[str] = Field(default_factory=list, sa_column=sa.Column(postgresql.ARRAY(sa.Text)))
        made: datetime.datetime = Field(sa_column=sa.Column(sa.DateTime(timezone=True), server_default=func.now()), default=None)
        raw: bytes | None = None
        teams: list[Team] = Relationship(back_populates="heroes", link_model=Link)

    engine = create_engine(f"postgresql+psycopg://{PLACE}")
    SQLModel.metadata.drop_all(engine)
    SQLModel.metadata.create_all(engine)
    SQLModel.metadata.create_all(engine)
    with Session(engine) as session:
        red = Team(name="red")
        session.add(Hero(name="Ada", age=36, money=decimal.Decimal("2.5"), data={"a": [1]}, tags=["x"], raw=b"\0", teams=[red, Team(name="blue")], mood=Mood.sad))
        session.add_all([Hero(name=f"h{i}", age=i) for i in range(100)])
        session.commit()
    with Session(engine) as session:
        ada = session.exec(select(Hero).where(Hero.name == "Ada")).one()
        check((ada.money, ada.mood, ada.data, ada.tags, [team.name for team in ada.teams]), (decimal.Decimal("2.50"), Mood.sad, {"a": [1]}, ["x"], ["red", "blue"]))
        rows = session.exec(select(Team.name, func.count(Link.hero_id)).join(Link, isouter=True).group_by(Team.name).order_by(Team.name)).all()
        check([tuple(row) for row in rows], [("blue", 1), ("red", 1)])
        check(len(session.exec(select(Hero).where(col(Hero.tags).contains(["x"]))).all()), 1)
        check(session.exec(select(func.count()).select_from(Hero).where(col(Hero.data)["a"][0].as_integer() == 1)).one(), 1)
        upsert = postgresql.insert(Team).values(name="red").on_conflict_do_update(index_elements=["name"], set_={"name": "crimson"}).returning(Team.id)
        check(session.execute(upsert).scalar_one(), ada.teams[0].id)
        with session.begin_nested() as nested:
            session.add(Team(name="lost"))
            session.flush()
            nested.rollback()
        session.delete(ada)
        session.commit()
        check(session.exec(select(func.count()).select_from(Link)).one(), 0)
        check(sum(1 for _ in session.exec(select(Hero).execution_options(yield_per=10))), 100)
    SQLModel.metadata.drop_all(engine)


def dataset():
    """dataset: tables and columns that come into being by inserts."""
    import dataset

    run("DROP TABLE IF EXISTS ds_people, ds_more")
    db = dataset.connect(DSN.replace("postgresql://", "postgresql+psycopg2://"))
    table = db["ds_people"]
    first = table.insert({"name": "Ada", "age": 36, "at": datetime.datetime(2026, 3, 4), "day": datetime.date(2026, 3, 4), "good": True, "x": 1.5, "data": {"a": 1}})
    check(first, 1)
    table.insert_many([{"name": f"p{i}", "age": i} for i in range(500)], chunk_size=100)
    table.upsert({"name": "Ada", "age": 37, "town": "London"}, ["name"])
    check(table.find_one(name="Ada")["town"], "London")
    check(table.update({"name": "Ada", "age": 38}, ["name"]), 1)
    table.update_many([{"name": "p1", "age": 900}, {"name": "p2", "age": 901}], ["name"])
    check([row["name"] for row in table.find(age={">": 899}, order_by="-age")], ["p2", "p1"])
    check([row["name"] for row in table.find(name={"like": "p49%"}, _limit=3, order_by=["name"])], ["p49", "p490", "p491"])
    check(len(list(table.distinct("town"))), 2)
    table.create_index(["name", "age"])
    check(table.has_index(["name", "age"]), True)
    table.create_column("extra", db.types.bigint, unique=True)
    table.drop_column("extra")
    check("extra" in table.columns, False)
    with db as tx:
        tx["ds_people"].delete(name="p3")
    try:
        with db as tx:
            tx["ds_people"].delete()
            raise KeyError
    except KeyError:
        pass
    check(len(table), 500)
    check(list(db.query("SELECT count(*) AS n FROM ds_people WHERE age > :a", a=100))[0]["n"], 401)
    more = db.create_table("ds_more", primary_id="key", primary_type=db.types.string(20))
    more.insert({"key": "a", "n": 1})
    more.insert_ignore({"key": "a", "n": 2}, ["key"])
    check(more.find_one(key="a")["n"], 1)
    check({"ds_people", "ds_more"} <= set(db.tables), True)
    more.drop()
    table.drop()
    db.close()


def psycopg_pool():
    """psycopg's pools: checks of connections, resizing, pipelines, and the asynchronous pool."""
    import psycopg
    from psycopg_pool import AsyncConnectionPool, ConnectionPool, NullConnectionPool

    def configure(connection):
        connection.execute("SET application_name = 'pooled'")
        connection.commit()

    with ConnectionPool(DSN, min_size=2, max_size=4, configure=configure, check=ConnectionPool.check_connection, reset=lambda c: c.execute("RESET ALL") and c.commit()) as pool:
        pool.wait()
        with pool.connection() as connection:
            check(connection.execute("SHOW application_name").fetchone(), ("pooled",))
            connection.execute("CREATE TEMP TABLE pool_t (n int)")
        with pool.connection() as connection, connection.pipeline(), connection.cursor() as cursor:
            cursor.executemany("SELECT %s::int * 2", [(1,), (2,)], returning=True)
            check(cursor.fetchone(), (2,))
        with pool.connection() as connection:
            fails(psycopg.errors.DivisionByZero, connection.execute, "SELECT 1/0")
        pool.resize(1, 2)
        pool.check()
        check(pool.get_stats()["requests_num"] >= 3, True)
    with NullConnectionPool(DSN, max_size=2) as pool, pool.connection() as connection:
        check(connection.info.transaction_status, psycopg.pq.TransactionStatus.IDLE)

    async def asynchronous():
        async with AsyncConnectionPool(DSN, min_size=1, max_size=3, open=False) as pool:
            async def one(number):
                async with pool.connection() as connection:
                    return (await (await connection.execute("SELECT %s::int", (number,))).fetchone())[0]
            check(await asyncio.gather(*(one(number) for number in range(10))), list(range(10)))
    asyncio.run(asynchronous())


def aiopg():
    """aiopg: a pool, cursors, transactions, notifications, and its layer of SQLAlchemy."""
    import aiopg
    import sqlalchemy as sa

    async def all_of_it():
        async with aiopg.create_pool(DSN) as pool:
            async with pool.acquire() as connection, connection.cursor() as cursor:
                await cursor.execute("DROP TABLE IF EXISTS aio_t")
                await cursor.execute("CREATE TABLE aio_t (id serial PRIMARY KEY, v jsonb, t text[])")
                await cursor.execute("INSERT INTO aio_t (v, t) VALUES (%s, %s) RETURNING id", ('{"a": 1}', ["x"]))
                check(await cursor.fetchone(), (1,))
                await cursor.execute("SELECT v, t FROM aio_t")
                check([row async for row in cursor], [({"a": 1}, ["x"])])
                async with cursor.begin():
                    await cursor.execute("INSERT INTO aio_t (t) VALUES ('{}')")
                    async with cursor.begin_nested():
                        await cursor.execute("UPDATE aio_t SET t = '{y}'")
                await cursor.execute("SELECT pg_sleep(0.01)")
                async with pool.acquire() as other, other.cursor() as listening:
                    await listening.execute("LISTEN aio")
                    await cursor.execute("NOTIFY aio, 'hello'")
                    said = await asyncio.wait_for(other.notifies.get(), 10)
                    check(said.payload, "hello")
                await cursor.callproc("upper", ["x"])
                check(await cursor.fetchone(), ("X",))
                await cursor.execute("DROP TABLE aio_t")
    asyncio.run(all_of_it())


def pgcli():
    """pgcli: the queries of its completion, and its commands with a backslash."""
    from pgcli.pgexecute import PGExecute
    from pgspecial.main import PGSpecial
    from urllib.parse import urlsplit

    run(
        "DROP SCHEMA IF EXISTS cli CASCADE", "CREATE SCHEMA cli", "CREATE TYPE cli.mood AS ENUM ('a', 'b')",
        "CREATE TABLE cli.t (id serial PRIMARY KEY, name text DEFAULT 'x', m cli.mood)", "CREATE TABLE cli.u (id int REFERENCES cli.t)",
        "CREATE VIEW cli.v AS SELECT id FROM cli.t", "CREATE FUNCTION cli.f(a int, b text DEFAULT 'x') RETURNS int LANGUAGE sql AS 'SELECT Name::int FROM cli.t'",
    )
    at = urlsplit(DSN)
    shell = PGExecute(at.path[1:], at.username, "", at.hostname, str(at.port))
    check(("cli", "t") in list(shell.tables()), True)
    check(("cli", "v") in list(shell.views()), True)
    check([tuple(row)[:3] for row in shell.table_columns() if row[0] == "cli" and row[1] == "t"], [("cli", "t", "id"), ("cli", "t", "name"), ("cli", "t", "m")])
    check([tuple(row)[:3] for row in shell.view_columns() if row[0] == "cli"], [("cli", "v", "id")])
    check([tuple(key) for key in shell.foreignkeys() if key[0] == "cli"], [("cli", "t", "id", "cli", "u", "id")])
    check("cli" in list(shell.schemata()) if isinstance(next(iter(shell.schemata())), str) else ("cli",) in list(shell.schemata()), True)
    check([f.func_name for f in shell.functions() if f.schema_name == "cli"], ["f"])
    check(("cli", "mood") in list(shell.datatypes()), True)
    check(at.path[1:] in list(shell.databases()), True)
    # The word of a function's text that is a column's name, as it is written there.
    check("Name" in list(shell.casing()), True)
    check("id" in str(shell.view_definition("cli.v")), True)
    check(shell.search_path()[-1], "public")
    check(shell.server_version.startswith("15"), True)
    special = PGSpecial()
    import psycopg
    with psycopg.connect(DSN, autocommit=True) as connection:
        for command in (r"\l", r"\dn", r"\dn+", r"\dt cli.*", r"\dt+ cli.*", r"\d cli.t", r"\d+ cli.t", r"\d cli.v", r"\di cli.*", r"\di+ cli.*", r"\dv+ cli.*", r"\ds cli.*", r"\df cli.*", r"\df+ cli.*",
                        r"\dT cli.*", r"\dT+ cli.*", r"\du", r"\du+", r"\db", r"\dx", r"\dD", r"\ddp", r"\dp cli.*", r"\dm", r"\dE", r"\dF", r"\dF+", r"\l+", r"\db+"):
            list(special.execute(connection.cursor(), command))
    run("DROP SCHEMA cli CASCADE")


def yoyo():
    """yoyo: migrations in files, their locks, and steps back."""
    import yoyo

    run("DROP TABLE IF EXISTS _yoyo_migration, _yoyo_log, _yoyo_version, yoyo_lock, yy_a, yy_b")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "0001.one.sql"), "w") as file:
            file.write("CREATE TABLE yy_a (id int PRIMARY KEY);\nINSERT INTO yy_a VALUES (1);\n")
        with open(os.path.join(folder, "0001.one.rollback.sql"), "w") as file:
            file.write("DROP TABLE yy_a;\n")
        with open(os.path.join(folder, "0002.two.py"), "w") as file:
            file.write('from yoyo import step\n__depends__ = {"0001.one"}\nstep("CREATE TABLE yy_b (id int REFERENCES yy_a)", "DROP TABLE yy_b")\nstep("INSERT INTO yy_b VALUES (1)")\n')
        backend = yoyo.get_backend(f"postgresql+psycopg://{PLACE}")
        found = yoyo.read_migrations(folder)
        with backend.lock():
            backend.apply_migrations(backend.to_apply(found))
        check(len(backend.to_apply(found)), 0)
        with backend.lock():
            backend.rollback_migrations(backend.to_rollback(found))
        check(len(backend.to_apply(found)), 2)
        del backend


def piccolo():
    """Piccolo: tables, joins, JSON, arrays, upserts, transactions, savepoints."""
    from piccolo import columns
    from piccolo.columns.indexes import IndexMethod
    from piccolo.engine.postgres import PostgresEngine
    from piccolo.query.functions import Count, Upper
    from piccolo.table import Table, create_db_tables, drop_db_tables
    from urllib.parse import urlsplit

    at = urlsplit(DSN)
    DB = PostgresEngine(config={"host": at.hostname, "port": at.port, "user": at.username, "database": at.path[1:]}, extensions=("uuid-ossp",))

    class Band(Table, db=DB, tablename="pc_band"):
        name = columns.Varchar(length=60, unique=True)
        popularity = columns.Integer(index=True)
        data = columns.JSONB(default="{}")
        tags = columns.Array(base_column=columns.Varchar(), index=True, index_method=IndexMethod.gin)
        key = columns.UUID()
        money = columns.Numeric(digits=(12, 2))
        at = columns.Timestamptz()
        took = columns.Interval(null=True, default=None)

    class Concert(Table, db=DB, tablename="pc_concert"):
        band = columns.ForeignKey(references=Band, on_delete=columns.base.OnDelete.cascade)
        seats = columns.BigInt()

    async def all_of_it():
        await drop_db_tables(Concert, Band)
        await create_db_tables(Band, Concert, if_not_exists=True)
        rows = await Band.insert(*(Band(name=f"b{i}", popularity=i, data={"n": i}, tags=["x", str(i)]) for i in range(20))).returning(Band.id)
        await Band.insert(Band(name="b1", popularity=100)).on_conflict(target=Band.name, action="DO UPDATE", values=[Band.popularity])
        await Concert.insert(*(Concert(band=row["id"], seats=10) for row in rows[:3]))
        check(await Concert.select(Concert.band.name, Concert.seats).order_by(Concert.id).first(), {"band.name": "b0", "seats": 10})
        check(len(await Band.objects().where(Band.tags.any("x")).order_by(Band.popularity, ascending=False).limit(2)), 2)
        check(await Band.select(Band.data.arrow("n").as_alias("n")).where(Band.name == "b3").first(), {"n": "3"})
        check(await Band.select(Upper(Band.name).as_alias("u")).where(Band.name == "b3").first(), {"u": "B3"})
        await Band.update({Band.popularity: Band.popularity + 1}).where(Band.name.like("b1%"))
        check(await Band.count().where(Band.popularity > 10), 11)
        check((await Concert.select(Concert.band.name, Count()).group_by(Concert.band.name).order_by(Concert.band.name))[0]["count"], 1)
        try:
            async with DB.transaction() as transaction:
                await Band.delete(force=True)
                savepoint = await transaction.savepoint()
                await Band.insert(Band(name="lost"))
                await savepoint.rollback_to()
                check(await Band.count(), 0)
                raise KeyError
        except KeyError:
            pass
        check(await Band.count(), 20)
        async with await Band.select().batch(batch_size=7) as batch:
            check([len(part) async for part in batch], [7, 7, 6])
        check(await Band.exists().where(Band.name == "b5"), True)
        await Band.alter().add_column("extra", columns.Text(null=True, default=None))
        await Band.alter().rename_column(Band.popularity, "rating").run()
        await Band.alter().drop_column("extra")
        await drop_db_tables(Concert, Band)
    asyncio.run(all_of_it())


def django_contrib():
    """Django's contrib.postgres: its indexes, fields, aggregates, searches and constraints."""
    import django
    from django.conf import settings
    from urllib.parse import urlsplit

    at = urlsplit(DSN)
    settings.configure(
        USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", INSTALLED_APPS=["django.contrib.postgres"],
        DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "HOST": at.hostname, "PORT": at.port, "USER": at.username, "NAME": at.path[1:]}},
    )
    django.setup()
    from django.contrib.postgres import aggregates, fields, indexes as of_postgres, search
    from django.db import connection, models

    class Paper(models.Model):
        title = models.CharField(max_length=80)
        tags = fields.ArrayField(models.CharField(max_length=20), default=list)
        data = models.JSONField(default=dict)
        pages = fields.IntegerRangeField(null=True)
        found = search.SearchVectorField(null=True)

        class Meta:
            app_label = "dc"
            db_table = "dc_papers"
            indexes = [
                of_postgres.GinIndex(fields=["tags"], name="dc_tags", fastupdate=False),
                of_postgres.GinIndex(of_postgres.OpClass(models.F("data"), name="jsonb_path_ops"), name="dc_data"),
                of_postgres.GinIndex(fields=["found"], name="dc_found"),
                of_postgres.GistIndex(fields=["pages"], name="dc_pages"),
                of_postgres.BrinIndex(fields=["id"], name="dc_brin", pages_per_range=16),
                of_postgres.HashIndex(fields=["title"], name="dc_hash"),
                of_postgres.SpGistIndex(fields=["title"], name="dc_sp"),
                of_postgres.BTreeIndex(fields=["title"], name="dc_btree", fillfactor=80),
            ]

    run("DROP TABLE IF EXISTS dc_papers")
    with connection.schema_editor() as editor:
        editor.create_model(Paper)
    Paper.objects.create(title="On engines", tags=["a", "b"], data={"k": [1]}, pages=(1, 5))
    Paper.objects.create(title="On rows", tags=["b"], pages=(5, 9))
    Paper.objects.update(found=search.SearchVector("title", config="english"))
    check(Paper.objects.filter(tags__contains=["a"]).count(), 1)
    check(Paper.objects.filter(tags__overlap=["a", "b"], tags__len=1).count(), 1)
    check(Paper.objects.filter(data__contains={"k": [1]}).count(), 1)
    check(Paper.objects.filter(pages__contains=6).get().title, "On rows")
    check(Paper.objects.filter(found=search.SearchQuery("engine", config="english")).count(), 1)
    ranked = Paper.objects.annotate(rank=search.SearchRank("found", search.SearchQuery("rows", config="english"))).order_by("-rank")
    check(ranked.first().title, "On rows")
    check(Paper.objects.aggregate(all=aggregates.StringAgg("title", "; ", ordering="title"))["all"], "On engines; On rows")
    check(sorted(Paper.objects.aggregate(all=aggregates.ArrayAgg("tags__0", distinct=True))["all"]), ["a", "b"])
    with connection.cursor() as cursor:
        made = connection.introspection.get_constraints(cursor, "dc_papers")
    check({name: made[name]["type"] for name in made if name.startswith("dc_") and made[name]["index"] and not made[name]["primary_key"]},
          {"dc_tags": "gin", "dc_data": "gin", "dc_found": "gin", "dc_pages": "gist", "dc_brin": "brin", "dc_hash": "hash", "dc_sp": "spgist", "dc_btree": "btree"})
    with connection.schema_editor() as editor:
        editor.remove_index(Paper, Paper._meta.indexes[0])
        editor.delete_model(Paper)


if __name__ == "__main__":
    try_library(globals())
