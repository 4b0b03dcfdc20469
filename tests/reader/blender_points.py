"""Reads a file with Blender and writes where every vertex is at every frame, see points.py.

  blender -b --factory-startup --python-exit-code 1 -P blender_points.py -- FILE OUT TIMES..."""
import json
import sys

import bpy
import numpy

if "bool" not in numpy.__dict__:
    numpy.bool = bool  # Blender 3.4's importer uses the old name
path, out, *times = sys.argv[sys.argv.index("--") + 1:]
bpy.ops.object.select_all(action="SELECT")
bpy.ops.object.delete()
if path.endswith(".ply"):
    bpy.ops.import_mesh.ply(filepath=path)
else:
    bpy.ops.import_scene.gltf(filepath=path, merge_vertices=False)
scene = bpy.context.scene
rate = scene.render.fps / scene.render.fps_base
points = {}
for time in times:
    frame = float(time) * rate
    scene.frame_set(int(frame), subframe=frame - int(frame))
    shown = bpy.context.evaluated_depsgraph_get()
    for thing in bpy.data.objects:
        if thing.type != "MESH":
            continue
        now = thing.evaluated_get(shown)
        mesh = now.to_mesh()
        flat = [c for v in mesh.vertices for c in now.matrix_world @ v.co]
        now.to_mesh_clear()
        points.setdefault(thing.name, []).append(flat)
with open(out, "w") as file:
    json.dump(points, file)
