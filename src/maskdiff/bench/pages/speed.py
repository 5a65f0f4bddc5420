"""The page on speed: runtimes on CPU and GPU, texts beside a plain implementation, large files."""

from __future__ import annotations

from collections.abc import Iterable

from maskdiff.bench.pages.records import RecordFolder
from maskdiff.bench.pages.text_blocks import command, grid, pair, places, seconds, section, threads, times
from maskdiff.bench.published.values import published_seconds
from maskdiff.bench.runs.measure import Record
from maskdiff.bench.runs.methods import METHODS

STEPS = ("fit_seconds", "score_seconds")


def total(record: Record) -> float:
    """Seconds to fit and to score."""
    return float(sum(record[step] for step in STEPS))


def on(records: list[Record], set_name: str) -> dict[str, Record]:
    """Records on one set, by method, the quickest first."""
    chosen = [record for record in records if record["set"] == set_name]
    return {record["method"]: record for record in sorted(chosen, key=total)}


def idle(records: list[Record], note: str) -> str:
    """Our methods alone on an idle machine."""
    if not records:
        return ""
    blocks = []
    for name in dict.fromkeys(record["set"] for record in records):
        chosen = on(records, name)
        first = next(iter(chosen.values()))
        lines = [
            [method, *(f"{record[step]:.1f} s" for step in STEPS), f"{total(record):.1f} s"]
            for method, record in chosen.items()
        ]
        blocks += [
            f"{name}: {first['n_train']:,} rows to learn from, {first['n_test']:,} to score, {first['n_features']} "
            "columns.",
            grid(["method", "fit", "score", "together"], lines),
        ]
    return section(
        "Our methods on an idle machine",
        f"One run on {places(records)}, {threads(records[0]['threads'])}. {note}".rstrip(),
        command(
            "maskdiff bench runtime --data DIR --methods default,mlp,kernel --device cpu \\",
            "    --out results/more/runtime-idle.jsonl",
        ),
        *blocks,
    )


def authors(records: list[Record], own: list[Record], note: str) -> str:
    """The authors' published code beside ours, where it was timed."""
    pairs = {"authors-mlp": "mlp-paper", "authors-kernel": "kernel-paper"}
    lines = []
    for record in records:
        ours = on(own, record["set"]).get(pairs[record["method"]])
        ratio = times(total(record) / total(ours)) if ours else ""
        lines.append([record["set"], record["method"], *(f"{record[step]:.1f} s" for step in STEPS), ratio])
    if not lines:
        return ""
    return section(
        "The authors' published code",
        f"On {places(records)}; the last column is how many times as long it takes as our preset. {note}".rstrip(),
        command("maskdiff bench authors CHECKOUT --data DIR --sets bank --out results/more/authors.jsonl"),
        grid(["set", "method", "fit", "score", "beside ours"], lines),
    )


def every_method(
    title: str,
    records: list[Record],
    shell: str,
    note: str,
    *,
    stopped: Iterable[Record] = (),
    beside: dict[str, str] | None = None,
) -> str:
    """All methods, on all sets that were timed; `beside` says which published sets' seconds stand beside which."""
    if not records:
        return ""
    names = list(dict.fromkeys(record["set"] for record in records))
    by_set = {name: on(records, name) for name in names}
    longer = {(record["method"], record["set"]): f"over {record['stopped_after']:g} s" for record in stopped}
    known = {name: _published(name) for name in beside or {}}
    lines = []
    quickest_first = [*by_set[names[0]], *(record["method"] for record in [*records, *stopped])]
    for method in dict.fromkeys(quickest_first):
        cells = [_cell(by_set[name].get(method), step, longer.get((method, name))) for name in names for step in STEPS]
        lines.append([method, *cells, *(known[name].get((method, step), "") for name in known for step in STEPS)])
    head = [f"{name}: {step.split('_')[0]}" for name in names for step in STEPS]
    head += [f"published, {shown}: {step.split('_')[0]}" for shown in (beside or {}).values() for step in STEPS]
    return section(
        title,
        f"Seconds on {places(records)}, {threads(records[0]['threads'])}, one method after the other in one run. "
        f"{note}".rstrip(),
        command(shell),
        grid(["method", *head], lines),
    )


def _cell(record: Record | None, step: str, longer: str | None) -> str:
    if record is not None:
        return seconds(record[step])
    return (longer if step == STEPS[0] else "") if longer else "not run"


