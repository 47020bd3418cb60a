"""The choice in a beam search that says what is demanded: a hypothesis may end only when it has said everything.

The beam is shared out among hypotheses by how many pieces they still have to say at least, so that one that has begun
to say something is not pushed out by those that have not. Source: Post & Vilar 2018, "Fast Lexically Constrained
Decoding with Dynamic Beam Allocation"; with tensors of states as in Hu et al. 2019, "Improved Lexically Constrained
Decoding".
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mtrain.decoding.automaton import Automaton
from mtrain.decoding.beam import Chosen
from mtrain.decoding.constraints import NEVER
from mtrain.tokenizer import EOS, PAD

# However much is demanded of one sentence, it has not more than so many times the beam's hypotheses open.
_BEAMS_AT_MOST = 8
# A rank behind all others.
_LAST = torch.iinfo(torch.int64).max


def open_at_most(times: int, pieces: int, beam: int) -> int:
    """Return how many hypotheses are open at a time of a sentence that has so many things to say, in so many pieces."""
    return min(beam * (times + 1) + pieces - times, _BEAMS_AT_MOST * beam)


class SayDemands:
    """The choice that obeys one automaton a sentence.

    `beam` hypotheses are open of what has said as much, and one for each piece of a text that is begun; fewer as the
    places get fewer. `nats` is what the translation of each sentence costs that does not say what is demanded.
    """

    def __init__(
        self, automata: Sequence[Automaton], beam: int, nats: Sequence[float], characters_VL: Tensor
    ) -> None:
        device = characters_VL.device

        def stacked(name: str, padding: int = 0) -> Tensor:
            return torch.from_numpy(_stacked([getattr(automaton, name) for automaton in automata], padding)).to(device)

        self._characters_VL = characters_VL
        self._class_BU, self._next_BSC, self._said_BSCK = stacked("class_U"), stacked("next_SC"), stacked("said_SCK")
        self._pending_BSK, self._near_BSK = stacked("pending_SK"), stacked("near_SK")
        self._piece_BSA = stacked("piece_SA", padding=-1)
        self._times_BK, self._far_BK = stacked("times_K"), stacked("far_K")
        times_B, pieces_B = self._times_BK.sum(1), (self._times_BK * self._far_BK).sum(1)
        widths = [open_at_most(*of_one, beam) for of_one in zip(times_B.tolist(), pieces_B.tolist(), strict=True)]
        self._widths_B = torch.tensor(widths, device=device)
        self._beam, self._width = beam, max(widths)
        self._nats_B1 = torch.tensor(nats, device=device)[:, None].clamp_min(1.0)
        # Of each open hypothesis: its state, and how often it has said what each demand is about.
        self._state_BN = torch.zeros(len(automata), 1, dtype=torch.int64, device=device)
        self._said_BNK = torch.zeros(len(automata), 1, self._times_BK.size(1), dtype=torch.int64, device=device)

    def __call__(self, scores_BNV: Tensor, which_B: Tensor, places_B: Tensor) -> Chosen:
        """Choose the best of each group, then the second best of each, and so on; nearer ones first."""
        state_BN, said_BNK = self._state_BN[which_B], self._said_BNK[which_B]
        unsaid_BN = self._distances(which_B, state_BN, said_BNK)[0] > 0
        scores_BNV[:, :, EOS] = scores_BNV[:, :, EOS].masked_fill(unsaid_BN, NEVER)
        pieces_BNA = self._piece_BSA[which_B[:, None], state_BN]
        scores_BP, parents_BP, tokens_BP = _candidates(scores_BNV, pieces_BNA, self._widths_B[which_B], self._width)
        state_BP = state_BN.gather(1, parents_BP)
        said_BPK = said_BNK.gather(1, parents_BP[:, :, None].expand(-1, -1, said_BNK.size(2)))
        state_BP, said_BPK = self._read(which_B, tokens_BP, state_BP, said_BPK)
        distances_BP, within_BP = self._distances(which_B, state_BP, said_BPK)
        ranks_BP = _ranks(distances_BP, within_BP, scores_BP, self._beam)
        chosen_BN = ranks_BP.topk(min(self._width, ranks_BP.size(1)), dim=1, largest=False).indices
        self._remember(which_B, chosen_BN, state_BP, said_BPK)
        # As hypotheses end, there is as much less of everything.
        open_B = -(-self._widths_B[which_B] * places_B // self._beam)
        beyond_BN = torch.arange(chosen_BN.size(1), device=which_B.device) >= open_B[:, None]
        scores_BN = scores_BP.gather(1, chosen_BN).masked_fill(beyond_BN, NEVER)
        return Chosen(scores_BN, parents_BP.gather(1, chosen_BN), tokens_BP.gather(1, chosen_BN))

    def worth(self, scores_BN: Tensor, penalty_B1: Tensor, which_B: Tensor) -> Tensor:
        """Compare as if only what is said freely were divided by the penalty.

        What is demanded may be so improbable that a longer translation divides it into a better score, whatever else
        it says. So more length is worth as much as in the translation without demands.
        """
        return scores_BN * penalty_B1 / self._nats_B1[which_B] + penalty_B1.log()

    def _distances(self, which_B: Tensor, state_BN: Tensor, said_BNK: Tensor) -> tuple[Tensor, Tensor]:
        """Return how many pieces each hypothesis has to say at least, and whether it is within something demanded."""
        rows_B1 = which_B[:, None]
        said_BNK = said_BNK + self._pending_BSK[rows_B1, state_BN]
        unsaid_BNK = (self._times_BK[rows_B1] - said_BNK).clamp_min(0)
        near_BNK = self._near_BSK[rows_B1, state_BN].masked_fill(unsaid_BNK == 0, 0)
        near_BN = near_BNK.amax(2)
        return (unsaid_BNK * self._far_BK[rows_B1]).sum(2) - near_BN, near_BN > 0

    def _read(self, which_B: Tensor, tokens_BP: Tensor, state_BP: Tensor, said_BPK: Tensor) -> tuple[Tensor, Tensor]:
        """Return states and counts after the characters of one more token each."""
        rows_B1 = which_B[:, None]
        for characters_BP in self._characters_VL[tokens_BP].unbind(2):
            class_BP = self._class_BU[rows_B1, characters_BP]
            said_BPK = said_BPK + self._said_BSCK[rows_B1, state_BP, class_BP]
            state_BP = self._next_BSC[rows_B1, state_BP, class_BP]
        return state_BP, said_BPK

    def _remember(self, which_B: Tensor, chosen_BN: Tensor, state_BP: Tensor, said_BPK: Tensor) -> None:
        B, N, K = self._state_BN.size(0), chosen_BN.size(1), said_BPK.size(2)
        self._state_BN, self._said_BNK = self._state_BN.new_zeros(B, N), self._said_BNK.new_zeros(B, N, K)
        self._state_BN[which_B] = state_BP.gather(1, chosen_BN)
        self._said_BNK[which_B] = said_BPK.gather(1, chosen_BN[:, :, None].expand(-1, -1, K))


def _candidates(scores_BNV: Tensor, pieces_BNA: Tensor, widths_B: Tensor, width: int) -> Chosen:
    """Return the likeliest continuations of each hypothesis, and those by the pieces given; -1 is none.

    Of each sentence there are `widths_B` likeliest ones, `width` at most, whatever sentences it is searched with.
    """
    N, V = scores_BNV.shape[1:]
    likeliest_BNW, tokens_BNW = scores_BNV.topk(min(width, V), dim=2)
    beyond_B1W = torch.arange(likeliest_BNW.size(2), device=widths_B.device) >= widths_B[:, None, None]
    likeliest_BNW, tokens_BNW = likeliest_BNW.masked_fill(beyond_B1W, NEVER), tokens_BNW.masked_fill(beyond_B1W, PAD)
    again_BNA = (pieces_BNA[:, :, :, None] == tokens_BNW[:, :, None]).any(3)
    towards_BNA = scores_BNV.gather(2, pieces_BNA.clamp_min(0)).masked_fill(again_BNA | (pieces_BNA < 0), NEVER)
    scores_BNP = torch.cat((likeliest_BNW, towards_BNA), dim=2)
    parents_BNP = torch.arange(N, device=scores_BNV.device)[None, :, None].expand_as(scores_BNP)
    tokens_BNP = torch.cat((tokens_BNW, pieces_BNA.clamp_min(0)), dim=2)
    return Chosen(scores_BNP.flatten(1), parents_BNP.flatten(1), tokens_BNP.flatten(1))


def _ranks(distances_BP: Tensor, within_BP: Tensor, scores_BP: Tensor, width: int) -> Tensor:
    """Return who comes before whom: by the rank of its score in its group, then by the distance.

    Hypotheses within something demanded are groups of their own, of which one goes on while `width` of the others do.
    """
    order_BP = scores_BP.argsort(dim=1, descending=True, stable=True)
    groups_BP = (2 * distances_BP + within_BP).gather(1, order_BP)
    groups = torch.arange(int(groups_BP.max()) + 1, device=groups_BP.device)
    before_BPG = (groups_BP[:, :, None] == groups).cumsum(1) - 1
    turn_BP = before_BPG.gather(2, groups_BP[:, :, None])[:, :, 0] * (1 + (groups_BP % 2) * (width - 1))
    sorted_BP = turn_BP * groups.numel() + groups_BP
    ranks_BP = torch.empty_like(sorted_BP).scatter_(1, order_BP, sorted_BP)
    return ranks_BP.masked_fill(scores_BP == NEVER, _LAST)


def _stacked(tables: Sequence[NDArray[np.integer]], padding: int) -> NDArray[np.integer]:
    """Return tables of one sentence each as one, as large as the largest in each direction."""
    shape = np.max([table.shape for table in tables], axis=0)
    whole = np.full((len(tables), *shape), padding, dtype=tables[0].dtype)
    for row, table in zip(whole, tables, strict=True):
        row[tuple(map(slice, table.shape))] = table
    return whole
