"""The diagnosis guide: every failure of a rewrite loop, written once; all else is generated.

The first five and the no-results jump are the published guide of the lesson this project comes
from; the others watch what those signals depend on. In texts, `<name>` stands for a setting.
Times and limits without another source were chosen by us; `why` gives the reason.
"""

from __future__ import annotations

from typing import Final

from dashboards import shares
from dashboards.conditions import Burns, Either, Exceeds, Happened, Rises, Share
from dashboards.failure import Alert, Failure, Panel
from dashboards.special_conditions import (
    FellSilent,
    Flipped,
    NoRoom,
    ProberGone,
    Unanswered,
    Vanished,
)
from telemetry import names

_MINUTE: Final = 60.0
_HOUR: Final = 3600.0


def _ask(query: str) -> str:
    return f"promtool query instant \"$PROMETHEUS\" '{query}'"


def _gained(metric: str, *labels: str, where: str = "") -> str:
    by = ", ".join(("<by>", *labels))
    return _ask(f"sum by ({by}) (increase({metric}{where}[<window_medium>]))")


_TURNS_BY_END: Final = _gained(
    names.TURNS, names.LABEL_OUTCOME, names.LABEL_RETRIEVED, names.LABEL_LAST_GRADE
)
_BUILDS: Final = _ask(names.BUILD_INFO)
_DEPLOYED: Final = "Somebody runs a load test or replays one question again and again."

SILENT_REJECTION: Final = Failure(
    slug="silent_rejection",
    title="Silent rejection",
    sentence="The topic check refuses on-topic questions, and no search is made for them.",
    hurts="Customers with good questions get the off-topic reply and leave.",
    alerts=(
        Alert(
            tier="page",
            condition=Rises(signal=shares.REJECTED, margin=shares.PAGE),
            pending_seconds=2 * _MINUTE,
            keep_seconds=15 * _MINUTE,
            summary="{service} refuses at least {value} of its turns as off topic, without a "
            "search: far more than usual",
            why="Customers are refused now. The three windows find a total refusal within minutes "
            "on a busy site and within hours on one with a question every ten minutes.",
        ),
        Alert(
            tier="ticket",
            condition=Rises(signal=shares.REJECTED, margin=shares.TICKET),
            pending_seconds=5 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service} refuses at least {value} of its turns as off topic, without a "
            "search: more than usual",
            why="A part of the on-topic questions is refused: a phrasing, a language, a subject.",
        ),
    ),
    panel=Panel(id=101, title="Refused before any search", unit="share"),
    meaning="The off-topic share rose well above its usual level, and those turns have no "
    "retrieval. A refused question leaves no trace in retrieval logs, so the share is the only "
    "sign. Off-topic replies *after* a retrieval are not counted here.",
    diagnosis=(
        "Read a sample of the refused questions (turn records, if content capture is on): are "
        "they about the documents?",
        "Compare the verdicts by confidence: many refusals with LOW confidence mean an unsure "
        "topic check.",
        "Look for a change of model, prompt or version at the time the share rose.",
        "Ask a few golden on-topic questions by hand; each must reach a search.",
    ),
    mitigation=(
        "Roll the topic check's model or prompt back.",
        "Until then, run without the topic check: off-topic questions then cost a full loop each, "
        "but nobody is refused.",
        "For good: ask back on LOW confidence instead of refusing, and add the refused phrasings "
        "to the golden set.",
    ),
    false_causes=(
        "The audience changed: a link from an unrelated site, a bot, a campaign.",
        "One visitor sends many off-topic questions; on a quiet site that moves the share.",
        _DEPLOYED,
    ),
    commands=(
        _gained(names.TOPIC_CHECKS, names.LABEL_CLASSIFICATION, names.LABEL_CONFIDENCE),
        _BUILDS,
        'loopscope ask "How do I cancel my plan?" --json',
    ),
    traces=f'{{ span.{names.RAG_OUTCOME} = "{names.OFF_TOPIC}" && '
    f"span.{names.RAG_RETRIEVALS} = 0 }}",
    consequences=("probe_flipped",),
)

RUNAWAY_LOOP: Final = Failure(
    slug="runaway_loop",
    title="Runaway rewrite loop",
    sentence="Turns end in the graph's recursion limit instead of a reply.",
    hurts="Each such customer waits for the longest and most expensive turn and gets no answer.",
    alerts=(
        Alert(
            tier="page",
            condition=Burns(
                events=shares.RECURSION_ERRORS,
                total=shares.TURNS,
                what="turns that hit the recursion limit",
                out_of="turns",
                budget="loop_budget",
            ),
            keep_seconds=10 * _MINUTE,
            summary="{service}: {value} of its turns hit the recursion limit and got no reply",
            why="Each is a lost reply, so an error budget fits. Two windows: the long one says it "
            "matters, the short one that it still goes on.",
        ),
        Alert(
            tier="ticket",
            condition=Happened(
                events=shares.RECURSION_ERRORS, what="turns that hit the recursion limit"
            ),
            keep_seconds=_HOUR,
            summary="{service}: {value} turn(s) hit the recursion limit",
            why="With a bound in the state this never happens: one case proves a fault. No waiting "
            "time, since the event already happened.",
        ),
    ),
    panel=Panel(id=102, title="Turns that hit the recursion limit", unit="share"),
    meaning="The loop has no exit of its own that is taken: a counter that is missing, reset in "
    "the wrong place or not looked at. The recursion limit is the backstop that caught it. "
    "Model calls grow with that limit.",
    diagnosis=(
        "Open a trace: which nodes repeat, and does the attempt number grow?",
        "Check that the rewrites of the turn are counted in the state and reset once a turn.",
        "Check the router: is the exit reachable when no chunk passes?",
        "See whether the recursion limit is below what the bound needs: then it is "
        "`recursion_limit_low`.",
    ),
    mitigation=(
        "Roll back to the version before the graph was edited.",
        "Lower the recursion limit, so that each runaway turn costs less.",
        "For good: a counter in the state for each question, the limit as backstop only, and a "
        "router test with the counter at its bound.",
    ),
    false_causes=("A graph with a legitimate turn longer than its limit: raise the limit.",),
    commands=(
        _gained(names.RECURSION_ERRORS, names.LABEL_GRAPH),
        _ask(
            f"{names.RECURSION_LIMIT_GAUGE} - on (<by>, graph, instance) "
            f"{names.RECURSION_STEPS_NEEDED}"
        ),
        "loopscope graph",
    ),
    traces=f'{{ span.{names.RAG_OUTCOME} = "{names.RECURSION_LIMIT}" }}',
    consequences=("synonym_swap", "rewrite_drift", "latency_objective", "turn_errors"),
)

