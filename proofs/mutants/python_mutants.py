"""Mutants of Python code: comparisons, conditions, numbers, deleted statements, missing awaits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from proofs.mutants.mutant import Mutant
from proofs.mutants.sql_mutants import sql_mutants

_COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
}
_REPORTING = ("log.", "metrics.", "self._say(", "say(", "warnings.")
"""Calls that inform an operator: no test requires them."""


def python_mutants(file: str, text: str) -> list[Mutant]:
    """Return all mutants of a Python file, and of the SQL in its strings."""
    return sorted(set(_Maker(file, text).made()))


class _Maker:
    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        lines = text.split("\n")
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._lines = lines

    def made(self) -> Iterator[Mutant]:
        tree = ast.parse(self._text)
        skipped = _skipped(tree)
        for node in ast.walk(tree):
            if id(node) not in skipped:
                yield from self._of(node)

    def _of(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.Compare():
                operands = [node.left, *node.comparators]
                for number, operator in enumerate(node.ops):
                    symbol, others = _COMPARISONS[type(operator)]
                    for other in others:
                        yield from self._between(operands[number], operands[number + 1], symbol, other, "comparison")
            case ast.BoolOp():
                symbol, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                yield from self._between(node.values[0], node.values[1], symbol, other, "condition")
                for number, value in enumerate(node.values[1:], 1):
                    start, end = self._end(node.values[number - 1]), self._end(value)
                    dropped = self._text[start:end]
                    if dropped.count("(") == dropped.count(")"):
                        yield self._replaced(start, end, "", "dropped condition")
            case ast.UnaryOp(op=ast.Not()):
                start = self._start(node)  # the operand's own place lies within its parentheses
                yield self._replaced(start, start + len("not "), "", "condition")
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                symbol, other = _ARITHMETIC[type(node.op)]
                yield from self._between(node.left, node.right, symbol, other, "arithmetic")
            case ast.Constant(value=bool(value)):
                yield self._replaced(self._start(node), self._end(node), str(not value), "constant")
            case ast.Constant(value=int(value)):
                after = value + 1 if value < 10 else value * 10
                yield self._replaced(self._start(node), self._end(node), str(after), "constant")
            case ast.Constant(value=float(value)):
                yield self._replaced(self._start(node), self._end(node), repr(value * 2 or 1.0), "constant")
            case ast.Constant(value=str()) | ast.JoinedStr():
                start = self._start(node)
                yield from sql_mutants(self._file, self._text, start, self._end(node))
            case ast.If() | ast.While() | ast.IfExp():
                test = node.test
                if not isinstance(test, ast.UnaryOp | ast.Constant):
                    start, end = self._start(test), self._end(test)
                    yield self._replaced(start, end, f"not ({self._text[start:end]})", "negated condition")
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield self._replaced(self._start(value), self._end(value), "None", "return value")
            case ast.Break():
                yield self._replaced(self._start(node), self._end(node), "continue", "loop")
            case ast.Continue():
                yield self._replaced(self._start(node), self._end(node), "break", "loop")
            case ast.Expr(value=ast.Await() as value):
                yield self._replaced(self._start(value), self._start(value.value), "", "missing await")
                yield from self._deleted(node)
            case ast.Expr(value=ast.Call()) | ast.AugAssign():
                yield from self._deleted(node)

    def _deleted(self, node: ast.stmt) -> Iterator[Mutant]:
        start, end = self._start(node), self._end(node)
        text = self._text[start:end].removeprefix("await ")
        if not text.startswith(_REPORTING) and ".labels(" not in text:
            yield self._replaced(start, end, "pass", "deleted statement")

    def _between(self, left: ast.expr, right: ast.expr, symbol: str, other: str, kind: str) -> Iterator[Mutant]:
        """Yield a mutant of the operator `symbol` between two operands; brackets and comments may be there too."""
        start = self._end(left)
        at = self._text.find(symbol, start, self._start(right))
        if at >= 0:
            yield self._replaced(at, at + len(symbol), other, kind)

    def _replaced(self, start: int, end: int, after: str, kind: str) -> Mutant:
        line = self._text.count("\n", 0, start) + 1
        return Mutant(self._file, start, end, after, kind, line, self._text[start:end])

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._offset(node.lineno, node.col_offset)

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, column: int) -> int:
        """Return the position in characters; `column` counts bytes of UTF-8."""
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())


def _skipped(tree: ast.Module) -> set[int]:
    """Return nodes without effect on behaviour: annotations, docstrings, asserts, arguments of logs and errors."""
    skipped: set[int] = set()

    def skip(node: ast.AST | None) -> None:
        skipped.update(id(inner) for inner in ast.walk(node) if node is not None) if node is not None else None

    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Assert() | ast.Raise():
                skip(node)
            case ast.AnnAssign():
                skip(node.annotation)
            case ast.arg():
                skip(node.annotation)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                skip(node.returns)
            case ast.ClassDef():  # slots and frozen: a type checker's matter
                for decorator in node.decorator_list:
                    skip(decorator)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                skip(node)
            case ast.Call() if ast.unparse(node.func).startswith(("log.", "Field", "metrics.", "documented")):
                skip(node)
            case ast.keyword(arg="strict"):  # of zip: a guard against other bugs
                skip(node)
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Attribute(attr="labels")))):
                skip(node)  # a metric that was imported by its name
            case ast.JoinedStr():
                for value in node.values:
                    skip(value)
    return skipped
