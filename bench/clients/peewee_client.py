"""peewee and its playhouse: models, relations, JSON and array columns, upserts, savepoints, cursors, migrations, introspection."""

import datetime
import decimal
import sys
import uuid

import peewee as pw
from playhouse import db_url, migrate, postgres_ext, reflection, shortcuts

database = pw.DatabaseProxy()


class Base(pw.Model):
    class Meta:
        database = database


class Person(Base):
    name = pw.CharField(60, unique=True)
    born = pw.DateField(null=True)
    made = pw.DateTimeField(default=datetime.datetime.now, index=True)
    money = pw.DecimalField(12, 2, default=0, constraints=[pw.Check("money >= 0")])
    active = pw.BooleanField(default=True)
    key = pw.UUIDField(default=uuid.uuid4)
    raw = pw.BlobField(null=True)
    tags = postgres_ext.ArrayField(pw.TextField, null=True, default=list)
    data = postgres_ext.BinaryJSONField(null=True, default=dict)
    plain = postgres_ext.JSONField(null=True)
    at = postgres_ext.DateTimeTZField(null=True)
    took = postgres_ext.IntervalField(null=True)
    boss = pw.ForeignKeyField("self", null=True, backref="staff", on_delete="SET NULL")

    class Meta:
        table_name = "pw_people"
        indexes = ((("name", "born"), False),)


class Post(Base):
    id = pw.BigAutoField()
    author = pw.ForeignKeyField(Person, backref="posts", on_delete="CASCADE")
    body = pw.TextField(constraints=[pw.SQL("DEFAULT 'none'")])
    score = pw.DoubleField(default=0)
    search = postgres_ext.TSVectorField(null=True)

    class Meta:
        table_name = "pw_posts"


class Label(Base):
    text = pw.CharField()
    posts = pw.ManyToManyField(Post, backref="labels")

    class Meta:
        table_name = "pw_labels"


class Pair(Base):
    a = pw.IntegerField()
    b = pw.IntegerField()
    n = pw.IntegerField(default=0)

    class Meta:
        table_name = "pw_pairs"
        primary_key = pw.CompositeKey("a", "b")