BUDGET_CHECKED_FIRST: Final = Failure(
    slug="budget_checked_first",
    title="Budget checked before the evidence",
    sentence="A turn says that nothing was found although its last grading passed a chunk.",
    hurts="The answer was retrieved and paid for, and the customer does not get it.",
    alerts=(
        Alert(
            tier="page",
            condition=Share(
                events=shares.DISCARDED,
                total=shares.NO_RESULTS,
                what="no-results replies right after a passing grade",
                out_of="no-results replies",
                limit="misplaced_page",
            ),
            keep_seconds=30 * _MINUTE,
            summary="{service}: {value} of its no-results replies came right after a passing grade",
            why="It happens on every question that is found on the last attempt; no waiting time.",
        ),
        Alert(
            tier="ticket",
            condition=Happened(
                events=shares.DISCARDED, what="no-results replies right after a passing grade"
            ),
            keep_seconds=_HOUR,
            summary="{service}: {value} no-results reply(s) came right after a passing grade",
            why="A fault of logic: one case proves it.",
        ),
    ),
    panel=Panel(id=103, title="No-results replies after a passing grade", unit="count"),
    meaning="After grading, the router looks at the used-up rewrites before it looks at the "
    "grades. A hit on the last retrieval is thrown away.",
    diagnosis=(
        "Open a trace: the last grading passed a chunk, the next node is the no-results one.",
        "Read the router: its first check must be the grades.",
        "Look for a change of version at the time it began.",
    ),
    mitigation=(
        "Roll back to the version before the router was edited.",
        "Raising the bound hides some cases and costs calls on every question; do not.",
        "For good: evidence first, then budget; and a router test with a passing chunk at the "
        "bound.",
    ),
    false_causes=("The counter-example router was switched on for a game day.",),
    commands=(
        _TURNS_BY_END,
        _gained(names.ROUTES, names.LABEL_ROUTER, names.LABEL_ROUTE),
        'loopscope ask "What happens if my server goes down?" --model golden --json',
    ),
    traces=f"{{ span.{names.RAG_BUDGET_FIRST} = true }}",
    consequences=("no_results_jump",),
)

SYNONYM_SWAP: Final = Failure(
    slug="synonym_swap",
    title="Synonym swap",
    sentence="Rewrites retrieve the same chunks at the same scores as before.",
    hurts="Calls and waiting time are spent on attempts that cannot find anything new.",
    alerts=(
        Alert(
            tier="ticket",
            condition=Exceeds(signal=shares.SWAPPED, limit="swap_ticket"),
            pending_seconds=15 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service}: at least {value} of its rewrites change nothing in what is found",
            why="It costs money and time, it is no outage: never a page.",
        ),
    ),
    panel=Panel(id=104, title="Rewrites by what they changed", unit="share"),
    meaning="The rewriter finds other words, but none of the documents' words, so the search "
    "sees the same query. A rewrite that matched nothing both times is not counted: that is a gap "
    "in the documents, not a fault of the rewriter.",
    diagnosis=(
        "Open traces with swaps and compare the query of each attempt with the words of the "
        "chunk that should have been found.",
        "Compare attempts: swaps on attempt 2 and later mean that the rewriter repeats itself.",
        "Look for a change of the rewriting prompt or model.",
    ),
    mitigation=(
        "Give the rewriter the documents' vocabulary (headings, the index's terms) in its prompt.",
        "Do not raise the bound: it buys more attempts of the same kind.",
        "Lower the bound where the second attempt finds nothing new.",
    ),
    false_causes=(
        "A very small corpus, where few chunks can be found at all.",
        "A retriever with a cache keyed on meaning, which returns the cached result.",
    ),
    commands=(
        _gained(names.REWRITES, names.LABEL_EFFECT, names.LABEL_ATTEMPT),
        _BUILDS,
        'loopscope ask "What happens if my server goes down?" --json',
    ),
    traces=f"{{ span.{names.RAG_SYNONYM_SWAPS} > 0 }}",
    consequences=("no_results_jump",),
)

REWRITE_DRIFT: Final = Failure(
    slug="rewrite_drift",
    title="Drift across rewrites",
    sentence="Later rewrites no longer ask the customer's question.",
    hurts="The customer gets the answer to another question, or none.",
    alerts=(
        Alert(
            tier="page",
            condition=Exceeds(signal=shares.ANSWERED_AFTER_DRIFT, limit="drift_page"),
            pending_seconds=2 * _MINUTE,
            keep_seconds=30 * _MINUTE,
            summary="{service}: at least {value} of its answers come from a search that had "
            "drifted from the question",
            why="An answer to another question is worse than none: it looks right. A few such "
            "answers are usual, so that three in an hour prove nothing: a share, not a count.",
        ),
        Alert(
            tier="ticket",
            condition=Exceeds(signal=shares.DRIFTED, limit="drift_ticket"),
            pending_seconds=15 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service}: at least {value} of its later rewrites have drifted from the "
            "question",
            why="Most drifted searches end without an answer: a cost before it is a wrong reply.",
        ),
    ),
    panel=Panel(id=105, title="Answers from a search that had drifted", unit="share"),
    meaning="Each rewrite reads the last one instead of the question, and the distance adds up. "
    "Measured as the similarity of a rewrite to the standalone question, from the second rewrite "
    "of a turn on.",
    diagnosis=(
        "Open traces of drifted turns and read the queries in order: where does the subject "
        "change?",
        "Check what the rewriter reads: the original question, or only the current query?",
        "See whether the grader judges chunks against the original question; if not, it passes "
        "chunks for the wrong one.",
    ),
    mitigation=(
        "Rewrite from the original question, or show it beside the current query.",
        "Grade against the original question, never against a rewrite.",
        "Lower the bound to one rewrite until that is done.",
    ),
    false_causes=(
        "Questions in a language or a jargon that the similarity model does not know.",
        "A change of the similarity model: compare the distributions before and after.",
    ),
    commands=(
        _ask(
            f"histogram_quantile(0.5, sum by (<by>, {names.LABEL_ATTEMPT}, le) "
            f"(rate({names.REWRITE_SIMILARITY}_bucket[<window_medium>])))"
        ),
        _gained(names.ANSWERED_AFTER_DRIFT, names.LABEL_GRAPH),
        "loopscope lab",
    ),
    traces=f"{{ span.{names.RAG_DRIFTED} = true }}",
    consequences=("no_results_jump", "synonym_swap"),
)

