from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise, takewhile

import pytest

from agent.traffic.arrivals import PAUSE_SECONDS, Arrival, arrivals
from agent.traffic.mix import Day, Kind, Mix, read_mix

MIX = Mix(
    kinds=(
        Kind(name="alone", weight=3, conversations=(("a?",), ("b?",))),
        Kind(name="talks", weight=1, conversations=(("one?", "two?", "three?"),)),
    )
)


def first(count: int, *, mix: Mix = MIX, rate: float = 10.0, seed: int = 0) -> list[Arrival]:
    return list(islice(arrivals(mix, rate=rate, seed=seed), count))


def test_a_seed_gives_the_same_questions_at_the_same_times() -> None:
    assert first(200, seed=5) == first(200, seed=5)
    assert first(200, seed=5) != first(200, seed=6)


def test_times_grow_and_their_mean_is_the_rate() -> None:
    times = [arrival.at for arrival in first(5_000)]

    assert times == sorted(times)
    assert len(times) / times[-1] == pytest.approx(10.0, rel=0.05)


def test_gaps_are_those_of_a_poisson_process() -> None:
    times = [arrival.at for arrival in first(5_000)]
    gaps = [b - a for a, b in pairwise(times)]
    mean = sum(gaps) / len(gaps)
    spread = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5

    assert spread / mean == pytest.approx(1.0, rel=0.1)


def test_kinds_come_by_weight() -> None:
    seen = Counter(arrival.kind for arrival in first(4_000))

    assert seen["alone"] / 4_000 == pytest.approx(0.75, abs=0.03)


def test_the_rate_swings_over_a_day_and_keeps_its_mean() -> None:
    mix = Mix(kinds=MIX.kinds, day=Day(seconds=100, night=0.25))
    times = [a.at for a in takewhile(lambda a: a.at < 1_000, arrivals(mix, rate=10))]
    quarters = Counter(int(at % 100 // 25) for at in times)

    assert len(times) / 1_000 == pytest.approx(10, rel=0.05)
    assert quarters[0] > 1.8 * quarters[2]


def test_a_follow_up_comes_in_order_after_a_pause_in_its_own_thread() -> None:
    talks: dict[str, list[Arrival]] = {}
    for arrival in first(2_000):
        if arrival.thread_id is not None:
            talks.setdefault(arrival.thread_id, []).append(arrival)

    assert len(talks) > 50
    for talk in talks.values():
        assert [a.question for a in talk] == ["one?", "two?", "three?"][: len(talk)]
        assert all(b.at - a.at >= PAUSE_SECONDS for a, b in pairwise(talk))


def test_a_question_on_its_own_has_no_thread() -> None:
    assert {a.thread_id for a in first(200) if a.kind == "alone"} == {None}


def test_the_packaged_mix_asks_everything_it_holds() -> None:
    asked = {arrival.question for arrival in first(3_000, mix=read_mix())}
    held = {q for kind in read_mix().kinds for talk in kind.conversations for q in talk}

    assert asked == held
