"""What outlives a service: keys (as hashes), what each has used, and glossaries; SQLite, or PostgreSQL by its URL.

Usage is counted in memory and written every second, so that no request waits for a disk: a killed service forgets the
last second at most. Keys made or revoked by `yiwen keys` hold for a running service a second later.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from yiwen.errors import ConfigError, MissingDependencyError
from yiwen.serve.config import ServeConfig
from yiwen.serve.errors import database_says
from yiwen.serve.metrics import LOG

ANYBODY: Final = ""
"""Whose usage is counted where no key is asked for."""
_SYNC_S: Final = 1.0
_PATIENCE: Final = "SET LOCAL statement_timeout = '5s'"
_LAST_S: Final = 20.0
"""Seconds for the last tries to write: a database that never answers must not keep the process from ending."""

_tables = sa.MetaData()


def _table(table: str, /, *keys: str, **columns: Any) -> sa.Table:
    """A table; `revoked` is the one column that may hold nothing."""
    made = (sa.Column(c, type_, primary_key=c in keys, nullable=c == "revoked") for c, type_ in columns.items())
    return sa.Table(f"yiwen_{table}", _tables, *made)


_LONGEST_WORD: Final = 200
_UNLISTABLE: Final = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""What would break the line of a key in `yiwen keys list`, or what no database takes."""
_WORD, _NUMBER = sa.String(_LONGEST_WORD), sa.BigInteger
_keys = _table(
    "keys", "id", id=_WORD, name=_WORD, sha256=_WORD, characters_per_month=_NUMBER, requests_per_minute=_NUMBER,
    created=_WORD, revoked=_WORD,
)  # fmt: skip
_usage = _table("usage", "key_id", "month", key_id=_WORD, month=_WORD, characters=_NUMBER)
_glossaries = _table(
    "glossaries", "id", id=_WORD, owner=_WORD, name=_WORD, source_lang=_WORD, target_lang=_WORD, entries=sa.Text,
    created=_WORD,
)  # fmt: skip
_ON_ONE_LINE: Final = sa.func.replace(_glossaries.c.entries, "\n", "")
_N_TERMS: Final = (1 + sa.func.length(_glossaries.c.entries) - sa.func.length(_ON_ONE_LINE)).label("n_terms")
"""Counted where they lie: a hundred glossaries of a megabyte are too much to be read for that."""


class Key(NamedTuple):
    """Who may ask, and how much, as a row of the table is. The secret itself is stored nowhere."""

    id: str
    name: str
    sha256: str
    characters_per_month: int
    """0: any number."""
    requests_per_minute: int
    """0: any number."""
    created: str
    revoked: str | None = None


