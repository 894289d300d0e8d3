"""A recording as `pmrep dump` tells it, for tests that look at single readings."""
import collections
import json


class Dump:
    """counters by name, instances by id, config by name, probes, events; series[counter, CPU of its place] is the
    list of what reading() makes of each row of values. The CPU that stands for the system, or for a place, is the
    lowest one."""

    def __init__(self, lines):
        self.counters, self.instances, self.series = {}, {}, collections.defaultdict(list)
        self.config, self.probes, self.events = collections.defaultdict(list), [], []
        for line in lines:
            o = json.loads(line)
            kind = o.get("is")
            if kind == "counter":
                self.counters[o["name"]] = o
            elif kind == "instance":
                self.instances[o["id"]] = o
            elif kind == "config":
                self.config[o["name"]].append(o)
            elif kind == "probe":
                self.probes.append(o)
            elif kind == "frame" and o.get("kind") == "event":
                self.events.append(o)
            elif kind == "value":
                cpu = self.instances[o["instance"]].get("cpu", 0)
                self.series[o["counter"], cpu].append(self.reading(o))

    def reading(self, row):
        return row.get("value"), row["status"], row["begin"], row["end"]
