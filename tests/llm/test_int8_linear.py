import pytest

torch = pytest.importorskip("torch")

from rag_research.llm.int8_linear import Int8Linear  # noqa: E402


def linear(weight: list[list[float]], bias: list[float] | None = None) -> "torch.nn.Linear":
    layer = torch.nn.Linear(len(weight[0]), len(weight), bias=bias is not None)
    layer.weight.data = torch.tensor(weight)
    if bias is not None:
        layer.bias.data = torch.tensor(bias)
    return layer


def test_values_that_int8_holds_exactly() -> None:
    layer = Int8Linear(linear([[127.0, -64.0], [0.5, 127.0]], [1.0, 0.0]))
    expected = torch.tensor([[127.0 * 127 - 64 * 2 + 1, 127.0 * 2]])
    # The second row's 0.5 rounds to even, 0: the only thing lost.
    torch.testing.assert_close(layer(torch.tensor([[127.0, 2.0]])), expected)


def test_close_to_the_plain_layer_and_every_token_has_its_own_scale() -> None:
    torch.manual_seed(0)
    plain = torch.nn.Linear(512, 256)
    inputs = torch.randn(2, 7, 512) * torch.logspace(-3, 3, 7)[None, :, None]
    with torch.inference_mode():
        expected, got = plain(inputs), Int8Linear(plain)(inputs)
    error = (got - expected).norm(dim=-1) / expected.norm(dim=-1)
    assert got.shape == expected.shape
    assert float(error.max()) < 0.02


def test_zeros_stay_zeros() -> None:
    layer = Int8Linear(linear([[0.0, 0.0], [1.0, 2.0]]))
    assert layer(torch.zeros(3, 2)).tolist() == [[0.0, 0.0]] * 3
