"""What "combined" is made of: a network, and what compares a row with normal rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maskdiff.codes import Codes
from maskdiff.detectors.learning import MAIN, Learner
from maskdiff.detectors.text_evidence import TableChoice
from maskdiff.evidence import Evidence, EvidenceTerm, NearestRows, Source
from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import KernelReconstructor

# The names of the sources of evidence beside the reconstructor.
KERNEL, NEIGHBOURS = "kernel", "neighbours"
# From fewer rows a network learns too little to count in full; kernel and nearest rows need not learn.
_ROWS_TO_LEARN_FROM = 1000
# How much the two count that compare rows. Where all rows repeat, the nearest are equal to every row and say nothing:
# the kernel, which counts how often they do, then speaks for both.
_KERNEL, _NEIGHBOURS = 1.25, 1.5
# In a search odd rows are among those compared with, often some that are like the one judged: more neighbours are
# looked at, and the kernel, which a few equal rows satisfy, is not asked.
_NEIGHBOURS_IN_SEARCH = 25


class CombinedEvidence(Learner):
    """The half of a table detector that puts kernel and nearest rows beside the network."""

    # Rows are compared with at most so many distinct normal rows, or with as many as have so many cells, whichever is
    # more: in narrow tables this takes little of the time, in wide ones more rows would take most of it.
    most_compared, most_compared_cells = 5000, 1 << 19
    # Where the kernel's views come from.
    _kernel_probes: ProbeGrid

    def _choose_nearest(self, codes: Codes, held_out: Codes) -> TableChoice:
        """How many nearest rows to look at, decided by rows that were not learned from, and whether they say nothing.

        In a search they say nothing where most rows are equal to all of theirs: for the few others they would outvote
        everything else.
        """
        nearest = NearestRows().fit(self._compared(codes), device=self.torch_device())
        nearest = nearest.with_k(_NEIGHBOURS_IN_SEARCH if self.in_search else nearest.choose_k(held_out))
        share_equal = float((nearest.differences(held_out) == 0).all(axis=1).mean())
        return TableChoice(nearest.k, share_equal > 0.5 if self.in_search else share_equal == 1)

    def _combined(self, alone: Evidence, codes: Codes, choice: TableChoice) -> Evidence:
        """The network's evidence, and that of the rows compared with."""
        weights = self._weights_beside(choice)
        if not weights:
            return alone
        trust = min(1.0, len(codes) / _ROWS_TO_LEARN_FROM)
        network = (replace(term, weight=trust) for term in (*alone.terms, EvidenceTerm(MAIN, "log_mean_exp")))
        beside = (EvidenceTerm(name, "mean", weight=weight) for name, weight in weights.items())
        return Evidence({**alone.sources, **self._references(codes, choice)}, (*network, *beside))

    def _comparing_with(self, evidence: Evidence, codes: Codes, more: Codes, choice: TableChoice) -> Evidence:
        if NEIGHBOURS not in evidence.sources:
            return evidence
        # Once they have decided what they are kept for, rows are worth more as references: small tables have few.
        known = more.take(np.flatnonzero(more.known.all(axis=1)))
        together = Codes(np.concatenate([codes.values, known.values]), codes.schema)
        return replace(evidence, sources={**evidence.sources, **self._references(together, choice)})

    def _weights_beside(self, choice: TableChoice) -> dict[str, float]:
        """How much each source counts; the network is read twice, and would outvote what errs elsewhere."""
        if self.in_search:
            return {} if choice.repeat else {NEIGHBOURS: _NEIGHBOURS}
        return {KERNEL: _KERNEL + (_NEIGHBOURS if choice.repeat else 0), NEIGHBOURS: _NEIGHBOURS}

    def _references(self, codes: Codes, choice: TableChoice) -> dict[str, Source]:
        """The sources that compare a row with these."""
        device, compared = self.torch_device(), self._compared(codes)
        sources: dict[str, Source] = {NEIGHBOURS: NearestRows(choice.k).fit(compared, device=device)}
        if KERNEL in self._weights_beside(choice):
            kernel = KernelReconstructor()
            voters = codes if len(codes.schema) <= kernel.free_up_to else compared
            sources[KERNEL] = self.masked_surprise(kernel.fit(voters, device=device), self._kernel_probes)
        return sources

    def _compared(self, codes: Codes) -> Codes:
        """The rows to compare with: all, or a random part of them where too many are distinct."""
        limit = max(self.most_compared, self.most_compared_cells // len(codes.schema))
        order = np.random.default_rng(self.seed).permutation(len(codes))
        # Some rows are enough to see that too many are distinct; to sort millions takes long, and much memory.
        some = codes.take(order[: 4 * limit])
        if len(some.distinct()[0]) <= limit and (len(some) == len(codes) or len(codes.distinct()[0]) <= limit):
            return codes
        return codes.take(order[:limit])
