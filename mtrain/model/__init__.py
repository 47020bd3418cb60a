"""Tensors to logits: the Transformer of "Attention Is All You Need" (Vaswani et al. 2017), one file per part.

The shape of a tensor stands in its name, one letter a dimension:

    B  sentences in the batch      S  source positions      D  width of the residual stream (d_model)
    N  hypotheses per sentence     T  target positions      H  attention heads
    R  rows being decoded (B * N)  V  vocabulary            K  width of one head (D / H)
    M  real target tokens                                   F  inner width of the feed-forward (d_ff)

`keep_*` tensors are True where a real token stands, which may be attended.
"""
