from mindspore.mint.nn import functional  # noqa: F401
