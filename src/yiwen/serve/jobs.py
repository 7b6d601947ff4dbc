"""Documents: translated in the background, two at a time, kept until they are fetched and forgotten after an hour."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, Any, Final, Literal

from starlette.requests import Request
from starlette.responses import Response

from yiwen.documents import Limits, formats, translate_document
from yiwen.errors import Stopped
from yiwen.serve.batcher import Overloaded
from yiwen.serve.errors import ApiError, refusal_of
from yiwen.serve.pairs import AUTO
from yiwen.stop import StopFlag
from yiwen.translator import Translation

if TYPE_CHECKING:
    from yiwen.serve.call import Call
    from yiwen.serve.endpoint import Upload

_KEPT_S: Final = 3600.0
_BLOCK_TEXTS: Final = 32
"""Texts of a document that are with the engine at a time."""
_AGAIN_S: Final = 0.2
"""Seconds until a document that found the queue full tries again."""


@dataclass(eq=False, kw_only=True)
class Job:
    """A document on its way."""

    call: Call
    filename: str
    data: bytes
    """The document; its translation, once that is done."""
    src: str
    """Code of a language that is served, or `auto`."""
    tgt: str
    glossary: Any = None
    id: str = field(default_factory=lambda: secrets.token_hex(16).upper())
    secret: str = field(default_factory=lambda: secrets.token_hex(32).upper())
    """What DeepL's clients show besides the id."""
    status: Literal["queued", "translating", "done", "error"] = "queued"
    progress: float = 0.0
    paid: Counter[str] = field(default_factory=Counter)
    """Characters that were counted, by month."""
    error: ApiError | None = None
    stop: StopFlag = field(default_factory=StopFlag)
    is_fetched: bool = False
    is_open: bool = False
    """Whether knowing its id is enough to fetch it."""
    finished: threading.Event = field(default_factory=threading.Event)

    @property
    def suffix(self) -> str:
        """What kind of document its name says it is; no more of the name is ever used."""
        return PureWindowsPath(self.filename).suffix.lower()

    def response(self, asked: Request) -> Response:
        """The translated document, never shown in the place of a page whatever it holds.

        Raises:
            ApiError: 503 while it is in work, 422 where it could not be translated; where that is not the document's
                fault, what was.
        """
        if self.error is not None:
            raise self.error if self.error.status > 422 else ApiError(422, "document", str(self.error))
        if self.status != "done":
            raise ApiError(503, "not_ready", "it is not translated yet; ask again in a moment", retry_after_s=2)
        headers = {"content-disposition": f'attachment; filename="translated{self.suffix}"'}
        self.is_fetched |= asked.method != "HEAD"  # whose answer holds no document
        return Response(self.data, media_type="application/octet-stream", headers=headers)

    def translate(self, texts: Sequence[str]) -> list[Translation]:
        """Translate texts of the document, and charge for them."""
        if not self.paid:
            self._way = self.call.service.pairs.way_of(texts[:100], self.src, self.tgt)
        characters = sum(map(len, texts))
        self.paid[self.call.charge(characters)] += characters
        return self.translate_again(texts)

    def translate_again(self, texts: Sequence[str]) -> list[Translation]:
        """The same for texts that were paid for, giving way to everybody who waits for an answer."""
        found: list[Translation] = []
        while len(found) < len(texts):
            self.stop.check("translation")
            try:
                block = texts[len(found) : len(found) + _BLOCK_TEXTS]
                found += self._way.translate(block, glossary=self.glossary, stop=self.stop)
            except Overloaded:
                time.sleep(_AGAIN_S)
        return found

    def give_back(self) -> None:
        """Uncount what was counted, once, and only where nobody has got anything for it."""
        while self.paid and not self.is_fetched:
            month, characters = self.paid.popitem()
            self.call.service.store.charge(self.call.owner, -characters, month=month)

    def align(self, sources: Sequence[str], targets: Sequence[str]) -> Sequence[Any]:
        """Which words go with which, where formatting has to be put; nothing through another language."""
        return self._way.align(sources, targets, stop=self.stop)


