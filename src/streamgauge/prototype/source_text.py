"""The source of functions, with all that they use, as the text of a program that stands alone.

It is read, not imported. What a function imports from this package becomes part of the text, and what it imports from
elsewhere an import at the top.
"""

import ast
import importlib.util
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

OWN = "streamgauge."
Definition = ast.FunctionDef | ast.Assign


class _Import(NamedTuple):
    """An imported name; without one, it is the module itself."""

    module: str
    name: str = ""
    alias: str = ""


def _imports(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, _Import]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name, _Import(alias.name, "", alias.asname or "")
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, _Import(str(node.module), alias.name, alias.asname or "")


def used_names(node: ast.AST) -> list[str]:
    """Return the names that a piece of source needs from outside, in their order; quoted annotations count.

    >>> used_names(ast.parse("def f(x: 'Column', k=K): y = x + g(k); return y"))
    ['K', 'g', 'Column']
    """
    inner = list(ast.walk(node))
    names = [one for one in inner if isinstance(one, ast.Name)]
    names.sort(key=lambda one: (one.lineno, one.col_offset))
    bound = {one.id for one in names if isinstance(one.ctx, ast.Store)}
    bound |= {one.arg for one in inner if isinstance(one, ast.arg)}
    bound |= {one.name for one in inner if isinstance(one, ast.FunctionDef)}
    quoted = [name for text in _quoted(inner) for name in used_names(ast.parse(text))]
    return [name for name in dict.fromkeys([*(one.id for one in names), *quoted]) if name not in bound]


def _quoted(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        hint = node.annotation if isinstance(node, ast.arg) else getattr(node, "returns", None)
        if isinstance(hint, ast.Constant) and isinstance(hint.value, str):
            yield hint.value


class _Module:
    """The definitions and imports at the top of a module."""

    def __init__(self, name: str) -> None:
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.origin is not None
        self.lines = Path(spec.origin).read_text().splitlines()
        body = ast.parse("\n".join(self.lines)).body
        for_types = [inner for node in body if isinstance(node, ast.If) for inner in node.body]
        self.imports = dict(_imports([*body, *for_types]))
        self.definitions: dict[str, Definition] = {}
        for node in body:
            if isinstance(node, ast.FunctionDef):
                self.definitions[node.name] = node
            elif isinstance(node, ast.Assign):
                names = [one.id for one in ast.walk(node.targets[0]) if isinstance(one, ast.Name)]
                self.definitions |= dict.fromkeys(names, node)

    def text(self, node: Definition) -> str:
        """Return the source, with the comment above it, without its own imports and quotes around annotations."""
        first = node.lineno - 1
        while self.lines[first - 1].startswith("#"):
            first -= 1
        assert node.end_lineno is not None
        lines = self.lines[first : node.end_lineno]
        if isinstance(node, ast.FunctionDef):
            lines = self._plain(node, lines)
        return "\n".join(line.removesuffix("  # noqa: T201") for line in lines)

    def _plain(self, node: ast.FunctionDef, lines: list[str]) -> list[str]:
        start = node.lineno - 1
        head = "\n".join(lines[: node.body[0].lineno - 1 - start])
        for hint in _quoted(ast.walk(node)):
            head = head.replace(f'"{hint}"', hint)
        body = lines[node.body[0].lineno - 1 - start :]
        imports = [one for one in node.body if isinstance(one, ast.Import | ast.ImportFrom)]
        for one in reversed(imports):
            at = one.lineno - node.body[0].lineno
            del body[at : at + 2]
        return [*head.split("\n"), *body]


_module = cache(_Module)


@dataclass
class SourceText:
    """All that a program contains of the modules that it uses; each definition comes after those that it needs."""

    imports: set[_Import] = field(default_factory=set)
    constants: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    seen: set[tuple[str, str]] = field(default_factory=set)

    def add(self, module: str, name: str) -> None:
        """Add what a name means in a module, with all that it needs; local names and built-in ones mean nothing."""
        if (module, name) in self.seen:
            return
        self.seen.add((module, name))
        if name in _module(module).imports:
            self._add_import(_module(module).imports[name])
        elif name in _module(module).definitions:
            self._add_definition(module, _module(module).definitions[name])

    def _add_import(self, found: _Import) -> None:
        if found.module.startswith(OWN):
            self.add(found.module, found.name)
        else:
            self.imports.add(found)

    def _add_definition(self, module: str, node: Definition) -> None:
        own = dict(_imports(ast.walk(node)))
        for name in used_names(node):
            if name in own:
                self._add_import(own[name])
            else:
                self.add(module, name)
        into = self.functions if isinstance(node, ast.FunctionDef) else self.constants
        text = _module(module).text(node)
        if text not in into:
            into.append(text)

    def import_lines(self) -> str:
        """Write the imports, PySpark's behind those of the standard library."""
        plain = [one for one in self.imports if one.name and not one.alias]
        lines = []
        for one in self.imports.difference(plain):
            what = f"from {one.module} import {one.name}" if one.name else f"import {one.module}"
            lines.append(f"{what} as {one.alias}" if one.alias else what)
        for module in {one.module for one in plain}:
            names = sorted(one.name for one in plain if one.module == module)
            lines.append(f"from {module} import {', '.join(names)}")
        lines.sort(key=lambda line: (line.startswith("from"), line.split()[1], line))
        spark = [line for line in lines if "pyspark" in line]
        return "\n".join([*(line for line in lines if line not in spark), "", *spark])


def names_of(module: str) -> set[str]:
    """Return the names that a module defines or imports."""
    return {*_module(module).definitions, *_module(module).imports}
