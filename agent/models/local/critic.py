"""The critic and the reviser: is a draft quoted from the passages, and does it say enough of them.

Both see a draft as sentences. A sentence is supported when a passage states it word for word; how
much a draft answers is the share of the question that it covers, of what the passages cover.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from agent.models.local.corpus import Corpus, Passage
from agent.models.local.lexicon import Lexicon
from agent.models.local.passages import split_chunk
from agent.models.local.understanding import View
from agent.models.local.words import words

FULL: Final = 0.9
"""Share of what the passages cover of a question with which a draft answers fully."""
PARTIAL: Final = 0.4
"""The same for partly. Both chosen by us."""
MAX_SENTENCES: Final = 5
"""Sentences of a revised draft; chosen by us, two more than a first one has."""
_CITATION: Final = re.compile(r"\s*\[([^\[\]]+)\]\s*")


def critique(
    view: View, passages: Sequence[Passage], draft: str, lexicon: Lexicon
) -> dict[str, str]:
    """Return the verdict on a draft in the words of the critic's form.

    Args:
        view: The question.
        passages: What the draft may use.
        draft: Text with citations `[id]`.
        lexicon: Tells what sentences speak of.
    """
    sentences = _sentences(draft)
    stated = _stated(passages)
    false = [text for text in sentences if _key(text) not in stated]
    cited = _CITATION.findall(draft)
    unknown = [id_ for id_ in cited if id_ not in {passage.id for passage in passages}]
    covered, possible = _coverage(view, sentences, lexicon), _coverage(view, stated, lexicon)
    share = covered / possible if possible else 0.0
    faults = len(false) + len(unknown)
    notes = [f"No piece states: {false[0]}"] if false else []
    notes += [f"No piece has the id {unknown[0]}."] if unknown else []
    notes += [] if share >= FULL else [f"It says {share:.0%} of what the pieces hold on it."]
    return {
        "supported": _supported(len(sentences), faults),
        "answers": "fully" if share >= FULL else "partly" if share >= PARTIAL else "no",
        "note": " ".join(notes) or "none",
    }


def revised(view: View, passages: Sequence[Passage], draft: str, lexicon: Lexicon) -> str:
    """Return a draft with the supported sentences of the last one and those that it lacked.

    Sentences are added while they cover more of the question, up to `MAX_SENTENCES` in all.
    """
    stated = _stated(passages)
    chosen = [key for key in map(_key, _sentences(draft)) if key in stated]
    possible = _coverage(view, stated, lexicon)
    while len(chosen) < MAX_SENTENCES and _coverage(view, chosen, lexicon) < FULL * possible:
        left = [key for key in stated if key not in chosen]
        if not left:
            break
        best = max(left, key=lambda key: _coverage(view, [*chosen, key], lexicon))
        if _coverage(view, [*chosen, best], lexicon) <= _coverage(view, chosen, lexicon):
            break
        chosen.append(best)
    parts = []
    for passage in passages:
        quoted = [text for text in split_chunk(passage.text)[1] if _key(text) in chosen]
        if quoted:
            parts.append(f"{' '.join(quoted)} [{passage.id}]")
    return " ".join(parts)


def _supported(sentences: int, faults: int) -> str:
    if not sentences:
        return "none"
    if not faults:
        return "all"
    return "none" if faults >= sentences else "most" if faults == 1 else "some"


def _sentences(draft: str) -> list[str]:
    """Return the sentences of a draft without its citations."""
    texts = _CITATION.split(draft)[::2]
    return [sentence for text in texts if text.strip() for sentence in split_chunk(text)[1]]


def _stated(passages: Sequence[Passage]) -> list[str]:
    """Return the folded sentences of all passages, each once."""
    found = [_key(text) for passage in passages for text in split_chunk(passage.text)[1]]
    return list(dict.fromkeys(found))


def _key(sentence: str) -> str:
    """Return a sentence as it is compared: its words, folded."""
    return " ".join(words(sentence))


class _Text:
    """Sentences as one passage."""

    id = "draft"

    def __init__(self, sentences: Sequence[str]) -> None:
        self.text = "\n\n".join(f"- {sentence}" for sentence in sentences)


def _coverage(view: View, sentences: Sequence[str], lexicon: Lexicon) -> float:
    """Return the share of the question that the sentences speak of, 0 to 1."""
    if not sentences:
        return 0.0
    match = Corpus([_Text(sentences)], lexicon).match(view.match.reading, view.match.weights)
    total = float(match.weights.sum())
    best = match.sentences.max(axis=1, initial=0.0)
    return float(match.weights @ best) / total if total else 1.0