class Store:
    """Keys, usage and glossaries in a database; safe for threads."""

    def __init__(self, url: str | sa.URL) -> None:
        """Open a database and make its tables where they are missing.

        Args:
            url: As SQLAlchemy writes it: `sqlite:///path`, `postgresql+psycopg://user@host/name`.

        Raises:
            ConfigError: If it cannot be opened.
            MissingDependencyError: If its driver is not installed.
        """
        self._database = _opened(url)
        self._lock = threading.RLock()
        self._used: Mapping[tuple[str, str], int] = {}  # by key and month
        self._unwritten: Counter[tuple[str, str]] = Counter()
        self._by_hash: Mapping[str, Key] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._keep_in_step, name="store", daemon=True)
        with _told():
            self.sync()

    def start(self) -> None:
        """Write usage and read keys every second until `close`."""
        self._thread.start()

    def close(self) -> None:
        """Write what is not written yet; what cannot be stays in `n_unwritten`."""
        self._closing.set()
        if self._thread.ident is None:
            self._thread.start()
        self._thread.join(_LAST_S)
        self._database.dispose()

    @property
    def n_unwritten(self) -> int:
        """Characters that are counted or given back here and not in the database yet."""
        return sum(map(abs, self._unwritten.values()))

    def create_key(self, name: str, *, characters_per_month: int, requests_per_minute: int) -> tuple[Key, str]:
        """Make a key; returns it with its secret, which can never be shown again."""
        for limit, what in ((characters_per_month, "characters a month"), (requests_per_minute, "requests a minute")):
            if not 0 <= limit < 2**63:
                raise ConfigError(f"a key cannot have {limit} {what}; give 0 (any number) or more, fewer than 2^63")
        if len(name) > _LONGEST_WORD or _UNLISTABLE.search(name):
            rule = f"of one line, without tabs and other control characters, of {_LONGEST_WORD} characters at most"
            raise ConfigError(f"a key cannot be named {name[:40]!r} ({len(name)} characters); give a name {rule}")
        secret = f"yw_{secrets.token_urlsafe(32)}"
        key = Key(secrets.token_hex(4), name, _hash(secret), characters_per_month, requests_per_minute, created=_now())
        with _told(), self._database.begin() as connection:
            connection.execute(_keys.insert().values(key._asdict()))
        self._try_sync()  # the key is there: a database that is locked from now on must not hide its secret
        return key, secret

    def revoke_key(self, key_id: str) -> None:
        """Make a key worthless.

        Raises:
            ConfigError: If no valid key has this id.
        """
        is_it = (_keys.c.id == key_id) & _keys.c.revoked.is_(None)
        with _told(), self._database.begin() as connection:
            found = connection.execute(_keys.update().where(is_it).values(revoked=_now())).rowcount
        if not found:
            known = ", ".join(key.id for key in self.all_keys() if key.revoked is None) or "none"
            raise ConfigError(f"no valid key has the id {key_id!r}; valid ones: {known}")
        self._try_sync()

    def all_keys(self) -> list[Key]:
        """All keys, revoked ones too, oldest first."""
        with self._database.connect() as connection:
            return [*map(Key._make, connection.execute(_keys.select().order_by(_keys.c.created, _keys.c.id)))]

    def find(self, secret: str) -> Key | None:
        """The key of a secret, unless it was revoked."""
        return self._by_hash.get(_hash(secret))

    def used(self, key_id: str) -> int:
        """Characters that a key has used this month."""
        month = _now()[:7]
        with self._lock:
            return self._used.get((key_id, month), 0) + self._unwritten[key_id, month]

    def charge(self, key_id: str, characters: int, *, limit: int = 0, month: str = "") -> str:
        """Count characters in this month, or uncount them in the one that they were counted in; returns which.

        No month, and nothing is counted, where that would pass the limit (0: none).
        """
        month = month or _now()[:7]
        with self._lock:
            if limit and self.used(key_id) + characters > limit:
                return ""
            self._unwritten[key_id, month] += characters
            return month

    def sync(self) -> None:
        """Write usage; read keys, and what other processes have counted. What cannot be written is kept."""
        # First: what keeps usage from being written keeps no revoked key alive.
        self._by_hash = {key.sha256: key for key in self.all_keys() if key.revoked is None}
        with self._lock:
            unwritten = {usage: characters for usage, characters in self._unwritten.items() if characters}
        with self._database.begin() as connection:
            for (key_id, month), characters in unwritten.items():
                is_it = (_usage.c.key_id == key_id) & (_usage.c.month == month)
                more = _usage.update().where(is_it).values(characters=_usage.c.characters + characters)
                if not connection.execute(more).rowcount:
                    connection.execute(_usage.insert().values(key_id=key_id, month=month, characters=characters))
            rows = connection.execute(_usage.select().where(_usage.c.month == _now()[:7]))
            used = {(row.key_id, row.month): row.characters for row in rows}
        with self._lock:
            self._used = used
            self._unwritten.subtract(unwritten)

    def add_glossary(self, *, owner: str, most: int, **fields: str) -> sa.Row[Any] | None:
        """Keep a glossary: its name, source_lang, target_lang and entries (source, tab, target; a term a line,
        no line without one).

        None, and nothing kept, where its owner has `most` of them.
        """
        kept = {"id": secrets.token_hex(16), "owner": owner, "created": _now(), **fields}
        count = sa.select(sa.func.count()).select_from(_glossaries).where(_glossaries.c.owner == owner)
        row = sa.select(*map(sa.literal, kept.values())).where(count.scalar_subquery() < most)
        added = _glossaries.insert().from_select(list(kept), row).returning(*_glossaries.c, _N_TERMS)
        with self._database.begin() as connection:
            if connection.dialect.name == "postgresql":  # or two at once count the same; SQLite locks for a statement
                connection.execute(sa.text(f"LOCK TABLE {_glossaries.name} IN EXCLUSIVE MODE"))
            return connection.execute(added).one_or_none()

    def glossaries(self, owner: str, glossary_id: str | None = None) -> Sequence[sa.Row[Any]]:
        """The glossaries of a key, oldest first, without their entries; or the one of an id, with them."""
        shown = [column for column in _glossaries.c if glossary_id is not None or column.name != "entries"]
        statement: sa.Select[Any] = sa.select(*shown, _N_TERMS).where(_glossaries.c.owner == owner)
        if glossary_id is not None:
            statement = statement.where(_glossaries.c.id == glossary_id)
        with self._database.connect() as connection:
            return connection.execute(statement.order_by(_glossaries.c.created, _glossaries.c.id)).all()

    def remove_glossary(self, owner: str, glossary_id: str) -> None:
        """Forget a glossary."""
        is_it = (_glossaries.c.owner == owner) & (_glossaries.c.id == glossary_id)
        with self._database.begin() as connection:
            connection.execute(_glossaries.delete().where(is_it))

    def _keep_in_step(self) -> None:
        while not self._closing.wait(_SYNC_S):
            self._try_sync()
        any(self._try_sync() for _ in range(3))  # each waits 5 s for whoever holds the file or the table

    def _try_sync(self) -> bool:
        try:
            self.sync()
        except sa.exc.SQLAlchemyError as error:  # a database that is away for a while costs nothing that is counted
            LOG.error("database", extra={"problem": database_says(error)})
            return False
        return True


