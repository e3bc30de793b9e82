# SPDX-License-Identifier: Apache-2.0
"""The part of the autograd graph that one call of a module has made: where its results hang, and which nodes lead to its arguments."""
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

import torch

_MAX_DEPTH = 8
_MAX_NODES = 100000  # a call that takes tensors from elsewhere could lead into the whole graph


class Edge(NamedTuple):
    """A tensor's place in the graph: the node that made it and which of its results it is. Of a leaf the tensor itself."""
    node: Any
    number: int
    leaf: Optional[torch.Tensor]


def tensors_in(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """The tensors of nested tuples, lists and dictionaries, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth < _MAX_DEPTH and isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(item, depth + 1)


def edge_of(tensor: torch.Tensor) -> Edge:
    node = tensor.grad_fn
    return Edge(None, 0, tensor) if node is None else Edge(node, tensor.output_nr, None)


def accumulator_of(leaf: torch.Tensor) -> Any:
    """The node that adds to its gradient."""
    with torch.enable_grad():
        return leaf.expand_as(leaf).grad_fn.next_functions[0][0]


def _sequence_number(node: Any, unknown: int = 0) -> int:
    """Nodes are numbered as they are made; some versions of PyTorch do not tell."""
    number = getattr(node, "_sequence_nr", None)
    return number() if number is not None else unknown


def _will_run(node: Any) -> bool:
    tells = getattr(torch._C, "_will_engine_execute_node", None)
    try:
        return tells is None or tells(node)
    except RuntimeError:
        return True


class Result:
    """A tensor of the result that needs a gradient."""

    def __init__(self, index: int, edge: Edge) -> None:
        self.index, self._edge = index, edge
        self.exits: Set[int] = set()  # numbers of exit nodes that its gradient leads to
        self._arrived: Optional[torch.Tensor] = None
        self._inner: Optional[torch.Tensor] = None  # what came from results that were made of this one

    def take_node(self) -> Any:
        """The node that its gradient arrives at, which is forgotten here."""
        node = self._edge.node if self._edge.node is not None else accumulator_of(self._edge.leaf)
        self._edge = Edge(None, self._edge.number, None)
        return node

    def hook(self, node: Any, earlier: List[Tuple[int, Any]], arrived: Callable) -> None:
        """arrived(result, gradient, numbers of the results whose gradients will come, this one included). Nodes run from the latest to
        the earliest. A hook refers to `earlier` ones alone, so that no circle keeps the graph alive."""
        number, index = self._edge.number, self.index
        same = {at for at, other in earlier if other is node}
        others = [(at, other) for at, other in earlier if other is not node]

        def add_gradients(gradients: tuple) -> None:
            arrived(self, gradients[number], {index, *same, *(at for at, other in others if _will_run(other))})

        if hasattr(node, "register_prehook"):
            node.register_prehook(add_gradients)
        else:  # before PyTorch 2
            node.register_hook(lambda _left, gradients: add_gradients(gradients))

    def take(self, gradient: Optional[torch.Tensor]) -> None:
        self._arrived = gradient

    def add_inner(self, gradient: Optional[torch.Tensor]) -> None:
        self._inner = _sum(self._inner, gradient)

    def from_outside(self) -> Optional[torch.Tensor]:
        if self._arrived is None or self._inner is None:
            return self._arrived
        with torch.no_grad():
            return torch.sub(self._arrived, self._inner)

    def clear(self) -> None:
        self._arrived = self._inner = None


def _sum(first: Optional[torch.Tensor], second: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
    if first is None or second is None:
        return second if first is None else first
    with torch.no_grad():
        return torch.add(first, second)


class ModuleGraph:
    """`results` and `arguments` that need a gradient; `others` are tensors that came as keywords."""

    def __init__(self, results: List[Edge], arguments: List[Edge], others: List[Edge]) -> None:
        self.results = [Result(index, edge) for index, edge in enumerate(results)]
        self._left: List[Optional[torch.Tensor]] = [None] * len(arguments)
        self.exit_nodes: List[Any] = []
        # Of an exit node: (which of its results, the arguments it leads to, the results of the module it leads to).
        self._exit_edges: List[List[Tuple[int, List[int], List[int]]]] = []
        # A result that is an argument: (result, argument)
        self._handed_on: List[Tuple[int, int]] = []
        self._search(results, arguments, others)
        self.has_exits = bool(self.exit_nodes)

    def hook(self, arrived: Callable, leaving: Callable) -> None:
        """`arrived` as Result.hook calls it; leaving(number of an exit node) is what is hooked there."""
        nodes = [(result.index, result.take_node()) for result in self.results]
        nodes.sort(key=lambda item: _sequence_number(item[1]), reverse=True)
        for at, (index, node) in enumerate(nodes):
            self.results[index].hook(node, nodes[at + 1:], arrived)
        for number, node in enumerate(self.exit_nodes):
            node.register_hook(leaving(number))
        self.exit_nodes = []  # nodes hold hooks, and hooks hold this object

    def add_left(self, index: int, gradients: tuple) -> None:
        for at, arguments, results in self._exit_edges[index]:
            for argument in arguments:
                self._left[argument] = _sum(self._left[argument], gradients[at])
            for result in results:
                self.results[result].add_inner(gradients[at])

    def arrived(self) -> List[Optional[torch.Tensor]]:
        return [result.from_outside() for result in self.results]

    def left(self) -> List[Optional[torch.Tensor]]:
        for result, argument in self._handed_on:
            self._left[argument] = _sum(self._left[argument], self.results[result].from_outside())
        return self._left

    def clear(self) -> None:
        self._left = []
        for result in self.results:
            result.clear()

    def _search(self, results: List[Edge], arguments: List[Edge], others: List[Edge]) -> None:
        places: Dict[Any, List[Tuple[Edge, int, bool]]] = {}  # node or leaf -> (edge, index, whether it is an argument)
        for is_argument, edges in ((True, arguments), (False, results)):
            for index, edge in enumerate(edges):
                places.setdefault(_key(edge), []).append((edge, index, is_argument))
        inputs = {_key(edge) for edge in (*arguments, *others)}
        earliest = max([_sequence_number(edge.node) for edge in (*arguments, *others) if edge.node is not None], default=-1)
        for index, edge in enumerate(results):
            for place, argument, is_argument in places[_key(edge)]:
                if is_argument and place.number == edge.number:
                    self._handed_on.append((index, argument))
        if not arguments and len(results) == 1:
            return
        numbers: Dict[Any, Optional[int]] = {}
        for result, edge in zip(self.results, results):
            if edge.node is not None and _key(edge) not in inputs:
                result.exits = self._exits_below(edge.node, places, inputs, earliest, numbers)

    def _exits_below(self, root: Any, places: dict, inputs: set, earliest: int, numbers: dict) -> Set[int]:
        found: Set[int] = set()
        seen, todo = {root}, [root]
        while todo and len(seen) < _MAX_NODES:
            node = todo.pop()
            if node not in numbers:
                numbers[node] = self._exit_number(node, places)
            number = numbers[node]
            if number is not None:
                found.add(number)
            for following, _at in node.next_functions:
                if following is None or following in seen or following in inputs:
                    continue
                if _sequence_number(following, earliest + 1) > earliest:
                    seen.add(following)
                    todo.append(following)
        return found

    def _exit_number(self, node: Any, places: dict) -> Optional[int]:
        edges = []
        for at, (following, number) in enumerate(node.next_functions):
            if following is None:
                continue
            key = _leaf_key(following)
            met = [(index, is_argument) for edge, index, is_argument in places.get(following if key is None else key, ())
                   if key is not None or edge.number == number]
            if met:
                edges.append((at, [index for index, is_argument in met if is_argument],
                              [index for index, is_argument in met if not is_argument]))
        if not edges:
            return None
        self.exit_nodes.append(node)
        self._exit_edges.append(edges)
        return len(self.exit_nodes) - 1


def _key(edge: Edge) -> Any:
    return edge.node if edge.node is not None else ("leaf", id(edge.leaf))


def _leaf_key(node: Any) -> Any:
    """Of the node that adds to a leaf's gradient."""
    return ("leaf", id(node.variable)) if type(node).__name__ == "AccumulateGrad" else None
