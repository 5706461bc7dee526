"""Samples of all peers in turn, the roofs beside heed's, disturbed samples taken again."""

import math

LEAST_TILE = 0.90  # of the peak that stands beside it: a neighbour on the core hardly moves the chains, but the tile
HEED = "heed"


class Policy:
    """How long is measured."""

    def __init__(self, quick):
        self.rounds = 5 if quick else 7
        self.sample_seconds = {"hot": 0.001 if quick else 0.002, "stream": 0.003 if quick else 0.006}
        self.warm_seconds = 0.0005
        self.long_call = 0.05  # calls that take longer are not called once more to warm up
        # A peer this many times slower than the fastest is measured less often: it decides nothing.
        self.far_behind, self.rounds_far_behind = 2.0, 3
        self.hopeless, self.rounds_hopeless = 8.0, 1
        self.probes_per_sample, self.tries_per_sample = 20, 3


class Series:
    """A peer's samples at a point: seconds per call, by round."""

    def __init__(self, call, estimate):
        self.call, self.estimate = call, estimate
        self.seconds, self.rejected = {}, 0


class Sampler:
    def __init__(self, roofs, policy):
        self.roofs, self.policy = roofs, policy
        self.set = 0  # where the next call of a streaming point begins: the memory that was used longest ago

    def estimate(self, call):
        """Seconds of a call, from few."""
        seconds = call.time(self._advance(call, 1), 1)
        if seconds < 1e-3:
            many = min(200, math.ceil(1e-3 / max(seconds, 1e-7)))
            seconds = call.time(self._advance(call, many), many) / many
        return max(seconds, 1e-8)

    def measure(self, level, series, rounds=None, longer=1):
        """Fills the series {name: Series} in interleaved rounds; returns the roofs beside heed's samples, by round."""
        roofs = {}
        fastest = min(each.estimate for each in series.values())
        for round in range(rounds or self.policy.rounds):
            names = list(series)
            # Another one begins each time, so that nobody always follows the same neighbour.
            for name in names[round % len(names):] + names[:round % len(names)]:
                each = series[name]
                if name != HEED and round >= self._rounds(each.estimate / fastest, rounds):
                    continue
                beside = self._sample(each, round, level if name == HEED else None, longer)
                if beside:
                    roofs[round] = beside
        return roofs

    def _rounds(self, behind, rounds):
        policy = self.policy
        if behind > policy.hopeless:
            return policy.rounds_hopeless
        return policy.rounds_far_behind if behind > policy.far_behind else rounds or policy.rounds

    def _advance(self, call, calls):
        first = self.set % len(call.sets)
        self.set += calls
        return first

    def _sample(self, series, round, level, longer):
        policy, call = self.policy, series.call
        streams = call.point.streams
        wanted = policy.sample_seconds["stream" if streams else "hot"] * longer
        calls = max(1, math.ceil(wanted / series.estimate))
        warm = 1 if streams else math.ceil(policy.warm_seconds / series.estimate)
        for _ in range(policy.tries_per_sample if series.estimate < policy.long_call else 1):
            before = self._quiet_roofs(level)
            if series.estimate < policy.long_call:
                call.time(self._advance(call, warm), warm)
            seconds = call.time(self._advance(call, calls), calls) / calls
            after = self._roofs(level)
            if (before["tile"] + after["tile"]) / 2 >= LEAST_TILE:
                series.seconds[round] = seconds
                return {key: max(before[key], after[key]) for key in before} if level else None
            series.rejected += 1
        return None

    def _quiet_roofs(self, level):
        for _ in range(self.policy.probes_per_sample - 1):
            found = self._roofs(level)
            if found["tile"] >= LEAST_TILE:
                return found
        return self._roofs(level)

    def _roofs(self, level):
        peak = self.roofs.peak()
        found = {"peak": peak, "tile": self.roofs.tile() / peak}
        if level:
            found["bandwidth"] = self.roofs.bandwidth(level)
        return found
