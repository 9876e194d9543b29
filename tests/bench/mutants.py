"""Mutants of a module: its text with one operator, number, word, argument or branch changed, as a slip would.

The kinds follow the usual operators of mutation testing (Offutt et al. 1996), and add the slips of code that shows
something: another field of the same object, two arguments in the wrong order, an argument left out, a cut text, an
order, bound or element that is missing.
"""

from __future__ import annotations

import ast
import copy
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATIONS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
}  # fmt: skip
_CALLS = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "sum": "len",
    "floor": "ceil",
    "ceil": "floor",
}


@dataclass(frozen=True)
class Mutant:
    """`file` with the lines `first` to `last` (from 1) changed at one place, from `old` to `new`."""

    file: str
    kind: str
    first: int
    last: int
    old: str
    new: str
    text: str
    """The whole module."""


def mutants(file: str, text: str) -> list[Mutant]:
    """All mutants of the module `text`."""
    tree = ast.parse(text)
    lines = text.encode().splitlines(keepends=True)
    ends = [0]
    for line in lines:
        ends.append(ends[-1] + len(line))
    made: list[Mutant] = []
    for node, kind, changed in _changes(tree):
        begin = ends[node.lineno - 1] + node.col_offset
        end = ends[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        old = text.encode()[begin:end].decode()
        new = ast.unparse(changed)
        if isinstance(changed, (ast.BoolOp, ast.BinOp, ast.Compare, ast.IfExp)):
            new = f"({new})"
        mutated = text.encode()[:begin].decode() + new + text.encode()[end:].decode()
        try:
            ast.parse(mutated)
        except SyntaxError:
            continue
        made.append(Mutant(file, kind, node.lineno, node.end_lineno or node.lineno, old, new, mutated))
    return made


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str, ast.AST]]:
    """The node, the kind of change, and what takes its place."""
    skipped = _skipped(tree)
    for scope in ast.walk(tree):
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _other_fields(scope)
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.expr):
            for kind, changed in _of_expression(node):
                yield node, kind, changed
        if isinstance(node, (ast.If, ast.While)):
            yield node.test, "branch", ast.UnaryOp(ast.Not(), node.test)
        if isinstance(node, ast.If) and not node.orelse:
            yield node.test, "never", ast.Constant(False)
        if isinstance(node, ast.AugAssign) or (
            isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.Await))
        ):
            yield node, "call left out", ast.Pass()


def _of_expression(node: ast.expr) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
            yield "comparison", ast.Compare(node.left, [_COMPARISONS[type(op)]()], node.comparators)
        case ast.BinOp() if (
            type(node.op) in _OPERATIONS and not _is_text(node.left) and not _is_text(node.right)
        ):
            yield "arithmetic", ast.BinOp(node.left, _OPERATIONS[type(node.op)](), node.right)
            yield "term", node.left
        case ast.BoolOp():
            yield "and/or", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            for at in range(len(node.values)):
                left = node.values[:at] + node.values[at + 1 :]
                yield "term", left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
        case ast.Tuple(elts=elements, ctx=ast.Load()) if _are_constants(elements):
            yield "element", ast.Tuple(elements[:-1], ast.Load())
            yield "element", ast.Tuple(elements[1:], ast.Load())
        case ast.List(elts=[_, *left], ctx=ast.Load()) if left:
            yield "element", ast.List(left, ast.Load())
        case ast.Dict(keys=[_, *keys], values=[_, *values]) if keys:
            yield "element", ast.Dict(keys, values)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "sign", node.operand
        case ast.IfExp():
            yield "branch", ast.IfExp(node.test, node.orelse, node.body)
        case ast.Constant(value=bool() as value):
            yield "truth", ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield "number", ast.Constant(value + 1)
        case ast.Constant(value=str() as value) if value:
            yield "text", ast.Constant(value[:-1] if len(value) > 1 else "?")
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper, step=None)) if (lower is None) != (
            upper is None
        ):
            changed = copy.copy(node)
            changed.slice = ast.Slice(upper, lower, None)
            yield "slice", changed
        case ast.Call():
            yield from _of_call(node)
        case ast.JoinedStr():
            yield from _of_format(node)
        case _:
            pass


