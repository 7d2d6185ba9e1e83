"""Tortoise ORM on asyncpg: schemas, relations, prefetching, upserts, JSON, arrays, nested transactions, raw statements."""

import asyncio
import sys
import types
import uuid
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum

import tortoise
from tortoise import Tortoise, connections, fields, functions
from tortoise.contrib.postgres.fields import ArrayField
from tortoise.contrib.postgres.functions import Random
from tortoise.contrib.postgres.indexes import HashIndex, PostgreSQLIndex
from tortoise.exceptions import IntegrityError, OperationalError
from tortoise.expressions import Case, F, Q, RawSQL, Subquery, When
from tortoise.models import Model
from tortoise.query_utils import Prefetch
from tortoise.transactions import in_transaction


class Kind(str, Enum):
    ONE = "one"
    TWO = "two"


class Team(Model):
    id = fields.IntField(primary_key=True)
    name = fields.CharField(40, unique=True, description="the team's name")
    kind = fields.CharEnumField(Kind, default=Kind.ONE)
    made = fields.DatetimeField(auto_now_add=True)
    changed = fields.DatetimeField(auto_now=True)
    players: fields.ReverseRelation["Player"]

    class Meta:
        table = "tt_teams"
        table_description = "teams"


class Player(Model):
    id = fields.UUIDField(primary_key=True)
    name = fields.TextField()
    team = fields.ForeignKeyField("models.Team", related_name="players", on_delete=fields.CASCADE)
    money = fields.DecimalField(max_digits=12, decimal_places=2, default=0)
    score = fields.FloatField(null=True, db_index=True)
    data = fields.JSONField(default=dict)
    tags = ArrayField("text", null=True)
    numbers = ArrayField("int", null=True)
    born = fields.DateField(null=True)
    took = fields.TimeDeltaField(null=True)
    blob = fields.BinaryField(null=True)
    active = fields.BooleanField(default=True)
    big = fields.BigIntField(default=0)
    small = fields.SmallIntField(default=0)
    friends = fields.ManyToManyField("models.Player", related_name="liked_by", through="tt_friends")

    class Meta:
        table = "tt_players"
        unique_together = (("team", "name"),)
        indexes = [PostgreSQLIndex(fields=("big", "small"), name="tt_big_small"), HashIndex(fields=("name",))]


class Detail(Model):
    player = fields.OneToOneField("models.Player", primary_key=True, related_name="detail")
    text = fields.TextField()

    class Meta:
        table = "tt_details"