def open_store(url: str | None, *, folder: Path, config: ServeConfig | None = None) -> Store:
    """The store of a URL, else that of a folder; where a config is given, one with keys for its callers.

    Raises:
        ConfigError: If it cannot be opened; with a config, if it cannot be written or has no key where all need one.
    """
    # A URL that is no text: in one, `?` and `%` would mean something.
    store = Store(url or sa.URL.create("sqlite", database=str(folder / "serve.sqlite")))
    if config is None:
        return store
    with _told(), store._database.begin() as connection:  # no row, and refused where none may be written
        connection.execute(_usage.update().where(sa.false()).values(characters=0))
    if config.needs_key and not any(key.revoked is None for key in store.all_keys()):
        remedy = "`yiwen keys create NAME`, or let anybody in with --insecure"
        raise ConfigError(f"whoever reaches {config.host} needs a key, and there is none: {remedy}")
    return store


def _opened(url: str | sa.URL) -> sa.Engine:
    with _told():
        parsed = sa.make_url(url)
        if is_file := parsed.drivername.startswith("sqlite"):
            file = Path((parsed.database or "").removeprefix("file:"))  # as which SQLite knows a URI
            file.parent.mkdir(mode=0o770, parents=True, exist_ok=True)  # glossaries are private
        # A file is opened in no time, and nothing stays open where nobody closes the store.
        database = sa.create_engine(parsed, pool_pre_ping=True, poolclass=sa.NullPool if is_file else None)
        if is_postgres := database.dialect.name == "postgresql":  # SQLite waits as long by itself
            sa.event.listen(database, "begin", lambda connection: connection.exec_driver_sql(_PATIENCE))
        with database.begin() as connection:
            # Not `create_all`, which fails where another process is as far, as "if not exists" does in PostgreSQL;
            # and not for tables that are there: who may write them need not be who may make them.
            missing = [table for table in _tables.sorted_tables if not sa.inspect(connection).has_table(table.name)]
            if missing and is_postgres:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(0x79697765)))
            for table in missing:
                connection.execute(sa.schema.CreateTable(table, if_not_exists=True))
    return database


@contextmanager
def _told() -> Iterator[None]:
    """Say what to do about a database that cannot be used."""
    try:
        yield
    except ImportError as error:
        # psycopg alone needs a libpq, and what it raises without one names nothing.
        driver = "'psycopg[binary]'" if error.name in (None, "psycopg") else error.name
        raise MissingDependencyError(f"the database needs {driver}: pip install {driver}") from error
    except (sa.exc.SQLAlchemyError, OSError, ValueError) as error:  # a port that is no number is a ValueError
        urls = "a URL such as sqlite:///keys.sqlite or postgresql+psycopg://user@host/name"
        remedy = f"give {urls}, and end what holds it locked"
        raise ConfigError(f"the database cannot be used ({database_says(error)}); {remedy}") from error


def _hash(secret: str) -> str:
    # 256 random bits: nothing to guess, so nothing slow is needed.
    return hashlib.sha256(secret.encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
