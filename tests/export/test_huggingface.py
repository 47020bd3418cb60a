"""Hugging Face's stock classes say the same of given translations, and its tokenizer gives the same ids and texts."""

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from mtrain.batches.collate import collate
from mtrain.config.schema import DecodingConfig
from mtrain.corpus.spelling import Spelling
from mtrain.errors import ExportError
from mtrain.export.huggingface import TARGET, _generation
from mtrain.export.huggingface_tokenizer import write_tokenizers
from mtrain.tokenizer import EOS, PAD

REFUSED = {
    "rotary": "positions: rotary",
    "alibi": "positions: alibi",
    "relative": "positions: relative",
    "rmsnorm": "norm: rmsnorm",
    "modern": "positions: rotary",
    "swiglu": "activation: swiglu",
    "wide heads": "head_width: 12",
    "narrow heads": "head_width: 4",
}


def scores(folder, sources, targets):
    batch = collate(sources, targets)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    src_BS, keep_BS, tgt_in_BT = batch.source.src_BS, batch.source.keep_BS, batch.tgt_in_BT
    labels_BT = torch.full_like(tgt_in_BT, PAD)
    labels_BT.view(-1)[batch.real_M] = batch.labels_M
    with torch.no_grad():
        logits_BTV = model(input_ids=src_BS, attention_mask=keep_BS.long(), decoder_input_ids=tgt_in_BT).logits
    found_BT = logits_BTV.log_softmax(-1).gather(2, labels_BT[:, :, None])[:, :, 0]
    return found_BT.masked_fill(labels_BT == PAD, 0.0).sum(1)


def test_every_member_scores_the_same_or_is_refused(request, member, pairs, log_probabilities, tmp_path):
    name = request.node.callspec.params["member"]
    if name in REFUSED:
        with pytest.raises(ExportError, match=f"model.{REFUSED[name]}: Hugging Face has no place for such a model"):
            TARGET.refuse(member)
        return
    TARGET.refuse(member)
    TARGET.write(member, DecodingConfig(), "", tmp_path)
    sources, targets = pairs(member)
    expected = log_probabilities(member, sources, targets)
    torch.testing.assert_close(scores(tmp_path, sources, targets), expected, rtol=1e-4, atol=1e-4)
    assert expected.std() > 1


def test_loading_and_saving_again_changes_nothing(make_bundle, pairs, tmp_path):
    bundle = make_bundle(norm_position="post")
    TARGET.write(bundle, DecodingConfig(), "", tmp_path / "once")
    AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "once").save_pretrained(tmp_path / "twice")
    once, twice = (scores(tmp_path / name, *pairs(bundle)) for name in ("once", "twice"))
    assert torch.equal(once, twice)


def test_a_model_that_searches_greedily_is_written_as_any_other(make_bundle, tmp_path):
    TARGET.write(make_bundle(norm_position="post"), DecodingConfig(beam=1, length_penalty=0.6), "", tmp_path)
    greedy = AutoModelForSeq2SeqLM.from_pretrained(tmp_path).generation_config
    assert (greedy.num_beams, greedy.length_penalty) in ((1, 1.0), (None, None))


@pytest.mark.parametrize(("normalization", "exponent"), [("gnmt", 1.0), ("average", 2.5)])
def test_the_exponent_of_another_way_to_compare_lengths_is_not_taken_over(normalization, exponent):
    written = _generation(DecodingConfig(beam=4, length_penalty=2.5, length_normalization=normalization))
    assert written.length_penalty == exponent


NASTY = [
    "“你好，世界！”　他说：Ａ１２３？",
    " spaces  on\tall sides　",
    "</s> and <s>, <pad> and <unk> are text, and so is <0x41>",
    "𠮷野家🙂 e\u0301 \u2581 \ufeff\u200b\x00\x1f\u2028\x85end",
    "哈哈哈哈哈哈哈 ………… ........ aaaaaaaaa 0000000",
    "",
]


def test_ids_and_texts_are_mtrains(joint, separate, sample_lines, tmp_path):
    write_tokenizers(joint, tmp_path)
    write_tokenizers(separate, tmp_path / "separate")
    folders = {tmp_path: joint["source"], tmp_path / "separate": separate["source"]}
    folders[tmp_path / "separate" / "target"] = separate["target"]
    lines = [*NASTY, *sample_lines["source"], *sample_lines["target"]]
    for folder, tokenizer in folders.items():
        theirs = AutoTokenizer.from_pretrained(folder)
        expected = [[*tokenizer.encode(tokenizer.normalise(line)), EOS] for line in lines]
        assert theirs(lines)["input_ids"] == expected
        texts = theirs.batch_decode(expected, skip_special_tokens=True)
        assert texts == [tokenizer.decode(ids[:-1]) for ids in expected]


SPELLINGS = [Spelling("half", "half", "half"), Spelling(quotes="half", script="simplified")]


@pytest.mark.parametrize("spelling", SPELLINGS, ids=str)
def test_ids_are_mtrains_where_lines_are_written_otherwise(spelling, joint, sample_lines, tmp_path, capsys):
    tokenizer = joint["source"].normalising(spelling)
    write_tokenizers({"source": tokenizer, "target": tokenizer}, tmp_path)
    lines = [*NASTY, "Ｆｕｌｌ‐ｗｉｄｔｈ 「quotes」 — “and” dashes―― ｅ\u0301 ￥１。", *sample_lines["source"][:50]]
    theirs = AutoTokenizer.from_pretrained(tmp_path)(lines)["input_ids"]
    assert theirs == [[*tokenizer.encode(tokenizer.normalise(line)), EOS] for line in lines]
    assert ("script simplified" in capsys.readouterr().err) == (spelling.script == "simplified")


def test_tags_are_no_text(joint, tmp_path):
    tokenizer = joint["source"].with_tags(["news"])
    write_tokenizers({"source": tokenizer, "target": tokenizer}, tmp_path)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    assert len(theirs) == tokenizer.vocabulary_size
    lines = ["<news> 新闻", "<news>", "<news>\u2581"]
    assert theirs(lines)["input_ids"] == [[*tokenizer.encode(tokenizer.normalise(line)), EOS] for line in lines]
    assert theirs.decode([tokenizer.tags["news"], *tokenizer.encode("新闻")], skip_special_tokens=True) == "新闻"
