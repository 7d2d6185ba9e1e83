"""SQLAlchemy 2: tables made from classes, a unit of work, relations, a join.

Rows are inserted one by one (use_insertmanyvalues=False): its statement for many selects from VALUES, which is not there.
Reflection is not tried: it asks the catalogue with subqueries.
"""

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
    engine = sa.create_engine(dsn.replace("postgresql://", "postgresql+psycopg://"), use_insertmanyvalues=False)
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
    print("SQLAlchemy", sa.__version__, "ok")


main(sys.argv[1])
