# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands of docs/RunOnYourCluster.md as written: run_page.py SOURCE BUILD FOLDER"""
import json
import os
import re
import shutil
import subprocess
import sys


def main(source, build, folder):
    sys.path.append(f"{source}/bench/cluster")
    from hosts import Hosts
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.symlink(f"{source}/examples", f"{folder}/examples")
    environment = {**os.environ, "PYTHONPATH": f"{source}/python", "BAGUA_LIBRARY": f"{build}/lib/libbagua.so",
                   "PATH": f"{build}/bin:{os.path.dirname(sys.executable)}:{os.environ['PATH']}",
                   # What a test's machine wants of mpirun, and a cluster doesn't.
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1"}

    def start(script, words=(), **variables):
        return subprocess.Popen([*words, "bash", "-euo", "pipefail", "-c", script], cwd=folder, text=True,
                                env={**environment, **variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(process, script):
        said, errors = process.communicate(timeout=300)
        if process.returncode:
            sys.exit(f"{script}\n{said}{errors}")
        return said

    def report(said, where=""):
        for line in said.splitlines():
            if line.startswith("{"):
                run = json.loads(line)
                prints.add(run["params"])
                print(f"{where}trained, params", "the same on all ranks" if run["same_on_all_ranks"] else "DIFFERENT")

    prints = set()
    with open(f"{source}/docs/RunOnYourCluster.md", encoding="utf-8") as file:
        blocks = re.findall(r"^```sh( two hosts)?\n(.*?)^```", file.read(), flags=re.M | re.S)
    launched_as = ""  # as the shells of hosts remember it from block to block
    for is_of_two, script in blocks:
        if not is_of_two:
            report(finish(start(script), script))
            continue
        if found := re.search(r"^HOSTS=.*\n", script, flags=re.M):
            launched_as = found[0]
        script = launched_as + script
        with Hosts(2) as hosts:
            both = [start(script, ["ip", "netns", "exec", hosts.name(host)], NODE=str(host), FIRST=hosts.address(0))
                    for host in range(2)]
            said = [finish(process, script) for process in both]
        report(said[0], "on two hosts: ")
    print(len(prints), "different results")


main(*sys.argv[1:])
