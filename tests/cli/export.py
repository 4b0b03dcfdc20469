"""Reads exported files, with VTK or by what their formats' descriptions say, and compares poses with the run file.
Foreign readers of the others: ../reader/readers.sh.

  export.py vtk RUN FILE...     surfaces (.vtp, .vtk) with VTK's Python: vertices of every body to 1e-6 m
  export.py contacts RUN FILE   contact points and forces
  export.py ply RUN FILE        vertices of one frame with VTK's PLY reader
  export.py glb RUN FILE        node transforms of every frame, from the bytes as the glTF specification lays them out
  export.py usda RUN FILE       matrices, read from the text
Exit code 77 where the reader is missing. The step is the number at the end of a file's name."""
import json
import math
import re
import struct
import sys

from runfile import Run, apply, differ

LIMIT = 1e-6


def finish(what, count, worst, limit=LIMIT):
    print("%s: %d compared, largest difference %.3g" % (what, count, worst))
    if not (count > 0 and worst <= limit):
        sys.exit("WRONG: %s: expected some, and at most %g" % (what, limit))


def step_of(path):
    return int(re.search(r"(\d+)\.\w+$", path).group(1))


def read_vtk(path):
    try:
        from vtkmodules import vtkIOGeometry, vtkIOLegacy, vtkIOPLY, vtkIOXML
    except ImportError:
        print("VTK's Python is missing (python3-vtk9)")
        sys.exit(77)
    reader = {"vtp": vtkIOXML.vtkXMLPolyDataReader, "vtk": vtkIOLegacy.vtkPolyDataReader,
              "ply": vtkIOPLY.vtkPLYReader}[path.rsplit(".", 1)[1]]()
    reader.SetFileName(path)
    if path.endswith(".vtk"):
        reader.ReadAllFieldsOn()
    reader.Update()
    return reader.GetOutput()


def check_vtk(run, paths):
    count, worst = 0, 0
    for path in paths:
        data = read_vtk(path)
        expected = list(run.vertices(step_of(path)))
        if data.GetNumberOfPoints() != len(expected):
            sys.exit("WRONG: %s: %d points, expected %d" % (path, data.GetNumberOfPoints(), len(expected)))
        for k, x in enumerate(expected):
            worst = max(worst, differ(data.GetPoint(k), x))
        count += len(expected)
        if path.endswith(".ply"):
            continue
        body = data.GetCellData().GetArray("body")
        if body.GetRange() != (1, len(run.body)):
            sys.exit("WRONG: %s: bodies %s" % (path, body.GetRange()))
        speed = data.GetPointData().GetArray("velocity")
        if speed.GetNumberOfTuples() != len(expected):
            sys.exit("WRONG: %s: %d velocities" % (path, speed.GetNumberOfTuples()))
    finish("vertices", count, worst)


def check_contacts(run, paths):
    count, worst = 0, 0
    for path in paths:
        data = read_vtk(path)
        force = data.GetPointData().GetArray("force")
        rows = run.db.execute("SELECT x, y, z, normal_x, normal_y, normal_z, normal_force, friction_x, friction_y, friction_z"
                              " FROM contact WHERE step = ? ORDER BY body_a, body_b, rowid", (step_of(path),)).fetchall()
        if data.GetNumberOfPoints() != len(rows):
            sys.exit("WRONG: %s: %d contacts, expected %d" % (path, data.GetNumberOfPoints(), len(rows)))
        for k, r in enumerate(rows):
            f = [r[6] * r[3 + i] + r[7 + i] for i in range(3)]
            worst = max(worst, differ(data.GetPoint(k), r[:3]), differ(force.GetTuple(k), f) / (1 + abs(r[6])))
        count += len(rows)
    finish("contacts", count, worst)


def rotate(q, x):
    u, w = q[:3], q[3]
    t = [2 * (u[(i + 1) % 3] * x[(i + 2) % 3] - u[(i + 2) % 3] * x[(i + 1) % 3]) for i in range(3)]
    return [x[i] + w * t[i] + u[(i + 1) % 3] * t[(i + 2) % 3] - u[(i + 2) % 3] * t[(i + 1) % 3] for i in range(3)]