def _published(set_name: str) -> dict[tuple[str, str], str]:
    table = published_seconds()
    names = {method.published: name for name, method in METHODS.items() if method.published}
    return {
        (names[line["method"]], line["metric"]): f"{line['mean']:.2f}"
        for line in table[table["set"] == set_name].to_dict("records")
        if line["method"] in names
    }


# What is shown of texts: its name, what is compared, the value, how it is written, and whether less is better.
COMPARED = (
    ("training, seconds per epoch", "our_training", "plain_training", "seconds", "{:.3f}"),
    ("training, tokens per second", "our_training", "plain_training", "tokens_per_second", "{:,.0f}"),
    ("training, share of the bf16 peak", "our_training", "plain_training", "share_of_peak", "{:.1%}"),
    ("scoring with the same weights, seconds", "moved_scoring", "plain_scoring", "seconds", "{:.1f}"),
    ("scoring, tokens of all views per second", "moved_scoring", "plain_scoring", "tokens_per_second", "{:,.0f}"),
    ("scoring, share of the bf16 peak", "moved_scoring", "plain_scoring", "share_of_peak", "{:.1%}"),
    ("ROC-AUC of the same weights", "moved_scoring", "plain_scoring", "roc_auc", "{:.3f}"),
    ("ROC-AUC of its own weights", "our_scoring", "plain_scoring", "roc_auc", "{:.3f}"),
)


def texts(records: list[Record], note: str = "") -> str:
    """Texts at the paper's size beside a plain implementation."""
    if not records:
        return ""
    record = records[-1]
    lines = []
    for title, ours, plain, name, form in COMPARED:
        a, b = record[ours][name], record[plain][name]
        ratio = times(b / a) if name == "seconds" else ""
        lines.append([title, form.format(a), form.format(b), ratio])
    settings = record["settings"]
    return section(
        "Texts at the paper's size",
        f"8 layers of width 512, {settings['views']} views at each of nine levels, {settings['set']}, one run on "
        f"{places([record])} (bfloat16 peak, measured: {record['bf16_peak'] / 1e12:.0f} TFLOP/s). The plain "
        "implementation is what most would write: stock layers, float32, every text padded to 128 tokens, logits at "
        "all positions, one pass for each view.",
        command("maskdiff bench text-speed --data DIR --device cuda --out results/more/text-speed.jsonl"),
        grid(["", "ours", "plain", "ratio"], lines),
        f"A process's first scoring took {record['our_scoring']['seconds']:.1f} s, as kernels are loaded for each "
        f"length. {note}".rstrip(),
    )


def text_runtimes(records: list[Record], note: str) -> str:
    """Texts with the default, and what each effort costs."""
    if not records:
        return ""
    lines = []
    for record in records:
        busy = f", {record['settings']['busy']} busy" if record["settings"].get("busy") else ""
        for effort, one in record["efforts"].items():
            lines.append(
                [
                    *(record["set"], f"{record['device']}, {threads(record['threads'])}{busy}"),
                    *(f"{record['n_train']:,}", seconds(record["fit_seconds"]), effort),
                    *(f"{one['rows_per_second']:,.0f}", f"{one['whole_grid']:.0%}", f"{one['agreement']:.2%}"),
                    pair(100 * one["roc_auc"], 100 * one["pr_auc"]),
                ]
            )
    head = ["set", "on", "texts learned", "fit", "effort", "texts a second", "whole grid", "same alarms", "ROC / PR"]
    return section(
        "Texts with the default",
        "agnews_long is news of one topic joined to articles of at least 360 words. Of the texts, this share got the "
        f"whole grid; the alarms are those at 1%, compared with the whole grid's for all texts. {note}".rstrip(),
        command("maskdiff bench text-runtime --data DIR --set sms --device cpu --out results/more/text-runtime.jsonl"),
        grid(head, lines),
        *_training_bounds(records),
    )


def _training_bounds(records: list[Record]) -> list[str]:
    """What the products of training take by themselves, beside the whole fit."""
    lines = []
    for record in records:
        work = record.get("training", {})
        if "operations_per_second" in work:
            least = work["operations"] / work["operations_per_second"]
            counted = (f"{work['steps']:,}", f"{work['tokens']:,}", f"{work['operations'] / 1e12:.1f} TFLOP")
            rate = f"{work['operations_per_second'] / 1e9:,.0f} GFLOP/s"
            shown = (rate, f"{seconds(least)} s", f"{seconds(record['fit_seconds'])} s")
            lines.append([record["set"], record["device"], *counted, *shown])
    if not lines:
        return []
    head = ["set", "on", "steps", "tokens", "operations of training", "products reach", "so at least", "fit took"]
    return [
        "What bounds the fit: the operations of training, counted, at the rate of its products alone. The rest is "
        "attention, sums, norms and dropout, which read and write more than they compute, the optimiser, whose weights "
        "are mostly those of rare words, the tokenizer and calibration.",
        grid(head, lines),
    ]


