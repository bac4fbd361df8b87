"""What the documents lack: the questions that found nothing, grouped by what they ask."""
