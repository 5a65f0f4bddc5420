"""The first looks: what is cheap about the sources of the score, and says most of what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maskdiff.codes import Codes, Schema
from maskdiff.evidence import Evidence, EvidenceTerm, MaskedSurprise, NearestRows
from maskdiff.reconstructors import abilities

# A first look has two views a level, and the whole grid must have this many times as many for it to pay.
_VIEWS, _PAYS = 2, 8
# At tokens it has one: their whole grid has four.
_TOKEN_VIEWS, _PAYS_FOR_TOKENS = 1, 4
# So many tokens have more masks than any grid has views.
_SOME_TOKENS = 64
# Reference rows that a first look compares with.
_FEW_ROWS = 500
# The source of the log odds of single cells, which every row needs in any case.
SINGLE_CELLS = "single_cells"


def ranking_look(evidence: Evidence, main: str, cheap: tuple[str, ...], n_fields: int) -> Evidence | None:
    """The main source with few views, and the sources that are cheap as they are; None where that saves little.

    It ranks all rows nearly as the whole grid does.
    """
    few = _with_few_views(evidence, main, n_fields, _VIEWS, _PAYS)
    if few is None:
        return None
    kept = {main: few} | {name: evidence.sources[name] for name in cheap if name in evidence.sources}
    terms = tuple(_bare(term) for term in evidence.terms if term.source in kept)
    return replace(evidence, sources=kept, terms=terms)


def token_look(evidence: Evidence, main: str) -> Evidence | None:
    """The same for rows of tokens, judged by one source."""
    few = _with_few_views(evidence, main, _SOME_TOKENS, _TOKEN_VIEWS, _PAYS_FOR_TOKENS)
    if few is None or len(evidence.sources) > 1:
        return None
    return replace(evidence, sources={main: few}, terms=tuple(map(_bare, evidence.terms)))


def _with_few_views(evidence: Evidence, main: str, n_fields: int, views: int, pays: int) -> MaskedSurprise | None:
    """The main source with so many views a level; None where the whole grid has less than `pays` times as many."""
    source = evidence.sources[main]
    assert isinstance(source, MaskedSurprise)
    few = replace(source, probes=replace(source.probes, views_per_level=views))
    saves = source.probes.design == "balanced" and _n_masks(source, n_fields) >= pays * _n_masks(few, n_fields)
    return few if saves else None


def alarm_look(evidence: Evidence, neighbours: str, schema: Schema) -> Evidence:
    """Every cell hidden alone, and the distance to few normal rows: what can be an alarm stands out in one of them."""
    terms = tuple(EvidenceTerm(SINGLE_CELLS, aggregate) for aggregate in ("mean", "log_mean_exp"))
    nearest = evidence.sources.get(neighbours)
    if not isinstance(nearest, NearestRows):
        return Evidence({}, terms)
    own = tuple(_bare(term) for term in evidence.terms if term.source == neighbours)
    return Evidence({neighbours: _with_few_rows(nearest, schema)}, (*terms, *own))


def _bare(term: EvidenceTerm) -> EvidenceTerm:
    return replace(term, scale=1.0, shift=0.0)


def _n_masks(source: MaskedSurprise, n_fields: int) -> int:
    able = abilities(source.reconstructor)
    return len(source.probes.masks(n_fields, source.schedule, per_level=able.uses_level, free_up_to=able.free_up_to))


def _with_few_rows(nearest: NearestRows, schema: Schema) -> NearestRows:
    """The same with a part of its normal rows, always the same ones of the same rows."""
    n = len(nearest.codes_NF)
    chosen = np.sort(np.random.default_rng(0).permutation(n)[:_FEW_ROWS])
    values = nearest.codes_NF[chosen].cpu().numpy().astype(schema.code_dtype)
    return NearestRows(nearest.k).fit(Codes(values, schema), device=nearest.codes_NF.device)
