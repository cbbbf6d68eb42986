"""A line plot as SVG, readable on light and dark ground, without a plotting package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
_DASHES = ("", "6 3", "2 3", "8 3 2 3")
_LEFT, _TOP, _WIDTH, _HEIGHT, _LEGEND = 50, 34, 520, 330, 210
_STYLE = (
    "text{font:12px sans-serif;fill:#222}.frame{stroke:#888;fill:none}.grid{stroke:#8884}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}}"
)


def line_plot(
    title: str,
    across: str,
    up: str,
    x: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    highest: float = 100.0,
) -> str:
    """Draw lines over a common axis.

    Args:
        title: above the plot.
        across: name of the horizontal axis.
        up: name of the vertical axis.
        x: at least two ascending places.
        lines: values by name, each as many as ``x``; colours repeat with other dashes.
        highest: upper end of the vertical axis, which starts at 0.
    """
    first, last = x[0], x[-1]

    def place(value: float, height: float) -> tuple[float, float]:
        right = _LEFT + _WIDTH * (value - first) / (last - first)
        return right, _TOP + _HEIGHT * (1 - height / highest)

    tall = max(_TOP + _HEIGHT + 45, _TOP + 18 * len(lines) + 10)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + _LEGEND} {tall}">',
        f"<style>{_STYLE}</style>",
        f'<text x="{_LEFT}" y="20">{escape(title)}</text>',
        f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}"/>',
    ]
    parts += _grid(first, last, highest)
    middle = _LEFT + _WIDTH / 2
    parts += [
        f'<text x="{middle:.0f}" y="{_TOP + _HEIGHT + 38}" text-anchor="middle">'
        f"{escape(across)}</text>",
        f'<text x="{_LEFT - 6}" y="{_TOP - 8}" text-anchor="end">{escape(up)}</text>',
    ]
    for number, (name, values) in enumerate(lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        dash = _DASHES[number // len(_COLOURS) % len(_DASHES)]
        stroke = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}" fill="none"'
        points = " ".join(
            "{:.1f},{:.1f}".format(*place(a, b)) for a, b in zip(x, values, strict=True)
        )
        key = _LEFT + _WIDTH + 12
        y = _TOP + 8 + 18 * number
        parts += [
            f'<polyline points="{points}" {stroke}/>',
            f'<line x1="{key}" x2="{key + 26}" y1="{y}" y2="{y}" {stroke}/>',
            f'<text x="{key + 32}" y="{y + 4}">{escape(name)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def _grid(first: float, last: float, highest: float) -> list[str]:
    """Six lines across with their levels, and six places below."""
    parts = []
    for step in range(6):
        y = _TOP + _HEIGHT * (1 - step / 5)
        right = _LEFT + _WIDTH * step / 5
        level, at = highest * step / 5, first + (last - first) * step / 5
        parts += [
            f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{level:.0f}</text>',
            f'<text x="{right:.1f}" y="{_TOP + _HEIGHT + 18}" text-anchor="middle">{at:.0f}</text>',
        ]
    return parts
