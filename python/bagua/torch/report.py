"""What steps take, beside what their plan was predicted to take."""
import statistics

# Steps after which compute is compared, and by how much it may differ: what is tight for another compute leaves the network idle.
COMPARED_AFTER, MOST_TIMES = 20, 2


def _line(what, figures):
    steps, exposed = [each.seconds for each in figures], [each.exposed_seconds for each in figures]
    spread = f" ({1e3 * min(steps):.1f} to {1e3 * max(steps):.1f})" if len(steps) > 1 else ""
    return (f"{what}: {1e3 * statistics.median(steps):.1f} ms a step{spread}, {1e3 * statistics.median(exposed):.1f} ms of it exposed "
            f"communication; {figures[-1].bytes_sent / 2**20:.2f} MiB sent")


def describe(predicted, measured):
    """Two lines of text: medians of the steps that were measured."""
    lines = [_line(f"steps {measured[0].step} to {measured[-1].step}", measured)] if measured else ["no step is done yet"]
    return "\n".join(lines + [_line("predicted", [predicted]) if predicted else "the plan holds no prediction"])


def describe_start(plan, gradients, world):
    """One line, for a log."""
    predicted = plan.predicted
    return (f"trains on {world.size} ranks of {world.hosts} host{'s' if world.hosts > 1 else ''}: {gradients} gradients" +
            (f", {_line('predicted', [predicted])}" if predicted else ""))


def other_mode(plan, overlap):
    """Why the plan's order of communication is another than the mode wants; None where it isn't."""
    if overlap == "step" and not plan.has_late_updates:
        return ('overlap="step": the plan has updates right after backward: expected one that was made with updates=late, which sends '
                "first what the next forward needs first")
    if overlap == "backward" and plan.has_late_updates:
        return ('the plan was made with updates=late, for overlap="step": expected that, or a plan that was made with '
                "updates=program")
    return None


def other_compute(predicted, measured):
    """Why the plan is of another compute than steps have; None where it isn't."""
    if not predicted or not measured:
        return None
    planned = predicted.seconds - predicted.exposed_seconds
    found = statistics.median(each.seconds - each.exposed_seconds for each in measured)
    if planned <= 0 or found <= 0 or 1 / MOST_TIMES <= found / planned <= MOST_TIMES:
        return None
    return (f"a step computes for {1e3 * found:.1f} ms, and the plan was made for {1e3 * planned:.1f} ms: expected a plan by a table "
            "(bagua.torch.step_table) that was measured on these machines, by all ranks of a host at once")