NO_RESULTS_JUMP: Final = Failure(
    slug="no_results_jump",
    title="No-results jump",
    sentence="Many more turns than usual search and find no answer.",
    hurts="Customers are told that the documents hold no answer, often wrongly.",
    alerts=(
        Alert(
            tier="page",
            condition=Rises(signal=shares.NOT_FOUND, margin=shares.PAGE),
            pending_seconds=2 * _MINUTE,
            keep_seconds=15 * _MINUTE,
            summary="{service}: at least {value} of its searches end without an answer, far more "
            "than usual",
            why="A large part of the customers gets no answer now.",
        ),
        Alert(
            tier="ticket",
            condition=Rises(signal=shares.NOT_FOUND, margin=shares.TICKET),
            pending_seconds=5 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service}: at least {value} of its searches end without an answer, more than "
            "usual",
            why="A moderate rise; a gap in the documents shows like this.",
        ),
        Alert(
            tier="page",
            cause="change",
            condition=Rises(signal=shares.NOT_FOUND, margin=shares.TICKET, after_change=True),
            pending_seconds=2 * _MINUTE,
            keep_seconds=15 * _MINUTE,
            summary="{service}: at least {value} of its searches end without an answer, more than "
            "usual, right after a change",
            why="A change explains the rise, so a smaller one is enough to act on. An alert of its "
            "own, not a label: a label that changes while firing would resolve the alert.",
            diagnosis=(
                "Compare the builds before and after: index, prompt, grader, model or version?",
            ),
        ),
        Alert(
            tier="ticket",
            cause="index",
            condition=Either(
                of=(
                    Rises(signal=shares.EMPTY, margin=shares.TICKET),
                    Rises(signal=shares.WEAK, margin=shares.TICKET),
                )
            ),
            pending_seconds=5 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service}: at least {value} of what it retrieves matches hardly or not at "
            "all, more than usual",
            why="The search itself got worse: nothing came back, or chunks that hardly match. That "
            "points at the index, not at the grader.",
            diagnosis=(
                "Count the chunks of the index and compare with the documents.",
                "Search for a heading word for word; its chunk must come first.",
            ),
        ),
        Alert(
            tier="ticket",
            cause="grader",
            condition=Rises(
                signal=shares.GRADED_OUT,
                margin=shares.GRADER_TICKET,
                unless=(shares.EMPTY, shares.WEAK),
            ),
            pending_seconds=5 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service}: its grader fails at least {value} of the first chunks, more than "
            "usual, though they match as well as before",
            why="Chunks match as before and are refused: the grader became stricter. Only first "
            "retrievals count, since a bad rewriter also makes chunks fail.",
            diagnosis=(
                "Grade golden pairs of question and chunk by hand with the current grader.",
                "Compare the scores of passed and failed chunks with last week's.",
            ),
        ),
    ),
    panel=Panel(id=106, title="Searches without an answer", unit="share"),
    meaning="The no-results share lists the documents' gaps. A jump, above all one after a change, "
    "points at the index or at the grader instead. The alerts with a cause say which.",
    diagnosis=(
        "See which alert with a cause fires: `index`, `grader` or `change`.",
        "Look at the list of unanswered questions: one new subject means a gap in the documents, "
        "all subjects mean a fault.",
        "Ask golden questions that were answered before.",
    ),
    mitigation=(
        "Roll back what changed: index, grader prompt, grader model or version.",
        "Rebuild the index from the documents when chunks are missing.",
        "For a real gap: add the missing page, then ask its questions again.",
    ),
    false_causes=(
        "A new subject that many ask about and no document covers, such as an incident.",
        "Documents were removed on purpose.",
        _DEPLOYED,
    ),
    commands=(
        _BUILDS,
        _ask(
            f"histogram_quantile(0.5, sum by (<by>, {names.LABEL_GRADE}, le) "
            f"(rate({names.CHUNK_SCORE}_bucket[<window_medium>])))"
        ),
        _gained(names.GRADES_GIVEN, names.LABEL_GRADE, names.LABEL_ATTEMPT),
    ),
    traces=f'{{ span.{names.RAG_OUTCOME} = "{names.NO_RESULTS}" }}',
    consequences=("synonym_swap", "rewrite_drift", "probe_flipped"),
)

ANSWERED_WITHOUT_EVIDENCE: Final = Failure(
    slug="answered_without_evidence",
    title="Answered without evidence",
    sentence="A turn answers although its last grading passed no chunk.",
    hurts="Customers get answers that no document supports.",
    alerts=(
        Alert(
            tier="page",
            condition=Share(
                events=shares.UNFOUNDED,
                total=shares.ANSWERS,
                what="answers right after a failing grade",
                out_of="answers",
                limit="misplaced_page",
            ),
            keep_seconds=30 * _MINUTE,
            summary="{service}: {value} of its answers came right after a failing grade",
            why="The mirror of the budget checked first, and worse: such an answer looks right.",
        ),
        Alert(
            tier="ticket",
            condition=Happened(events=shares.UNFOUNDED, what="answers right after a failing grade"),
            keep_seconds=_HOUR,
            summary="{service}: {value} answer(s) came right after a failing grade",
            why="A fault of logic: one case proves it.",
        ),
    ),
    panel=Panel(id=107, title="Answers after a failing grade", unit="count"),
    meaning="The router reaches the answering node although every chunk of the last grading "
    "failed: a wrong path map, a stale grade in the state, or an exit that answers from memory.",
    diagnosis=(
        "Open a trace: which node came between the last grading and the answer?",
        "Check that the router reads the grades of the last attempt, not of an earlier one.",
        "Look for a change of version at the time it began.",
    ),
    mitigation=(
        "Roll back to the version before the router was edited.",
        "For good: a router test with failing chunks at the bound and below it.",
    ),
    false_causes=("A graph that may answer from general knowledge: give that exit another role.",),
    commands=(
        _TURNS_BY_END,
        _gained(names.ROUTES, names.LABEL_ROUTER, names.LABEL_ROUTE),
        "loopscope graph",
    ),
    traces=f'{{ span.{names.RAG_OUTCOME} = "{names.ANSWERED}" }} '
    f"&& {{ span.{names.RAG_GRADE_PASSED} = 0 }}",
)

