import torch

from priorfit.network.attention.attention import ContextAttention


def test_attention_is_a_softmax_over_the_context_and_the_sink():
    attention = ContextAttention(8, 2)
    with torch.no_grad():
        attention.sink_key.normal_()
        attention.sink_value.normal_()
        attention.projections.output.weight.copy_(torch.eye(8))
    tokens, context = torch.randn(3, 5, 8), torch.randn(3, 12, 8)
    memory = attention.keys_values(context)
    queries = attention.projections.query(tokens).unflatten(2, (2, 4)).transpose(1, 2)
    own = attention.projections.key(context).unflatten(2, (2, 4)).transpose(1, 2)
    keys = torch.cat([own, attention.sink_key.expand(3, -1, -1, -1)], dim=2)
    weights = (queries @ keys.mT / 2).softmax(-1)
    assert weights.shape == (3, 2, 5, 13)
    torch.testing.assert_close(attention(tokens, memory), (weights @ memory.values).transpose(1, 2).flatten(2))
