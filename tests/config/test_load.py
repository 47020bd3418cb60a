"""Reading settings: each kind of mistake is told with its place and cure, and what is right comes out typed."""

from dataclasses import fields
from pathlib import Path

import pytest

from mtrain.config import shipped
from mtrain.config.keys import KINDS, SECTIONS, convert
from mtrain.config.load import dump_config, load_config
from mtrain.config.schema import Config
from mtrain.config.shipped import find_config, find_data, shipped_folder
from mtrain.errors import ConfigError


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(text: str, name: str = "mine.yaml") -> str:
    """Write a config that has what every config must have, on one line at its end."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text + ("" if "corpus" in text else "\ncorpus: {train: [a.zh, a.en]}\n"), encoding="utf-8")
    return name


def mistakes(text: str, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(write(text), overrides)
    return str(caught.value).split("\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "training:\n  label_smoothng: 0.1",
            "mine.yaml:2 training.label_smoothng: unknown key. Did you mean label_smoothing?",
        ),
        ("training:\n\n  dropout: 0.1", "mine.yaml:3 training.dropout: unknown key. Did you mean model.dropout?"),
        ("model: {droput: 0.1, beem: 4}", "mine.yaml:1 model.droput: unknown key. Did you mean dropout?"),
        (
            "model:\n  warmup_update: 4",
            "mine.yaml:2 model.warmup_update: unknown key. Did you mean training.warmup_updates?",
        ),
        (
            "run:\n  max_tokens_per_batch: 9",
            "mine.yaml:2 run.max_tokens_per_batch: unknown key. "
            "Did you mean batches.max_tokens_per_batch or decoding.max_tokens_per_batch?",
        ),
        ("run:\n  xyzzy: 1", "mine.yaml:2 run.xyzzy: unknown key. The keys of run are folder, seed, device, threads"),
        ("modle:\n  heads: 8", "mine.yaml:1 modle: unknown section. Did you mean model?"),
        ("beam: 8", "mine.yaml:1 beam: unknown section. Did you mean decoding.beam?"),
        ("model:\n  heads: 8\n  heads: 4", "mine.yaml:3 model.heads: duplicate key, first written in line 2"),
        ("model: {heads: 8, heads: 4}", "mine.yaml:1 model.heads: duplicate key, first written in line 1"),
        ("run:\n  seed: 1\nrun:\n  seed: 2", "mine.yaml:3 run: duplicate key, first written in line 1"),
        ("model: 8", "mine.yaml:1 model: expects lines of the form key: value"),
        ("model:\n  heads: eight", "mine.yaml:2 model.heads: expects a whole number, found 'eight'"),
        ("model:\n  heads: 8.5", "mine.yaml:2 model.heads: expects a whole number, found '8.5'"),
        ("model:\n  heads:", "mine.yaml:2 model.heads: expects a whole number, found nothing"),
        ("model:\n  heads: [8]", "mine.yaml:2 model.heads: expects a whole number, found a list"),
        ("model:\n  heads: {a: 8}", "mine.yaml:2 model.heads: expects a whole number, found nested keys"),
        ("model:\n  dropout: .nan", "mine.yaml:2 model.dropout: expects a number, found '.nan'"),
        ("model:\n  dropout: nan", "mine.yaml:2 model.dropout: expects a number, found 'nan'"),
        ("corpus:\n  drop_identical: yes", "mine.yaml:2 corpus.drop_identical: expects true or false, found 'yes'"),
        ("corpus:\n  train: {a: b}", "mine.yaml:2 corpus.train: expects a list of texts, found nested keys"),
        (
            "training:\n  precision: fp16",
            "mine.yaml:2 training.precision: expects one of auto, fp32, bf16, found 'fp16'. Did you mean bf16?",
        ),
        ("model:\n  tied: 3", "mine.yaml:2 model.tied: expects one of three_way, decoder, none, found '3'"),
        ("extends: [a]", "mine.yaml:1 extends: expects one YAML file"),
        ("corpus:\n  dev: &dev [*dev]", "mine.yaml:2 corpus.dev: expects a list of texts, found nested keys"),
        ("model: &model\n  heads: *model", "mine.yaml:2 model.heads: expects a whole number, found nested keys"),
        ("? &key [*key]\n: 8", "mine.yaml:1: expects lines of the form key: value"),
        ("model:\n  ? [heads]\n  : 8", "mine.yaml:2 model: expects lines of the form key: value"),
    ],
)
def test_a_mistake_is_told_with_place_and_cure(text: str, line: str) -> None:
    assert line in mistakes(text)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"model:\n  heads: 8\n dropout: [", "mine.yaml:3 not YAML: "),
        (b"model:\n\theads: 8", "mine.yaml:2 not YAML: "),
        (b"# fine\nrun: {folder: \xff}", "mine.yaml:2 not UTF-8 text"),
        (b"run: {seed: " + b"[" * 5000, "mine.yaml:1 nested far too deeply"),
        ("# 好\n\nrun: {folder: \x07}".encode(), "mine.yaml:3 not YAML: special characters are not allowed"),
    ],
)
def test_a_file_that_is_no_yaml_is_told_with_its_line(content: bytes, line: str) -> None:
    Path("mine.yaml").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_config("mine.yaml")
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("model.haeds=4", "--set model.haeds=4: unknown key. Did you mean heads?"),
        ("modle.heads=4", "--set modle.heads=4: unknown section. Did you mean model?"),
        ("heads=4", "--set heads=4: unknown section. Did you mean model.heads?"),
        ("model.heads", "--set model.heads: expects section.key=value"),
        ("model=4", "--set model=4: expects section.key=value"),
        ("model.heads=four", "--set model.heads=four: expects a whole number, found 'four'"),
        ("model.heads=7", "--set model.heads=7: model.heads 7 does not divide model.d_model 512"),
        ("corpus.dev=[a", "--set corpus.dev=[a: is no list; write [a, b]"),
        ("corpus.dev=" + "[" * 5000, "--set corpus.dev=" + "[" * 5000 + ": is no list; write [a, b]"),
    ],
)
def test_a_mistake_in_an_override_is_told(override: str, line: str) -> None:
    assert mistakes("", override) == [line]


def test_all_mistakes_are_told_at_once() -> None:
    text = "model:\n  haeds: 4\n  d_model: wide\ntraining:\n  label_smoothing: 1.5"
    assert mistakes(text, "decoding.beam=0") == [
        "mine.yaml:2 model.haeds: unknown key. Did you mean heads?",
        "mine.yaml:3 model.d_model: expects a whole number, found 'wide'",
        "--set decoding.beam=0: must be at least 1, found 0",
        "mine.yaml:5 training.label_smoothing: must be at least 0 and below 1, found 1.5",
    ]


def test_a_file_that_is_a_list_is_told() -> None:
    Path("mine.yaml").write_text("# ours\n- model\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"^mine\.yaml:2: expects lines of the form key: value\n"):
        load_config("mine.yaml")


def test_a_wrong_value_is_not_reported_again_by_the_rules_about_it() -> None:
    assert len(mistakes("model: {d_model: wide, heads: 7}")) == 1


def test_a_setting_that_must_be_made_is_asked_for() -> None:
    assert mistakes("corpus: {}") == [
        "mine.yaml corpus.train: is not set; name two aligned text files, or .tsv, .csv, .jsonl, .parquet, .tmx files"
    ]


def test_text_is_converted_by_the_schema_and_not_by_yaml() -> None:
    config = load_config(
        write(
            "training: {adam_epsilon: 1e-4, max_updates: 1e5, warmup_updates: 4_000, clip_norm: 1}\n"
            "corpus: {target_language: no, source_language: on, root: 2024-01-01, drop_duplicates: False,"
            " train: one.parquet, dev: [0123, ~b], test:, folder: null}\n"
            'model: {d_model: "64"}'
        )
    )
    assert config.training.adam_epsilon == 1e-4
    assert (config.training.max_updates, type(config.training.max_updates)) == (100_000, int)
    assert config.training.warmup_updates == 4000
    assert (config.training.clip_norm, type(config.training.clip_norm)) == (1.0, float)
    assert (config.corpus.target_language, config.corpus.source_language) == ("no", "on")
    assert (config.corpus.root, config.corpus.drop_duplicates) == ("2024-01-01", False)
    assert (config.corpus.train, config.corpus.dev, config.corpus.test) == (("one.parquet",), ("0123", "~b"), ())
    assert config.corpus.folder == "data/prepared/mine"
    assert config.model.d_model == 64


def test_an_empty_section_and_windows_line_ends_are_fine() -> None:
    Path("mine.yaml").write_bytes(b"\xef\xbb\xbfmodel:\r\ncorpus:\r\n  train: a.tsv\r\n")
    assert load_config("mine.yaml").corpus.train == ("a.tsv",)


def test_child_overrides_parent_key_by_key_and_set_overrides_both() -> None:
    write("model: {heads: 4, d_ff: 7, d_model: 64}\nrun: {seed: 3}", "parents/parent.yaml")
    config = load_config(write("model:\n  heads: 2\nextends: parents/parent.yaml"), ["model.d_ff=9", "model.d_ff=11"])
    assert (config.model.heads, config.model.d_ff, config.model.d_model, config.run.seed) == (2, 11, 64, 3)
    assert config.model.encoder_layers == Config().model.encoder_layers
    assert config.run.folder == "runs/mine"


def test_mistakes_stand_where_they_were_made() -> None:
    write("model:\n  haeds: 4\n  heads: 3", "parent.yaml")
    assert mistakes("extends: parent.yaml\nmodel:\n  d_model: 64") == [
        "parent.yaml:2 model.haeds: unknown key. Did you mean heads?",
        "mine.yaml:3 model.d_model: model.heads 3 does not divide model.d_model 64",
    ]


def test_extends_takes_a_shipped_name_and_complains_about_others() -> None:
    assert load_config(write("extends: big")).model.d_model == 1024
    (line,) = mistakes("extends: bsae.yaml")
    assert line.startswith("mine.yaml:1 extends: there is no config bsae.yaml. Did you mean base? ")


def test_extending_in_a_circle_is_told() -> None:
    write("\nextends: mine.yaml", "other.yaml")
    assert mistakes("extends: other.yaml") == [
        "other.yaml:2 extends: the files extend each other in a circle: mine.yaml > other.yaml > mine.yaml"
    ]


def test_an_override_may_hold_any_text() -> None:
    config = load_config(write(""), ["run.folder=a=b: c # d", "corpus.dev=[x.zh, x.en]", "corpus.test=t.tsv"])
    assert config.run.folder == "a=b: c # d"
    assert (config.corpus.dev, config.corpus.test) == (("x.zh", "x.en"), ("t.tsv",))


def test_configs_are_found_by_path_then_here_then_shipped() -> None:
    assert find_config("big") == find_config("big.yaml") == shipped_folder() / "configs/big.yaml"
    write("", "configs/big.yaml")
    assert find_config("big") == Path("configs/big.yaml")
    write("", "elsewhere/big.yaml")
    assert find_config("elsewhere/big.yaml") == Path("elsewhere/big.yaml")
    assert find_config("big.yaml", Path("elsewhere/mine.yaml")) == Path("elsewhere/big.yaml")


def test_a_bare_name_is_no_file_or_folder_of_that_name_here() -> None:
    Path("sample").write_text("not: a config", encoding="utf-8")
    Path("big").mkdir()
    assert find_config("sample") == shipped_folder() / "configs/sample.yaml"
    assert find_config("big") == shipped_folder() / "configs/big.yaml"


@pytest.mark.parametrize("name", ["base", "base.yaml"])
def test_a_config_may_extend_the_shipped_one_of_its_own_name(name: str) -> None:
    write(f"extends: {name}\nrun: {{seed: 7}}\ncorpus: {{}}", "configs/base.yaml")
    config = load_config("base")
    assert (config.run.seed, config.tokenizer.vocabulary_size) == (7, 32_000)


def test_a_folder_is_no_config() -> None:
    Path("sample").mkdir()
    with pytest.raises(ConfigError, match=r"^sample: is a folder\. Name a YAML file in it$"):
        load_config("./sample")


def test_a_home_folder_stands_for_its_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    text = "run: {folder: ~/run}\ncorpus: {train: a.tsv, folder: ~/made, root: ~/raw}"
    config = load_config(f"~/{write(text)}")
    assert config.run.folder == f"{tmp_path}/run"
    assert (config.corpus.folder, config.corpus.root) == (f"{tmp_path}/made", f"{tmp_path}/raw")


def test_a_home_folder_of_nobody_is_told() -> None:
    for key in ("run.folder", "corpus.folder", "corpus.root"):
        override = f"{key}=~no-such-user/x"
        assert mistakes("", override) == [f"--set {override}: there is no user with a home folder ~no-such-user"]
    with pytest.raises(ConfigError, match=r"^there is no config ~no-such-user/x\.yaml\. "):
        load_config("~no-such-user/x.yaml")


def test_a_config_that_does_not_exist_is_told_with_those_that_do() -> None:
    write("", "configs/our-own.yaml")
    with pytest.raises(ConfigError) as caught:
        load_config("smaple")
    text = str(caught.value)
    assert text.startswith("there is no config smaple. Did you mean sample? Give a YAML file's path, or one of base, ")
    assert "our-own" in text
    assert "\n" not in text


def test_a_wheel_ships_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "_PACKAGE", tmp_path / "site/mtrain")
    assert shipped_folder() == tmp_path / "site"
    (tmp_path / "site/mtrain/shipped/data/sample").mkdir(parents=True)
    assert shipped_folder() == tmp_path / "site/mtrain/shipped"
    assert find_data("data/sample") == tmp_path / "site/mtrain/shipped/data/sample"
    Path("data/sample").mkdir(parents=True)
    assert find_data("data/sample") == Path("data/sample")
    assert find_data("nowhere") == Path("nowhere")


def test_dumped_settings_load_to_the_same_config() -> None:
    config = load_config(
        write(""),
        [
            "run.folder=null", "corpus.root=中文 ‘no’: \t#x", "corpus.source_language=no", "corpus.train=[yes, 'a, b']",
            "training.adam_epsilon=1.2345678901234e-17", "training.learning_rate_scale=1e300",
            "corpus.drop_identical=true",
        ],
    )  # fmt: skip
    assert config.corpus.train == ("yes", "a, b")
    Path("dumped.yaml").write_text(dump_config(config), encoding="utf-8")
    assert load_config("dumped.yaml") == config


def test_every_setting_is_explained_and_its_default_survives_being_written() -> None:
    for section, shape in SECTIONS.items():
        for field in fields(shape):
            sentence = field.metadata["help"]
            assert sentence.endswith("."), f"{section}.{field.name}"
            kind = KINDS[f"{section}.{field.name}"]
            written = list(field.default) if isinstance(field.default, tuple) else str(field.default)
            assert convert(written, kind) == field.default
            assert type(convert(written, kind)) is type(field.default)
