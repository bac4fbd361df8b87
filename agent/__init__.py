"""The support agent: one bounded retrieval loop that answers, refuses, or says it found nothing."""
