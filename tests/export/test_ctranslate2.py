"""CTranslate2 says the same of given translations, with every member of the family that it has a place for."""

import pytest
import torch
from ctranslate2 import Translator

from mtrain.config.schema import DecodingConfig
from mtrain.errors import ExportError
from mtrain.export.ctranslate2 import TARGET

REFUSED = {"alibi": "model.positions: alibi: CTranslate2", "relative": "model.positions: relative: CTranslate2"}


def scores(folder, bundle, sources, targets):
    pieces = [
        [bundle.tokenizers[side].pieces(ids) for ids in lists]
        for side, lists in (("source", sources), ("target", targets))
    ]
    results = Translator(str(folder), intra_threads=1).score_batch(*pieces)
    return torch.tensor([sum(result.log_probs) for result in results])


def test_every_member_scores_the_same_or_is_refused(request, member, pairs, log_probabilities, tmp_path):
    name = request.node.callspec.params["member"]
    if name in REFUSED:
        with pytest.raises(ExportError, match=REFUSED[name]):
            TARGET.refuse(member)
        return
    TARGET.refuse(member)
    TARGET.write(member, DecodingConfig(), "", tmp_path)
    sources, targets = pairs(member)
    expected = log_probabilities(member, sources, targets)
    torch.testing.assert_close(scores(tmp_path, member, sources, targets), expected, rtol=2e-4, atol=2e-4)
    assert expected.std() > 1


def test_quantising_leaves_the_model_itself_alone(make_bundle, tmp_path):
    bundle = make_bundle()
    before = {name: weight.clone() for name, weight in bundle.model.state_dict().items()}
    TARGET.write(bundle, DecodingConfig(), "int8", tmp_path)
    for name, weight in bundle.model.state_dict().items():
        assert torch.equal(weight, before[name]), name