class Jobs:
    """The documents of a service."""

    def __init__(self, max_documents: int) -> None:
        self._max_documents = max_documents
        self._jobs: dict[str, Job] = {}  # changed by the event loop's thread alone
        self._timers: dict[str, asyncio.TimerHandle] = {}  # of the hours after which they are forgotten
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="document")

    def add(self, call: Call, upload: Upload, *, src: str, tgt: str, glossary: Any = None) -> Job:
        """Take a document into work.

        Raises:
            ApiError: 400 where the pair is not served, 415 where the kind is unknown, 403 where documents are not
                translated at all, 429 where too many are kept.
        """
        pairs = call.service.pairs
        pairs.check(src, tgt)
        call.service.check_open()
        src, tgt = pairs.code(src), pairs.code(tgt)  # what a document says it is in, too
        job = Job(call=call, filename=upload.filename, data=upload.file, src=src, tgt=tgt, glossary=glossary)
        if job.suffix not in formats():
            raise ApiError(415, "document", f"{job.suffix[:20]!r} is no known document; send {' '.join(formats())}")
        if self._max_documents == 0:
            raise ApiError(403, "documents", "no documents are translated here; send texts")
        self._make_room(call.owner)
        self._jobs[job.id] = job
        self._timers[job.id] = asyncio.get_running_loop().call_later(_KEPT_S, self.remove, job.id)
        self._threads.submit(self._work, job.id)
        return job

    def get(self, call: Call) -> Job:
        """The document that a path names: somebody's own, or one that is open.

        Raises:
            ApiError: 404 where they have none of that id.
        """
        job = self._jobs.get(call.request.path_params["id"])
        if job is None or not (job.is_open or job.call.owner == call.owner):
            raise ApiError(404, "document", "there is no such document, or not any more; send it again")
        return job

    def remove(self, job_id: str) -> None:
        """Stop and forget a document, if it is there. By its id: what waits must not keep what was forgotten before."""
        if (job := self._jobs.pop(job_id, None)) is not None:
            self._timers.pop(job_id).cancel()
            job.call.service.drop(job.stop)
            job.finished.set()

    def close(self) -> None:
        """Stop all of them, and give back what those cost that nobody has fetched: nobody can any more."""
        kept = list(self._jobs.values())
        for job in kept:
            self.remove(job.id)
        self._threads.shutdown(cancel_futures=True)
        for job in kept:
            job.give_back()

    def _make_room(self, owner: str) -> None:
        """Where all places are taken, forget one that its owner can do without.

        Raises:
            ApiError: 429 where there is none.
        """
        if len(self._jobs) < self._max_documents:
            return
        kept = list(self._jobs.values())
        # Clients of LibreTranslate never say that they are done with one.
        ended = [job for job in kept if job.is_fetched or job.status == "error"]
        # And nobody keeps others out by leaving what is translated where it is.
        held = Counter(job.call.owner for job in kept)
        ended += [job for job in kept if job.status == "done" and held[job.call.owner] > held[owner] + 1]
        if not ended:
            full = f"{len(kept)} documents are kept, which is the limit; fetch or forget one"
            raise ApiError(429, "documents", full, retry_after_s=30)
        ended[0].give_back()
        self.remove(ended[0].id)

    def _work(self, job_id: str) -> None:
        if (job := self._jobs.get(job_id)) is None:  # it was forgotten while it waited
            return
        try:
            job.status = "translating"
            job.data = translate_document(
                job.data,
                suffix=job.suffix,
                translate=job.translate,
                again=job.translate_again,
                align=job.align,
                limits=Limits(max_bytes=job.call.service.config.max_document_bytes),
                src_lang="" if job.src == AUTO else job.src,
                tgt_lang=job.tgt,
                progress=partial(setattr, job, "progress"),
            )
            job.status, job.progress = "done", 1.0
        except Stopped:  # nobody asks for it any more
            job.status = "error"
        except Exception as error:
            job.status, job.error = "error", refusal_of(error, job.call.request.scope.get("request_id"))
        finally:
            vars(job).pop("_way", None)  # the document is kept for an hour: a model that is replaced must not be
            if job.status == "error" or job.stop:  # what fails costs nothing, nor what was given up before its end
                job.give_back()
            job.call.service.metrics.characters.inc(job.paid.total())
            job.finished.set()
