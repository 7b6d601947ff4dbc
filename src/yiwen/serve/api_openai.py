"""The chat API of OpenAI: a language pair is a model, the last message of the user is the text."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field
from starlette.responses import Response

from yiwen.errors import listed
from yiwen.plan import between
from yiwen.serve.call import Call
from yiwen.serve.endpoint import Dialect, Endpoint
from yiwen.serve.errors import ApiError
from yiwen.serve.pairs import Way
from yiwen.serve.streaming import by_sentence, streamed
from yiwen.stop import StopFlag


def _refused(error: ApiError) -> dict[str, Any]:
    return {"error": {"message": str(error), "type": error.code, "param": None, "code": error.code}}


OPENAI: Final = Dialect(name="openai", refused=_refused, statuses={456: 429})


class ContentPart(BaseModel):
    """A part of a message; only text is understood."""

    type: str
    text: str = ""


class ChatMessage(BaseModel):
    """A message; what is no user's is ignored."""

    role: str
    content: str | Annotated[list[ContentPart], Field(fail_fast=True)] | None = None

    @property
    def text(self) -> str:
        """All its text.

        Raises:
            ApiError: 422 where a part of it is no text.
        """
        if not isinstance(self.content, list):
            return self.content or ""
        if other := next((part.type for part in self.content if part.type != "text"), ""):
            raise ApiError(422, "content", f"a part of the message is of type {other[:40]!r}; only text is translated")
        return "\n".join(part.text for part in self.content)


class StreamOptions(BaseModel):
    """What a stream tells besides its text."""

    include_usage: bool | None = None


class ChatRequest(BaseModel):
    """A conversation; temperature and the like are accepted and ignored."""

    model: str = Field(max_length=80, description="An id of /v1/models.")
    messages: list[ChatMessage] = Field(min_length=1, max_length=200)
    stream: bool | None = None
    stream_options: StreamOptions | None = None


async def models(asked: None, call: Call) -> Any:
    """Language pairs as models, as OpenAI."""
    return {"object": "list", "data": [_model(name) for name in _names(call)]}


async def get_model(asked: None, call: Call) -> Any:
    """A language pair as a model, as OpenAI."""
    name = call.request.path_params["id"]
    _way(call, name)
    return _model(name)


async def complete(asked: ChatRequest, call: Call) -> Any:
    """Translate the last message of the user, as OpenAI."""
    way = _way(call, asked.model)
    of_user = [message for message in asked.messages if message.role == "user"]
    if not of_user:
        raise ApiError(400, "messages", "no message is of the role 'user'; send the text to translate as one")
    text = of_user[-1].text
    head = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": asked.model}
    if asked.stream:
        with_usage = asked.stream_options is not None and bool(asked.stream_options.include_usage)
        return await _streamed(call, way, text, head, with_usage=with_usage)

    def answer(way: Way, stop: StopFlag) -> dict[str, Any]:
        (found,) = way.translate([text], stop=stop, with_scores=False)
        choice = {"index": 0, "message": {"role": "assistant", "content": found.text}, "finish_reason": "stop"}
        return {**head, "object": "chat.completion", "choices": [choice], "usage": _usage(way, text, found.text)}

    return await call.translate([text], src=way.src, tgt=way.tgt, work=answer)


def _usage(way: Way, source: str, target: str) -> dict[str, int]:
    n_src = len(way.hops[0].bundle.source.encode([source])[0])
    n_tgt = len(way.hops[-1].bundle.target.encode([target])[0])
    return {"prompt_tokens": n_src, "completion_tokens": n_tgt, "total_tokens": n_src + n_tgt}


async def _streamed(call: Call, way: Way, text: str, head: dict[str, Any], *, with_usage: bool) -> Response:
    """Server-sent events, a sentence each."""

    def chunk(choices: list[dict[str, Any]], usage: dict[str, int] | None = None) -> dict[str, Any]:
        told = {"usage": usage} if with_usage else {}
        return {**head, "object": "chat.completion.chunk", "choices": choices, **told}

    def event(delta: dict[str, str], finish_reason: str | None = None) -> dict[str, Any]:
        return chunk([{"index": 0, "delta": delta, "finish_reason": finish_reason}])

    async def events() -> AsyncIterator[Any]:
        role, end, said = {"role": "assistant"}, 0, list[str]()
        async for _, (start, after), found in by_sentence(call, text, src=way.src, tgt=way.tgt, with_scores=False):
            said.append(between(text[end:start], said, found.text, way.tgt, by_sentence=True) + found.text)
            yield event({**role, "content": said[-1]})
            role, end = {}, after
        if role or text[end:]:
            yield event({**role, "content": text[end:]})
        yield event({}, "stop")
        if with_usage:
            yield chunk([], _usage(way, text, "".join(said) + text[end:]))

    frame, end = b"data: %b\n\n", b"data: [DONE]\n\n"
    return await streamed(call, events(), dialect=OPENAI, media_type="text/event-stream", frame=frame, end=end)


def _names(call: Call) -> dict[str, Way]:
    return {f"{way.src}-{way.tgt}": way for way in call.service.pairs.ways.values()}


def _way(call: Call, name: str) -> Way:
    if way := _names(call).get(name):
        return way
    raise ApiError(404, "model_not_found", f"there is no model {name!r}; there is {listed(sorted(_names(call)))}")


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "yiwen"}


ENDPOINTS: Final = (
    Endpoint("GET", "/v1/models", models, OPENAI),
    Endpoint("GET", "/v1/models/{id}", get_model, OPENAI),
    Endpoint("POST", "/v1/chat/completions", complete, OPENAI),
)
