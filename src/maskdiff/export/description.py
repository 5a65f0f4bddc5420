"""What a runtime has to know beside the network: columns, masks, references, terms and calibration."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from maskdiff.detectors import TableDetector
from maskdiff.encoders.table.column_coder import ColumnCoder
from maskdiff.encoders.table.column_types.numbers import NumberType
from maskdiff.encoders.table.derived import DerivedField
from maskdiff.encoders.table.missing import MISSING
from maskdiff.encoders.table.number_format import NumberFormat
from maskdiff.errors import SettingError
from maskdiff.evidence import MaskedSurprise, NearestRows
from maskdiff.masking import as_schedule
from maskdiff.reconstructors import KernelReconstructor, MLPReconstructor, abilities
from maskdiff.runtime.exported import FORMAT
from maskdiff.version import __version__

Arrays = dict[str, NDArray[Any]]
_TYPES = {"category": "category", "boolean": "boolean", "number": "number", "integer": "number"}
_TYPES |= dict.fromkeys(("date", "day_first_date", "month_first_date"), "moment")


def described(detector: TableDetector) -> tuple[dict[str, Any], Arrays]:
    """The detector as plain values and arrays; what cannot be exported is refused."""
    schema, calibration = detector.encoder_.schema_, detector.whole_grid_calibration_
    lift = detector.cell_alarms_.lift
    sources, arrays = described_sources(detector)
    rate = calibration.rate_or_default(detector.false_alarm_rate)
    plain = {
        "format": FORMAT,
        "version": __version__,
        "rows": "columns",
        "columns": [described_column(coder) for coder in _coders_of_columns(detector)],
        "derived": [described_field(one) for one in detector.encoder_.derived_fields()],
        "missing": [*MISSING, *(detector.encoder_.missing or ())],
        "fields": {"unseen_charge": schema.unseen_charge.tolist(), "rarest": schema.two_rarest.tolist()},
        "sources": sources,
        "terms": [_term(term) for term in detector.evidence_.terms],
        "lift": None if lift is None else asdict(lift),
        "cell_rate": float(as_schedule(detector.schedule).mask_rate(torch.tensor(detector.probes_.levels[0]))),
        "threshold": calibration.threshold(rate),
        "false_alarm_rate": rate,
    }
    arrays["calibration"] = calibration.scores
    if lift is not None:
        arrays |= _single_cells(detector)
    return plain, arrays


def _coders_of_columns(detector: TableDetector) -> list[ColumnCoder]:
    coders: list[ColumnCoder] = detector.encoder_.column_coders()
    return coders[: len(coders) - len(detector.encoder_.derived_fields())]


def described_field(derived: DerivedField) -> dict[str, Any]:
    """How a field is computed from dates, and coded; where a date is missing that never was, it is as usual."""
    field, coder = derived.field, derived.coder
    known = {"name": field.name, "size": field.size, "has_missing": coder.has_missing, "type": "number", "plain": True}
    rule = {"rule": derived.derivation.rule, "sources": list(derived.derivation.sources)}
    return known | rule | {"usual": int(np.argmax(field.counts))} | coder.coding.to_state()


def described_column(coder: ColumnCoder) -> dict[str, Any]:
    """How a column is coded."""
    type_name = _TYPES.get(coder.column_type.name)
    if type_name is None or coder.marks:
        raise SettingError(
            f"column {coder.field.name!r} cannot be exported: it is read as {coder.column_type.name}"
            f"{' with other texts among its values' if coder.marks else ''}, and a runtime reads categories, plain "
            f'numbers and dates. Fit with columns={{{coder.field.name!r}: "drop"}}, or as a category or a number.'
        )
    format = coder.column_type.format if isinstance(coder.column_type, NumberType) else NumberFormat()
    known = {"name": coder.field.name, "type": type_name, "size": coder.field.size, "has_missing": coder.has_missing}
    return known | {"plain": format == NumberFormat()} | coder.coding.to_state()


def described_sources(detector: TableDetector) -> tuple[dict[str, Any], Arrays]:
    """Each source of evidence by its name, and its arrays."""
    plain: dict[str, Any] = {}
    arrays: Arrays = {}
    for name, source in detector.evidence_.sources.items():
        if isinstance(source, NearestRows):
            plain[name], own = {"is": "nearest", "k": source.k}, _references(source)
            own |= {"places": source.place_FC.cpu().numpy(), "apart": source.apart_F.cpu().numpy()}
        elif isinstance(source, MaskedSurprise):
            plain[name], own = _surprise(source, len(detector.encoder_.schema_))
        else:
            raise SettingError(f"the evidence {name!r} cannot be exported: {source.describe()}.")
        arrays |= {f"{name}.{part}": values for part, values in own.items()}
    network = detector.reconstructor_
    if isinstance(network, MLPReconstructor):
        layout = network.network_.layout
        arrays |= {"network.start": layout.start_F.cpu().numpy(), "network.stride": layout.stride_F.cpu().numpy()}
    return plain, arrays


def _surprise(source: MaskedSurprise, n_fields: int) -> tuple[dict[str, Any], Arrays]:
    able = abilities(source.reconstructor)
    masks = source.probes.masks(n_fields, source.schedule, per_level=able.uses_level, free_up_to=able.free_up_to)
    if masks.shared_KF is None:
        raise SettingError('masks that each row draws for itself (design="independent") cannot be exported.')
    hidden = masks.shared_KF.unsqueeze(0)
    weight = masks.counting(hidden)[0]
    arrays = {"hidden": hidden[0].numpy(), "rate": masks.rate_K.numpy(), "weight": weight.double().numpy()}
    if isinstance(source.reconstructor, KernelReconstructor):
        return {"is": "kernel", "bandwidth": source.reconstructor.bandwidth}, arrays | _references(source.reconstructor)
    if isinstance(source.reconstructor, MLPReconstructor):
        return {"is": "network"}, arrays
    raise SettingError(f"{source.reconstructor!r} cannot be exported: only networks of tables and kernels can.")


def _references(source: Any) -> Arrays:
    codes, counts = source.codes_NF.cpu().numpy(), source.counts_N.cpu().numpy()
    return {"codes": codes.astype(np.int32), "counts": counts}


def _single_cells(detector: TableDetector) -> Arrays:
    cells = detector.cell_alarms_.cells
    assert cells.scale is not None
    hidden = cells.hidden_views(len(detector.encoder_.schema_)).cpu().numpy()
    scales = {"cells.median": cells.scale.median_F, "cells.scale": cells.scale.scale_F}
    return {
        "cells.hidden": hidden,
        **scales,
        **({} if cells.usual is None else {"cells.usual": cells.usual.log_odds_P}),
    }


def _term(term: Any) -> dict[str, Any]:
    return {"source": term.source, "aggregate": term.aggregate, "scale": term.scale, "shift": term.shift}
