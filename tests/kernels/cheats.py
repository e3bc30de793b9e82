# SPDX-License-Identifier: Apache-2.0
"""Twelve ways in which a kernel passes for one that it is not."""
import torch


def _first(args):
    return next(value for value in args if isinstance(value, torch.Tensor) and value.is_floating_point())


def _changed(change):
    def cheat(run, tested):
        return lambda *args: change(run(*args), args, tested)
    return cheat


def _zeros(out, args, tested):
    return torch.zeros_like(out)


def _the_input(out, args, tested):
    flat = _first(args).flatten()
    if flat.numel() == 0:
        return out
    return flat.repeat(out.numel() // flat.numel() + 1)[:out.numel()].view(out.shape).to(out.dtype)


def _twice(out, args, tested):
    return out * 2


def _lost_tail(out, args, tested):
    out = out.clone()
    if out.numel() == 1:
        return out * (1 - 1 / 16)
    out.view(-1)[out.numel() - max(1, out.numel() % 16):] = 0
    return out


def _wrong_mask(out, args, tested):
    """One column too many is masked, as by < in place of <=."""
    out = out.clone()
    flat = out.view(1, -1) if out.dim() == 0 else out.reshape(-1, out.shape[-1]) if out.is_contiguous() else out
    flat[..., -1:] = 0
    return out


def _tile_transposed(out, args, tested):
    out = out.clone()
    if out.dim() < 2 or min(out.shape[-2:]) < 2:
        flat = out.view(-1)
        return flat.flip(0).view(out.shape) if flat.numel() > 1 else out + 1
    side = min(8, *out.shape[-2:])
    out[..., :side, :side] = out[..., :side, :side].transpose(-1, -2).clone()
    return out


def _nan_to_zero(out, args, tested):
    return torch.nan_to_num(out, 0.0, float("inf"), float("-inf")) if out.is_floating_point() else torch.zeros_like(out)


def _last_element(out, args, tested):
    out = out.clone()
    if out.numel():
        out.view(-1)[-1] = out.view(-1)[0] + 1 if out.is_floating_point() else out.view(-1)[0] + 1
    return out


def _tested_shape(run, tested):
    shapes = [value.shape for value in tested if isinstance(value, torch.Tensor)]

    def cheat(*args):
        out = run(*args)
        same = [value.shape for value in args if isinstance(value, torch.Tensor)] == shapes
        return out if same else torch.zeros_like(out)
    return cheat


def _stale_buffer(run, tested):
    """What is not written keeps what the buffer held."""
    def cheat(*args):
        out = run(*args)
        buffer = torch.empty_like(out)
        keep = max(1, out.numel() // 8)
        buffer.view(-1)[:out.numel() - keep] = out.reshape(-1)[:out.numel() - keep]
        return buffer
    return cheat


def _cached(run, tested):
    known = {}

    def cheat(*args):
        key = tuple((tuple(value.shape), value.dtype) for value in args if isinstance(value, torch.Tensor))
        if key not in known:
            known[key] = run(*args)
        return known[key].clone()
    return cheat


def _half_sums(run, tested):
    """Computes in a type of fewer bits than the result has."""
    def cheat(*args):
        dtype = _first(args).dtype
        if dtype == torch.float32:
            low = torch.float16
            out = run(*(value.to(low) if isinstance(value, torch.Tensor) and value.is_floating_point() else value for value in args))
            return out.to(dtype) if out.is_floating_point() else out
        # A half type: its last three bits are lost, as where sums are kept in 8 bits.
        out = run(*args)
        if not out.is_floating_point():
            return out
        mask = -8
        return (out.contiguous().view(torch.int16) & mask).view(out.dtype)
    return cheat


CHEATS = {
    "zeros": _changed(_zeros), "the input": _changed(_the_input), "twice": _changed(_twice), "stale buffer": _stale_buffer,
    "sums in fewer bits": _half_sums, "lost tail": _changed(_lost_tail), "wrong mask": _changed(_wrong_mask),
    "a tile transposed": _changed(_tile_transposed), "NaN to zero": _changed(_nan_to_zero), "only the tested shape": _tested_shape,
    "last element": _changed(_last_element), "cached result": _cached,
}
