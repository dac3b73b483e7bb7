"""What ``offsets`` concludes, from its summary."""

from typing import Any

from service.core.printable import counted


def conclusion(summary: dict[str, Any]) -> str:
    """The first sentences: who falls behind, the lag, and what is not known of both."""
    committed, known, compared, behind, lag = (
        summary["partitions"][name] for name in ("committed", "with_lag", "with_trend", "falling_behind", "lag")
    )
    if not known:
        return f"Offsets are committed for {counted(committed, 'partition')}. No log end of them is known, and so no lag."
    sentences = [f"The lag is {counted(lag, 'record')} over {counted(known, 'partition')}"]
    if committed > known:
        sentences[0] += f"; that of {committed - known:,} more is not known, for want of a log end"
    if behind:
        sentences.insert(0, f"The lag of {behind:,} of {counted(compared, 'partition')} grows: consumers fall behind")
    elif compared:
        sentences.insert(0, f"None of {counted(compared, 'partition')} falls behind")
    else:
        sentences.append("Whether it grows is not known: that takes log ends of several times")
    return " ".join(f"{sentence}." for sentence in sentences)
