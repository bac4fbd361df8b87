"""Several processes on one SQLite file: no turn is lost, and a killed one holds nobody up."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from talking import said, soon, turn

from agent.memory.errors import ConversationBusyError
from agent.memory.file_locks import FileLocks
from agent.memory.opening import open_memory
from agent.memory.thread import Thread

TURNS = 5
TALKS = """
import asyncio, sys
sys.path[:0] = sys.argv[3:]
from talking import turn
from agent.memory.opening import open_memory

async def main():
    async with open_memory(sys.argv[1]) as memory:
        for number in range(5):
            await turn(memory, f"{sys.argv[2]}{number}?")

asyncio.run(main())
"""
HOLDS = """
import asyncio, sys, time
from agent.memory.opening import open_memory
from agent.memory.thread import Thread

async def main():
    async with open_memory(sys.argv[1]) as memory:
        async with memory.turn(Thread(id="t"), time.monotonic() + 60):
            print("held", flush=True)
            await asyncio.sleep(60)

asyncio.run(main())
"""
FOLDERS = [str(Path(__file__).parent), str(Path(__file__).parents[1])]


def started(code: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


async def test_two_processes_take_turns_in_one_thread_and_none_is_lost(tmp_path: Path) -> None:
    path = str(tmp_path / "talks.sqlite")
    both = [started(TALKS, path, name, *FOLDERS) for name in "ab"]
    codes = [await asyncio.to_thread(process.wait, 60) for process in both]
    for process in both:
        process.communicate()
    async with open_memory(path) as memory:
        texts = await said(memory)

    assert codes == [0, 0]
    for name in "ab":
        asked = [text for text in texts[::2] if text.startswith(name)]
        assert asked == [f"{name}{number}?" for number in range(TURNS)]
    assert texts[1::2] == [f"re {question}" for question in texts[::2]]


async def test_a_turn_waits_for_another_process_and_goes_on_when_that_is_killed(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "talks.sqlite")
    other = started(HOLDS, path)
    try:
        assert other.stdout is not None
        await asyncio.to_thread(other.stdout.readline)
        async with open_memory(path) as memory:
            with pytest.raises(ConversationBusyError):
                await turn(memory, "one?", seconds=0.1)
            await turn(memory, "else?", thread=Thread(id="another"))
            waiting = asyncio.create_task(turn(memory, "two?"))
            await asyncio.sleep(0)
            other.kill()
            await waiting

            assert await said(memory) == ["two?", "re two?"]
    finally:
        other.kill()
        other.communicate()


async def test_a_lock_that_was_given_back_is_free_and_others_are_not_touched(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "talks.sqlite")
    async with open_memory(path) as memory:
        async with memory.turn(Thread(id="a"), soon()), memory.turn(Thread(id="b"), soon()):
            pass
        other = started(HOLDS.replace("asyncio.sleep(60)", "asyncio.sleep(0)"), path)
        told, _ = await asyncio.to_thread(other.communicate, None, 60)

    assert (told, other.returncode) == ("held\n", 0)


def test_where_the_locks_cannot_be_kept_is_told_by_the_system(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        FileLocks(tmp_path)
