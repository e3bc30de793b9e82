# SPDX-License-Identifier: Apache-2.0
"""Single operators as kernel benchmarks pose them (the forms of KernelBench's level 1, written anew with small shapes)."""
import math
from typing import Any, Callable, Dict, List, NamedTuple

import torch
import torch.nn.functional as F


class Problem(NamedTuple):
    name: str
    run: Callable[..., Any]
    args: Callable[[torch.Generator], List[Any]]


PROBLEMS: Dict[str, Problem] = {}


def problem(*shapes, draw=torch.randn, more=()):
    """`shapes`: of the floating arguments; `more`: a function of the generator that gives the others."""
    def declare(run):
        def args(generator):
            given = [draw(*shape, generator=generator) for shape in shapes]
            return given + (list(more(generator)) if callable(more) else list(more))
        PROBLEMS[run.__name__] = Problem(run.__name__, run, args)
        return run
    return declare


@problem((24, 24), (24, 24))
def square_matmul(a, b):
    return a @ b


@problem((20, 48), (48, 28))
def matmul(a, b):
    return torch.matmul(a, b)


@problem((6, 12, 20), (6, 20, 14))
def batched_matmul(a, b):
    return torch.bmm(a, b)


@problem((40, 96), (96, 1))
def matrix_vector(a, b):
    return torch.matmul(a, b)


@problem((20, 30), more=(3.14,))
def matrix_scalar(a, s):
    return a * s


@problem((8, 512), (512, 12))
def matmul_large_k(a, b):
    return torch.matmul(a, b)


@problem((60, 4), (4, 52))
def matmul_small_k(a, b):
    return torch.matmul(a, b)


@problem((37, 29), (29, 43))
def matmul_irregular(a, b):
    return torch.matmul(a, b)


@problem((90, 6), (6, 90))
def matmul_tall(a, b):
    return torch.matmul(a, b)


@problem((5, 14, 22), (22, 18))
def tensor3_matrix(a, b):
    return torch.matmul(a, b)


@problem((2, 5, 7, 16), (16, 11))
def tensor4_matrix(a, b):
    return torch.einsum("bijl,lk->bijk", a, b)


@problem((26,), (26, 32))
def diagonal_matmul(a, b):
    return torch.diag(a) @ b


@problem((28, 28), (28, 28))
def symmetric_matmul(a, b):
    return (a + a.T) @ (b + b.T)


@problem((28, 28), (28, 28))
def upper_triangular(a, b):
    return torch.triu(torch.matmul(torch.triu(a), torch.triu(b)))


@problem((28, 28), (28, 28))
def lower_triangular(a, b):
    return torch.tril(torch.matmul(torch.tril(a), torch.tril(b)))


@problem((40, 18), (40, 26))
def transposed_a(a, b):
    return torch.matmul(a.T, b)


@problem((18, 40), (26, 40))
def transposed_b(a, b):
    return torch.matmul(a, b.T)


@problem((40, 18), (26, 40))
def transposed_both(a, b):
    return torch.matmul(a.T, b.T)


def _elementwise(name, run, draw=torch.randn):
    run.__name__ = name
    problem((16, 67), draw=draw)(run)


_elementwise("relu", lambda x: torch.relu(x))
_elementwise("leaky_relu", lambda x: F.leaky_relu(x, 0.01))
_elementwise("sigmoid", lambda x: torch.sigmoid(x))
_elementwise("tanh", lambda x: torch.tanh(x))
_elementwise("softmax", lambda x: torch.softmax(x, dim=1))
_elementwise("log_softmax", lambda x: torch.log_softmax(x, dim=1))
_elementwise("swish", lambda x: x * torch.sigmoid(x))
_elementwise("gelu", lambda x: F.gelu(x))
_elementwise("selu", lambda x: torch.selu(x))
_elementwise("hardsigmoid", lambda x: F.hardsigmoid(x))
_elementwise("softplus", lambda x: F.softplus(x))
_elementwise("softsign", lambda x: x / (1 + torch.abs(x)))
_elementwise("elu", lambda x: F.elu(x, 1.0))
_elementwise("hardtanh", lambda x: F.hardtanh(x, -1.0, 1.0))
_elementwise("new_gelu", lambda x: 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0)))))
_elementwise("frobenius_norm", lambda x: x / torch.norm(x, p="fro"))
_elementwise("l1_norm", lambda x: x / torch.mean(torch.abs(x), dim=1, keepdim=True))
_elementwise("l2_norm", lambda x: x / torch.norm(x, p=2, dim=1, keepdim=True))
_elementwise("cumsum", lambda x: torch.cumsum(x, dim=1))
_elementwise("cumsum_reverse", lambda x: torch.cumsum(x.flip(1), dim=1).flip(1))
_elementwise("cumsum_exclusive", lambda x: torch.cumsum(torch.cat((torch.zeros_like(x[:, :1]), x[:, :-1]), dim=1), dim=1))


@problem((12, 20))
def cumprod(x):
    return torch.cumprod(x, dim=1)


@problem((16, 40), more=lambda g: [torch.rand(16, 40, generator=g) < 0.5])
def masked_cumsum(x, mask):
    return torch.cumsum(x * mask, dim=1)


@problem((6, 5, 7, 7), (5,), (5,))
def batch_norm(x, weight, bias):
    return F.batch_norm(x, None, None, weight, bias, training=True)


