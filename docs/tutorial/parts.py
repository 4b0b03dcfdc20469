#!/usr/bin/env python3
"""Writes the tutorial's two parts, bracket.stl and wheel.stl, as a CAD program would: binary STL, millimetres, z up, both in
their place of the assembly. The axle (along y, 100 mm up) is exactly as thick as the hole it sits in.

    docs/tutorial/parts.py FOLDER
"""
import math
import struct
import sys

SIDES = 48          # of every round thing; outlines have as many corners, so that faces between them are plain strips
AXLE_RADIUS = 8.0
AXLE_HEIGHT = 100.0


def circle(radius):
    return [(radius * math.cos(2 * math.pi * k / SIDES), AXLE_HEIGHT + radius * math.sin(2 * math.pi * k / SIDES))
            for k in range(SIDES)]


def paddle_wheel(paddles=6, hub=20.0, tip=62.0, width=0.16):
    """Outline: from the hub straight out along a paddle and back; eight corners for each paddle."""
    corners = []
    for k in range(paddles):
        middle = 2 * math.pi * k / paddles
        gap = math.pi / paddles
        half_hub, half_tip = math.asin(width * tip / 2 / hub), width / 2
        for angle, radius in ((-gap * 0.8, hub), (-half_hub * 1.3, hub), (-half_hub, hub * 1.1), (-half_tip, tip),
                              (half_tip, tip), (half_hub, hub * 1.1), (half_hub * 1.3, hub), (gap * 0.8, hub)):
            corners.append((radius * math.cos(middle + angle), AXLE_HEIGHT + radius * math.sin(middle + angle)))
    return corners


def bearing_block(head=24.0, foot=52.0, foot_height=10.0):
    """Outline: a round head and straight sides down to a foot, a corner in the direction of each of the hole's."""
    corners = circle(head)[:SIDES // 2 + 1]
    side = [(-head - (foot - head) * k / 6, AXLE_HEIGHT - (AXLE_HEIGHT - foot_height) * k / 6) for k in range(1, 7)]
    base = [(-foot + foot * k / 5, 0.0) for k in range(5)]
    left = side + base
    return corners + left + [(0.0, 0.0)] + [(-x, z) for x, z in reversed(left)]


def strip(lower, lower_y, upper, upper_y):
    """Triangles between two outlines of as many corners, corner by corner."""
    n = len(lower)
    triangles = []
    for k in range(n):
        a, b = (lower[k][0], lower_y, lower[k][1]), (lower[(k + 1) % n][0], lower_y, lower[(k + 1) % n][1])
        c, d = (upper[k][0], upper_y, upper[k][1]), (upper[(k + 1) % n][0], upper_y, upper[(k + 1) % n][1])
        triangles += [(a, b, d), (a, d, c)]
    return triangles


def fan(outline, y):
    n = len(outline)
    centre = (0.0, y, AXLE_HEIGHT)
    return [(centre, (outline[k][0], y, outline[k][1]), (outline[(k + 1) % n][0], y, outline[(k + 1) % n][1])) for k in range(n)]


def turned(triangles):
    return [(a, c, b) for a, b, c in triangles]


def bracket():
    outer, hole = bearing_block(), circle(AXLE_RADIUS)
    near, far = -12.0, 12.0
    return (turned(strip(outer, near, outer, far)) + strip(hole, near, hole, far) +
            turned(strip(outer, far, hole, far)) + strip(outer, near, hole, near))


def wheel():
    paddles, axle = paddle_wheel(), circle(AXLE_RADIUS)
    back, front, end = 15.0, 55.0, -20.0
    return (turned(strip(paddles, back, paddles, front)) + turned(fan(paddles, front)) +
            strip(paddles, back, axle, back) + turned(strip(axle, end, axle, back)) + fan(axle, end))


def write(path, triangles):
    with open(path, "wb") as file:
        file.write(b"millimetres".ljust(80) + struct.pack("<I", len(triangles)))
        for corners in triangles:
            file.write(struct.pack("<12fH", 0, 0, 0, *[x for corner in corners for x in corner], 0))


if __name__ == "__main__":
    folder = sys.argv[1]
    write(f"{folder}/bracket.stl", bracket())
    write(f"{folder}/wheel.stl", wheel())