def main(dsn):
    url = dsn.replace("postgresql://", "postgresext+pool://")
    db = db_url.connect(url)
    database.initialize(db)
    Between = Label.posts.get_through_model()
    tables = [Person, Post, Label, Between, Pair]
    db.drop_tables(tables, safe=True, cascade=True)
    db.create_tables(tables)
    db.create_tables(tables, safe=True)
    ada = Person.create(name="Ada", born=datetime.date(1815, 12, 10), money="12.50", raw=b"\0\xff", tags=["x", "y"], data={"a": [1, {"b": None}]}, plain={"k": "v"},
                        at=datetime.datetime(2026, 3, 4, tzinfo=datetime.timezone.utc), took=datetime.timedelta(days=2, seconds=3))
    found = Person.get_by_id(ada.id)
    assert found.money == decimal.Decimal("12.50") and bytes(found.raw) == b"\0\xff" and found.tags == ["x", "y"] and found.data["a"][1] == {"b": None}
    assert found.took == datetime.timedelta(days=2, seconds=3) and found.key == ada.key and found.at.astimezone(datetime.timezone.utc).day == 4
    with db.atomic():
        for part in pw.chunked(({"name": f"person {i:04}", "boss": ada} for i in range(1000)), 100):
            Person.insert_many(part).execute()
    assert ada.staff.count() == 1000
    new = Person.insert_many([{"name": "Bob"}, {"name": "Eve"}]).returning(Person.id, Person.name).execute()
    assert [row.name for row in new] == ["Bob", "Eve"]
    Person.insert(name="Bob", money=3).on_conflict(conflict_target=[Person.name], preserve=[Person.money], update={Person.active: False}).execute()
    Person.insert(name="Bob").on_conflict_ignore().execute()
    Pair.insert(a=1, b=2).execute()
    Pair.insert(a=1, b=2, n=5).on_conflict(conflict_target=(Pair.a, Pair.b), update={Pair.n: Pair.n + pw.EXCLUDED.n}, where=(pw.EXCLUDED.n > Pair.n)).execute()
    assert Pair.get((Pair.a == 1) & (Pair.b == 2)).n == 5
    for wrong in ({"name": "Bob"}, {"name": "Neg", "money": -1}, {"name": None}):
        try:
            with db.atomic():
                Person.create(**wrong)
            raise AssertionError(wrong)
        except pw.IntegrityError:
            pass
    post = Post.create(author=ada, body="the engine", search=pw.fn.to_tsvector("english", "the engines"))
    Post.insert_many([{"author": ada, "body": f"b{i}", "score": i} for i in range(20)]).execute()
    label = Label.create(text="good")
    label.posts.add([post, Post.get(Post.body == "b3")])
    assert [p.body for p in label.posts.order_by(Post.id)] == ["the engine", "b3"] and post.labels.get().text == "good"
    label.posts.clear()
    assert Post.select().where(Post.search.match("engine")).count() == 1
    assert Person.select().where(Person.data["a"][0] == "1").count() == 1
    assert Person.select().where(Person.data.contains({"a": [1]})).count() == 1 and Person.select().where(Person.data.has_key("a")).count() == 1
    assert Person.select().where(Person.tags.contains("x")).count() == 1 and Person.select(Person.tags[1]).where(Person.id == ada.id).scalar() == "y"
    assert Person.select().where(Person.tags.contains_any("y", "z")).count() == 1
    boss = Person.alias()
    rows = (Post.select(Person.name, boss.name.alias("boss"), pw.fn.COUNT(Post.id).alias("n"), pw.fn.SUM(Post.score).filter(Post.score > 3).alias("sum"))
            .join(Person).join(boss, pw.JOIN.LEFT_OUTER, on=(Person.boss == boss.id)).group_by(Person.name, boss.name).having(pw.fn.COUNT(Post.id) > 1).dicts())
    assert list(rows) == [{"name": "Ada", "boss": None, "n": 21, "sum": 184.0}], list(rows)
    ranked = Post.select(Post.id, pw.fn.RANK().over(partition_by=[Post.author], order_by=[Post.score.desc()]).alias("r"))
    cte = ranked.cte("ranked")
    assert len(Post.select(cte.c.r).join(cte, on=(Post.id == cte.c.id)).where(cte.c.r < 4).with_cte(cte)) == 3
    base = Person.select(Person.id, pw.Value(0).alias("level")).where(Person.boss.is_null()).cte("base", recursive=True)
    tree = base.union_all(Person.select(Person.id, (base.c.level + 1).alias("level")).join(base, on=(Person.boss == base.c.id)))
    assert tree.select_from(pw.fn.MAX(tree.c.level)).scalar() == 1
    assert Person.update(money=Person.money + 1).where(Person.name.startswith("person 000")).execute() == 10
    changed = Post.update(score=0).where(Post.body.in_(["b1", "b2"])).returning(Post.body).execute()
    assert sorted(row.body for row in changed) == ["b1", "b2"]
    Person.update(money=pw.Case(Person.name, (("Ada", 7),), Person.money)).where(Person.name << ["Ada", "Bob"]).execute()
    some = list(Person.select().where(Person.name.startswith("person 00")))
    for person in some:
        person.active = False
    assert Person.bulk_update(some, [Person.active, Person.made], batch_size=50) == 100
    with db.atomic() as transaction:
        with db.savepoint() as savepoint:
            Post.delete().execute()
            savepoint.rollback()
        assert Person.select().where(Person.name == "Ada").for_update("FOR UPDATE NOWAIT").get().money == 7
        Post.delete().where(Post.body == "b9").execute()
        transaction.rollback()
        assert Post.select().count() == 21
    assert sum(1 for _ in postgres_ext.ServerSide(Person.select().order_by(Person.id), array_size=100)) == 1003
    assert len(pw.prefetch(Person.select().where(Person.name == "Ada"), Post.select())[0].posts) == 21
    assert Person.select().where(Person.name ** "ada").get().born.year == 1815 and Person.select().where(Person.born.year == 1815).count() == 1
    assert Person.select().where(Person.name.regexp("^A.a$")).count() == 1 and Person.select().order_by(pw.fn.Random()).limit(3).count() == 3
    assert Person.select(pw.fn.date_trunc("year", Person.born)).where(Person.id == ada.id).scalar().month == 1
    assert shortcuts.model_to_dict(Post.get(Post.body == "b3"), recurse=True)["author"]["name"] == "Ada"
    assert {"pw_people", "pw_posts"} <= set(db.get_tables()) and db.table_exists("pw_people") and not db.table_exists("pw_none")
    columns = {column.name: column for column in db.get_columns("pw_people")}
    assert columns["id"].primary_key and not columns["name"].null and columns["born"].data_type == "date"
    assert {tuple(index.columns) for index in db.get_indexes("pw_people")} >= {("name",), ("name", "born"), ("made",), ("id",), ("boss_id",)}
    [key] = db.get_foreign_keys("pw_posts")
    assert (key.column, key.dest_table, key.dest_column) == ("author_id", "pw_people", "id")
    assert db.get_primary_keys("pw_pairs") == ["a", "b"] and db.get_views() is not None and db.sequence_exists("pw_people_id_seq")
    models = reflection.Introspector.from_database(db).generate_models(table_names=["pw_people", "pw_posts"])
    assert models["pw_posts"]._meta.fields["author"].rel_model is models["pw_people"] and models["pw_people"].select().count() == 1003
    migrator = migrate.PostgresqlMigrator(db)
    with db.atomic():
        migrate.migrate(
            migrator.add_column("pw_posts", "note", pw.CharField(default="x")),
            migrator.add_column("pw_posts", "label_id", pw.ForeignKeyField(Label, Label.id, null=True)),
            migrator.rename_column("pw_posts", "body", "content"),
            migrator.drop_not_null("pw_posts", "content"),
            migrator.add_index("pw_posts", ("author_id", "score"), False),
            migrator.alter_column_type("pw_posts", "score", pw.DecimalField(20, 3)),
            migrator.add_constraint("pw_posts", "score_small", pw.Check("score < 1000")),
            migrator.add_unique("pw_labels", "text"),
        )
        migrate.migrate(
            migrator.drop_constraint("pw_posts", "score_small"),
            migrator.drop_index("pw_posts", "pw_posts_author_id_score"),
            migrator.drop_column("pw_posts", "note"),
            migrator.rename_table("pw_pairs", "pw_couples"),
            migrator.set_search_path("public"),
        )
    assert db.execute_sql("SELECT score FROM pw_posts WHERE content = 'b7'").fetchone()[0] == decimal.Decimal("7.000")
    db.execute_sql("DROP TABLE pw_couples")
    Post.truncate_table(cascade=True, restart_identity=True)
    db.drop_tables(tables, safe=True, cascade=True)
    db.close_all()
    print("peewee", pw.__version__, "ok")


main(sys.argv[1])
