"""SQLAlchemy 2: tables made from classes, a unit of work, relations, a join, subqueries, many rows at once, reflection."""

import sys

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "sa_customers"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(40), unique=True)
    orders: Mapped[list["Order"]] = relationship(back_populates="customer")


class Order(Base):
    __tablename__ = "sa_orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    customer_id: Mapped[int] = mapped_column(sa.ForeignKey("sa_customers.id"), index=True)
    total: Mapped[float]
    customer: Mapped[Customer] = relationship(back_populates="orders")


def main(dsn):
    engine = sa.create_engine(dsn.replace("postgresql://", "postgresql+psycopg://"))
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        ada = Customer(name="Ada", orders=[Order(total=1.5), Order(total=2.5)])
        session.add_all([ada, Customer(name="Grace")])
        session.commit()
        assert ada.id and [order.customer_id for order in ada.orders] == [ada.id] * 2
        ada.name = "Ada Lovelace"
        session.commit()
    with Session(engine) as session:
        found = session.scalars(sa.select(Customer).where(Customer.name.like("Ada%"))).one()
        assert found.name == "Ada Lovelace" and len(found.orders) == 2
        totals = sa.select(Customer.name, sa.func.sum(Order.total)).join(Order).group_by(Customer.name)
        assert session.execute(totals).all() == [("Ada Lovelace", 4.0)]
        most = sa.select(sa.func.max(Order.total)).where(Order.customer_id == Customer.id).scalar_subquery()
        assert session.execute(sa.select(Customer.name, most).order_by(Customer.id)).all() == [
            ("Ada Lovelace", 2.5),
            ("Grace", None),
        ]
    with Session(engine) as session:
        many = [Customer(name=f"customer {number}") for number in range(2500)]
        session.add_all(many)
        session.commit()
        ids = [customer.id for customer in many]
        assert ids == sorted(ids) and many[7].name == "customer 7"
    with engine.connect() as connection:
        rows = connection.execution_options(yield_per=100).execute(sa.select(Customer.name).order_by(Customer.id))
        assert sum(len(part) for part in rows.partitions()) == 2502
    inspector = sa.inspect(engine)
    assert {"sa_customers", "sa_orders"} <= set(inspector.get_table_names())
    assert [column["name"] for column in inspector.get_columns("sa_orders")] == ["id", "customer_id", "total"]
    assert inspector.get_pk_constraint("sa_orders")["constrained_columns"] == ["id"]
    [key] = inspector.get_foreign_keys("sa_orders")
    assert (key["constrained_columns"], key["referred_table"]) == (["customer_id"], "sa_customers")
    [index] = inspector.get_indexes("sa_orders")
    assert index["column_names"] == ["customer_id"] and not index["unique"]
    [unique] = inspector.get_unique_constraints("sa_customers")
    assert unique["column_names"] == ["name"]
    assert inspector.get_check_constraints("sa_customers") == []
    reflected = sa.MetaData()
    reflected.reflect(engine)
    assert str(reflected.tables["sa_customers"].c.name.type) == "VARCHAR(40)"
    print("SQLAlchemy", sa.__version__, "ok")


main(sys.argv[1])
