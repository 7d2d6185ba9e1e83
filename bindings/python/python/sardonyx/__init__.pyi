"""Tables with transactions, durable; and NumPy arrays that live in a segment, shared by processes."""

import builtins
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from types import TracebackType
from typing import Any, Literal, ParamSpec, Self, SupportsIndex, TypeVar, final

import numpy
from numpy.typing import DTypeLike, NDArray

from ._exceptions import Conflict as Conflict
from ._exceptions import Damaged as Damaged
from ._exceptions import Duplicate as Duplicate
from ._exceptions import Error as Error
from ._exceptions import Forked as Forked
from ._exceptions import Full as Full
from ._exceptions import InsideTransaction as InsideTransaction
from ._exceptions import Mismatch as Mismatch
from ._exceptions import NoTransaction as NoTransaction
from ._exceptions import NotFound as NotFound
from ._exceptions import Poisoned as Poisoned
from ._exceptions import Refused as Refused
from ._exceptions import SlowReader as SlowReader
from ._exceptions import TransactionTooLarge as TransactionTooLarge
from ._exceptions import WrittenOutside as WrittenOutside

__all__ = [
    "Conflict",
    "Damaged",
    "Duplicate",
    "Error",
    "Forked",
    "Full",
    "Index",
    "InsideTransaction",
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
    "TransactionTooLarge",
    "WrittenOutside",
    "open",
    "private",
    "segment",
    "spread",
    "tables",
    "volatile",
]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Array = TypeVar("_Array", bound=NDArray[Any])
_Mechanism = Literal["best", "asynchronous", "signal"]

