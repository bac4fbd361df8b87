from __future__ import annotations

import pytest

from agent.models.local.chat import LocalChat

QUESTION = "What does plan M cost and how long do you keep backups?"
PLANS = "Plans\n\nPlan M costs 12 euros a month. It has 2 cores."
BACKUPS = "Backups\n\nWe keep backups for 14 days. They are made every night."
CHUNKS = [{"id": "plans", "text": PLANS}, {"id": "backups", "text": BACKUPS}]
WHOLE = "Plan M costs 12 euros a month. [plans] We keep backups for 14 days. [backups]"


def criticised(chat: LocalChat, draft: str) -> dict[str, str]:
    reply = chat.reply("critique", {"question": QUESTION, "chunks": CHUNKS, "draft": draft})
    assert isinstance(reply, dict)
    return reply


@pytest.mark.parametrize(
    ("draft", "supported", "answers", "note"),
    [
        pytest.param(WHOLE, "all", "fully", "none", id="quoted-and-whole-passes"),
        pytest.param(
            "We keep backups for 14 days. [backups]", "all", "partly", "It says",
            id="half-of-it-is-partly",
        ),
        pytest.param(
            f"{WHOLE} Backups are free.", "most", "fully", "No piece states: Backups are free.",
            id="one-statement-of-its-own",
        ),
        pytest.param(
            "Plan M costs 12 euros a month [promo].", "none", "partly",
            "No piece has the id promo.", id="an-invented-source",
        ),
        pytest.param("It rains.", "none", "no", "No piece states: It rains.", id="nothing-of-it"),
    ],
)  # fmt: skip
def test_a_draft_is_judged_by_what_the_pieces_state(
    handbook_chat: LocalChat, draft: str, supported: str, answers: str, note: str
) -> None:
    found = criticised(handbook_chat, draft)

    assert (found["supported"], found["answers"]) == (supported, answers)
    assert note in found["note"]


@pytest.mark.parametrize(
    "draft",
    [
        pytest.param("We keep backups for 14 days. [backups]", id="what-is-missing-is-added"),
        pytest.param(f"Backups are free. {WHOLE}", id="what-nobody-states-is-left-out"),
    ],
)
def test_a_revision_is_better_than_its_draft(handbook_chat: LocalChat, draft: str) -> None:
    data = {"question": QUESTION, "chunks": CHUNKS, "draft": draft, "critique": "see above"}
    revised = handbook_chat.reply("revise", data)

    assert revised == WHOLE
    assert criticised(handbook_chat, draft) != criticised(handbook_chat, WHOLE)
