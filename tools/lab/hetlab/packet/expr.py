# SPDX-License-Identifier: GPL-2.0
"""Arithmetic in scripts: numbers, names, + - * / % | and parentheses; nothing else."""

import ast
import operator
from collections.abc import Callable, Mapping

Number = int | float

OPERATORS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


class Fault(Exception):
    """Something in a script that cannot be understood; the text says what is allowed."""


def _binary(node: ast.BinOp, names: Mapping[str, Number]) -> Number:
    left, right = _value(node.left, names), _value(node.right, names)
    if isinstance(node.op, ast.BitOr):
        return int(left) | int(right)
    if type(node.op) not in OPERATORS:
        raise Fault("operators are + - * / // % |")
    try:
        return OPERATORS[type(node.op)](left, right)
    except ZeroDivisionError:
        raise Fault("division by zero") from None


def _value(node: ast.expr, names: Mapping[str, Number]) -> Number:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise Fault(f"{node.id} is not defined; 'let {node.id} = VALUE' would do it")
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, names)
    if isinstance(node, ast.BinOp):
        return _binary(node, names)
    raise Fault("a number, a name or arithmetic with them is expected")


def evaluate(text: str, names: Mapping[str, Number]) -> Number:
    """Value of an expression, whole or not."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        raise Fault(f"'{text.strip()}' is not a number or arithmetic") from None
    return _value(tree.body, names)


def whole(text: str, names: Mapping[str, Number], low: int, high: int) -> int:
    """Value of an expression that must be a whole number in a range."""
    value = evaluate(text, names)
    if value != int(value) or not low <= value <= high:
        raise Fault(f"'{text.strip()}' is {value}; a whole number {low}..{high} is expected")
    return int(value)
