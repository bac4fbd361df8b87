"""Two small sets of documents that have nothing to do with hosting."""

from __future__ import annotations

from agent.retrieval.tfidf import CorpusChunk


def _chunk(id_: str, title: str, text: str) -> CorpusChunk:
    return CorpusChunk(id=id_, text=f"{title}\n\n{text}", title=title)


BICYCLE_SHOP = (
    _chunk(
        "repairs",
        "Repairs and service",
        "We repair bicycles of every brand. A flat tyre is fixed while you wait for 15 euros, a "
        "full service with new brake pads and oiled chain costs 60 euros and takes two working "
        "days. Book an appointment for the workshop by phone or at the counter.",
    ),
    _chunk(
        "rental",
        "Renting a bicycle",
        "City bicycles can be rented for 12 euros a day, electric bicycles for 30 euros a day. "
        "Bring an identity card and leave a deposit of 50 euros. A lock and a helmet are included.",
    ),
    _chunk(
        "warranty",
        "Warranty",
        "New bicycles have a warranty of five years on the frame and two years on all other "
        "parts. Wear of tyres, chains and brake pads is not covered. Keep the receipt as proof.",
    ),
    _chunk(
        "opening",
        "Opening hours",
        "The shop is open from Tuesday to Saturday between 09:00 and 18:00. On Sundays and "
        "Mondays it is closed.",
    ),
    _chunk(
        "delivery",
        "Delivery",
        "We deliver a new bicycle to your home, assembled and ready to ride, for 25 euros within "
        "50 kilometres. Delivery takes three to five days.",
    ),
    _chunk(
        "tradein",
        "Trading in an old bicycle",
        "Bring your old bicycle when you buy a new one. We check it and take up to 20 percent off "
        "the new price, depending on its age and condition.",
    ),
)

LIBRARY = (
    _chunk(
        "card",
        "Library card",
        "Anybody who lives in the town gets a library card for 10 euros a year; children under 16 "
        "pay nothing. Apply at the desk with an identity card and proof of your address.",
    ),
    _chunk(
        "loans",
        "Borrowing and renewing",
        "Books may be kept for four weeks and films for one week. You can renew a loan twice, "
        "online or at the desk, unless another reader has reserved the item.",
    ),
    _chunk(
        "fines",
        "Overdue items",
        "An overdue book costs 20 cents a day, an overdue film 50 cents a day, up to 10 euros an "
        "item. A lost item must be replaced or paid for.",
    ),
    _chunk(
        "rooms",
        "Study rooms",
        "Study rooms for up to six people can be reserved on the website for two hours a day. "
        "Food is not allowed, drinks in closed bottles are.",
    ),
    _chunk(
        "printing",
        "Computers and printing",
        "Twelve computers with internet access are free to use. A printed page costs 10 cents in "
        "black and 40 cents in colour; scanning to a memory stick is free.",
    ),
    _chunk(
        "events",
        "Readings and story time",
        "Story time for children takes place every Wednesday at 15:00. Authors read from their "
        "books on the first Thursday of the month; no ticket is needed.",
    ),
)
