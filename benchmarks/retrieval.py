"""Search over 1,000,000 synthetic chunks: ours, the plain scikit-learn way, and bm25s.

Words follow Zipf's law over a vocabulary of 200,000; the queries draw 2 to 8 words from the same
law, so most hold words that are in a large share of the chunks. Each contender runs in a process of
its own, is built from the same token ids, and answers the same queries, one at a time, as text.
Our results are compared with the plain ones: same chunks, same scores to the last bit.

    python benchmarks/retrieval.py [--chunks N] [--queries N] [--seed N]
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table

VOCABULARY = 200_000
TOP_K = (2, 10)
CONTENDERS = {
    "ours": "ours",
    "plain": "scikit-learn",
    "turned": "scikit-learn, turned",
    "bm25s": "bm25s",
}
Search = Callable[[str, int], tuple[list[int], list[float]]]


def word(term: int) -> str:
    """Spell a term in letters alone, so that every tokenizer takes it as one word."""
    return "zq" + "".join(chr(ord("a") + int(digit)) for digit in str(term))


def zipf_terms(rng: np.random.Generator, size: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    share = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    drawn = np.empty(size, np.int32)
    for start in range(0, size, 1 << 22):
        part = rng.random(min(size - start, 1 << 22)) * share[-1]
        drawn[start : start + len(part)] = np.searchsorted(share, part)
    return drawn


def synthetic_counts(n_chunks: int, seed: int) -> sp.csr_array:
    """Draw chunks of 3 to 400 words, 40 in the median, and count their terms."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.lognormal(np.log(40), 0.5, n_chunks), 3, 400).astype(np.int64)
    terms = zipf_terms(rng, int(lengths.sum()))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    ones = np.ones(len(terms), np.int32)
    counts = sp.csr_array((ones, terms, starts), shape=(n_chunks, VOCABULARY))
    counts.sum_duplicates()
    return counts


def synthetic_queries(n_queries: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed + 1)
    return [" ".join(map(word, zipf_terms(rng, rng.integers(2, 9)))) for _ in range(n_queries)]


def build_ours(counts: sp.csr_array) -> tuple[Search, float]:
    from agent.retrieval.postings import Postings
    from agent.retrieval.tfidf import TfidfIndex

    started = time.perf_counter()
    postings = Postings.from_counts(counts)
    seconds = time.perf_counter() - started
    places: Any = range(counts.shape[0])  # a place stands for its chunk
    index = TfidfIndex(places, {word(term): term for term in range(VOCABULARY)}, postings)

    def search(query: str, k: int) -> tuple[list[int], list[float]]:
        found: list[Any] = list(index.search(query, k))
        return [place for place, _ in found], [score for _, score in found]

    return search, seconds


def build_plain(counts: sp.csr_array, *, turned: bool = False) -> tuple[Search, float]:
    from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer

    started = time.perf_counter()
    transformer = TfidfTransformer()
    matrix = transformer.fit_transform(counts)
    by_term = matrix.T.tocsr() if turned else matrix.T
    seconds = time.perf_counter() - started
    vocabulary = {word(term): term for term in range(VOCABULARY)}
    vectorizer = TfidfVectorizer(analyzer=str.split, vocabulary=vocabulary)
    vectorizer.idf_ = transformer.idf_

    def search(query: str, k: int) -> tuple[list[int], list[float]]:
        scores = (vectorizer.transform([query]) @ by_term).toarray().ravel()
        best = np.argpartition(scores, -k)[-k:]
        best = best[np.lexsort((best, -scores[best]))]
        return best.tolist(), scores[best].tolist()

    return search, seconds


