"""One picture per family: heed's and its peers' share of the roof, in plots of the points that differ in one number."""

import matplotlib.pyplot as plt

import points
import verdict
from report import plots as style

X_KEYS = {"decode": "keys", "chunk": "queries", "prefill": "keys", "call": None, "dot": "D", "softmax": "keys",
          "scores": "keys", "weighted_sum": "keys"}
COLUMNS = 4
COLOURS = {verdict.HEED: style.BEST, verdict.PANELS: "#7fb0e0"}
PEER_COLOURS = ("#d9730d", "#1b8a6b", "#8a4fb0", "#a6761d", "#c2528b", "#6f7782", "#3a9fbf", "#7a9a01", "#bb3e03",
                "#5e548e", "#2a9d8f", "#9d0208", "#606c38", "#4361ee")


def families(results):
    """(family, SVG) of each family that was measured."""
    names = list(dict.fromkeys(name for point in results["points"] for name in verdict.seconds_of(point)))
    peers = [name for name in names if verdict.is_peer(name)]
    colours = {**COLOURS, **{name: PEER_COLOURS[i % len(PEER_COLOURS)] for i, name in enumerate(peers)}}
    for family in points.FAMILIES:
        found = [p for p in results["points"] if _family(p) == family and verdict.seconds_of(p).get(verdict.HEED)]
        if found:
            yield family, _picture(family, found, colours)


def _family(point):
    title = verdict.title_of(point)
    return next(family for family in points.FAMILIES if title.startswith(family + "_"))


def _split(family, name):
    """A point's name as (the plot that it belongs to, its place on the axis)."""
    parts = name.split("/")
    key = X_KEYS[family]
    x = next((part for part in parts if part.startswith(f"{key}=")), None)
    return " ".join(part for part in parts if part != x), int(x.split("=")[1]) if x else None


def _picture(family, found, colours):
    plots = {}
    for point in found:
        title, x = _split(family, point["name"])
        plots.setdefault((title, point["threads"]), []).append((x or 1, point))
    lines = -(-len(plots) // COLUMNS)
    figure, grid = plt.subplots(lines, COLUMNS, figsize=(4.2 * COLUMNS, 3.1 * lines), squeeze=False)
    shown = {}
    for axes, ((title, threads), places) in zip(grid.flat, plots.items()):
        _draw(axes, sorted(places, key=lambda place: place[0]), colours, shown)
        axes.set_title(f"{title}, {threads} thread{'s' * (threads > 1)}", fontsize=7.5, loc="left")
        axes.set_xlabel(X_KEYS[family] or "", fontsize=8)
    for axes in list(grid.flat)[len(plots):]:
        axes.remove()
    for axes in grid[:, 0]:
        axes.set_ylabel("share of heed's roof, %")
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.55 / figure.get_figheight()))
    figure.legend(shown.values(), shown.keys(), loc="upper center", ncol=min(len(shown), 8), fontsize=8)
    return style.svg(figure)


def _draw(axes, places, colours, shown):
    """A line per contestant through the medians, a thin bar from minimum to maximum; the roof at 100 %."""
    for name, colour in colours.items():
        x, middle, low, high = [], [], [], []
        for place, point in places:
            share = verdict.spread(_shares(point, name))
            if share:
                x.append(place)
                for values, key in ((middle, "median"), (low, "min"), (high, "max")):
                    values.append(100 * share[key])
        if x:
            own = not verdict.is_peer(name)
            axes.vlines(x, low, high, color=colour, linewidth=1, alpha=0.6)
            shown[name], = axes.plot(x, middle, color=colour, marker="o" if own else ".", markersize=5,
                                     linewidth=2.2 if own else 1.1, zorder=3 if own else 2)
    shown["the roof"] = axes.axhline(100, color=style.ROOF, linewidth=1.8, linestyle="--")
    axes.set_ylim(0, max(108, axes.get_ylim()[1]))
    style.length_axis(axes, sorted({place for place, _ in places}))
    axes.tick_params(labelsize=8)


def _shares(point, name):
    """As of heed; a peer's samples against the median roof beside heed's."""
    if not verdict.is_peer(name):
        return verdict.shares(point, name)
    roofs = [roofs for run in point["runs"] for roofs in run["roofs"].values()]
    if not roofs:
        return []
    middle = {key: verdict.median(each[key] for each in roofs) for key in ("peak", "bandwidth")}
    return [verdict.roofline_seconds(point, middle) / s for s in verdict.seconds_of(point).get(name, {}).values()]