def _of_format(node: ast.JoinedStr) -> Iterator[tuple[str, ast.AST]]:
    """With one part changed, or two values in each other's place."""
    for at, part in enumerate(node.values):
        changes: list[tuple[str, ast.expr]] = []
        if isinstance(part, ast.Constant):
            changes = [("text", ast.Constant(str(part.value)[:-1] or "?"))]
        elif isinstance(part, ast.FormattedValue):
            inner = [(kind, one) for kind, one in _of_expression(part.value) if isinstance(one, ast.expr)]
            changes = [
                (kind, ast.FormattedValue(value, part.conversion, part.format_spec)) for kind, value in inner
            ]
            if part.format_spec:
                changes.append(("format", ast.FormattedValue(part.value, part.conversion, None)))
        for kind, changed in changes:
            yield kind, ast.JoinedStr([*node.values[:at], changed, *node.values[at + 1 :]])
    shown = [(at, part) for at, part in enumerate(node.values) if isinstance(part, ast.FormattedValue)]
    for (one, first), (two, second) in pairwise(shown):
        values = [*node.values]
        values[one] = ast.FormattedValue(second.value, first.conversion, first.format_spec)
        values[two] = ast.FormattedValue(first.value, second.conversion, second.format_spec)
        yield "arguments", ast.JoinedStr(values)


def _of_call(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Call(func=ast.Name(id="sorted" | "reversed" | "abs" | "set" | "min" | "max"), args=[_, *_]):
            yield "without the call", node.args[0]
        case ast.Call(
            func=ast.Attribute(value=value, attr="strip" | "lower" | "casefold" | "resolve"), args=[]
        ):
            yield "without the call", value
        case _:
            pass
    if isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        yield "function", ast.Call(ast.Name(_CALLS[node.func.id]), node.args, node.keywords)
    if len(node.args) == 2 and not any(isinstance(one, ast.Starred) for one in node.args):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in ("isinstance", "getattr", "cast", "min", "max"):
            yield "arguments", ast.Call(node.func, node.args[::-1], node.keywords)
    for at, keyword in enumerate(node.keywords):
        if keyword.arg:
            yield (
                "argument left out",
                ast.Call(node.func, node.args, node.keywords[:at] + node.keywords[at + 1 :]),
            )


def _other_fields(scope: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[ast.expr, str, ast.AST]]:
    """A field read of an object, in place of another that the same function reads of it."""
    read: dict[str, dict[str, list[ast.Attribute]]] = defaultdict(lambda: defaultdict(list))
    called = {id(node.func) for node in ast.walk(scope) if isinstance(node, ast.Call)}
    for node in ast.walk(scope):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and id(node) not in called:
            read[ast.unparse(node.value)][node.attr].append(node)
    for fields in read.values():
        names = sorted(fields)
        for at, name in enumerate(names):
            for node in fields[name] if len(names) > 1 else ():
                yield node, "field", ast.Attribute(node.value, names[at - 1], ast.Load())


def _skipped(tree: ast.Module) -> set[int]:
    """Nodes where a change says nothing (annotations, docstrings, imports for types), and the parts of f-strings, which
    have no place of their own before Python 3.12."""
    found: set[int] = set()

    def skip(node: ast.AST | None) -> None:
        if node is not None:
            found.update(id(below) for below in ast.walk(node))

    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for part in (node.returns, *node.decorator_list):
                    skip(part)
            case ast.arg() | ast.AnnAssign():
                skip(node.annotation)
            case ast.Expr(value=ast.Constant()) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
                skip(node)
            case ast.JoinedStr():
                skip(node)
                found.discard(id(node))
            case _:
                pass
    return found


def _are_constants(nodes: list[ast.expr]) -> bool:
    return len(nodes) > 1 and all(isinstance(node, ast.Constant) for node in nodes)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
