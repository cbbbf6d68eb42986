"""The local model: batching, padding, prefixes, stops and counts, on a tiny random model.

The oracle is ``generate`` of transformers, one prompt at a time.
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from rag_research.config import build
from rag_research.config.fingerprint import fingerprint
from rag_research.errors import ConfigError, LLMError, ModelNotFoundError
from rag_research.llm.base import LLM, Completion, Message, Request
from rag_research.llm.transformers_local import TransformersLocal, TransformersLocalConfig
from rag_research.runtime.weights import list_models

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
FIXED = "Answer in a word. Paris is in France. Rome is in Italy. Oslo is in Norway."
QUESTIONS = ["Where is Lima?", "Who?", "Where do the two long rivers meet, and when?", "Why so?"]


def save_tiny(folder: Path, seed: int = 0) -> Path:
    """A random two-layer Qwen2 with a byte tokenizer."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytes_only = Tokenizer(models.BPE({c: i for i, c in enumerate(alphabet)}, []))
    bytes_only.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_only.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bytes_only,
        eos_token="<|im_end|>",
        pad_token="<|pad|>",
        additional_special_tokens=["<|im_start|>"],
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        initializer_range=0.4,  # large, so that replies vary with the prompt
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("tiny"))


def local(folder: Path, **settings: Any) -> TransformersLocal:
    given = {"model": str(folder), "device": "cpu", "precision": "fp32"} | settings
    return TransformersLocal(build(TransformersLocalConfig, given))


def request(question: str, **settings: Any) -> Request:
    given: dict[str, Any] = {"max_tokens": 24, "prompt": "test/answer@1"} | settings
    return Request((Message("system", FIXED), Message("user", question)), **given)


def ask(llm: TransformersLocal, requests: list[Request]) -> list[Completion]:
    async def together() -> list[Completion]:
        return list(await asyncio.gather(*(llm.complete(r) for r in requests)))

    return asyncio.run(together())


def texts(completions: list[Completion]) -> list[str]:
    return [c.text for c in completions]


