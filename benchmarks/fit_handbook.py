"""Fit the handbook to the published scores again, after an edit of its text.

    python benchmarks/fit_handbook.py            prints the scores and the phrases to change
    python benchmarks/fit_handbook.py --write    changes them in the files

Four chunks carry the fit. For each there is a list of phrases that may stand for one another, the
best first; a search by simulated annealing picks one of each so that every published score is met
within `TOLERANCE`, with as few second-best phrases as it finds. See docs/golden-set.md.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
import textwrap
from collections import Counter

from agent.retrieval.corpus import HANDBOOK, read_corpus
from agent.retrieval.tokens import tokenize

TOLERANCE = 0.0003
"""Scores are published to three decimals; 0.0005 would be the edge of the rounding."""

OUTAGE = "What happens if my server goes down?"
GUARANTEE = "Larkspur outage availability guarantee and incident updates"
PUBLISHED = {
    "reboot": (OUTAGE, 0.416),
    "sizing": (OUTAGE, 0.389),
    "sla": (GUARANTEE, 0.470),
    "incidents": (GUARANTEE, 0.253),
}
PHRASES = {
    "reboot": [
        ("To restart a server,", "To restart your server,"),
        ("takes about one minute", "needs about one minute", "takes one minute"),
        ("cuts the power of the server for", "cuts its power for", "cuts the power for"),
        ("anything not saved is lost", "unsaved work is lost", "unsaved data is lost"),
        ("If the server still does not boot", "If it still does not boot"),
        ("to read its messages", "to read the boot messages"),
        ("start the server in rescue mode", "start it in rescue mode"),
        ("A restart is free", "Restarting a server is free", "Restarting it is free"),
        ("keeps the IP address and the disk", "keeps the IP address and all files"),
        ("Should the server crash again and again", "If it crashes again and again"),
        ("five seconds", "ten seconds"),
        ("check its logs and open a ticket", "check its logs or open a ticket"),
    ],
    "sizing": [
        ("depends on what the server does", "depends on its job", "depends on what it does"),
        ("a small website with", "a small site with"),
        ("To see how busy a server is", "To see how busy it is", "To see its load"),
        ("for the last 30 days", "of the last 30 days", "of the last month"),
        ("on ordinary days", "on normal days", "on usual days"),
        ("is bigger than necessary", "is larger than necessary", "is bigger than you need"),
        ("for each of these values", "for these values", "for all these values"),
        ("runs well on plan S", "runs well on a server of plan S", "is fine on plan S"),
        ("several sites with", "several websites with"),
        ("You can set email alerts", "Set email alerts", "Email alerts can be set"),
        ("where graphs show CPU load", "where you see CPU load", "which shows CPU load"),
        ("large databases or games", "large databases", "games or large databases"),
    ],
    "sla": [
        ("Larkspur gives an availability", "Larkspur has an availability"),
        ("so about 22 minutes", "so at most 22 minutes"),
        ("minutes of downtime per", "minutes of outage per"),
        ("Availability is measured", "Uptime is measured", "It is measured"),
        ("an outage begins with", "an outage starts with", "downtime begins with"),
        ("further 30 minutes of outage you", "further 30 minutes you"),
        ("within 30 days;", "within 30 days of the outage;", "within a month;"),
        ("it is taken off", "it is deducted from"),
        ("against the uptime guarantee", "against the guarantee", "as an outage", "against uptime"),
        ("in past months can be read", "in past months is shown", "last month can be read"),
    ],
    "incidents": [
        ("Every incident or disruption is", "Every incident is", "Every incident or outage is"),
        ("within 10 minutes of its discovery,", "within 10 minutes,"),
        ("so there you see all current problems", "so all current problems are listed there"),
        ("During an incident we", "During an incident or outage we"),
        ("until it is solved", "until it is resolved", "until it is over"),
        ("to get these updates by", "to get them by", "to get the updates by"),
        ("After a major incident we", "After a major outage we", "After a large incident we"),
        (
            "If you notice a problem that",
            "If you notice an outage that",
            "If you see a problem that",
        ),
        ("by urgent ticket", "by ticket", "in an urgent ticket"),
        ("Past incidents stay listed", "Past incidents are kept", "Old incidents stay listed"),
        ("inform you within 72 hours", "tell you within 72 hours"),
    ],
}
Choice = dict[str, tuple[int, ...]]


class Fit:
    """Scores of the fitted chunks as a function of the phrases chosen."""

    def __init__(self, chunks: dict[str, str]) -> None:
        self._count = len(chunks)
        self._df = Counter[str]()
        for anchor, text in chunks.items():
            if anchor not in PHRASES:
                self._df.update(set(tokenize(text)))
        self._text = {anchor: chunks[anchor] for anchor in PHRASES}
        self.start: Choice = {anchor: self._found(anchor) for anchor in PHRASES}
        self._counts: dict[tuple[str, tuple[int, ...]], Counter[str]] = {}

    def _found(self, anchor: str) -> tuple[int, ...]:
        """Return which phrase of each group the text has now."""
        text, found = self._text[anchor], []
        for group in PHRASES[anchor]:
            present = [i for i, phrase in enumerate(group) if text.count(phrase) == 1]
            if not present:
                sys.exit(f"{anchor}: none of {group} occurs once; correct PHRASES or the text")
            found.append(max(present, key=lambda i: len(group[i])))
        return tuple(found)

    def render(self, anchor: str, choice: tuple[int, ...]) -> str:
        """Return the chunk with the chosen phrases."""
        text = self._text[anchor]
        for group, old, new in zip(PHRASES[anchor], self.start[anchor], choice, strict=True):
            text = text.replace(group[old], group[new])
        return text

    def scores(self, choice: Choice) -> dict[str, float]:
        """Return each fitted chunk's cosine with its query: scikit-learn's default TF-IDF."""
        counts = {anchor: self._tokens(anchor, picked) for anchor, picked in choice.items()}
        df = self._df.copy()
        for count in counts.values():
            df.update(count.keys())
        idf = {word: math.log((1 + self._count) / (1 + n)) + 1 for word, n in df.items()}
        found = {}
        for anchor, count in counts.items():
            words = [word for word in tokenize(PUBLISHED[anchor][0]) if word in idf]
            length = math.hypot(*(n * idf[word] for word, n in count.items()))
            query = math.hypot(*(idf[word] for word in words))
            found[anchor] = sum(count[word] * idf[word] ** 2 for word in words) / length / query
        return found

    def _tokens(self, anchor: str, choice: tuple[int, ...]) -> Counter[str]:
        if (anchor, choice) not in self._counts:
            self._counts[anchor, choice] = Counter(tokenize(self.render(anchor, choice)))
        return self._counts[anchor, choice]


def errors(scores: dict[str, float]) -> dict[str, float]:
    return {anchor: score - PUBLISHED[anchor][1] for anchor, score in scores.items()}


def loss(fit: Fit, choice: Choice) -> float:
    """Grow with each error beyond the tolerance, a little with each second-best phrase."""
    beyond = [max(0.0, abs(e) - TOLERANCE) for e in errors(fit.scores(choice)).values()]
    second_best = sum(index > 0 for picked in choice.values() for index in picked)
    return 1000 * sum(beyond) + 0.02 * second_best


def search(fit: Fit, seed: int, steps: int = 12_000) -> tuple[float, Choice]:
    """Return the best choice of one annealing run, and its loss."""
    rng = random.Random(seed)
    slots = [(anchor, i) for anchor, groups in PHRASES.items() for i in range(len(groups))]
    now, now_loss = fit.start, loss(fit, fit.start)
    best, best_loss = now, now_loss
    for step in range(steps):
        heat = 5.0 * (1 - step / steps) ** 2 + 1e-6
        anchor, slot = rng.choice(slots)
        picked = list(now[anchor])
        picked[slot] = rng.randrange(len(PHRASES[anchor][slot]))
        new = {**now, anchor: tuple(picked)}
        new_loss = loss(fit, new)
        if new_loss < now_loss or rng.random() < math.exp((now_loss - new_loss) / heat):
            now, now_loss = new, new_loss
        if now_loss < best_loss:
            best, best_loss = now, now_loss
    return best_loss, best


def write(fit: Fit, choice: Choice) -> None:
    """Put the chosen text into the files, wrapped at 100 columns."""
    for path in HANDBOOK.glob("*.md"):
        text = path.read_text()
        for anchor, picked in choice.items():
            heading = re.search(rf"^## (.*) \{{#{anchor}\}}\n\n", text, re.M)
            if heading is None or picked == fit.start[anchor]:
                continue
            body = fit.render(anchor, picked).removeprefix(heading[1]).strip()
            wrapped = textwrap.fill(body, 100, break_on_hyphens=False, break_long_words=False)
            end = text.find("\n\n## ", heading.end())
            text = text[: heading.end()] + wrapped + (text[end:] if end >= 0 else "\n")
        path.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="change the handbook")
    parser.add_argument("--runs", type=int, default=6, help="annealing runs (default 6)")
    options = parser.parse_args()
    fit = Fit({chunk.id: chunk.text for chunk in read_corpus().chunks})
    _, best = min((search(fit, seed) for seed in range(options.runs)), key=lambda found: found[0])
    before, after = fit.scores(fit.start), fit.scores(best)
    for anchor, (_, published) in PUBLISHED.items():
        print(f"{anchor:10} now {before[anchor]:.4f}  fitted {after[anchor]:.4f}  {published:.3f}")
    for anchor, picked in best.items():
        for group, old, new in zip(PHRASES[anchor], fit.start[anchor], picked, strict=True):
            if old != new:
                print(f"{anchor}: {group[old]!r} -> {group[new]!r}")
    if max(map(abs, errors(after).values())) > TOLERANCE:
        sys.exit("no fit within the tolerance: add phrases, or more --runs")
    if options.write:
        write(fit, best)


if __name__ == "__main__":
    main()
