"""One contender of decode_speed.py: reads lines of JSON with sentences, answers with seconds and translations."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

Translate = Callable[[Sequence[str]], list[str]]

BEAM = 4
# Longest translation, as mtrain's settings have it: twice the source and this.
FACTOR, EXTRA = 2, 50


def mtrain_itself(folder: Path, threads: int) -> Translate:
    """Translate with mtrain, in PyTorch."""
    from mtrain import load

    model = load(folder / "model", device="cpu", threads=threads)
    return lambda lines: [found.text for found in model.translate(lines, beam=BEAM, alignment=False)]


def mtrain_engine(name: str, folder: Path, threads: int) -> Translate:
    """Translate with mtrain, in CTranslate2."""
    from mtrain.api import open_export
    from mtrain.config.schema import DecodingConfig

    decoding = DecodingConfig(beam=BEAM, max_length_factor=FACTOR, max_length_extra=EXTRA)
    model = open_export(folder / name, decoding, "cpu", threads)
    return lambda lines: [found.text for found in model.translate(lines)]


def ctranslate2_alone(name: str, folder: Path, threads: int) -> Translate:
    """Translate with CTranslate2 as its documentation says."""
    import ctranslate2
    import sentencepiece

    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(folder / name / "tokenizer.model"))
    translator = ctranslate2.Translator(str(folder / name), device="cpu", inter_threads=threads, intra_threads=1)

    def translate(lines: Sequence[str]) -> list[str]:
        sources = tokenizer.encode(list(lines), out_type=str)
        results = translator.translate_batch(
            sources,
            beam_size=BEAM,
            max_decoding_length=FACTOR * max(map(len, sources)) + EXTRA,
            max_batch_size=2048,
            batch_type="tokens",
        )
        return [tokenizer.decode(result.hypotheses[0]) for result in results]

    return translate


def huggingface(at_once: int, folder: Path, threads: int) -> Translate:
    """Translate with `generate`, so many sentences of like length together."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
    from transformers.utils import logging

    torch.set_num_threads(threads)
    tokenizer = AutoTokenizer.from_pretrained(folder / "huggingface")
    logging.disable_progress_bar()
    model = AutoModelForSeq2SeqLM.from_pretrained(folder / "huggingface")

    def translate(lines: Sequence[str]) -> list[str]:
        found: dict[int, str] = {}
        by_length = sorted(range(len(lines)), key=lambda i: len(lines[i]))
        for first in range(0, len(lines), at_once):
            some = by_length[first : first + at_once]
            inputs = tokenizer([lines[i] for i in some], return_tensors="pt", padding=True)
            longest = FACTOR * inputs["input_ids"].size(1) + EXTRA
            said = model.generate(**inputs, num_beams=BEAM, max_length=longest)
            found.update(zip(some, tokenizer.batch_decode(said, skip_special_tokens=True), strict=True))
        return [found[i] for i in range(len(lines))]

    return translate


CONTENDERS: dict[str, Callable[[Path, int], Translate]] = {
    "mtrain": mtrain_itself,
    "Hugging Face generate, one by one": lambda *place: huggingface(1, *place),
    "Hugging Face generate, 32 at once": lambda *place: huggingface(32, *place),
    "CTranslate2": lambda *place: ctranslate2_alone("ctranslate2", *place),
    "mtrain --engine ctranslate2": lambda *place: mtrain_engine("ctranslate2", *place),
    "CTranslate2 int8": lambda *place: ctranslate2_alone("ctranslate2-int8", *place),
    "mtrain --engine ctranslate2, int8": lambda *place: mtrain_engine("ctranslate2-int8", *place),
}


def main() -> None:
    """Answer until there are no more questions."""
    name, folder, threads = sys.argv[1:]
    translate = CONTENDERS[name](Path(folder), int(threads))
    for question in sys.stdin:
        lines = json.loads(question)
        began = time.perf_counter()
        texts = translate(lines)
        print(json.dumps({"seconds": time.perf_counter() - began, "texts": texts}), flush=True)


if __name__ == "__main__":
    main()
