#!/usr/bin/env python3
"""Writes the rows of settings, enumerations and joint kinds into docs/scene.schema.json and docs/scene.md, then
docs/scene-reference.md. The rows come from the tables of the library, which the program `vocabulary` prints as JSON.
tests/reference.sh checks that the files are up to date.

    docs/scene-vocabulary.py build/tests/vocabulary [FOLDER]     FOLDER: docs, or a copy of it
"""
import json
import os
import re
import subprocess
import sys
import textwrap

WIDTH = 120


# ---- JSON with short objects on one line ----

def number(value):
    if isinstance(value, float) and value == int(value) and abs(value) < 1e5:
        return str(int(value))
    return re.sub(r"e\+?(-?)0*", r"e\1", f"{value:g}") if isinstance(value, float) else str(value)


def line(value):
    if isinstance(value, dict):
        inside = ", ".join(f"{json.dumps(key)}: {line(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(line(item) for item in value) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return json.dumps(value, ensure_ascii=False)


def dump(value, indent=0, before=0):
    """before: columns that the key takes on the first line."""
    short = line(value)
    if not isinstance(value, (dict, list)) or not value or indent + before + len(short) + 1 <= WIDTH:
        return short
    pad = " " * (indent + 2)
    if isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value):
        text = textwrap.fill(short[1:-1], WIDTH, initial_indent=pad, subsequent_indent=pad)
        return "[\n" + text + "\n" + " " * indent + "]"
    if isinstance(value, list):
        rows, close = [pad + dump(item, indent + 2) for item in value], "]"
    else:
        keys = {key: json.dumps(key) + ": " for key in value}
        rows = [pad + keys[key] + dump(item, indent + 2, len(keys[key])) for key, item in value.items()]
        close = "}"
    return ("[" if close == "]" else "{") + "\n" + ",\n".join(rows) + "\n" + " " * indent + close


# ---- Settings ----

def sentence(setting):
    return f"[{setting['unit']}] {setting['meaning']}" if setting["unit"] else setting["meaning"]


def bounds(setting):
    low, high = setting["least"], setting["most"]
    names = ("exclusiveMinimum", "exclusiveMaximum") if setting["open"] else ("minimum", "maximum")
    return {name: value for name, value in zip(names, (low, high)) if value is not None}


def schema_of(setting):
    kind = setting["type"]
    if setting["name"] == "dt":
        made = {"anyOf": [{"$ref": "#/$defs/positive"}, {"$ref": "#/$defs/ratio"}]}
    elif kind == "choice":
        made = {"enum": setting["names"]}
    elif kind == "vector":
        made = {"$ref": "#/$defs/vector"}
    elif kind == "number" and setting["least"] == 0 and setting["most"] is None:
        made = {"$ref": "#/$defs/" + ("positive" if setting["open"] else "not_negative")}
    else:
        made = {"type": kind, **bounds(setting)}
    if setting["default"] is not None:
        made["default"] = setting["default"]
    return {**made, "description": sentence(setting)}


def put(properties, settings):
    """Writes the rows; a row of the same name keeps its place, a new one follows the last."""
    for setting in settings:
        properties[setting["name"].split(".")[-1]] = schema_of(setting)


def put_world(schema, settings):
    properties = schema["properties"]
    for group in dict.fromkeys(setting["name"].rpartition(".")[0] for setting in settings):
        if group and group not in properties:
            raise SystemExit(f"scene.schema.json: expected an object \"{group}\" among the properties")
        inside = [setting for setting in settings if setting["name"].rpartition(".")[0] == group]
        if group:
            properties[group]["properties"] = {}
        put(properties[group]["properties"] if group else properties, inside)


# ---- Joints ----

def put_joints(joint, kinds):
    """The types, and the keys that each requires. A rack is a gear with a radius."""
    def taking(key):
        return [kind["name"] for kind in kinds if key in kind["keys"]]

    def rule(names, keys):
        return {"if": {"properties": {"type": {"enum": names} if len(names) > 1 else {"const": names[0]}}},
                "then": {"required": keys}}

    joint["properties"]["type"]["enum"] = [kind["name"] for kind in kinds] + ["rack"]
    coupled = rule(taking("joints") + ["rack"], ["joints"])
    coupled["then"]["not"] = {"required": ["bodies"]}
    coupled["else"] = {"required": ["bodies"], "not": {"required": ["joints"]}}
    required = [rule(taking(key), [key]) for key in ("ratio", "pitch", "axis", "axis_b", "point_b")]
    joint["allOf"] = [coupled, rule(["rack"], ["radius"])] + required