TWO_ENDS: Final = Failure(
    slug="two_ends",
    title="Turn with two ends",
    sentence="Nodes of two terminal roles run in one turn, such as a refusal and an answer.",
    hurts="Which reply the customer gets is chance, and the other one is paid for as well.",
    alerts=(
        Alert(
            tier="ticket",
            condition=Happened(
                events=shares.TWO_ENDS, what="turns in which two terminal nodes ran"
            ),
            keep_seconds=_HOUR,
            summary="{service}: in {value} turn(s) two terminal nodes ran",
            why="A fault of logic: one case proves it. Never a page: the customer gets a reply.",
        ),
    ),
    panel=Panel(id=124, title="Turns in which two terminal nodes ran", unit="count"),
    meaning="Two paths of the graph were taken at once: most often a node returns a jump "
    "(`Command`) while an ordinary edge still leads on from it. The turn is counted under one "
    "outcome, so the shares of answers and refusals hide it.",
    diagnosis=(
        "Open a trace: which two nodes ended the turn, and after which node did the paths part?",
        "Look at that node: it must have a jump, a conditional edge or plain edges, only one of "
        "the three.",
        "Look for a change of version at the time it began.",
    ),
    mitigation=(
        "Roll back to the version before the graph was edited.",
        "For good: one way of routing for each node, and a test that asks one question for each "
        "end and counts the terminal nodes.",
    ),
    false_causes=(
        "A role was given to a node that ends nothing, such as a draft that another node sends: "
        "give it no role, or the role `revise`.",
    ),
    commands=(
        _gained(names.TERMINAL_CONFLICTS, names.LABEL_GRAPH),
        _gained(names.ROUTES, names.LABEL_ROUTER, names.LABEL_ROUTE),
        "loopscope graph",
    ),
    traces=f"{{ span.{names.RAG_CONFLICT} = true }}",
)

REVISE_AT_CAP: Final = Failure(
    slug="revise_at_cap",
    title="Revise loop always at the cap",
    sentence="Most answers use up all their drafts, and none of them passes its critique.",
    hurts="Each such answer costs the whole cap, and the customer gets the best draft with a "
    "warning.",
    alerts=(
        Alert(
            tier="ticket",
            condition=Exceeds(signal=shares.AT_CAP, limit="cap_ticket"),
            pending_seconds=15 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service}: at least {value} of its revise loops use up their drafts",
            why="Hard questions reach the cap; when more than half of all do, the critic passes "
            "nothing or the drafts do not get better. Customers get a reply: never a page.",
        ),
    ),
    panel=Panel(id=119, title="Revise loops that used up their drafts", unit="share"),
    meaning="The cap ends the loop instead of a passing score. A bad input costs the cap every "
    "time; here nearly all inputs do.",
    diagnosis=(
        "See whether scores rise: if not, `score_not_rising` says where to look.",
        "Read a sample of critiques: does the critic ask for what the documents do not hold?",
        "Look for a change of the critic's prompt or model, or of the pass score.",
    ),
    mitigation=(
        "Roll the critic's prompt or model back.",
        "Until then, switch the loop off: `LOOPSCOPE_REVISE=false` answers with one call.",
        "For good: a stronger model for the second draft, and a critic measured on golden answers.",
    ),
    false_causes=(
        "A subject of which the documents hold only a part.",
        "A cap of two drafts, which a loop reaches with a single revision.",
    ),
    commands=(
        _gained(names.LOOP_ENDS_TOTAL, names.LABEL_LOOP, names.LABEL_END),
        _gained(names.REVISIONS, names.LABEL_LOOP, names.LABEL_EFFECT),
        'loopscope ask "How do I cancel my plan?" --revise --json',
    ),
    traces=f'{{ span.{names.RAG_LOOP_END} = "{names.AT_CAP}" }}',
    consequences=("latency_objective",),
)

SCORE_NOT_RISING: Final = Failure(
    slug="score_not_rising",
    title="Score does not rise",
    sentence="Revised drafts score no better than the drafts before them.",
    hurts="Calls and waiting time are spent on drafts that are no better than the first.",
    alerts=(
        Alert(
            tier="ticket",
            condition=Exceeds(signal=shares.NOT_RISEN, limit="flat_ticket"),
            pending_seconds=15 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service}: at least {value} of its revised drafts score no better",
            why="A revision that does not help is the revise loop's synonym swap: a cost, no "
            "outage.",
        ),
    ),
    panel=Panel(id=120, title="Revisions that scored no better", unit="share"),
    meaning="The second draft repeats the first, or mends one thing and breaks another. A draft "
    "that never reads its critique is just another first draft.",
    diagnosis=(
        "Open a trace with two drafts: did the second one change what the critique names?",
        "Check that the reviser is given the last draft and its critique.",
        "See whether the same model drafts, judges and revises.",
    ),
    mitigation=(
        "Escalate instead of repeating: `LOOPSCOPE_REVISE_MODEL` names a stronger model for all "
        "drafts after the first.",
        "Lower the cap by `LOOPSCOPE_REVISE_BUDGET_TOKENS` until revisions help.",
    ),
    false_causes=(
        "A critic with few levels, which sees no difference between two drafts.",
        "Few revisions, all of hard questions: most first drafts pass.",
    ),
    commands=(
        _gained(names.REVISIONS, names.LABEL_LOOP, names.LABEL_EFFECT),
        _BUILDS,
        'loopscope ask "How do I cancel my plan?" --revise --json',
    ),
    traces=f'{{ span.{names.RAG_CRITIQUE_EFFECT} = "{names.SCORE_NOT_RISEN}" }}',
    consequences=("revise_at_cap", "latency_objective"),
)

