"""The reconstructor for token rows: a transformer encoder that sees the visible tokens and names the hidden ones.

Hidden tokens, and tokens it does not know, enter as one mask vector; logits are computed at hidden positions only.
R masked rows, F positions, H width, V codes, M hidden positions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, cast

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from maskdiff.codes import Schema
from maskdiff.codes.schema_change import SchemaChange
from maskdiff.errors import SettingError
from maskdiff.reconstructors.code_head import CodeHead
from maskdiff.reconstructors.dropout import ByteDropout
from maskdiff.reconstructors.growth import take_over
from maskdiff.reconstructors.half_products import Linear
from maskdiff.reconstructors.tokens import MaskedTokens, TokenNetwork, TokenReconstructor, check_alphabet
from maskdiff.training import Epochs, Steps, Training

Positions = Literal["rotary", "learned"]


class Block(nn.Module):
    """Attention, then a feed-forward layer, each normalised before and added after."""

    def __init__(self, width: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, ByteDropout(dropout)
        self.norm_in, self.norm_out = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix_in, self.mix_out = Linear(width, 3 * width), Linear(width, width)
        self.up, self.down = Linear(width, feed_forward), Linear(feed_forward, width)

    def attend(self, x_RFH: Tensor, attends: Tensor | None, turn: Callable[[Tensor], Tensor] | None) -> Tensor:
        """Every position looks at the real ones, (R, F, H)."""
        mixed = self.mix_in(self.norm_in(x_RFH)).unflatten(2, (3, self.heads, -1)).transpose(1, 3)
        query, key, value = mixed.unbind(dim=2)  # each (R, heads, F, H / heads)
        if turn is not None:
            query, key = turn(query), turn(key)
        # No dropout on the attention itself: the fused kernels of most devices have none.
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=attends)
        return x_RFH + self._dropped(self.mix_out(seen.transpose(1, 2).flatten(2)))

    def feed(self, x: Tensor) -> Tensor:
        """Each position on its own, (..., H)."""
        inner = self._dropped(functional.gelu(self.up(self.norm_out(x))))
        return x + self._dropped(self.down(inner))

    def _dropped(self, x: Tensor) -> Tensor:
        return dropped(x, self.dropout)


class MaskedTransformer(TokenNetwork):
    """Visible tokens in, log-probabilities of the hidden ones out."""

    can_be_recorded = True
    can_be_halved = True
    input_rows = "tokens.weight"

    def __init__(self, n_codes: int, settings: TransformerReconstructor) -> None:
        super().__init__()
        width = settings.width
        self.n_codes, self.dropout = n_codes, ByteDropout(settings.dropout)
        self.head_width = width // settings.heads
        self.tokens = nn.Embedding(n_codes + 1, width)  # the last one stands where nothing is seen
        self.places = nn.Embedding(settings.longest, width) if settings.positions == "learned" else None
        self.level = (
            nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width)) if settings.uses_level else None
        )
        self.blocks = nn.ModuleList(
            Block(width, settings.heads, settings.feed_forward, settings.dropout) for _ in range(settings.layers)
        )
        self.norm = nn.LayerNorm(width)
        self.head = CodeHead(width, n_codes, settings.cutoffs)
        for table in (self.tokens, self.places):
            if table is not None:
                nn.init.normal_(table.weight, std=0.02)

    @property
    def matrices(self) -> list[nn.Parameter]:
        """Weights that turn vectors into vectors; orthogonal steps suit them."""
        return [weight for weight in self.blocks.parameters() if weight.ndim == 2]

    def draw_from(self, generator: Generator | None) -> None:
        """Let dropout draw its numbers from this generator; None: from torch's global one."""
        for module in self.modules():
            if isinstance(module, ByteDropout):
                module.generator = generator

    def code_places(self, field: int, codes: Tensor) -> Tensor:
        """Tokens share one alphabet: a code is its own place."""
        return codes

    @torch.no_grad()
    def take_over(self, old: MaskedTransformer, change: SchemaChange) -> None:
        """Begin where a network for fewer codes was."""
        take_over(self, old, change)
        self.tokens.weight[-1] = old.tokens.weight[-1]
        counts = [torch.tensor(schema.fields[0].counts).float() for schema in (change.before, change.after)]
        self.head.begin_new_codes(*counts)

    def states(self, tokens: MaskedTokens) -> Tensor:
        """What the network makes of the hidden positions, (M, H)."""
        n_positions = tokens.codes_RF.shape[1]
        shown_RF = tokens.codes_RF.masked_fill(~tokens.visible_RF, self.n_codes)
        x_RFH = self.tokens(shown_RF)
        turn = None
        if self.places is None:
            turn = rotation(n_positions, self.head_width, x_RFH.device)
        else:
            self._check_length(n_positions)
            x_RFH = x_RFH + self.places.weight[:n_positions]
        if self.level is not None:
            x_RFH = x_RFH + self.level(tokens.rate_R[:, None])[:, None]
        x_RFH = dropped(x_RFH, self.dropout)
        attends = None if tokens.real_RF is None else tokens.real_RF[:, None, None]
        *first, last = cast(list[Block], list(self.blocks))
        for block in first:
            x_RFH = block.feed(block.attend(x_RFH, attends, turn))
        # Behind the last attention positions no longer meet: only the hidden ones go on.
        states: Tensor = self.norm(last.feed(tokens.at_hidden(last.attend(x_RFH, attends, turn))))
        return states

    def log_prob_of(self, states_MH: Tensor, codes_M: Tensor) -> Tensor:
        return self.head.log_prob(states_MH, codes_M)

    def best(self, states_MH: Tensor) -> tuple[Tensor, Tensor]:
        return self.head.best(states_MH)

    @property
    def logits_per_position(self) -> int:
        return self.head.logits_per_position

    def _check_length(self, n_positions: int) -> None:
        assert self.places is not None
        if n_positions > self.places.num_embeddings:
            raise SettingError(
                f"learned positions reach up to {self.places.num_embeddings} tokens, the rows have windows of "
                f'{n_positions}. Use a smaller max_length, a larger longest, or positions="rotary".'
            )