@problem((4, 5, 9, 7))
def instance_norm(x):
    return F.instance_norm(x)


@problem((3, 8, 7, 6), (8,), (8,))
def group_norm(x, weight, bias):
    return F.group_norm(x, 4, weight, bias)


@problem((4, 18, 5, 6))
def rms_norm(x):
    return x / torch.sqrt(torch.mean(x ** 2, dim=1, keepdim=True) + 1e-5)


@problem((9, 66), (66,), (66,), more=lambda _: [[66]])
def layer_norm(x, weight, bias, shape):
    return F.layer_norm(x, shape, weight, bias)


@problem((3, 4, 40))
def max_pool1d(x):
    return F.max_pool1d(x, 4, 2, 1, 2)


@problem((3, 4, 18, 17))
def max_pool2d(x):
    return F.max_pool2d(x, 3, 2, 1)


@problem((2, 3, 9, 10, 8))
def max_pool3d(x):
    return F.max_pool3d(x, 3, 2, 1)


@problem((3, 4, 40))
def avg_pool1d(x):
    return F.avg_pool1d(x, 4, 2, 1)


@problem((3, 4, 18, 17))
def avg_pool2d(x):
    return F.avg_pool2d(x, 3)


@problem((2, 3, 9, 10, 8))
def avg_pool3d(x):
    return F.avg_pool3d(x, 3, 2, 1)


def _reduction(name, run):
    run.__name__ = name
    problem((7, 33, 10))(run)


_reduction("sum_dim", lambda x: torch.sum(x, dim=1, keepdim=True))
_reduction("mean_dim", lambda x: torch.mean(x, dim=1))
_reduction("max_dim", lambda x: torch.max(x, dim=1)[0])
_reduction("min_dim", lambda x: torch.min(x, dim=1)[0])
_reduction("argmax_dim", lambda x: torch.argmax(x, dim=1))
_reduction("argmin_dim", lambda x: torch.argmin(x, dim=1))
_reduction("prod_dim", lambda x: torch.prod(x[:, :9], dim=1))


@problem((2, 5, 14, 13), (6, 5, 3, 3), (6,))
def conv2d(x, weight, bias):
    return F.conv2d(x, weight, bias)


@problem((2, 4, 15, 12), (6, 2, 3, 5))
def conv2d_strided(x, weight):
    return F.conv2d(x, weight, stride=2, padding=1, dilation=1, groups=2)


@problem((2, 5, 31), (7, 5, 4))
def conv1d(x, weight):
    return F.conv1d(x, weight, stride=3, dilation=2)


@problem((2, 3, 7, 8, 6), (4, 3, 3, 3, 3))
def conv3d(x, weight):
    return F.conv3d(x, weight)


@problem((2, 5, 9, 8), (5, 4, 3, 3))
def conv_transpose2d(x, weight):
    return F.conv_transpose2d(x, weight, stride=2, padding=1)


@problem((2, 5, 17), (5, 4, 3))
def conv_transpose1d(x, weight):
    return F.conv_transpose1d(x, weight, stride=2)


@problem((2, 3, 5, 6, 4), (3, 4, 3, 3, 3))
def conv_transpose3d(x, weight):
    return F.conv_transpose3d(x, weight)


@problem((2, 6, 13, 12), (6, 1, 3, 3))
def conv2d_depthwise(x, weight):
    return F.conv2d(x, weight, groups=x.shape[1])


@problem((2, 6, 11, 10), (6, 1, 3, 3), (9, 6, 1, 1))
def conv2d_separable(x, depth, point):
    return F.conv2d(F.conv2d(x, depth, padding=1, groups=x.shape[1]), point)


@problem((2, 12, 9, 10), (15, 12, 1, 1))
def conv2d_pointwise(x, weight):
    return F.conv2d(x, weight)


@problem((64, 11), (64, 11))
def mse_loss(x, y):
    return torch.mean((x - y) ** 2)


@problem((48, 10), more=lambda g: [torch.randint(0, 10, (48,), generator=g)])
def cross_entropy(x, y):
    return F.cross_entropy(x, y)


@problem((64, 11), (64, 11))
def huber_loss(x, y):
    return F.smooth_l1_loss(x, y)


@problem((36, 21), (36, 21))
def cosine_loss(x, y):
    return torch.mean(1 - F.cosine_similarity(x, y, dim=1))


@problem((24, 17), (24, 17))
def kl_div(x, y):
    return F.kl_div(torch.log_softmax(x, -1), torch.softmax(y, -1), reduction="batchmean")


@problem((30, 19), (30, 19), (30, 19))
def triplet_loss(a, p, n):
    return F.triplet_margin_loss(a, p, n, margin=1.0)


@problem((50,), more=lambda g: [torch.randint(0, 2, (50,), generator=g).float() * 2 - 1])
def hinge_loss(x, y):
    return torch.mean(torch.clamp(1 - x * y, min=0))


@problem((2, 3, 18, 16), (2, 3, 18, 16), (2, 3, 18, 16))
def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


@problem((2, 3, 18, 16), (2, 3, 18, 16), (2, 3, 18, 16))
def causal_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def arguments(name: str, seed: int = 0, dtype: torch.dtype = torch.float32) -> List[Any]:
    made = PROBLEMS[name].args(torch.Generator().manual_seed(seed))
    return [value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value for value in made]
