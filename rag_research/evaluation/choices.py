"""Words of a command line that choose from a list: ``ablations=[no_chunks,single_round]``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rag_research.errors import ConfigError, did_you_mean


def split_choices(
    words: Sequence[str], keys: Collection[str]
) -> tuple[dict[str, list[str]], list[str]]:
    """The chosen names by key, empty where nothing is chosen, and all other words.

    Args:
        words: of a command line.
        keys: which words are choices; the last one of a key wins.
    """
    chosen: dict[str, list[str]] = {key: [] for key in keys}
    others = []
    for word in words:
        key, _, names = word.partition("=")
        if key in chosen:
            chosen[key] = [n.strip() for n in names.strip("[]").split(",") if n.strip()]
        else:
            others.append(word)
    return chosen, others


def check_known(what: str, names: Collection[str], known: Collection[str]) -> None:
    """Every name is one of those known.

    Args:
        what: the key, for the message.
        names: chosen ones.
        known: what there is.

    Raises:
        ConfigError: a name is not.
    """
    for name in names:
        if name not in known:
            raise ConfigError(
                f"{what}: there is no {name!r}.{did_you_mean(name, known)} "
                f"Known: {', '.join(known)}."
            )