STALE_CRITIQUE: Final = Failure(
    slug="stale_critique",
    title="Stale critique",
    sentence="A revised draft stands beside the critique of an earlier one.",
    hurts="The next draft mends what was mended already, and the real fault stays in the answer.",
    alerts=(
        Alert(
            tier="ticket",
            condition=Exceeds(signal=shares.STALE, limit="stale_ticket"),
            pending_seconds=15 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service}: at least {value} of its revised drafts stand beside an old "
            "critique",
            why="A critic that appends, or does not write, shows in every later draft. A few equal "
            "notes for different drafts prove nothing: a share, not a count.",
        ),
    ),
    panel=Panel(id=121, title="Revisions beside an old critique", unit="share"),
    meaning="The critique in the state was appended instead of replaced, or not written at all: it "
    "sends the next draft in the direction of the last one.",
    diagnosis=(
        "Open a trace: do the critiques grow from draft to draft, or stay the same?",
        "Check the channel of the critique in the state: a reducer that adds keeps old notes.",
        "See what the critic's node writes when its model gives no verdict.",
    ),
    mitigation=(
        "Roll back to the version before the state or the critic was edited.",
        "For good: replace the critique in the state, also by an empty one.",
    ),
    false_causes=("A critic with fixed sentences that says the same of different drafts.",),
    commands=(
        _gained(names.REVISIONS, names.LABEL_LOOP, names.LABEL_EFFECT),
        _BUILDS,
        "loopscope graph --revise",
    ),
    traces=f'{{ span.{names.RAG_CRITIQUE_EFFECT} = "{names.STALE_CRITIQUE}" }}',
    consequences=("score_not_rising", "revise_at_cap", "latency_objective"),
)

PROBE_FLIPPED: Final = Failure(
    slug="probe_flipped",
    title="Known questions come out wrong",
    sentence="Known questions come out unlike expected, round after round of the prober.",
    hurts="Customers who ask such questions are refused, find nothing or read a wrong answer.",
    alerts=(
        Alert(
            tier="page",
            condition=Flipped(),
            keep_seconds=10 * _MINUTE,
            summary="{service}: {value} known question(s) came out unlike expected twice in a row",
            why="The right result is known, so that no statistics are needed: it tells a "
            "regression within two rounds, also where nobody asks. No waiting time, since both "
            "rounds are over.",
        ),
    ),
    panel=Panel(id=122, title="Known questions unlike expected", unit="count"),
    meaning="`loopscope probe` asks the golden set on a schedule. A question that used to be "
    "answered is refused, finds nothing, is answered from another chunk (`wrong_chunk`), or gets "
    "no answer at all (`error`).",
    diagnosis=(
        "See what came of them: `off_topic` points at the topic check, `no_results` and "
        "`wrong_chunk` at the index or the grader, `error` at the service or the probe key.",
        "Run one round by hand: it says what each question should be and what it was.",
        "Look for a change of version, index, prompt, grader or model at the first wrong round.",
        "Open the trace of such a probe: which node decided otherwise?",
    ),
    mitigation=(
        "Roll back what changed.",
        "When the documents changed on purpose, correct the golden set and start the prober again.",
        "When every question gets `error`, follow the runbook of absent metrics or turn errors.",
    ),
    false_causes=(
        "The documents say something else now, and the golden set does not know it yet.",
        "The prober runs with another golden set than the service's documents have.",
        "The probe key was changed on one side only.",
    ),
    commands=(
        _ask(f"max by (<by>, {names.LABEL_QUESTION_ID}) ({names.PROBE_UNEXPECTED}) > 0"),
        _gained(names.PROBES, names.LABEL_QUESTION_ID, names.LABEL_EXPECTED, names.LABEL_GOT),
        'loopscope probe --url "$SERVICE" --rounds 1',
    ),
    traces=f'{{ span.{names.SYNTHETIC_TYPE} = "{names.SYNTHETIC_TEST}" }}',
)

PROBE_ABSENT: Final = Failure(
    slug="probe_absent",
    title="Prober absent",
    sentence="The service is not probed any more.",
    hurts="On a quiet site a regression is noticed by its customers first.",
    alerts=(
        Alert(
            tier="ticket",
            condition=ProberGone(),
            pending_seconds=10 * _MINUTE,
            keep_seconds=10 * _MINUTE,
            summary="Nobody probes {service} any more",
            why="A prober that is gone finds nothing, which looks like health. Silent where nobody "
            "ever probed. The waiting time outlasts a restart.",
        ),
    ),
    panel=Panel(id=123, title="Services that lost their prober", unit="count"),
    meaning="`loopscope probe` has stopped, or is scraped no more, or under another job than its "
    "service.",
    diagnosis=(
        "See whether its process runs, and what it said last.",
        "Look at Prometheus' target page: the prober is a target of its service's job.",
    ),
    mitigation=(
        "Start it again, or correct the scrape configuration.",
        "A prober removed on purpose: silence the alert; it ends by itself after <memory>.",
    ),
    false_causes=("A prober that was moved or removed on purpose.",),
    commands=(
        _ask("up"),
        _ask(f"time() - max by (<by>) (last_over_time({names.PROBE_LAST_ROUND}[<memory>]))"),
        'loopscope probe --url "$SERVICE" --rounds 1',
    ),
    traces=f'{{ span.{names.SYNTHETIC_TYPE} = "{names.SYNTHETIC_TEST}" }}',
)

METRICS_ABSENT: Final = Failure(
    slug="metrics_absent",
    title="Metrics absent",
    sentence="The service is not scraped any more.",
    hurts="Nobody is warned of anything else; the service itself may be down.",
    alerts=(
        Alert(
            tier="page",
            condition=Vanished(),
            pending_seconds=10 * _MINUTE,
            summary="No metrics from {service_or_any}: it is down, or not scraped",
            why="The only rule that speaks about missing data; all others stay silent then. The "
            "waiting time outlasts a restart.",
        ),
    ),
    panel=Panel(id=108, title="Services scraped", unit="count"),
    meaning="The build information, which every running service exports, is gone: the target is "
    "down, was removed, or renamed.",
    diagnosis=(
        "Ask the service's health address; if it answers, the fault is between it and Prometheus.",
        "Look at Prometheus' target page: the error of the last scrape says why.",
        "See whether the job was renamed or removed in the scrape configuration.",
    ),
    mitigation=(
        "Restart the service, or correct the scrape configuration.",
        "A job removed on purpose: silence the alert; it ends by itself after <memory>.",
    ),
    false_causes=("A job removed or renamed on purpose.", "Prometheus lost its network."),
    commands=(
        _ask("up"),
        _ask(f"count by (<by>) (last_over_time({names.BUILD_INFO}[<memory>]))"),
        'curl --fail --silent --show-error "$SERVICE/metrics" | head -5',
    ),
    traces=f'{{ span.{names.OPERATION_NAME} = "{names.OPERATION_TURN}" }}',
)