def dropped(x: Tensor, dropout: ByteDropout) -> Tensor:
    """Dropout by the device's own kernel where it has a fast one."""
    if x.device.type == "cpu":
        return cast(Tensor, dropout(x))
    return functional.dropout(x, dropout.below / 256, dropout.training)


def rotation(n_positions: int, width: int, device: torch.device) -> Callable[[Tensor], Tensor]:
    """Turns each pair of numbers by an angle that grows with the position, so that attention sees distances."""
    angle_FD = torch.arange(n_positions, device=device)[:, None] * rotation_speed(width, device)
    cos_FD, sin_FD = angle_FD.cos(), angle_FD.sin()

    def turn(x: Tensor) -> Tensor:
        first, second = x.chunk(2, dim=-1)
        turned = torch.cat([first * cos_FD - second * sin_FD, first * sin_FD + second * cos_FD], dim=-1)
        return turned.to(x.dtype)

    return turn


def rotation_speed(width: int, device: torch.device) -> Tensor:
    """How far each pair of numbers is turned from one position to the next, (D,)."""
    return torch.as_tensor(10000 ** (-torch.arange(0, width, 2, device=device) / width))


@dataclass(eq=False)
class TransformerReconstructor(TokenReconstructor):
    """A transformer trained on normal rows to name hidden tokens from visible ones.

    The default is small enough for a laptop; `TransformerReconstructor.paper()` has the paper's size and training.

    Parameters
    ----------
    width, layers, heads, feed_forward, dropout : the size of the network.
    uses_level : whether its answers depend on the mask rate.
    positions : "rotary" (attention sees distances, no limit) or "learned" (one vector a place, up to `longest`).
    cutoffs : the codes at which groups of rarer tokens begin. A group costs time only where one of its tokens is to be
        predicted. (): all tokens in one group, as in the paper.
    training : how it is trained.
    """

    width: int = 128
    layers: int = 2
    heads: int = 4
    feed_forward: int = 512
    dropout: float = 0.1
    uses_level: bool = False
    positions: Positions = "rotary"
    longest: int = 512
    cutoffs: tuple[int, ...] = (512, 2048, 8192)
    training: Training = field(
        default_factory=lambda: Training(
            Steps(4500, most_epochs=20, most_per_row=1.0),
            batch_size=64,
            learning_rate=2e-3,
            look_every=250,
            warmup=0.1,
            batch_tokens=2048,
            orthogonal_if_short=3.0,
        )
    )

    def __post_init__(self) -> None:
        if min(self.width, self.layers, self.heads, self.feed_forward, self.longest) < 1:
            raise SettingError(f"width, layers, heads, feed_forward and longest must be at least 1; got {self}.")
        if self.width % (2 * self.heads):
            raise SettingError(f"width must be a multiple of 2 * heads; got width={self.width}, heads={self.heads}.")
        self.cutoffs = tuple(self.cutoffs)
        if list(self.cutoffs) != sorted(set(self.cutoffs)) or min(self.cutoffs, default=1) < 1:
            raise SettingError(f"cutoffs must be at least 1 and rise strictly; got {self.cutoffs}.")
        if not 0 <= self.dropout < 1:
            raise SettingError(f"dropout must be at least 0 and below 1; got {self.dropout}.")
        if self.positions not in ("rotary", "learned"):
            raise SettingError(f'positions must be "rotary" or "learned"; got {self.positions!r}.')

    @classmethod
    def paper(cls) -> TransformerReconstructor:
        """8 layers of width 512, 16 heads, feed-forward 2048, dropout 0.1, uses the level; 20 epochs of AdamW.

        The paper does not say how its learning rate changes, nor whether gradients are clipped. Without, all scores
        were NaN after training on AG News.
        """
        training = Training(Epochs(20), 64, 1e-3, weight_decay=1e-5, average=0.0, warmup=0.1, clip=1.0)
        return cls(512, 8, 16, 2048, 0.1, True, "learned", cutoffs=(), training=training)

    def build(self, schema: Schema) -> MaskedTransformer:
        """The untrained network for this alphabet."""
        return MaskedTransformer(check_alphabet(schema), self)

    def describe(self) -> str:
        """What it is, in words."""
        return f"a Transformer: {self!r}"

    network_: MaskedTransformer = field(init=False, repr=False)
