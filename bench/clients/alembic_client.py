"""Alembic: two revisions upgraded and downgraded, changes found by comparing models, batches, data, enums, and names of constraints."""

import pathlib
import sys
import tempfile

import alembic
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.dialects import postgresql

ENVIRONMENT = """
from alembic import context
import sqlalchemy as sa

engine = sa.create_engine(context.config.get_main_option("sqlalchemy.url"))
with engine.connect() as connection:
    context.configure(connection=connection, target_metadata=None, transaction_per_migration=True, version_table="al_versions")
    with context.begin_transaction():
        context.run_migrations()
"""
FIRST = """
revision, down_revision = "a1", None
from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

def upgrade():
    op.create_table("al_people", sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
        sa.Column("name", sa.String(40), nullable=False, comment="as written"), sa.Column("born", sa.Date), sa.Column("data", postgresql.JSONB, server_default="{}"),
        sa.Column("kind", sa.Enum("poet", "clerk", name="al_kind"), server_default="clerk", nullable=False),
        sa.UniqueConstraint("name", name="al_people_name"), sa.CheckConstraint("length(name) > 1", name="al_people_long"), comment="persons")
    op.create_index("al_people_born", "al_people", [sa.text("born DESC"), "name"], postgresql_where=sa.text("born IS NOT NULL"))
    op.create_table("al_notes", sa.Column("id", sa.Integer, primary_key=True), sa.Column("person", sa.BigInteger), sa.Column("text", sa.Text))
    op.create_foreign_key("al_notes_person", "al_notes", "al_people", ["person"], ["id"], ondelete="CASCADE", deferrable=True, initially="DEFERRED")

def downgrade():
    op.drop_table("al_notes")
    op.drop_table("al_people")
    op.execute("DROP TYPE al_kind")
"""
SECOND = """
revision, down_revision = "b2", "a1"
from alembic import op
import sqlalchemy as sa

def upgrade():
    people = sa.table("al_people", sa.column("name"), sa.column("kind"))
    op.bulk_insert(people, [{"name": "Ada", "kind": "poet"}, {"name": "Bob", "kind": "clerk"}])
    op.add_column("al_people", sa.Column("score", sa.Integer, nullable=False, server_default=sa.text("7")))
    op.alter_column("al_people", "score", type_=sa.Numeric(10, 2), postgresql_using="score::numeric(10,2)", server_default=None, existing_nullable=False)
    op.alter_column("al_people", "born", new_column_name="birth", nullable=True)
    op.alter_column("al_notes", "text", existing_type=sa.Text, comment="free words")
    op.execute("ALTER TYPE al_kind ADD VALUE IF NOT EXISTS 'saint'")
    op.rename_table("al_notes", "al_remarks")
    op.drop_constraint("al_people_long", "al_people", type_="check")
    op.create_check_constraint("al_people_short", "al_people", "length(name) < 30")
    with op.batch_alter_table("al_people") as batch:
        batch.add_column(sa.Column("lower_name", sa.Text, sa.Computed("lower(name)", persisted=True)))
        batch.create_index("al_people_lower", ["lower_name"])

def downgrade():
    op.drop_index("al_people_lower", table_name="al_people")
    op.drop_column("al_people", "lower_name")
    op.drop_constraint("al_people_short", "al_people", type_="check")
    op.create_check_constraint("al_people_long", "al_people", "length(name) > 1")
    op.rename_table("al_remarks", "al_notes")
    op.alter_column("al_people", "birth", new_column_name="born")
    op.drop_column("al_people", "score")
    op.execute("DELETE FROM al_people")
"""


def configured(place, dsn):
    versions = place / "versions"
    versions.mkdir()
    (place / "env.py").write_text(ENVIRONMENT)
    (place / "script.py.mako").write_text("")
    (versions / "a1.py").write_text(FIRST)
    (versions / "b2.py").write_text(SECOND)
    config = Config(stdout=open("/dev/null", "w"))
    config.set_main_option("script_location", str(place))
    config.set_main_option("sqlalchemy.url", dsn)
    return config


def models(has_score):
    metadata = sa.MetaData()
    columns = [sa.Column("score", sa.Numeric(10, 2), nullable=False)] if has_score else []
    sa.Table(
        "al_people", metadata, sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True), sa.Column("name", sa.String(40), nullable=False, comment="as written"),
        sa.Column("birth", sa.Date), sa.Column("data", postgresql.JSONB, server_default="{}"), sa.Column("kind", sa.Enum("poet", "clerk", "saint", name="al_kind"), server_default="clerk", nullable=False),
        sa.Column("lower_name", sa.Text, sa.Computed("lower(name)", persisted=True)), *columns, sa.UniqueConstraint("name", name="al_people_name"),
        sa.Index("al_people_born", sa.text("birth DESC"), "name", postgresql_where=sa.text("birth IS NOT NULL")), sa.Index("al_people_lower", "lower_name"), comment="persons",
    )  # fmt: skip
    sa.Table(
        "al_remarks", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("text", sa.Text, comment="free words"),
        sa.Column("person", sa.BigInteger, sa.ForeignKey("al_people.id", name="al_notes_person", ondelete="CASCADE", deferrable=True, initially="DEFERRED")),
    )  # fmt: skip
    return metadata


def changes(connection, metadata):
    options = {"compare_type": True, "compare_server_default": True, "include_name": lambda name, kind, _: kind != "table" or name in ("al_people", "al_remarks")}
    return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)


def main(dsn):
    dsn = dsn.replace("postgresql://", "postgresql+psycopg://")
    engine = sa.create_engine(dsn)
    with tempfile.TemporaryDirectory() as place:
        config = configured(pathlib.Path(place), dsn)
        command.upgrade(config, "head")
        with engine.connect() as connection:
            assert changes(connection, models(has_score=True)) == []
            [found] = changes(connection, models(has_score=False))
            assert found[0] == "remove_column" and found[3].name == "score", found
            assert connection.execute(sa.text("select name, kind, score, lower_name from al_people order by id")).all()[0][:2] == ("Ada", "poet")
            assert connection.execute(sa.text("select version_num from al_versions")).scalar_one() == "b2"
        with engine.begin() as connection:
            operations = Operations(MigrationContext.configure(connection))
            operations.create_unique_constraint("al_remarks_text", "al_remarks", ["text", "person"])
            operations.alter_column("al_remarks", "text", type_=sa.String(50), existing_type=sa.Text)
            operations.drop_constraint("al_remarks_text", "al_remarks")
        command.downgrade(config, "a1")
        command.upgrade(config, "head")
        command.downgrade(config, "base")
        assert not {"al_people", "al_notes", "al_remarks"} & set(sa.inspect(engine).get_table_names())
    print("Alembic", alembic.__version__, "ok")


main(sys.argv[1])
