"""Errors of the memory, part of the tree in `agent/errors.py`.

AgentError
├── InvalidThreadError      invalid_thread      a thread id that cannot be used
├── ConversationBusyError   conversation_busy   its turn under way took too long to wait for
└── MemoryUnavailableError  memory_unavailable  the store cannot be reached
"""

from __future__ import annotations

from agent.errors import AgentError


class InvalidThreadError(AgentError):
    """A thread id with characters or a length that an id cannot have."""

    code = "invalid_thread"

    def __init__(self, problem: str, max_chars: int) -> None:
        super().__init__(
            f"the thread id cannot be used: {problem}; expected 1 to {max_chars} letters, digits "
            "or characters of '.', '_', '-', '~' and ':'. Leave it out to begin a conversation "
            "with an id of ours."
        )


class ConversationBusyError(AgentError):
    """Another turn of the same conversation did not end while this one could wait."""

    code = "conversation_busy"
    exit_code = 1

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the conversation is busy: got another turn under way for {seconds:.1f} s, expected "
            "it to end within the time limit of this one. Ask again when it is answered."
        )


class MemoryUnavailableError(AgentError):
    """The store of conversations does not answer; `problem` never quotes what is stored."""

    code = "memory_unavailable"
    exit_code = 1

    def __init__(self, shown: str, problem: str) -> None:
        super().__init__(
            f"conversations cannot be reached in {shown}: {problem}; expected a store that "
            "answers. Check that it runs and that LOOPSCOPE_MEMORY names it, and try again."
        )
