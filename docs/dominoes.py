"""dominoes.py ROWS COLUMNS FILE: a scene of rows of dominoes, for the film in gpu.md. In every row two pairs of them
are pushed apart, at places that follow a wave over the rows."""
import json
import math
import sys

STOPS = [(0x26, 0x46, 0x53), (0x2A, 0x9D, 0x8F), (0xE9, 0xC4, 0x6A), (0xF4, 0xA2, 0x61), (0xE7, 0x6F, 0x51)]


def color(wave):
    """A colour between the stops; wave from -1 to 1."""
    place = min(0.9999, 0.5 + 0.5 * wave) * (len(STOPS) - 1)
    k = int(place)
    return "#%02x%02x%02x" % tuple(round(a + (place - k) * (b - a)) for a, b in zip(STOPS[k], STOPS[k + 1]))


def pushed(row, rows, columns):
    """The columns from which a row falls to the right; their neighbours before fall to the left."""
    half = columns // 2
    wave = [math.sin(2 * math.pi * (2 * row / rows + 0.5 * k)) for k in range(2)]
    return [k * half + half // 2 + round(0.3 * half * wave[k]) for k in range(2)]


def domino(row, column, rows, columns):
    body = {
        "name": f"domino {row + 1}.{column + 1}",
        "mesh": "domino",
        "color": color(math.sin(2 * math.pi * (column / columns + 0.5 * row / rows))),
        "position": [0.05 * (column - columns / 2), 0.08 * (row - rows / 2), 0.0605],
    }
    starts = pushed(row, rows, columns)
    way = 1 if column in starts else -1 if column + 1 in starts else 0
    if way:
        body.update({"angular_velocity": [0, 5 * way, 0], "velocity": [0.3 * way, 0, 0]})
    return body


def main():
    rows, columns = int(sys.argv[1]), int(sys.argv[2])
    bodies = [{"name": "ground", "shape": "ground", "size": 40}]
    bodies += [domino(r, c, rows, columns) for r in range(rows) for c in range(columns)]
    scene = {
        "version": 1,
        "name": "dominoes",
        "dt": 0.01,
        "contact": {"range": 1e-3, "friction": 0.4},
        "meshes": {"domino": {"shape": "box", "size": [0.02, 0.06, 0.12]}},
        "bodies": bodies,
    }
    with open(sys.argv[3], "w") as file:
        json.dump(scene, file)


main()
