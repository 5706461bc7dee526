"""What the samples say: ratios to the peers, shares of the roof, where a peer is faster. Needed while measuring, too."""

from statistics import geometric_mean, median

CLOSE = 1.05  # points where the fastest peer takes less than this times heed's time are measured again
NEAR_BEST = 1.25  # and with it the peers that take at most this times its time
LEAST_PAIRS = 7
MOST_SHARE = 1.03
HEED, PANELS = "heed", "heed_panels"


def is_peer(name):
    return name not in (HEED, PANELS)


def best_peer(seconds):
    """The peer with the least median time, or None."""
    timed = {name: median(each.values()) for name, each in seconds.items() if is_peer(name) and each}
    return min(timed, key=timed.get, default=None)


def close_peers(seconds):
    """Whom to measure again: nobody, if heed is clearly faster than all."""
    best = best_peer(seconds)
    if best is None or not seconds[HEED] or median(seconds[best].values()) >= CLOSE * median(seconds[HEED].values()):
        return []
    most = NEAR_BEST * median(seconds[best].values())
    return [name for name, each in seconds.items() if is_peer(name) and each and median(each.values()) <= most]


def seconds_of(point):
    """{peer: {round: seconds}} of the last run that a peer was in: the second one, where there is one, decides."""
    return {name: each for run in point["runs"] for name, each in run["seconds"].items()}


def spread(values):
    values = list(values)
    return {"median": median(values), "min": min(values), "max": max(values), "count": len(values)} if values else None


def ratios(point, name, over=HEED):
    """A peer's time over heed's, in the rounds of a run that have both: how many times as fast heed is."""
    for run in reversed(point["runs"]):
        heed, peer = run["seconds"].get(over, {}), run["seconds"].get(name, {})
        both = [peer[r] / heed[r] for r in heed if r in peer]
        if both:
            return both
    return []


def roofline_seconds(point, roofs):
    return max(point["operations"] / roofs["peak"], point["bytes"] / roofs["bandwidth"])


def shares(point, name):
    """Roofline time over the time of heed or of its panels, by the roofs that stood beside heed's samples."""
    run = next((run for run in reversed(point["runs"]) if run["seconds"].get(name)), None)
    if run is None:
        return []
    return [roofline_seconds(point, run["roofs"][r]) / seconds
            for r, seconds in run["seconds"][name].items() if r in run["roofs"]]


def beats_roof(point):
    """Faster than the probes beside it: they were too weak, or the machine changed."""
    return any(median(found) > MOST_SHARE for found in (shares(point, HEED), shares(point, PANELS)) if found)


def bound(point):
    """What the roof is made of at this point."""
    roofs = next(iter(point["runs"][-1]["roofs"].values()), None) if point["runs"] else None
    if roofs is None:
        return None
    return "FMA" if point["operations"] / roofs["peak"] > point["bytes"] / roofs["bandwidth"] else point["level"]


def faster_peers(point):
    """Peers all of whose samples are below all of heed's in the run that decides, in enough pairs."""
    found = []
    for name in seconds_of(point):
        run = next(run for run in reversed(point["runs"]) if name in run["seconds"])
        peer, heed = run["seconds"][name], run["seconds"].get(HEED, {})
        if is_peer(name) and len(peer.keys() & heed.keys()) >= LEAST_PAIRS and max(peer.values()) < min(heed.values()):
            found.append(name)
    return found


def judge(point):
    """A point in figures; None for what wasn't measured."""
    seconds = seconds_of(point)
    best = best_peer(seconds)
    return {
        "name": point["name"], "threads": point["threads"], "bound": bound(point),
        "heed": spread(seconds.get(HEED, {}).values()), "panels": spread(seconds.get(PANELS, {}).values()),
        "share": spread(shares(point, HEED)), "panels_share": spread(shares(point, PANELS)),
        "best": best, "best_seconds": spread(seconds[best].values()) if best else None,
        "ratio": spread(ratios(point, best)) if best else None,
        "panels_ratio": spread(ratios(point, best, PANELS)) if best else None,
        "faster": faster_peers(point), "again": len(point["runs"]) > 1, "beats_roof": beats_roof(point),
    }


def heed_is_wrong(point):
    return any(point["peers"].get(name, {}).get("status") in ("wrong", "failed") for name in (HEED, PANELS))


def title_of(point):
    """What a family's points are grouped by: family, type and mask."""
    return point["name"].split("/")[0]


def group_means(judged):
    """{(title, threads): (geometric mean of the ratios, least of their medians, points)}."""
    groups = {}
    for each in judged:
        if each["ratio"]:
            groups.setdefault((each["name"].split("/")[0], each["threads"]), []).append(each["ratio"]["median"])
    return {key: (geometric_mean(values), min(values), len(values)) for key, values in groups.items()}


def line(point):
    """A line of progress."""
    found = judge(point)
    if found["heed"] is None:
        said = point["peers"].get(HEED, {"status": "not measured"})
        return f"{found['name']}: {'machine busy' if said['status'] == 'measured' else 'heed ' + said['status']}"
    text = f"{found['name']}: {found['heed']['median'] * 1e6:.4g} µs"
    text += f", {100 * found['share']['median']:.0f} % of the roof ({found['bound']})" if found["share"] else ""
    text += f", {found['ratio']['median']:.2f} × {found['best']}" if found["ratio"] else ""
    return text + (f", FASTER: {' '.join(found['faster'])}" if found["faster"] else "")