def large_files(records: list[Record]) -> str:
    """Files of many rows, where they were measured."""
    if not records:
        return ""
    lines = [
        [
            *(record["method"], " ".join(record["settings"]["fit_options"]) or "none"),
            *(f"{record['rows']:,}", str(record["settings"].get("columns", 20))),
            *(f"{record['processor_seconds']:.1f} s", f"{record['rows'] / record['processor_seconds']:,.0f}"),
            f"{record['peak_memory_mb']:,.0f} MB",
        ]
        for record in records
    ]
    return section(
        "Large files",
        f"Generated files of Parquet, on {places(records)}.",
        command(
            "maskdiff bench large-file --rows 10000000 --out results/more/large-file.jsonl",
            "maskdiff bench large-file --rows 10000000 --narrow --find",
            "maskdiff bench large-file --rows 10000000 --narrow --find -- --reconstructor kernel",
        ),
        grid(["step", "options", "rows", "columns", "processor time", "rows a second of it", "peak"], lines),
    )


def serving(records: list[Record], note: str) -> str:
    """The service under load, where it was measured."""
    if not records:
        return ""
    lines = [
        [
            record["method"],
            f"{record['settings']['clients']:,}",
            f"{record['requests']:,}",
            f"{record['requests_per_second']:,.0f}",
            *(f"{record[name]:.1f} ms" for name in ("p50_ms", "p99_ms", "idle_p50_ms")),
            f"{record['errors']} / {record['wrong']}",
            " / ".join(f"{record['memory_mb'][name]:,.0f}" for name in ("idle", "middle", "end")) + " MB",
        ]
        for record in records
    ]
    first = records[0]["settings"]
    return section(
        "The service under load",
        f"`maskdiff serve` on {places(records)}: clients in a second process on the same machine ask for one row of 20 "
        f"columns at a time, for {first['seconds']:g} s, and compare every answer with Python's. {note}".rstrip(),
        command("maskdiff bench serve --clients 200 --seconds 60 --out results/more/serving.jsonl"),
        grid(
            [
                *("model", "clients", "answers", "a second", "median", "99%", "median of one client alone"),
                *("errors / wrong", "memory: idle / middle / end"),
            ],
            lines,
        ),
    )


def speed_page(records: RecordFolder) -> list[str]:
    """The blocks of the page."""
    one_thread = "OMP_NUM_THREADS=1 maskdiff bench runtime --data DIR --device cpu --out results/runtime.jsonl"
    gpu = "maskdiff bench runtime --data DIR --device cuda --out results/more/runtime-gpu.jsonl"
    alone = (
        "maskdiff bench runtime --data DIR --sets bank,census --methods default --device cuda \\\n"
        "    --out results/more/runtime-gpu-default.jsonl"
    )
    large = (
        "maskdiff bench runtime --sets claims-large --limit 100 --device cuda --out results/more/runtime-large.jsonl"
    )
    return [
        "Every method is fitted on 500 rows first, so that what a library loads when it is first used is not counted.",
        idle(records["runtime-idle"], records.note("runtime-idle")),
        authors(records["authors"], records["runtime"], records.note("authors")),
        every_method("Every method on one thread", records["runtime"], one_thread, records.note("runtime")),
        every_method(
            *("Every method on a GPU", records["runtime-gpu"], gpu, records.note("runtime-gpu")),
            beside={"bank": "bank"},
        ),
        every_method(
            *("The default alone on a GPU", records["runtime-gpu-default"], alone),
            records.note("runtime-gpu-default"),
        ),
        every_method(
            *("As many rows as Vehicle Claims", records["runtime-large"], large, records.note("runtime-large")),
            stopped=records.stopped("runtime-large"),
            beside={"claims-large": "Vehicle Claims"},
        ),
        text_runtimes(records["text-runtime"], records.note("text-runtime")),
        texts(records["text-speed"], records.note("text-speed")),
        large_files(records["large-file"]),
        serving(records["serving"], records.note("serving")),
    ]
