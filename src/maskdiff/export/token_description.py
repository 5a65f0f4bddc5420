"""What a runtime has to know beside the transformer: the alphabet, probes, the term of the score and calibration."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import torch

from maskdiff.detectors import MAIN, TokenDetector
from maskdiff.encoders.tokens.encoder import TokenEncoder
from maskdiff.encoders.tokens.sequence import SequenceEncoder
from maskdiff.encoders.tokens.symbols import symbol_to_state
from maskdiff.encoders.tokens.text import TextEncoder
from maskdiff.errors import SettingError
from maskdiff.evidence import MaskedSurprise
from maskdiff.export.description import Arrays
from maskdiff.reconstructors import TransformerReconstructor
from maskdiff.runtime.exported import FORMAT
from maskdiff.version import __version__


def described_tokens(detector: TokenDetector) -> tuple[dict[str, Any], Arrays]:
    """The detector as plain values and arrays; what cannot be exported is refused."""
    source = _only_source(detector)
    assert isinstance(source.reconstructor, TransformerReconstructor)
    calibration, alphabet = detector.whole_grid_calibration_, detector.encoder_.schema_
    rate, (term,) = calibration.rate_or_default(detector.false_alarm_rate), detector.evidence_.terms
    head = source.reconstructor.network_.head
    plain = {
        "format": FORMAT,
        "version": __version__,
        "rows": "tokens",
        "alphabet": _alphabet(detector.encoder_),
        "unseen_charge": float(alphabet.unseen_charge[0]),
        "rarest": int(alphabet.two_rarest[0, 0]),
        "probes": _probes(source),
        "bounds": list(head.bounds),
        "term": {
            **{name: getattr(term, name) for name in ("aggregate", "scale", "shift")},
            "typical": None if term.typical is None else asdict(term.typical),
        },
        "threshold": calibration.threshold(rate),
        "false_alarm_rate": rate,
    }
    arrays = {f"head.{name}": weights.detach().cpu().numpy() for name, weights in head.state_dict().items()}
    return plain, arrays | {"calibration": calibration.scores}


def tokenizer_file(detector: TokenDetector) -> str | None:
    """The tokenizer of texts, as the library that reads it writes it."""
    encoder = detector.encoder_
    return encoder.tokenizer_.to_str() if isinstance(encoder, TextEncoder) else None


def _only_source(detector: TokenDetector) -> MaskedSurprise:
    source = detector.evidence_.sources[MAIN]
    assert isinstance(source, MaskedSurprise)
    if len(detector.evidence_.sources) > 1:
        raise SettingError("a model with a pre-trained embedder cannot be exported: fit it without one.")
    if not isinstance(source.reconstructor, TransformerReconstructor):
        raise SettingError(f"{source.reconstructor!r} cannot be exported: only a TransformerReconstructor can.")
    if source.probes.design == "independent":
        raise SettingError('masks that each row draws for itself (design="independent") cannot be exported.')
    if isinstance(detector.encoder_, TextEncoder) and detector.encoder_.truncate:
        raise SettingError(
            'a model that cuts texts off (preset="paper") cannot be exported: fit it without the preset.'
        )
    return source


def _probes(source: MaskedSurprise) -> dict[str, Any]:
    probes = source.probes
    rates = source.schedule.mask_rate(torch.tensor(probes.levels, dtype=torch.float64)).tolist()
    assert isinstance(source.reconstructor, TransformerReconstructor)
    return {
        "rates": rates,
        "views_per_level": probes.views_per_level,
        "fewer_views_beyond": probes.fewer_views_beyond,
        "design": probes.design,
        "seed": probes.seed,
        "per_level": source.reconstructor.uses_level,
        "skips_empty": probes.empty_views == "skip",
    }


def _alphabet(encoder: TokenEncoder) -> dict[str, Any]:
    known: dict[str, Any] = {
        "symbols": [symbol_to_state(symbol) for symbol in encoder.symbols_],
        "max_length": encoder.max_length,
        "overlap": encoder.overlap,
    }
    return known | ({"separator": encoder.separator} if isinstance(encoder, SequenceEncoder) else {})
