"""Tables with transactions, durable; and NumPy arrays that live in a segment, shared by processes.

``sardonyx.open(path)`` opens a database of tables, ``sardonyx.segment(path)`` one of arrays.

>>> import sardonyx
>>> segment = sardonyx.private()
>>> prices = segment.array("prices", shape=(4,), dtype="f8")
>>> with segment.transaction():
...     prices[1:3] += 1
>>> prices
array([0., 1., 1., 0.])
"""

from ._exceptions import (
    Conflict,
    Damaged,
    Duplicate,
    Error,
    Forked,
    Full,
    InsideTransaction,
    Locked,
    Mismatch,
    NoTransaction,
    NotFound,
    Poisoned,
    Refused,
    SlowReader,
    TransactionEnded,
    TransactionTooLarge,
    WrittenOutside,
)
from ._native import (
    Follower,
    Index,
    Nested,
    Rows,
    Segment,
    Snapshot,
    SnapshotTable,
    Table,
    Tables,
    TablesSnapshot,
    TableTransaction,
    Ticket,
    Transaction,
    follow,
    open,
    private,
    segment,
    tables,
    volatile,
)
from ._types import spread

__all__ = [
    "Conflict",
    "Damaged",
    "Duplicate",
    "Error",
    "Follower",
    "Forked",
    "Full",
    "Index",
    "InsideTransaction",
    "Locked",
    "Mismatch",
    "Nested",
    "NoTransaction",
    "NotFound",
    "Poisoned",
    "Refused",
    "Rows",
    "Segment",
    "SlowReader",
    "Snapshot",
    "SnapshotTable",
    "Table",
    "TableTransaction",
    "Tables",
    "TablesSnapshot",
    "Ticket",
    "Transaction",
    "TransactionEnded",
    "TransactionTooLarge",
    "WrittenOutside",
    "follow",
    "open",
    "private",
    "segment",
    "spread",
    "tables",
    "volatile",
]
