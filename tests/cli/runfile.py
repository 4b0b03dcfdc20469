"""The run file as docs/run-file.md describes it, read without abd: what export.py and ../reader/points.py compare with."""
import sqlite3
import struct


def numbers(blob):
    return struct.unpack("<%dd" % (len(blob) // 8), blob)


class Run:
    def __init__(self, path):
        db = self.db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        self.mesh = {i: numbers(v) for i, v in db.execute("SELECT id, vertex FROM mesh")}
        self.triangle = {i: struct.unpack("<%dI" % (len(t) // 4), t) for i, t in db.execute("SELECT id, triangle FROM mesh")}
        self.body = db.execute("SELECT id, name, mesh FROM body ORDER BY id").fetchall()
        self.soft = [kind == "soft" for kind, in db.execute("SELECT kind FROM body ORDER BY id")]
        self.steps = [s for s, in db.execute("SELECT step FROM frame ORDER BY step")]
        self.up = [float(x) for x in db.execute("SELECT value FROM meta WHERE key = 'up'").fetchone()[0].split()]

    def nodes(self, step):
        """The time, and for each body its 12 numbers, or all its vertices' where it is soft."""
        time, blob = self.db.execute("SELECT time, node FROM frame WHERE step = ?", (step,)).fetchone()
        n, parts, at = numbers(blob), [], 0
        for (_, _, mesh), soft in zip(self.body, self.soft):
            count = len(self.mesh[mesh]) if soft else 12
            parts.append(n[at:at + count])
            at += count
        return time, parts

    def body_vertices(self, b, step, nodes=None):
        n, v = (nodes or self.nodes(step)[1])[b], self.mesh[self.body[b][2]]
        return [n[k:k + 3] if self.soft[b] else apply(n, v[k:k + 3]) for k in range(0, len(v), 3)]

    def vertices(self, step):
        nodes = self.nodes(step)[1]
        for b in range(len(self.body)):
            yield from self.body_vertices(b, step, nodes)


def apply(n, x):
    return [n[i] + n[3 + i] * x[0] + n[6 + i] * x[1] + n[9 + i] * x[2] for i in range(3)]


def differ(a, b):
    return max(abs(x - y) for x, y in zip(a, b))