TRAFFIC_STOPPED: Final = Failure(
    slug="traffic_stopped",
    title="Traffic stopped",
    sentence="The service runs, but no turn ends any more.",
    hurts="Customers may not reach it at all, and no share can rise without turns.",
    alerts=(
        Alert(
            tier="ticket",
            condition=FellSilent(events=shares.TURNS),
            pending_seconds=5 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service} had no turn for a stretch that used to be busy",
            why="Silence is not health. More than <traffic_expected> turns in the same stretch a "
            "period ago make an empty one by chance as good as impossible.",
        ),
    ),
    panel=Panel(id=109, title="Turns", unit="count"),
    meaning="No turn was finished in a stretch that held many a period ago. Either no question "
    "arrives, or turns start and never end.",
    diagnosis=(
        f"Look at `{names.OPEN_TURNS}`: above 0 and still means that turns hang.",
        "Ask a question by hand through the public address.",
        "Check what stands before the service: widget, gateway, login.",
    ),
    mitigation=(
        "Restore the way to the service.",
        "Restart a replica whose turns hang; then look at its model's timeouts.",
    ),
    false_causes=(
        "A holiday, or a shop that closed earlier than a period ago.",
        "Traffic was moved to another job on purpose.",
    ),
    commands=(
        _ask(f"sum by (<by>) ({names.OPEN_TURNS})"),
        _gained(names.TURNS, names.LABEL_OUTCOME),
        'curl --fail --silent --show-error "$SERVICE/healthz"',
    ),
    traces=f'{{ span.{names.OPERATION_NAME} = "{names.OPERATION_TURN}" }}',
)

RECURSION_LIMIT_LOW: Final = Failure(
    slug="recursion_limit_low",
    title="Recursion limit leaves no room",
    sentence="The graph's step limit would cut off the longest turn that its own bound allows.",
    hurts="The customers with the hardest questions get no reply, as soon as one comes.",
    alerts=(
        Alert(
            tier="ticket",
            condition=NoRoom(),
            pending_seconds=5 * _MINUTE,
            summary="{service}: the recursion limit is not above what the rewrite bound needs",
            why="It finds the cause before a customer does.",
        ),
    ),
    panel=Panel(id=110, title="Recursion limit and steps needed", unit="count"),
    meaning="The bound on rewrites was raised, or a node was added, and the recursion limit was "
    "not. The longest legitimate turn will end in an error.",
    diagnosis=(
        "Compare the two gauges, graph by graph.",
        "Find where the limit is set: the run's config beats the graph's default.",
    ),
    mitigation=(
        "Derive the limit from the bound instead of writing a number.",
        "Until then, raise the limit or lower the bound.",
    ),
    false_causes=("A bound that is never reached in practice; the limit is wrong all the same.",),
    commands=(
        _ask(names.RECURSION_LIMIT_GAUGE),
        _ask(names.RECURSION_STEPS_NEEDED),
        _ask(names.REWRITE_BUDGET),
    ),
    traces=f'{{ span.{names.RAG_OUTCOME} = "{names.RECURSION_LIMIT}" }}',
    consequences=("runaway_loop",),
)

SPANS_DROPPED: Final = Failure(
    slug="spans_dropped",
    title="Spans or records dropped",
    sentence="Telemetry gives up on spans, events or turn records.",
    hurts="Links from a panel to a trace lead nowhere just when they are needed.",
    alerts=(
        Alert(
            tier="ticket",
            condition=Happened(
                events=shares.DROPPED,
                what="spans, events or records that were dropped",
                window="window_short",
            ),
            pending_seconds=5 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service} dropped {value} spans, events or records",
            why="Answers are not hurt: the queue drops rather than waits. A window above the "
            "waiting time lets a single drop tell.",
        ),
    ),
    panel=Panel(id=111, title="Dropped by telemetry", unit="count"),
    meaning="The exporter's queue is full or its receiver refuses: the collector is down, slow, or "
    "wrongly addressed; or the record store cannot be written.",
    diagnosis=(
        "See which signal is dropped: spans and events go to the collector, records to a database.",
        "Read the service's log for the exporter's own error.",
        "Ask the collector's health address from the service's network.",
    ),
    mitigation=(
        "Restart or scale the collector; the service recovers by itself.",
        "For records: free disk space, or correct the database address.",
    ),
    false_causes=("A collector that was restarted for an upgrade.",),
    commands=(
        _gained(names.TELEMETRY_DROPPED, names.LABEL_SIGNAL),
        _gained(names.TELEMETRY_ERRORS, names.LABEL_WHERE),
        'curl --fail --silent --show-error "$SERVICE/healthz"',
    ),
    traces=f'{{ span.{names.OPERATION_NAME} = "{names.OPERATION_TURN}" }}',
    consequences=("telemetry_errors",),
)

TELEMETRY_ERRORS_FAILURE: Final = Failure(
    slug="telemetry_errors",
    title="Telemetry fails",
    sentence="Code that observes the graph raised an error of its own.",
    hurts="Turns are answered as before, but some of them are counted or traced wrongly.",
    alerts=(
        Alert(
            tier="ticket",
            condition=Happened(events=shares.TELEMETRY_ERRORS, what="failures inside telemetry"),
            pending_seconds=5 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service}: telemetry failed {value} time(s)",
            why="The graph never sees it, so nothing else would tell.",
        ),
    ),
    panel=Panel(id=112, title="Failures inside telemetry", unit="count"),
    meaning="A reader, an exporter or a hook of ours raised. The turn went on; what it would have "
    "recorded is missing or incomplete.",
    diagnosis=(
        "See where it failed; the service's log has the first error of each place with its trace.",
        "A reader fails when a node's update has another shape than it expects.",
    ),
    mitigation=(
        "Give the graph a reader that fits its state.",
        "Report the traceback; it holds no text of customers unless content capture is on.",
    ),
    false_causes=("A redaction hook of your own that raises.",),
    commands=(
        _gained(names.TELEMETRY_ERRORS, names.LABEL_WHERE),
        _BUILDS,
        _gained(names.TELEMETRY_DROPPED, names.LABEL_SIGNAL),
    ),
    traces=f'{{ span.{names.OPERATION_NAME} = "{names.OPERATION_TURN}" }}',
    consequences=("spans_dropped",),
)

