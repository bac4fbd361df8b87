from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from http_service import Script, client

from agent.http.buckets import SharedBuckets
from agent.http.errors import RateLimitedError
from agent.http.limits import Limits
from agent.http.rate import Rate


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def spent(rate: Rate, caller: str, times: int) -> int:
    """Ask so often and return how many questions were taken."""
    taken = 0
    for _ in range(times):
        try:
            rate.spend(caller)
        except RateLimitedError:
            break
        taken += 1
    return taken


@pytest.mark.parametrize("per_minute", [1, 3, 7, 60, 1_000])
def test_a_minutes_questions_may_come_at_once_and_no_more(per_minute: int) -> None:
    assert spent(Rate(per_minute, clock=Clock()), "ann", per_minute + 5) == per_minute


def test_one_more_is_due_after_its_share_of_the_minute() -> None:
    clock = Clock()
    rate = Rate(4, clock=clock)
    spent(rate, "ann", 4)
    clock.now += 14.9
    early = spent(rate, "ann", 1)
    clock.now += 0.2

    assert (early, spent(rate, "ann", 2)) == (0, 1)


def test_a_silent_minute_fills_the_bucket_but_not_above_its_rim() -> None:
    clock = Clock()
    rate = Rate(4, clock=clock)
    spent(rate, "ann", 4)
    clock.now += 3_600

    assert spent(rate, "ann", 9) == 4


def test_callers_have_buckets_of_their_own() -> None:
    rate = Rate(2, clock=Clock())
    spent(rate, "ann", 2)

    assert spent(rate, "bob", 9) == 2


def test_no_limit_takes_everything() -> None:
    assert spent(Rate(None), "ann", 10_000) == 10_000


def test_the_refusal_says_when_to_ask_again() -> None:
    rate = Rate(4, clock=Clock())
    spent(rate, "ann", 4)
    with pytest.raises(RateLimitedError) as refused:
        rate.spend("ann")

    assert (refused.value.headers, str(refused.value)) == (
        {"Retry-After": "15"},
        "asked too often: got more than 4 questions a minute, expected at most that from one "
        "caller. Ask again in 15 s.",
    )


ASKS = """
import sys
from pathlib import Path
from agent.http.buckets import SharedBuckets
from agent.http.errors import RateLimitedError
from agent.http.rate import Rate
rate, taken = Rate(100, SharedBuckets(Path(sys.argv[1])), clock=lambda: 1_000.0), 0
for _ in range(80):
    try:
        rate.spend("ann")
        taken += 1
    except RateLimitedError:
        pass
print(taken)
"""


def test_processes_that_share_a_file_take_a_minutes_questions_together(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ASKS, str(tmp_path / "rates")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    taken = [int(process.communicate(timeout=60)[0]) for process in both]

    assert sum(taken) == 100


def test_callers_have_times_of_their_own_in_a_shared_file_that_takes_little_room(
    tmp_path: Path,
) -> None:
    clock, path = Clock(), tmp_path / "rates"
    one, other = (Rate(3, SharedBuckets(path), clock=clock) for _ in range(2))
    taken = [spent(one, "ann", 2), spent(other, "ann", 2), spent(other, "bob", 4)]
    clock.now += 20
    taken.append(spent(one, "ann", 2))

    assert taken == [2, 1, 3, 1]
    assert path.stat().st_blocks * 512 <= 4 * 4_096
    assert path.stat().st_mode & 0o777 == 0o600


async def test_services_with_the_same_buckets_refuse_together(tmp_path: Path) -> None:
    path, limits = tmp_path / "rates", Limits(rate_per_minute=1)
    async with (
        client(Script(), limits=limits, buckets=SharedBuckets(path)) as one,
        client(Script(), limits=limits, buckets=SharedBuckets(path)) as other,
    ):
        replies = [await http.post("/ask", json={"question": "q?"}) for http in (one, other)]

    assert [reply.status_code for reply in replies] == [200, 429]
