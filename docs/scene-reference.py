#!/usr/bin/env python3
"""Writes docs/scene-reference.md from docs/scene.schema.json: a table for each object of a scene. Every key must have a
description. tests/reference.sh checks that the file is up to date.

    docs/scene-reference.py [SCHEMA] >docs/scene-reference.md
"""
import json
import os
import sys

HEAD = """# Scene reference

Every key of abd's scene format, made from [scene.schema.json](scene.schema.json) by [scene-reference.py](scene-reference.py).
[scene.md](scene.md) describes how they work together. In all objects keys that begin with `#` are comments; all other keys are errors.
SI units; angles in radians unless a key says degrees.
"""


def code(value):
    return f"`{value:g}`" if isinstance(value, float) else f"`{json.dumps(value)}`"


class Reference:
    def __init__(self, schema):
        self.schema = schema
        self.sections = []  # (title, schema) of objects that still need a table
        self.titles = {}    # of objects by their text: equal ones share a section
        self.lines = [HEAD]

    def resolve(self, schema):
        """A schema with its $ref followed; keys beside the $ref win."""
        while isinstance(schema, dict) and "$ref" in schema:
            target = self.schema
            for part in schema["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
        return schema

    def properties(self, schema):
        """Own keys first, then the keys of the schemas in allOf."""
        found = dict(schema.get("properties", {}))
        for part in schema.get("allOf", []):
            for key, value in self.properties(self.resolve(part)).items():
                found.setdefault(key, value)
        return found

    def number(self, schema, noun):
        low, high = schema.get("minimum"), schema.get("maximum")
        if "exclusiveMinimum" in schema and "exclusiveMaximum" in schema:
            return f"{noun} above {schema['exclusiveMinimum']} and below {schema['exclusiveMaximum']}"
        if "exclusiveMinimum" in schema:
            return f"{noun} > {schema['exclusiveMinimum']}"
        if low is not None and high is not None:
            return f"{noun}, {low} to {high}"
        return f"{noun} ≥ {low}" if low is not None else noun

    def array(self, schema, title):
        low, high = schema.get("minItems"), schema.get("maxItems")
        item = self.kind(schema["items"], title + "[]")
        if low is not None and low == high:
            return f"{low} {item}s" if item in ("number", "whole number") else f"{low} of: {item}"
        return f"list of: {item}" if high is None else f"{low} to {high} of: {item}"

    def kind(self, schema, title):
        """The valid values in words; objects become sections of their own."""
        schema = self.resolve(schema)
        if schema is True:
            return "anything"
        if "const" in schema:
            return code(schema["const"])
        if "enum" in schema:
            return ", ".join(code(value) for value in schema["enum"])
        kind = schema.get("type")
        if kind == "object":
            return self.object(schema, title)
        if "anyOf" in schema:
            return " or ".join(self.kind(choice, title) for choice in schema["anyOf"])
        if isinstance(kind, list):
            return " or ".join(kind)
        if kind == "array":
            return self.array(schema, title)
        if kind == "string" and "examples" in schema:
            return f"text such as {code(schema['examples'][0])}"
        if kind in ("number", "integer"):
            return self.number(schema, "number" if kind == "number" else "whole number")
        return {"string": "text", "boolean": "true or false"}.get(kind, "anything")

    def object(self, schema, title):
        if isinstance(schema.get("additionalProperties"), dict):
            return f"by name: {self.kind(schema['additionalProperties'], title + '.NAME')}"
        first = self.titles.setdefault(json.dumps(schema), title)
        if first == title:
            self.sections.append((title, schema))
        return f"[`{first}`](#{anchor(first)})"

    def row(self, title, key, schema, required):
        schema = self.resolve(schema)
        if not isinstance(schema, dict) or not schema.get("description"):
            raise SystemExit(f"{title}: {key}: expected a description in the schema")
        default = "required" if required else code(schema["default"]) if "default" in schema else ""
        kind = self.kind(schema, f"{title}.{key}" if title else key)
        return f"| `{key}` | {kind} | {default} | {schema['description']} |"

    def conditions(self, schema):
        """Further conditions: choices of required keys, and keys required by the value of another."""
        for part in schema.get("anyOf", []):
            if set(part) != {"required"}:
                raise SystemExit(f"cannot say in words: {part}")
        if "anyOf" in schema:
            yield "One of " + ", ".join(f"`{part['required'][0]}`" for part in schema["anyOf"]) + " is required."
        if "not" in schema:
            yield "Not both " + " and ".join(f"`{key}`" for key in schema["not"]["required"]) + "."
        for part in schema.get("allOf", []):
            if "if" not in part:
                continue
            (key, test), = part["if"]["properties"].items()
            values = ", ".join(f"`{value}`" for value in test.get("enum", [test.get("const")]))
            needs = ", ".join(f"`{name}`" for name in part["then"]["required"])
            yield f"`{key}` {values}: {needs} required."
            for name in part.get("else", {}).get("required", []):
                yield f"Any other `{key}`: `{name}` required."

    def table(self, title, schema):
        self.lines.append(f"\n## {title or 'The file'}\n")
        self.lines.append("| key | value | default | meaning |\n|---|---|---|---|")
        required = schema.get("required", [])
        for key, value in self.properties(schema).items():
            self.lines.append(self.row(title, key, value, key in required))
        for sentence in self.conditions(schema):
            self.lines.append(f"\n{sentence}")

    def text(self):
        self.table("", self.schema)
        while self.sections:
            self.table(*self.sections.pop(0))
        return "\n".join(self.lines) + "\n"


def anchor(title):
    """As GitHub makes it of a heading."""
    return "".join(c for c in title.lower() if c.isalnum() or c in "-_")


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    with open(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "scene.schema.json"), encoding="utf-8") as file:
        sys.stdout.reconfigure(encoding="utf-8")
        sys.stdout.write(Reference(json.load(file)).text())
