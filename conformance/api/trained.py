"""Models as training leaves them, where new ones hardly do anything."""

from __future__ import annotations

import torch

#: Layers whose weights are ones and zeros until they are trained.
_NORMS = (torch.nn.modules.batchnorm._NormBase, torch.nn.GroupNorm, torch.nn.LayerNorm, torch.nn.RMSNorm)
#: What a norm keeps, what is in it until then, and between which numbers it lies afterwards.
_AS_TRAINED = (
    ("running_var", 1.0, 0.5, 2.0),
    ("weight", 1.0, 0.5, 2.0),
    ("running_mean", 0.0, -1.0, 1.0),
    ("bias", 0.0, -1.0, 1.0),
)


def as_trained(model: torch.nn.Module) -> torch.nn.Module:
    """The model, whose new norms are as training leaves them: ones and zeros hide what a backend leaves out.

    Their numbers are drawn from PyTorch's generator; those that somebody has set to others stay.
    """
    with torch.no_grad():
        for norm in (each for each in model.modules() if isinstance(each, _NORMS)):
            for name, new, least, most in _AS_TRAINED:
                tensor = getattr(norm, name, None)
                if tensor is not None and bool((tensor == new).all()):
                    tensor.uniform_(least, most)
    return model