# ---- Tables of scene.md ----

def words(setting):
    """What a value may be, without the article."""
    if setting["type"] == "choice":
        return ", ".join(f"`\"{name}\"`" for name in setting["names"])
    numbers = re.sub("^a(n)? ", "", setting["expected"]).replace(">=", "≥")
    return numbers + ' or a ratio, `"1/240"`' if setting["name"] == "dt" else numbers


def default(setting):
    value = setting["default"]
    return f'`"{value}"`' if isinstance(value, str) else line(value)


def settings_table(settings):
    rows = ["| key | value | default | meaning |", "|---|---|---|---|"]
    return rows + [f"| `{s['name']}` | {words(s)} | {default(s)} | {sentence(s)} |" for s in settings]


def between(lines, name, rows):
    """Replaces the lines between <!-- NAME --> and <!-- end -->."""
    try:
        begin = lines.index(f"<!-- {name} -->")
        end = lines.index("<!-- end -->", begin)
    except ValueError:
        raise SystemExit(f"scene.md: expected <!-- {name} --> and <!-- end -->") from None
    lines[begin + 1:end] = [""] + rows + [""]


def find_row(lines, heading, key):
    """The row of a key in a section; None if it has none."""
    begin = lines.index(heading)
    for i in range(begin + 1, len(lines)):
        if lines[i].startswith("## "):
            return None
        if lines[i].startswith(f"| `{key}` |"):
            return i
    return None


def put_body_rows(lines, settings):
    """Key, default, meaning in the table of bodies."""
    last = None
    for s in settings:
        i = find_row(lines, "## Bodies", s["name"])
        meaning = f"{words(s)}; {sentence(s)}" if s["type"] == "choice" else sentence(s)
        if i is None:
            lines.insert(last + 1, f"| `{s['name']}` | {default(s)} | {meaning} |")
            last += 1
            continue
        given = lines[i].split(" | ")[1] if s["default"] is None else default(s)
        lines[i], last = f"| `{s['name']}` | {given} | {meaning} |", i


def put_joint_rows(lines, kinds):
    """Type, what it keeps, coordinate; the last cell is prose that names the kind's keys."""
    last = None
    for kind in kinds:
        i = find_row(lines, "## Joints", kind["name"])
        coordinate = "" if kind["coordinate"] == "none" else kind["coordinate"] + " "
        keys = [key for key in kind["keys"] if key != "point_b"]
        prose = ", ".join(f"`{key}`" for key in keys) if i is None else lines[i].rsplit("|", 2)[1].strip()
        for key in keys:
            if f"`{key}`" not in prose:
                raise SystemExit(f"scene.md: {kind['name']}: expected the key `{key}` in its row")
        row = f"| `{kind['name']}` | {kind['keeps']} | {coordinate}| {prose + ' ' if prose else ''}|"
        if i is None:
            lines.insert(last + 1, row)
        else:
            lines[i] = row
        last = last + 1 if i is None else i


# ---- The files ----

def rewrite(path, change):
    with open(path, encoding="utf-8") as file:
        text = change(file.read())
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main(program, folder):
    words_of = json.loads(subprocess.run([program], check=True, capture_output=True).stdout)
    settings = words_of["settings"]

    def change_schema(text):
        schema = json.loads(text)
        defs = schema["$defs"]
        put_world(schema, settings["world"])
        put(defs["material"]["properties"], settings["body"])
        put(defs["soft"]["properties"], settings["soft"])
        defs["body"]["properties"]["motion"]["enum"] = words_of["motion"]
        defs["body"]["properties"]["fixed"]["items"]["enum"] = words_of["fixed"]
        put_joints(defs["joint"], words_of["joints"])
        return dump(schema) + "\n"

    def change_page(text):
        lines = text.split("\n")
        between(lines, "settings", settings_table(settings["world"]))
        between(lines, "soft", settings_table(settings["soft"]))
        put_body_rows(lines, settings["body"])
        put_joint_rows(lines, words_of["joints"])
        return "\n".join(lines)

    rewrite(os.path.join(folder, "scene.schema.json"), change_schema)
    rewrite(os.path.join(folder, "scene.md"), change_page)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "scene-reference.md"), "w", encoding="utf-8") as out:
        subprocess.run([sys.executable, os.path.join(here, "scene-reference.py"),
                        os.path.join(folder, "scene.schema.json")], check=True, stdout=out)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(os.path.abspath(__file__)))
