"""Texts to vectors: with any function, a folder that holds one, or a service that speaks OpenAI's protocol.

N texts, D numbers each.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maskdiff.bench.baselines.networks import torch_device
from maskdiff.errors import InputError, SettingError
from maskdiff.progress import Progress, listening

if TYPE_CHECKING:
    from maskdiff.encoders.tokens.embedder import TextEmbedder

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], ArrayLike]

_AT_ONCE = 128
_BUSY = (429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Embedder:
    """A function from texts to vectors, shape (N, D), and the name its results go by."""

    name: str
    embed: Embed

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """One vector per text; a text is embedded once, however many runs ask for it."""
        known = _known(self)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        with listening(None) as callback:
            for at in range(0, len(new), _AT_ONCE):
                some = new[at : at + _AT_ONCE]
                known.update(zip(some, self._checked(some), strict=True))
                if callback is not None:
                    callback(Progress("embedding", at + len(some), len(new)))
        return np.stack([known[text] for text in texts])

    def _checked(self, texts: Sequence[str]) -> Vectors:
        found = np.asarray(self.embed(texts), dtype=np.float32)
        if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
            raise InputError(
                f"the embedder {self.name!r} must give one vector of finite numbers per text; for {len(texts)} "
                f"texts it gave an array of shape {found.shape}."
            )
        return found


@lru_cache(maxsize=1)
def _known(embedder: Embedder) -> dict[str, Vectors]:
    """What this process has embedded so far."""
    return {}


def as_embedder(given: Embed | str | os.PathLike[str], *, model: str | None = None, device: str = "auto") -> Embedder:
    """An embedder from a function, a folder with an embedder, or the URL of a service, which needs a `model`.

    Elsewhere `model` is only the name in the records, instead of the function's or the folder's.
    """
    if callable(given):
        return Embedder(model or str(getattr(given, "__name__", type(given).__name__)), given)
    address = os.fspath(given)
    if address.startswith(("http://", "https://")):
        if not model:
            raise SettingError(f"the service at {address} needs the name of a model: name a model.")
        return Embedder(model, Endpoint(address, model))
    if not Path(address).is_dir():
        raise SettingError(f"{address!r} is neither a folder with an embedder nor a URL; name one of these.")
    return Embedder(model or Path(address).resolve().name, Folder(address, device))


@dataclass(frozen=True)
class Endpoint:
    """A service that answers POST {url}/embeddings as OpenAI's does; the key, if any, is read from a variable."""

    url: str
    model: str
    key_variable: str = "OPENAI_API_KEY"
    timeout: float = 60.0
    tries: int = 5
    pause: float = 1.0

    def __call__(self, texts: Sequence[str]) -> ArrayLike:
        # The protocol refuses an empty input.
        answer = self._post({"model": self.model, "input": [text or " " for text in texts]})
        try:
            parts = sorted(answer["data"], key=lambda part: part["index"])
            return [part["embedding"] for part in parts]
        except (KeyError, TypeError) as error:
            raise InputError(f"{self._address} answered without embeddings: {str(answer)[:200]}") from error

    @property
    def _address(self) -> str:
        return f"{self.url.rstrip('/')}/embeddings"

    def _post(self, body: dict[str, Any]) -> Any:
        """The answer; a service that is busy is called again, after longer and longer pauses."""
        key = os.environ.get(self.key_variable)
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        request = Request(self._address, data=json.dumps(body).encode(), headers=headers, method="POST")
        for left in reversed(range(self.tries)):
            try:
                with urlopen(request, timeout=self.timeout) as answer:
                    return json.load(answer)
            except HTTPError as error:
                if error.code not in _BUSY or not left:
                    message = error.read(300).decode(errors="replace")
                    raise InputError(f"{self._address} answered {error.code}: {message}") from error
            except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
                if not left:
                    raise InputError(f"{self._address} cannot be reached ({error}); is the URL right?") from error
            except ValueError as error:
                raise InputError(f"{self._address} did not answer with JSON ({error}).") from error
            time.sleep(self.pause * 2 ** (self.tries - 1 - left))
        raise SettingError(f"tries must be at least 1; got {self.tries}.")


@dataclass(frozen=True)
class Folder:
    """The embedder of a folder: its token vectors averaged over each text, as a vector of length 1."""

    folder: str
    device: str = "auto"

    def __call__(self, texts: Sequence[str]) -> ArrayLike:
        import torch

        parts = []
        for part in _loaded(self).embed(texts):
            vectors, text = part.vectors_TH, torch.from_numpy(part.text).to(part.vectors_TH.device)
            # A mean has the direction of the sum.
            total = vectors.new_zeros(part.n_texts, vectors.shape[1]).index_add_(0, text, vectors)
            parts.append(torch.nn.functional.normalize(total, dim=1).cpu())
        return torch.cat(parts).numpy()


@lru_cache(maxsize=1)
def _loaded(folder: Folder) -> TextEmbedder:
    from maskdiff.encoders.tokens.embedder import TextEmbedder

    return TextEmbedder(folder.folder).load(torch_device(folder.device))