MODEL_ERRORS: Final = Failure(
    slug="model_errors",
    title="Model errors",
    sentence="Calls of the chat model fail.",
    hurts="Turns end in an apology, or go on without their checks.",
    alerts=(
        Alert(
            tier="page",
            condition=Exceeds(signal=shares.MODEL_FAILED, limit="error_page"),
            pending_seconds=2 * _MINUTE,
            keep_seconds=15 * _MINUTE,
            summary="{service}: at least {value} of its model calls fail",
            why="A turn makes several calls; at this share few turns end well.",
        ),
        Alert(
            tier="ticket",
            condition=Exceeds(signal=shares.MODEL_FAILED, limit="error_ticket"),
            pending_seconds=5 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service}: at least {value} of its model calls fail",
            why="Retries still hide most of it from customers, at the price of time.",
        ),
    ),
    panel=Panel(id=113, title="Model calls that fail", unit="share"),
    meaning="The provider is down, limits the rate, refuses the key, or does not answer in time. "
    "A call that is made again counts each time.",
    diagnosis=(
        "Look at the provider's status page and at the account's limits.",
        "Open traces of failing calls: their `error.type` tells timeout from refusal.",
        "See which model and role the failures belong to.",
    ),
    mitigation=(
        "Switch to another model or provider.",
        "Lower the rewrite bound, so that each turn makes fewer calls.",
        "Raise the account's limit, or renew the key.",
    ),
    false_causes=("One caller with requests that are too long for the model.",),
    commands=(
        _gained(
            f"{names.OPERATION_DURATION}_count", names.LABEL_REQUEST_MODEL, names.LABEL_ERROR_TYPE
        ),
        _gained(names.JUDGEMENT_FAILURES, names.LABEL_ROLE, names.LABEL_REASON),
        'loopscope ask "How do I cancel my plan?" --json',
    ),
    traces=f'{{ span.{names.OPERATION_NAME} = "{names.OPERATION_CHAT}" && status = error }}',
    consequences=("turn_errors", "latency_objective", "synonym_swap", "probe_flipped"),
)

JUDGEMENT_FAILURES: Final = Failure(
    slug="judgement_failures",
    title="Replies that are no verdict",
    sentence="The topic check, the grader or the critic gets replies that state no verdict.",
    hurts="Turns go on unchecked: off-topic questions are searched, ungraded chunks and drafts are "
    "used.",
    alerts=(
        Alert(
            tier="ticket",
            condition=Exceeds(signal=shares.UNJUDGED, limit="error_ticket"),
            pending_seconds=5 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service}: at least {value} of the replies to its checks, grades and "
            "critiques are no verdict",
            why="The agent goes on without the verdict, so nothing fails visibly.",
        ),
    ),
    panel=Panel(id=114, title="Replies that are no verdict", unit="share"),
    meaning="The model answered in time, but not in the form that was asked for: unreadable, "
    "ambiguous, refused, cut off or empty. Calls that failed are counted as model errors instead.",
    diagnosis=(
        "See the reason: `unparsed` points at the prompt or a changed model, `truncated` at the "
        "token limit, `refused` at a content filter.",
        "Look for a change of model: the same name may have become another model.",
    ),
    mitigation=(
        "Pin the model's version, or roll it back.",
        "Use a model that supports structured output.",
        "Raise the token limit for judgements.",
    ),
    false_causes=("A visitor who tries to talk the model out of its task, again and again.",),
    commands=(
        _gained(names.JUDGEMENT_FAILURES, names.LABEL_ROLE, names.LABEL_REASON),
        _BUILDS,
        'loopscope ask "How do I cancel my plan?" --json',
    ),
    traces=f'{{ name = "{names.EVENT_EVALUATION}" }} || '
    f'{{ span.{names.RAG_ROLE} =~ "{"|".join(names.JUDGING_ROLES)}" }}',
    consequences=("synonym_swap",),
)

RETRIEVER_ERRORS: Final = Failure(
    slug="retriever_errors",
    title="Retriever errors",
    sentence="Searches raise an error.",
    hurts="Each such turn ends in an apology.",
    alerts=(
        Alert(
            tier="page",
            condition=Exceeds(signal=shares.SEARCH_FAILED, limit="error_page"),
            pending_seconds=2 * _MINUTE,
            keep_seconds=15 * _MINUTE,
            summary="{service}: at least {value} of its searches fail",
            why="A failed search ends its turn.",
        ),
        Alert(
            tier="ticket",
            condition=Exceeds(signal=shares.SEARCH_FAILED, limit="error_ticket"),
            pending_seconds=5 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service}: at least {value} of its searches fail",
            why="Some customers get an apology.",
        ),
    ),
    panel=Panel(id=115, title="Searches that fail", unit="share"),
    meaning="The vector store or search service is down, slow or refuses the request. An empty "
    "result is not an error and not counted here.",
    diagnosis=(
        "Ask the search service's health address.",
        "Open a trace of a failing search: its `error.type` names the exception.",
        "Look for a change of the index or of credentials.",
    ),
    mitigation=(
        "Restart or roll back the search service.",
        "Switch to the last index that worked.",
    ),
    false_causes=("Queries that are too long for the search service.",),
    commands=(
        _gained(names.RETRIEVALS, names.LABEL_RESULT, names.LABEL_ATTEMPT),
        _gained(names.NODE_ERRORS, names.LABEL_NODE, names.LABEL_ERROR_TYPE),
        _BUILDS,
    ),
    traces=f'{{ span.{names.OPERATION_NAME} = "{names.OPERATION_RETRIEVAL}" && status = error }}',
    consequences=("turn_errors", "latency_objective", "probe_flipped"),
)

