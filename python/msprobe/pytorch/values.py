# SPDX-License-Identifier: Apache-2.0
"""Values other than plain numbers, texts, lists or tensors of this machine, as dump.json has them. C++ handles the common ones."""
import zlib
from typing import Optional

import torch

from msprobe.common.values import Told, describe_python


def describe_special(value: object, _keyword: Optional[str]) -> Told:
    """("json", what is written), ("walk", what is described in its place) or ("fields", an object that has a tensor among what is
    written). Objects that nothing is known of become null."""
    if isinstance(value, torch.Size):
        return "json", {"type": "torch.Size", "value": [int(extent) for extent in value]}
    if isinstance(value, torch.dtype):
        return "json", {"type": "torch.dtype", "value": str(value)}
    if isinstance(value, torch.device):
        return "json", {"type": "torch.device", "value": f"{value.type}:{value.index}"}
    if isinstance(value, torch.memory_format):
        return "json", {"type": "torch.memory_format", "format": str(value).rsplit(".", 1)[-1]}
    return describe_python(value) or _distributed(value) or ("json", None)


def _distributed(value: object) -> Optional[Told]:
    if not torch.distributed.is_available():
        return None
    communication = torch.distributed
    if isinstance(value, communication.ProcessGroup):
        return "json", {"type": "torch.ProcessGroup", "group_ranks": _group_ranks(value), "group_id": _group_id(value)}
    if isinstance(value, (communication.ReduceOp, communication.ReduceOp.RedOpType)):
        return "json", {"type": "torch.distributed.ReduceOp", "value": str(getattr(value, "op", value))}
    if isinstance(value, communication.P2POp):
        return "fields", {"class_type": "torch.distributed.P2POp", "tensor": value.tensor, "op": value.op.__name__,
                          "peer": value.peer, "tag": value.tag, "group_id": _group_id(value.group)}
    return None


def _group_ranks(group: object) -> list:
    communication = torch.distributed.distributed_c10d
    if hasattr(communication, "get_process_group_ranks"):
        return list(communication.get_process_group_ranks(group))
    return sorted(communication._pg_group_ranks[group])  # before PyTorch 2


def _group_id(group: object) -> str:
    """None is the group of all processes."""
    ranks = _group_ranks(torch.distributed.group.WORLD if group is None else group)
    return f"{zlib.crc32(str(ranks).encode()):08x}"


def _type_name(tensor: torch.Tensor) -> str:
    module, name = type(tensor).__module__, type(tensor).__qualname__
    if name in ("DTensor", "FakeTensor", "AsyncCollectiveTensor", "NestedTensor"):
        module = {"DTensor": "torch.distributed.tensor"}.get(name, module)
        return f"{module}.{name}"
    functorch = getattr(torch._C, "_functorch", None)
    if functorch is not None and functorch.is_batchedtensor(tensor):
        return "BatchedTensor"
    if functorch is not None and functorch.is_gradtrackingtensor(tensor):
        return "GradTrackingTensor"
    return "torch.Tensor"


def _placements(tensor: torch.Tensor) -> dict:
    def describe_placement(placement: object) -> dict:
        fields = {"dim": getattr(placement, "dim", None), "reduce_op": getattr(placement, "reduce_op", None)}
        return {type(placement).__name__.lstrip("_"): {key: item if key == "dim" else str(item)
                                                       for key, item in fields.items() if item is not None}}

    whole = tensor.device_mesh.mesh.numel() == 1 or all(type(item).__name__ == "Replicate" for item in tensor.placements)
    placements = [describe_placement(item) for item in tensor.placements]
    return {"device_mesh": tensor.device_mesh.mesh.tolist(), "placements": placements, "is_whole": whole}


def _without_wrapper(tensor: torch.Tensor) -> torch.Tensor:
    functorch = getattr(torch._C, "_functorch", None)
    while functorch is not None and functorch.is_functorch_wrapped_tensor(tensor):
        tensor = functorch.get_unwrapped(tensor)
    return tensor


def _plain(tensor: torch.Tensor, name: str) -> Optional[torch.Tensor]:
    """The elements as a strided tensor in this machine's memory; None if there are none."""
    if name.endswith("FakeTensor") or name.endswith("AsyncCollectiveTensor") or tensor.is_meta:
        return None
    tensor = _without_wrapper(tensor).detach()
    if tensor.is_quantized:
        return tensor.dequantize().double()
    if tensor.layout is not torch.strided:
        return None
    if type(tensor) is not torch.Tensor:
        tensor = tensor.as_subclass(torch.Tensor)
    tensor = tensor.resolve_conj().resolve_neg()
    return tensor if tensor.is_cpu else tensor.cpu()


def read_special(tensor: torch.Tensor) -> tuple:
    """(type, dtype, shape, requires_grad, plain tensor or None, may be saved, further keys)"""
    with torch._C.DisableTorchFunction():
        requires_grad = tensor.requires_grad
        name, extra = _type_name(tensor), {}
        if name.endswith(".DTensor"):
            extra = _placements(tensor)
            tensor = tensor.to_local()
        elif name.endswith(".NestedTensor"):
            tensor = tensor.values()
        try:
            with torch.no_grad():
                plain = _plain(tensor, name)
        except (RuntimeError, NotImplementedError):
            plain = None
        shape = plain.shape if plain is not None else tensor.shape
        return (name, str(tensor.dtype), tuple(int(extent) for extent in shape), bool(requires_grad), plain,
                plain is not None and not tensor.is_quantized, extra)