@pytest.fixture(scope="module")
def generated(tiny: Path) -> list[tuple[str, int, int]]:
    """Text, prompt tokens and generated tokens of each question, by ``generate``."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny)
    model: Any = AutoModelForCausalLM.from_pretrained(tiny)
    replies = []
    for i, question in enumerate(QUESTIONS):
        chat = [{"role": "system", "content": FIXED}, {"role": "user", "content": question}]
        text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        inputs = tokenizer(text, return_tensors="pt", add_special_tokens=False)
        out = model.generate(**inputs, max_new_tokens=8 + 8 * i, do_sample=False)[0]
        prompt = inputs["input_ids"].shape[1]
        reply = tokenizer.decode(out[prompt:], skip_special_tokens=True)
        replies.append((reply, prompt, len(out) - prompt))
    return replies


@pytest.mark.parametrize("prefix_tokens", [0, 4096])
@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_batched_replies_equal_generate_one_by_one(
    tiny: Path, generated: list[tuple[str, int, int]], batch_size: int, prefix_tokens: int
) -> None:
    llm = local(tiny, batch_size=batch_size, prefix_tokens=prefix_tokens)
    done = ask(llm, [request(q, max_tokens=8 + 8 * i) for i, q in enumerate(QUESTIONS)])
    assert [(c.text, c.input_tokens, c.output_tokens) for c in done] == generated
    assert len(set(texts(done))) == len(QUESTIONS)


def test_the_shared_prefix_is_found_kept_and_used(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rag_research.llm.decoding import Decoder

    read: list[int] = []
    forward = Decoder._forward

    def counting(self: Decoder, tokens: Any, *rest: Any) -> Any:
        if tokens.shape[1] > 1:
            read.append(tokens.shape[1])
        return forward(self, tokens, *rest)

    monkeypatch.setattr(Decoder, "_forward", counting)
    llm = local(tiny, batch_size=1)
    whole = [c.input_tokens for q in QUESTIONS for c in ask(llm, [request(q, max_tokens=1)])]
    shared = len(f"s{FIXED}") + len("ystem\n") + len("\nuser\n") + 3  # bytes and marks
    assert read[0] == whole[0]
    assert read[-1] == whole[-1] - shared - len("Wh")  # "Where", "Who", "Why": "Wh" is shared
    # the first request of another prompt, however alike, starts anew
    ask(llm, [request("Who?", max_tokens=1, prompt="test/other@1")])
    assert read[-1] == whole[1]


def test_many_mixed_requests_in_one_batch_and_alone_agree(tiny: Path) -> None:
    draw = random.Random(5)
    requests = [
        request(
            "x" * draw.randint(1, 60) + str(i),
            max_tokens=draw.randint(1, 40),
            prompt=draw.choice(["", "a@1", "b@1"]),
            temperature=draw.choice([0.0, 1.0]),
            seed=i,
        )
        for i in range(20)
    ]
    alone = [c for r in requests for c in ask(local(tiny, prefix_tokens=0), [r])]
    together = ask(local(tiny, batch_size=8, batch_tokens=700), requests)
    assert texts(together) == texts(alone)
    assert [c.output_tokens for c in together] == [c.output_tokens for c in alone]


def test_sampling_follows_its_seed_whoever_shares_the_batch(tiny: Path) -> None:
    llm = local(tiny)
    hot = [request(QUESTIONS[0], temperature=1.5, seed=seed) for seed in (1, 2, 1)]
    first, other, again = ask(llm, [*hot])
    assert first.text == again.text != other.text
    assert ask(llm, [hot[0]])[0].text == first.text
    assert first.text != ask(llm, [request(QUESTIONS[0])])[0].text


def test_a_stop_string_ends_the_reply_and_is_left_out(tiny: Path) -> None:
    llm = local(tiny)
    free = ask(llm, [request(QUESTIONS[0])])[0]
    stop = free.text[5:7]
    stopped, untouched = ask(
        llm, [request(QUESTIONS[0], stop=(stop, "never")), request(QUESTIONS[0])]
    )
    assert stopped.text == free.text[: free.text.index(stop)]
    assert stopped.finish_reason == "stop"
    assert stopped.output_tokens < free.output_tokens
    assert untouched.text == free.text


def test_max_tokens_is_exact_and_reported(tiny: Path) -> None:
    one, five = ask(local(tiny), [request("Who?", max_tokens=n) for n in (1, 5)])
    assert (one.output_tokens, one.finish_reason) == (1, "length")
    assert (five.output_tokens, five.finish_reason) == (5, "length")


def test_an_end_token_of_the_generation_config_ends_the_reply(tiny: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer, GenerationConfig

    free = ask(local(tiny), [request("Who?")])[0].text
    letter = next(c for c in free if c.isascii() and c.isalnum())
    folder = save_tiny(tmp_path / "ends")
    ends = AutoTokenizer.from_pretrained(folder)(letter)["input_ids"]
    GenerationConfig(eos_token_id=ends).save_pretrained(folder)
    ended = ask(local(folder), [request("Who?")])[0]
    assert ended.finish_reason == "stop"
    assert ended.text == free[: free.index(letter)]


def test_bfloat16_with_packed_weights_follows_plain_layers(tiny: Path) -> None:
    import torch

    from rag_research.llm.loading import PackedLinear

    torch.manual_seed(0)
    linear = torch.nn.Linear(96, 64).to(torch.bfloat16)
    inputs = torch.randn(5, 3, 96, dtype=torch.bfloat16)
    with torch.inference_mode():
        torch.testing.assert_close(PackedLinear(linear)(inputs), linear(inputs))
    done = ask(local(tiny, precision="bf16"), [request(q) for q in QUESTIONS])
    assert [c.output_tokens for c in done] == [24] * 4


def test_it_works_in_several_event_loops_and_speaks_the_protocol(tiny: Path) -> None:
    llm = local(tiny)
    assert isinstance(llm, LLM)
    assert texts(ask(llm, [request("Who?")])) == texts(ask(llm, [request("Who?")]))


def test_a_prompt_that_is_too_long_is_refused_with_numbers(tiny: Path) -> None:
    llm = local(tiny, max_input_tokens=150)
    with pytest.raises(LLMError, match=r"tokens; allowed are max_input_tokens=150"):
        ask(llm, [request("x" * 200, purpose="answer")])
    with pytest.raises(LLMError, match="112 beside max_tokens=400 in the context of 512"):
        ask(llm, [request("x" * 20, max_tokens=400)])
    assert ask(llm, [request("Who?", max_tokens=2)])[0].output_tokens == 2


def test_the_identity_names_what_makes_replies_comparable(tiny: Path, tmp_path: Path) -> None:
    one, other = local(tiny), local(save_tiny(tmp_path / "other", seed=1))
    assert one.identity["sha256"] != other.identity["sha256"]
    assert one.identity["precision"] == "fp32"
    assert set(one.identity) == {"backend", "model", "sha256", "precision"}


def test_settings_without_effect_on_replies_keep_the_fingerprint() -> None:
    base = fingerprint(TransformersLocalConfig())
    same = TransformersLocalConfig(threads=2, batch_size=1, batch_tokens=9, prefix_tokens=0)
    assert fingerprint(same) == base
    assert fingerprint(TransformersLocalConfig(precision="fp32")) != base


@pytest.mark.parametrize("key", ["threads", "batch_size", "batch_tokens", "max_input_tokens"])
def test_settings_below_one_are_refused(key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}: got 0, expected at least 1"):
        build(TransformersLocalConfig, {key: 0})


def test_a_model_that_is_not_there_is_reported_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_RESEARCH_CACHE", str(tmp_path))
    with pytest.raises(ModelNotFoundError, match="models fetch qwen2"):
        TransformersLocal(TransformersLocalConfig())


def test_a_base_model_without_chat_template_is_refused(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "base")
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(LLMError, match="no chat template"):
        ask(local(folder), [request("Who?")])


REFUSES_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
)


@pytest.fixture(scope="module")
def without_system(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = save_tiny(tmp_path_factory.mktemp("without_system"))
    (folder / "chat_template.jinja").write_text(REFUSES_SYSTEM + TEMPLATE)
    return folder


def test_a_template_without_system_messages_gets_them_with_the_first_user_message(
    tiny: Path, without_system: Path
) -> None:
    example = (Message("user", "Hm?"), Message("assistant", "Ho."), Message("user", "Who?"))
    asked = Request((Message("system", FIXED), *example), max_tokens=24)
    joined = Request((Message("user", f"{FIXED}\n\nHm?"), *example[1:]), max_tokens=24)
    (reply,), (expected,) = ask(local(without_system), [asked]), ask(local(tiny), [joined])
    assert (reply.text, reply.input_tokens) == (expected.text, expected.input_tokens)


def test_a_prompt_the_template_refuses_altogether_is_an_error_in_words(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "refuses")
    (folder / "chat_template.jinja").write_text("{{ raise_exception('roles must alternate') }}")
    words = r"refuses the answer prompt \(messages: system, user\).*roles must alternate"
    with pytest.raises(LLMError, match=words):
        ask(local(folder), [request("Who?", purpose="answer")])


def real_model() -> TransformersLocal:
    name = TransformersLocalConfig().model
    entry = next(e for e in list_models() if e.name == name)
    if not entry.fetched:
        pytest.skip(f"needs: rag-research models fetch {name}")
    return TransformersLocal(TransformersLocalConfig(device="cpu"))


@pytest.mark.slow
def test_the_real_model_answers_from_a_passage() -> None:
    passage = "Mirella Tav was born in Ostrel. Ostrel lies on the river Quenn."
    asked = Request(
        (
            Message("system", "Answer with the shortest possible phrase."),
            Message("user", f"{passage}\nQuestion: On which river does Ostrel lie?"),
        ),
        max_tokens=16,
    )
    llm = real_model()
    (done,) = ask(llm, [asked])
    assert "Quenn" in done.text
    assert done.finish_reason == "stop"
    assert llm.identity["sha256"].startswith("1d9614638d18024d")