TURN_ERRORS: Final = Failure(
    slug="turn_errors",
    title="Turns end in errors",
    sentence="Turns end in an error, whatever its cause.",
    hurts="Each such customer gets an apology instead of a reply.",
    alerts=(
        Alert(
            tier="page",
            condition=Exceeds(signal=shares.TURN_FAILED, limit="error_page"),
            pending_seconds=2 * _MINUTE,
            keep_seconds=15 * _MINUTE,
            summary="{service}: at least {value} of its turns end in an error",
            why="The net under all other rules: it needs no known cause.",
        ),
        Alert(
            tier="ticket",
            condition=Exceeds(signal=shares.TURN_FAILED, limit="error_ticket"),
            pending_seconds=5 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service}: at least {value} of its turns end in an error",
            why="As above, for a part of the turns.",
        ),
    ),
    panel=Panel(id=116, title="Turns that end in an error", unit="share"),
    meaning="A node raised, or a model call that a turn cannot do without failed. When model or "
    "retriever errors fire as well, those name the cause.",
    diagnosis=(
        "See which node raises which error.",
        "Open a trace of a failed turn: the last node's span carries the exception's type.",
        "Look for a change of version at the time it began.",
    ),
    mitigation=(
        "Roll back to the version before.",
        "Follow the runbook of model or retriever errors when they fire.",
    ),
    false_causes=("A client that cancels is not counted; one that sends broken input may be.",),
    commands=(
        _gained(names.NODE_ERRORS, names.LABEL_NODE, names.LABEL_ERROR_TYPE),
        _gained(names.TURNS, names.LABEL_OUTCOME),
        _BUILDS,
    ),
    traces=f'{{ span.{names.RAG_OUTCOME} = "{names.ERROR}" }}',
    consequences=("probe_flipped",),
)

LATENCY_OBJECTIVE: Final = Failure(
    slug="latency_objective",
    title="Latency objective missed",
    sentence="More turns than allowed take longer than the objective.",
    hurts="Customers wait, ask again, or leave.",
    alerts=(
        Alert(
            tier="page",
            condition=Exceeds(signal=shares.SLOW, limit="latency_page"),
            pending_seconds=5 * _MINUTE,
            keep_seconds=15 * _MINUTE,
            summary="{service}: at least {value} of its turns take longer than <latency_seconds> s",
            why="A share above a fixed limit rather than a burn rate: with an objective of 95 % "
            "the usual burn factors would ask for 72 % slow turns before they page.",
        ),
        Alert(
            tier="ticket",
            condition=Exceeds(signal=shares.SLOW, limit="latency_ticket"),
            pending_seconds=15 * _MINUTE,
            keep_seconds=_HOUR,
            summary="{service}: at least {value} of its turns take longer than <latency_seconds> s",
            why="The objective is surely missed in one of the windows.",
        ),
    ),
    panel=Panel(id=117, title="Turn duration", unit="seconds"),
    meaning="Turns take longer than <latency_seconds> s: slow model calls, a slow search, or more "
    "attempts a turn.",
    diagnosis=(
        "Compare the nodes: is one slower, or do turns run more of them?",
        "Compare model calls a turn with last week's: more rewrites mean a loop failure, not a "
        "slow part.",
        "Look at the provider's latency by model.",
    ),
    mitigation=(
        "Switch to a faster model for the topic check and the grader.",
        "Lower the rewrite bound; unanswerable questions always pay all of it.",
        "Grade a retrieval's chunks at the same time.",
    ),
    false_causes=("A cold start after a deployment.", "A load test."),
    commands=(
        _ask(
            f"histogram_quantile(0.95, sum by (<by>, {names.LABEL_NODE}, le) "
            f"(rate({names.NODE_DURATION}_bucket[<window_medium>])))"
        ),
        _ask(
            f"histogram_quantile(0.95, sum by (<by>, {names.LABEL_REQUEST_MODEL}, le) "
            f"(rate({names.OPERATION_DURATION}_bucket[<window_medium>])))"
        ),
        _ask(
            f"sum by (<by>) (rate({names.LLM_CALLS_PER_TURN}_sum[<window_medium>])) / "
            f"sum by (<by>) (rate({names.LLM_CALLS_PER_TURN}_count[<window_medium>]))"
        ),
    ),
    traces=f'{{ span.{names.OPERATION_NAME} = "{names.OPERATION_TURN}" && '
    "duration > <latency_seconds>s }",
)

DATASOURCE_DOWN: Final = Failure(
    slug="datasource_down",
    title="Data source does not answer",
    sentence="Grafana cannot ask Prometheus, so that its own rules say nothing.",
    hurts="Nobody is warned of anything by Grafana.",
    alerts=(
        Alert(
            tier="page",
            condition=Unanswered(),
            pending_seconds=5 * _MINUTE,
            summary="Grafana cannot query its Prometheus data source",
            why="Every other rule keeps its last state when a query fails, so that a restart of "
            "Prometheus does not raise all of them; this one tells.",
        ),
    ),
    panel=Panel(id=118, title="Rules that fail", unit="count"),
    meaning="A query of a constant failed for several minutes: Prometheus is down, unreachable "
    "from Grafana, or the data source's uid is not the one the rules were generated with.",
    diagnosis=(
        "Test the data source in Grafana: Connections, Data sources, Save & test.",
        "Compare its uid with `<prometheus_uid>`, which the rules use.",
    ),
    mitigation=(
        "Restart Prometheus, or correct the address.",
        "Generate again with `--prometheus-uid` when the uid is another one.",
    ),
    false_causes=("Prometheus replays a long write-ahead log after a restart.",),
    commands=(
        'curl --fail --silent --show-error "$PROMETHEUS/-/ready"',
        _ask("vector(1)"),
        'curl --silent --show-error "$GRAFANA/api/health"',
    ),
    traces=f'{{ span.{names.OPERATION_NAME} = "{names.OPERATION_TURN}" }}',
    hosts=("grafana",),
)

FAILURES: Final[tuple[Failure, ...]] = (
    SILENT_REJECTION,
    RUNAWAY_LOOP,
    BUDGET_CHECKED_FIRST,
    SYNONYM_SWAP,
    REWRITE_DRIFT,
    NO_RESULTS_JUMP,
    ANSWERED_WITHOUT_EVIDENCE,
    TWO_ENDS,
    REVISE_AT_CAP,
    SCORE_NOT_RISING,
    STALE_CRITIQUE,
    PROBE_FLIPPED,
    METRICS_ABSENT,
    TRAFFIC_STOPPED,
    PROBE_ABSENT,
    RECURSION_LIMIT_LOW,
    SPANS_DROPPED,
    TELEMETRY_ERRORS_FAILURE,
    MODEL_ERRORS,
    JUDGEMENT_FAILURES,
    RETRIEVER_ERRORS,
    TURN_ERRORS,
    LATENCY_OBJECTIVE,
    DATASOURCE_DOWN,
)
"""The guide, in the order of its pages: what customers notice first, then the watch on the rest."""

RETIRED_UIDS: Final[tuple[str, ...]] = ()
"""Uids of Grafana rules that no longer exist, without the prefix: Grafana deletes a rule only when
told to, and a uid is never used again. When you remove an alert, add its uid here."""