def build_bm25s(counts: sp.csr_array) -> tuple[Search, float]:
    import bm25s

    ids = [
        np.repeat(counts.indices[low:high], counts.data[low:high]).tolist()
        for low, high in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    ]
    vocabulary = {word(term): term for term in range(VOCABULARY)}
    retriever = bm25s.BM25()
    started = time.perf_counter()
    retriever.index((ids, vocabulary), show_progress=False)
    seconds = time.perf_counter() - started

    def search(query: str, k: int) -> tuple[list[int], list[float]]:
        chunks, scores = retriever.retrieve([query.split()], k=k, show_progress=False)
        return chunks[0].tolist(), scores[0].tolist()

    return search, seconds


def resident_bytes() -> int:
    """Return the memory this process holds now, after giving back what it can."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # glibc alone can
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def measure(contender: str, folder: Path) -> dict[str, Any]:
    """Build one contender from the saved counts and time it; runs in a process of its own."""
    import bm25s  # noqa: F401 - every process imports the same, so that memory can be compared

    import agent.retrieval.tfidf  # noqa: F401

    builders = {
        "ours": build_ours,
        "plain": build_plain,
        "turned": lambda counts: build_plain(counts, turned=True),
        "bm25s": build_bm25s,
    }
    queries = json.loads((folder / "queries.json").read_text())
    before = resident_bytes()
    counts = sp.csr_array(sp.load_npz(folder / "counts.npz"))
    search, build_seconds = builders[contender](counts)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    del counts
    report: dict[str, Any] = {"build_seconds": build_seconds, "times": {}, "found": {}}
    for k in TOP_K:
        search(queries[0], k)
        times, found = [], []
        for query in queries:
            started = time.perf_counter()
            result = search(query, k)
            times.append(time.perf_counter() - started)
            found.append(result)
        report["times"][str(k)] = times
        report["found"][str(k)] = found
    report["memory"] = resident_bytes() - before
    report["peak"] = peak - before
    return report


def run(contender: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", contender, "--folder", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def results_table(reports: dict[str, dict[str, Any]], title: str) -> Table:
    table = Table(title=title)
    table.add_column("", no_wrap=True)
    for k in TOP_K:
        table.add_column(f"k={k} p50 ms", justify="right")
        table.add_column(f"k={k} p99 ms", justify="right")
    for column in ("p50 / ours", "build s", "memory MB", "peak MB"):
        table.add_column(column, justify="right")
    ours = np.median(reports["ours"]["times"]["2"])
    for contender, report in reports.items():
        milliseconds = [np.quantile(report["times"][str(k)], (0.5, 0.99)) * 1000 for k in TOP_K]
        table.add_row(
            CONTENDERS[contender],
            *(f"{value:.2f}" for pair in milliseconds for value in pair),
            f"{np.median(report['times']['2']) / ours:.1f}",
            f"{report['build_seconds']:.1f}",
            f"{report['memory'] / 1e6:.0f}",
            f"{report['peak'] / 1e6:.0f}",
        )
    return table


def differences(ours: dict[str, Any], plain: dict[str, Any]) -> int:
    """Count the queries whose chunks or scores differ in the least."""
    return sum(
        mine != theirs
        for k in ours["found"]
        for mine, theirs in zip(ours["found"][k], plain["found"][k], strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark the search.")
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--measure", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.folder)))
        return
    console = Console(width=110)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        counts = synthetic_counts(options.chunks, options.seed)
        title = f"{options.chunks:,} chunks, {counts.nnz:,} postings, {options.queries} queries"
        sp.save_npz(folder / "counts.npz", counts, compressed=False)
        del counts
        queries = synthetic_queries(options.queries, options.seed)
        (folder / "queries.json").write_text(json.dumps(queries))
        reports = {}
        for contender, label in CONTENDERS.items():
            with console.status(f"measuring {label}"):
                reports[contender] = run(contender, folder)
    console.print(results_table(reports, title))
    n_different = differences(reports["ours"], reports["plain"])
    console.print("scikit-learn: transform(query) @ matrix.T; turned: matrix.T kept as CSR")
    console.print(f"queries answered otherwise than by the plain way: {n_different}")
    if n_different:
        sys.exit(1)


if __name__ == "__main__":
    main()
