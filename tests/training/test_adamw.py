"""The optimiser of networks: the steps of torch's own, without what that loads."""

import pytest
import torch
from torch import nn

from maskdiff.training import Training
from maskdiff.training.adamw import FusedAdamW
from maskdiff.training.loop import _optimiser

RATE, DECAY = 1e-2, 1e-3


def networks() -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(0)
    one, other = nn.Linear(5, 3), nn.Linear(5, 3)
    other.load_state_dict(one.state_dict())
    return one, other


def train(network: nn.Module, optimiser, steps: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        optimiser.zero_grad(set_to_none=True)
        network(torch.randn(8, 5, generator=generator)).square().sum().backward()
        optimiser.step()


@pytest.mark.parametrize("rate", [RATE, torch.tensor(RATE)])
def test_it_steps_as_the_optimiser_of_torch_does(rate):
    own, reference = networks()
    optimiser = torch.optim.AdamW(reference.parameters(), rate, weight_decay=DECAY, fused=True)
    train(own, FusedAdamW(own.parameters(), rate, weight_decay=DECAY), 20, seed=1)
    train(reference, optimiser, 20, seed=1)
    for left, right in zip(own.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(left, right, rtol=0, atol=0)


def test_weights_without_a_gradient_stay_and_a_state_goes_on_where_it_was():
    own, resumed = networks()
    optimiser, again = (FusedAdamW(one.parameters(), RATE, weight_decay=DECAY) for one in (own, resumed))
    own.bias.requires_grad_(False)
    bias = own.bias.clone()
    train(own, optimiser, 5, seed=1)
    assert torch.equal(own.bias, bias)
    resumed.load_state_dict(own.state_dict())
    resumed.bias.requires_grad_(False)
    again.load_state_dict(optimiser.state_dict())
    for network, steps in ((own, optimiser), (resumed, again)):
        train(network, steps, 5, seed=2)
    assert torch.equal(own.weight, resumed.weight)


def test_networks_on_a_processor_train_with_it():
    assert isinstance(_optimiser(networks()[0], Training(), recordable=False), FusedAdamW)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_networks_on_a_gpu_train_with_it_and_its_state_stays_there():
    own, resumed = (one.cuda() for one in networks())
    optimiser = _optimiser(own, Training(), recordable=True)
    assert isinstance(optimiser, FusedAdamW)
    assert optimiser.param_groups[0]["lr"].device.type == "cuda"
    again = _optimiser(resumed, Training(), recordable=True)
    own(torch.ones(8, 5, device="cuda")).square().sum().backward()
    optimiser.step()
    stored = {number: {name: part.cpu() for name, part in state.items()} for number, state in optimiser.state.items()}
    again.load_state_dict({"state": stored})
    assert {part.device.type for state in again.state.values() for part in state.values()} == {"cuda"}
