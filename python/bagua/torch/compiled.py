"""What torch.compile does to a model, as far as its names and the order of its gradients are concerned."""
import warnings


def name_in_plan(name):
    """A param's or a module's, compiled or not: a plan serves both."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


def is_compiled(module):
    """As one; blocks within it may be in any case."""
    is_forward_changed = hasattr(module.forward, "_torchdynamo_orig_callable")
    return (hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None or
            is_forward_changed and not getattr(module.forward, "_torchdynamo_disable", False))


def warn_of_compiled():
    """As if the caller's caller had."""
    warnings.warn("the model is compiled as one: its gradients come at the end of backward, all at once, and nothing "
                  "overlaps with it; expected one that is compiled block by block", stacklevel=3)
