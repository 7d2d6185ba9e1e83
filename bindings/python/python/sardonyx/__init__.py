"""NumPy arrays that live in a segment: transactions on plain memory, shared by processes, durable.

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
    Mismatch,
    NoTransaction,
    NotFound,
    Poisoned,
    Refused,
    SlowReader,
    TransactionTooLarge,
    WrittenOutside,
)
from ._native import (
    Nested,
    Segment,
    Snapshot,
    Table,
    Tables,
    TablesSnapshot,
    TableTransaction,
    Ticket,
    Transaction,
    open,
    private,
    tables,
    volatile,
)
from ._types import spread

__all__ = [
    "Conflict",
    "Damaged",
    "Duplicate",
    "Error",
    "Forked",
    "Full",
    "InsideTransaction",
    "Mismatch",
    "Nested",
    "NoTransaction",
    "NotFound",
    "Poisoned",
    "Refused",
    "Segment",
    "SlowReader",
    "Snapshot",
    "Table",
    "TableTransaction",
    "Tables",
    "TablesSnapshot",
    "Ticket",
    "Transaction",
    "TransactionTooLarge",
    "WrittenOutside",
    "open",
    "private",
    "spread",
    "tables",
    "volatile",
]
