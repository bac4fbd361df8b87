"""Conversations between turns: LangGraph checkpointers in memory, in SQLite, in PostgreSQL."""