async def main(dsn):
    models = types.ModuleType("tt_models")
    models.__dict__.update(Team=Team, Player=Player, Detail=Detail)
    sys.modules["tt_models"] = models
    for model in (Team, Player, Detail):
        model.__module__ = "tt_models"
    await Tortoise.init(db_url=dsn.replace("postgresql://", "asyncpg://"), modules={"models": ["tt_models"]})
    connection = connections.get("default")
    await connection.execute_script("DROP TABLE IF EXISTS tt_friends, tt_details, tt_players, tt_teams")
    await Tortoise.generate_schemas()
    await Tortoise.generate_schemas(safe=True)
    red = await Team.create(name="red")
    blue, made = await Team.get_or_create(name="blue", defaults={"kind": Kind.TWO})
    assert made and (await Team.get(name="blue")).kind is Kind.TWO
    ada = await Player.create(name="Ada", team=red, money=Decimal("12.50"), data={"a": [1, {"b": None}]}, tags=["x", "y"], numbers=[1, 2], born=date(1815, 12, 10), took=timedelta(hours=5), blob=b"\0\xff", score=1.5)
    found = await Player.get(id=ada.id).select_related("team")
    assert found.money == Decimal("12.50") and found.data["a"][1] == {"b": None} and found.tags == ["x", "y"] and found.took == timedelta(hours=5) and found.blob == b"\0\xff" and found.team.name == "red"
    await Player.bulk_create([Player(name=f"p{i:03}", team=blue, big=i, score=i, data={"n": i}) for i in range(500)], batch_size=100)
    await Player.bulk_create([Player(id=ada.id, name="Ada", team=red, money=99)], on_conflict=["team_id", "name"], update_fields=["money"])
    assert (await Player.get(name="Ada")).money == 99
    await Player.bulk_create([Player(name="Ada", team=red)], ignore_conflicts=True)
    player, made = await Player.update_or_create(name="p001", team=blue, defaults={"small": 7})
    assert not made and player.small == 7
    for wrong in ({"name": "Ada", "team": red}, {"name": "x", "team_id": 99999}):
        try:
            await Player.create(**wrong)
            raise AssertionError(wrong)
        except IntegrityError:
            pass
    await Detail.create(player=ada, text="first")
    assert (await ada.detail).text == "first"
    some = await Player.filter(big__in=[2, 3]).order_by("big")
    await ada.friends.add(*some)
    assert await ada.friends.all().count() == 2 and [p.name async for p in some[0].liked_by] == ["Ada"]
    await ada.friends.remove(some[0])
    fetched = await Team.all().order_by("id").prefetch_related(Prefetch("players", queryset=Player.filter(big__lt=3).order_by("-big")), "players__friends")
    assert [len(team.players) for team in fetched] == [1, 3], [len(team.players) for team in fetched]
    rows = await Team.annotate(n=functions.Count("players"), total=functions.Sum("players__score"), some=functions.Count("players", _filter=Q(players__big__gt=400))).order_by("name").values("name", "n", "total", "some")
    assert rows == [{"name": "blue", "n": 500, "total": 124750.0, "some": 99}, {"name": "red", "n": 1, "total": 1.5, "some": 0}], rows
    assert await Player.filter(Q(name__icontains="AD") | Q(name__startswith="p00")).count() == 11
    assert await Player.filter(data__contains={"a": [1]}).count() == 1 and await Player.filter(data__filter={"n": 3}).count() == 1
    assert await Player.filter(tags__contains=["x"]).count() == 1 and await Player.filter(tags__overlap=["y", "z"]).count() == 1 and await Player.filter(tags__len=2).count() == 1
    assert await Player.filter(born__year=1815).count() == 1 and await Player.filter(name__posix_regex="^A.a$").count() == 1
    await Player.filter(big__gte=490).update(big=F("big") + 1, active=False)
    assert await Player.filter(active=False).count() == 10
    cased = await Player.annotate(size=Case(When(big__gt=250, then="large"), default="small")).group_by("size").annotate(n=functions.Count("id")).order_by("size").values("size", "n")
    assert cased == [{"size": "large", "n": 249}, {"size": "small", "n": 252}], cased
    assert await Player.filter(team_id__in=Subquery(Team.filter(name="red").values("id"))).count() == 1
    assert await Player.annotate(double=RawSQL("big * 2")).filter(big=5).values_list("double", flat=True) == [10]
    await Player.annotate(r=Random()).order_by("r").limit(3)
    changed = await Player.filter(big__lt=10).order_by("big")
    for player in changed:
        player.score = None
    await Player.bulk_update(changed, ["score", "data"], batch_size=4)
    assert await Player.filter(score__isnull=True).count() == len(changed)
    try:
        async with in_transaction() as outer:
            await Team.create(name="green", using_db=outer)
            try:
                async with in_transaction() as inner:
                    await Team.create(name="lost", using_db=inner)
                    raise KeyError
            except KeyError:
                pass
            assert await Team.filter(name="green").using_db(outer).select_for_update(nowait=True).count() == 1
            assert [t.name for t in await Team.filter(name__in=["green", "lost"]).using_db(outer).select_for_update(skip_locked=True)] == ["green"]
            raise ValueError
    except ValueError:
        pass
    assert not await Team.exists(name="green")
    assert (await Team.get(name="red")).made <= datetime.now(timezone.utc)
    async def one(i):
        async with in_transaction():
            return await Team.create(name=f"many {i}")
    await asyncio.gather(*(one(i) for i in range(8)))
    assert len(await Team.raw("SELECT * FROM tt_teams WHERE name LIKE 'many%'")) == 8
    count, rows = await connection.execute_query("SELECT $1::int + 1 AS n", [4])
    assert rows[0]["n"] == 5
    assert "Seq Scan" in str(await Player.all().explain()) or await Player.all().explain()
    assert await Team.filter(name__startswith="many").delete() == 8
    try:
        await connection.execute_query("SELECT * FROM tt_none")
        raise AssertionError("a table that does not exist is read")
    except OperationalError as error:
        assert "tt_none" in str(error), error
    assert len((await Player.all().only("name").limit(2).offset(1).order_by("name"))) == 2
    assert isinstance(uuid.UUID(str(ada.id)), uuid.UUID)
    await connection.execute_script("DROP TABLE tt_friends, tt_details, tt_players, tt_teams")
    await Tortoise.close_connections()
    print("tortoise-orm", tortoise.__version__, "ok")


asyncio.run(main(sys.argv[1]))
