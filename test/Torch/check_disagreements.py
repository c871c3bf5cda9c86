"""One rank made to differ from the others in one thing: check_disagreements.py SOURCE BUILD WORK

Each kind runs by each way on two ranks that stay warm, in a run of its own. It ends on both ranks with an error that names what
differs, or with the gradients of one process that has both batches. Prints a line for what does neither."""
import os
import subprocess
import sys

RANKS = 2
WAYS = {"backward": {}, "views": {"gradient_as_bucket_view": True}, "step": {"overlap": "step"}}
UPDATES = {"backward": "program", "views": "program", "step": "late"}


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def make_plans(kinds, work):
    import torch
    from bagua.torch import step_table
    torch.manual_seed(0)
    model = kinds.Net()
    with open(f"{work}/net.csv", "w", encoding="utf-8") as file:
        file.write(step_table(model, lambda model, x: model(x).sum(), (torch.randn(4, 8),), steps=1))
    run("bagua-translate", "--import-layers", f"{work}/net.csv", f"--cluster=rank={RANKS}", "-o", f"{work}/net.mlir")
    for updates in set(UPDATES.values()):
        planned = run("bagua-opt", f"--bagua-strategy=ddp{{updates={updates} first-bytes=64 cap-bytes=256}}", f"{work}/net.mlir")
        run("bagua-translate", "--export-plan", "-o", f"{work}/net.{updates}.bagua", input=planned)


def main(source, build, work):
    os.makedirs(work, exist_ok=True)
    sys.path += [f"{source}/python", f"{source}/test/Torch/Inputs"]
    os.environ.update(PYTHONPATH=f"{source}/python", BAGUA_LIBRARY=f"{os.path.abspath(build)}/lib/libbagua.so",
                      PATH=f"{os.path.abspath(build)}/bin:{os.environ['PATH']}", OMP_NUM_THREADS="1")
    import disagreements as kinds
    make_plans(kinds, work)
    ranks = [subprocess.Popen([sys.executable, "-W", "ignore", kinds.__file__, work, str(rank)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) for rank in range(RANKS)]
    said = [rank.communicate(timeout=900)[0].splitlines() for rank in ranks]
    if any(rank.returncode for rank in ranks):
        sys.exit("\n".join(map("\n".join, said)))
    wrong = [line for lines in said for line in lines if line.startswith("wrong")]
    print("\n".join(wrong), end="\n" if wrong else "")
    print(f"{len(kinds.KINDS)} kinds by {len(WAYS)} ways: {len(wrong)} wrong")


if __name__ == "__main__":
    main(*sys.argv[1:])
