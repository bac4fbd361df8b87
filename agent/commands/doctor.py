"""`loopscope doctor`: every hop of telemetry checked with a golden question as the turn sent."""

from __future__ import annotations

from agent.compose import Composition
from agent.settings import Settings
from telemetry.cli import doctor_command
from telemetry.doctor import SentTurn

FLUSH_SECONDS = 2.0


def _send_turn() -> SentTurn:
    """Ask the first golden question through the whole of telemetry, and wait for its export.

    It asks the handbook, whatever documents are set: only of it do we know what comes out.
    """
    composition = Composition(Settings(model="golden", docs=None, index=None, golden=None))
    export = composition.set_up_export()
    answer = composition.default_agent.answer(composition.golden.questions[0].question)
    export.release()
    export.flush(FLUSH_SECONDS)
    return SentTurn(outcome=answer.outcome, trace_id=answer.trace_id)


doctor = doctor_command(_send_turn)