class _Block:
    """What stands in a ``with``; not there at run time."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        value: BaseException | None = None,
        traceback: TracebackType | None = None,
        /,
    ) -> Literal[False]: ...

@final
class Ticket:
    def wait(self) -> None: ...
    def __await__(self) -> Generator[Any, None, None]: ...

@final
class Transaction(_Block):
    @property
    def ticket(self) -> Ticket | None: ...

@final
class Nested(_Block): ...

@final
class Snapshot(_Block):
    def array(self, name: str) -> NDArray[Any]: ...
    def names(self) -> list[str]: ...
    def close(self) -> None: ...
    def __getitem__(self, name: str, /) -> NDArray[Any]: ...
    def __contains__(self, name: str, /) -> bool: ...

@final
class Segment(_Block):
    @property
    def mechanism(self) -> Literal["asynchronous", "signal"]: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def durable(self) -> bool: ...
    def array(
        self,
        name: str,
        shape: SupportsIndex | Sequence[SupportsIndex] | None = None,
        dtype: DTypeLike | None = None,
        *,
        zeroed: bool = True,
    ) -> NDArray[Any]: ...
    def transaction(self, *, exclusive: bool = False, wait: bool = True) -> Transaction: ...
    def nested(self) -> Nested: ...
    def run(
        self, function: Callable[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs
    ) -> _R: ...
    def run_later(
        self, function: Callable[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs
    ) -> tuple[_R, Ticket]: ...
    def snapshot(self) -> Snapshot: ...
    def names(self) -> list[str]: ...
    def remove(self, name: str) -> bool: ...
    def touch(self, array: _Array, *, write: bool = False) -> _Array: ...
    def conflicts(self) -> dict[str | None, int]: ...
    def checkpoint(self) -> None: ...
    def close(self) -> None: ...
    def __getitem__(self, name: str, /) -> NDArray[Any]: ...
    def __delitem__(self, name: str, /) -> None: ...
    def __contains__(self, name: str, /) -> bool: ...

def spread(dtype: DTypeLike, per_page: int = 1) -> numpy.dtype[numpy.void]: ...
def segment(
    directory: str | os.PathLike[str],
    *,
    mechanism: _Mechanism = "best",
    versions_bytes: int | None = None,
    transaction_bytes: int | None = None,
    address_space_bytes: int | None = None,
    shared_memory: str | os.PathLike[str] | None = None,
    slow_reader_wait: float | None = None,
    log_directory: str | os.PathLike[str] | None = None,
    backup_directory: str | os.PathLike[str] | None = None,
) -> Segment: ...
def volatile(
    name: str,
    *,
    mechanism: _Mechanism = "best",
    versions_bytes: int | None = None,
    transaction_bytes: int | None = None,
    address_space_bytes: int | None = None,
    shared_memory: str | os.PathLike[str] | None = None,
    slow_reader_wait: float | None = None,
) -> Segment: ...
def private(
    *,
    mechanism: _Mechanism = "best",
    versions_bytes: int | None = None,
    transaction_bytes: int | None = None,
    address_space_bytes: int | None = None,
    slow_reader_wait: float | None = None,
) -> Segment: ...

_Row = dict[str, Any]

@final
class Tables(_Block):
    def transaction(self) -> TableTransaction: ...
    def create_table(
        self,
        name: str,
        columns: dict[str, str],
        *,
        key: str | Sequence[str],
        ordered: bool = False,
        indexes: dict[str, str | Sequence[str]] | None = None,
        unique: dict[str, str | Sequence[str]] | None = None,
        checks: dict[str, str] | None = None,
    ) -> None: ...
    def schema(self) -> dict[str, dict[str, str]]: ...
    def snapshot(self) -> TablesSnapshot: ...
    def get(self, table: str, *key: Any) -> _Row | None: ...
    def count(self, table: str) -> int: ...
    def close(self) -> None: ...

@final
class TablesSnapshot(_Block):
    def __getitem__(self, table: str, /) -> SnapshotTable: ...
    def get(self, table: str, *key: Any) -> _Row | None: ...
    def count(self, table: str) -> int: ...
    def numpy(
        self, table: str, columns: Sequence[str] | None = None
    ) -> dict[str, NDArray[Any]]: ...
    def arrow(self, table: str, columns: Sequence[str] | None = None) -> Any: ...
    def close(self) -> None: ...

@final
class TableTransaction(_Block):
    def __getitem__(self, table: str, /) -> Table: ...

@final
class Table:
    def insert(self, **columns: Any) -> None: ...
    def insert_many(self, rows: Sequence[_Row] | Generator[_Row]) -> int: ...
    def put(self, **columns: Any) -> bool: ...
    def update(self, *key: Any, **columns: Any) -> None: ...
    def delete(self, *key: Any) -> bool: ...
    def get(self, *key: Any) -> _Row | None: ...
    def __getitem__(self, key: Any, /) -> _Row: ...
    def __len__(self) -> int: ...
    def index(self, name: str) -> Index: ...
    def rows(self) -> Rows: ...
    def scan(self) -> list[_Row]: ...

@final
class SnapshotTable:
    def get(self, *key: Any) -> _Row | None: ...
    def __getitem__(self, key: Any, /) -> _Row: ...
    def __len__(self) -> int: ...
    def index(self, name: str) -> Index: ...
    def rows(self) -> Rows: ...

@final
class Index:
    def range(
        self,
        first: Any = None,
        last: Any = None,
        *,
        inclusive: Literal["both", "left", "right", "neither"] = "both",
        reverse: bool = False,
        limit: int | None = None,
    ) -> Rows: ...
    def prefix(self, *key: Any, reverse: bool = False, limit: int | None = None) -> Rows: ...
    def starts_with(
        self, *key: Any, reverse: bool = False, limit: int | None = None
    ) -> Rows: ...
    def get(self, *key: Any) -> _Row | None: ...

@final
class Rows:
    def list(self) -> builtins.list[_Row]: ...
    def __iter__(self) -> Iterator[_Row]: ...
    def first(self) -> _Row | None: ...
    def count(self) -> int: ...
    def numpy(self, columns: Sequence[str] | None = None) -> dict[str, NDArray[Any]]: ...
    def arrow(self, columns: Sequence[str] | None = None) -> Any: ...

def open(path: str | os.PathLike[str]) -> Tables: ...
def tables(path: str | os.PathLike[str]) -> Tables: ...
