# SPDX-License-Identifier: Apache-2.0
"""8-bit tensors and tensors that hold others: recorded as what they are made of, and the training stays as it is."""
import unittest

import torch

from collected import debugger, forwards, read

MODERN = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 9)  # has _scaled_mm for the CPU


class Quantised(torch.Tensor):
    """Says that it is float32 and holds codes and a scale, as torchao's tensors do."""

    @staticmethod
    def __new__(cls, codes, scale):
        return torch.Tensor._make_wrapper_subclass(cls, codes.shape, strides=codes.stride(), dtype=torch.float32, device=codes.device)

    def __init__(self, codes, scale):
        self.codes, self.scale = codes, scale

    def __tensor_flatten__(self):
        return ["codes", "scale"], None

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.mm.default:
            left, right = args
            return torch._scaled_mm(left.codes, right.codes, left.scale, right.scale, out_dtype=torch.float32)
        if function in (torch.ops.aten.t.default, torch.ops.aten.detach.default):
            return cls(function(args[0].codes), args[0].scale)
        raise NotImplementedError(function)


def quantised(tensor):
    scale = (448 / tensor.abs().max()).float()
    return Quantised((tensor * scale).to(torch.float8_e4m3fn), scale.reciprocal())


class Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return torch.mm(quantised(x), quantised(weight).t())

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient @ weight, torch.mm(quantised(gradient.t().contiguous()), quantised(x.t().contiguous()).t())


def trained(made=None):
    torch.manual_seed(5)
    weight = torch.nn.Parameter(torch.randn(32, 16))
    x = torch.randn(48, 16)
    for _ in range(2):
        if made is not None:
            made.start()
        Multiply.apply(x, weight).square().mean().backward()
        if made is not None:
            made.stop()
            made.step()
        with torch.no_grad():
            weight -= weight.grad
            weight.grad = None
    return weight.detach()


@unittest.skipUnless(MODERN, "this PyTorch has no float8")
class LowPrecision(unittest.TestCase):
    def test_a_tensor_that_holds_others_is_recorded_as_these(self):
        plain = trained()
        with debugger({"task": "statistics", "level": "L1"}) as made:
            weight = trained(made)
            data = read(made, 1)["data"]
        self.assertTrue(torch.equal(plain, weight))
        names = [name.rsplit(".", 1)[0] for name in forwards(data)]
        self.assertEqual(names.count("Aten._scaled_mm"), 2)
        self.assertNotIn("Torch.mm", names)
        entry = next(entry for name, entry in data.items() if name.startswith("Aten._scaled_mm.0"))
        left, right = entry["input_args"][:2]
        self.assertEqual(left["dtype"], "torch.float8_e4m3fn")
        self.assertEqual(max(abs(left["Max"]), abs(left["Min"])), 448)
        self.assertNotIn("stride", left)
        self.assertEqual((right["shape"], right["stride"]), ([16, 32], [1, 16]))

    def test_statistics_are_those_of_the_numbers(self):
        with debugger({"task": "statistics", "level": "L1"}) as made:
            made.start()
            torch.tensor([1.5, -3.0]).to(torch.float8_e5m2)
            if hasattr(torch, "float8_e4m3fnuz"):
                torch.tensor([240.0, float("nan")]).to(torch.float8_e4m3fnuz)
            made.stop()
            made.step()
            data = read(made, 0)["data"]
        first = data["Tensor.to.0.forward"]["output"][0]
        self.assertEqual((first["Max"], first["Min"], first["Mean"]), (1.5, -3, -0.75))
        if hasattr(torch, "float8_e4m3fnuz"):
            second = data["Tensor.to.1.forward"]["output"][0]
            self.assertEqual((second["dtype"], second["Max_except_inf_nan"]), ("torch.float8_e4m3fnuz", 240))


if __name__ == "__main__":
    unittest.main()