def check_glb(run, paths):
    data = open(paths[0], "rb").read()
    length = struct.unpack_from("<I", data, 12)[0]
    top, base = json.loads(data[20:20 + length]), 28 + length

    def accessor(k):
        a = top["accessors"][k]
        view = top["bufferViews"][a["bufferView"]]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[a["type"]]
        flat = struct.unpack_from("<%df" % (a["count"] * width), data, base + view["byteOffset"])
        return [flat[i:i + width] for i in range(0, len(flat), width)]

    animation = top["animations"][0]
    moved = {}
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        moved[channel["target"]["node"], channel["target"]["path"]] = accessor(sampler["output"])
    times = accessor(animation["samplers"][0]["input"])
    root = top["nodes"][0]["rotation"]
    if differ(rotate(root, run.up), (0, 1, 0)) > LIMIT:
        sys.exit("WRONG: up is not +Y after the top node")
    geometry = {(m["primitives"][0]["attributes"]["POSITION"]) for m in top["meshes"]}
    if len(geometry) > len(run.mesh):
        sys.exit("WRONG: %d geometries for %d meshes" % (len(geometry), len(run.mesh)))
    count, worst = 0, 0
    for f, step in enumerate(run.steps):
        time, nodes = run.nodes(step)
        worst = max(worst, abs(times[f][0] - time) / 10)
        for b, n in enumerate(nodes):
            node = top["nodes"][b + 1]
            p = moved.get((b + 1, "translation"), {}).__getitem__(f) if (b + 1, "translation") in moved else node["translation"]
            q = moved[b + 1, "rotation"][f] if (b + 1, "rotation") in moved else node["rotation"]
            positions = accessor(top["meshes"][node["mesh"]]["primitives"][0]["attributes"]["POSITION"])
            for x in positions[:8]:
                r = rotate(q, x)
                size = 1 + math.sqrt(sum(c * c for c in apply(n, x)))
                worst = max(worst, differ([p[i] + r[i] for i in range(3)], apply(n, x)) / size)
                count += 1
    finish("glTF points over 1 m + distance", count, worst)


def check_usda(run, paths):
    text = open(paths[0]).read()
    bodies = re.findall(r'def Mesh "[^"]*_(\d+)" \(\n\s*displayName = "([^"]*)"\n\s*\)\n(.*?)xformOpOrder', text, re.S)
    if [(int(i), name) for i, name, _ in bodies] != [tuple(b[:2]) for b in run.body]:
        sys.exit("WRONG: bodies of the .usda: %s" % [b[:2] for b in bodies])
    count, worst = 0, 0
    for b, (_, _, part) in enumerate(bodies):
        samples = re.findall(r"(?:([\d.e+-]+): |transform = )\( (\(.*\)) \)", part)
        if len(samples) not in (1, len(run.steps)):
            sys.exit("WRONG: body %d has %d samples of %d" % (b + 1, len(samples), len(run.steps)))
        for f, step in enumerate(run.steps):
            row = [float(x) for x in re.findall(r"[-\d.e+]+", samples[f if len(samples) > 1 else 0][1])]
            n = run.nodes(step)[1][b]
            worst = max(worst, differ(row[0:3] + row[4:7] + row[8:11] + row[12:15], n[3:] + n[:3]))
            count += 1
        points = re.search(r"point3f\[\] points = \[(.*)\]", part).group(1)
        worst = max(worst, differ([float(x) for x in re.findall(r"[-\d.e+]+", points)], run.mesh[run.body[b][2]]))
    finish("USD matrices and points", count, worst)


check = {"vtk": check_vtk, "ply": check_vtk, "contacts": check_contacts, "glb": check_glb, "usda": check_usda}
check[sys.argv[1]](Run(sys.argv[2]), sys.argv[3:])
