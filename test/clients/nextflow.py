"""Stands in for Nextflow 26.08: its executor for Slurm runs a task, an array, and ends one.

`.command.run` with its header and its traps in the task's folder, `sbatch .command.run` there,
`squeue` for all jobs of a user of two words a line, the exit code in a file, `scancel` of several.
"""
import getpass
import os
import re

from calls import expect, output, read, until, write

SCRIPT = """#!/bin/bash
{header}NXF_CHDIR={folder}
set -e
set -u
on_exit() {{
    local last_err=$?
    local exit_status=${{nxf_main_ret:=0}}
    [[ ${{exit_status}} -eq 0 && ${{last_err}} -ne 0 ]] && exit_status=${{last_err}}
    printf -- $exit_status > {folder}/.exitcode
    exit $exit_status
}}
on_term() {{
    set +e
    [[ "$pid" ]] && kill $pid 2>/dev/null
}}
trap on_exit EXIT
trap on_term TERM INT USR2
trap '' USR1
cd "$NXF_CHDIR"
touch .command.begin
(set +e; exec bash -ue .command.sh >.command.out 2>.command.err) &
pid=$!
wait $pid || nxf_main_ret=$?
"""
KNOWN = "PD R CA CF CG CD F TO NF S ST PR BF".split()


def submit(name, command, array=0):
    folder = os.path.join(os.getcwd(), name)
    os.mkdir(folder)
    header = ["--array 0-%d" % (array - 1)] * bool(array) + [
        "-J nf-%s_(1)" % name, "-o " + ("/dev/null" if array else folder + "/.command.log"),
        "--no-requeue ", "--signal B:USR2@30", "-t 00:10:00", "--mem 100M", "-p long"]
    text = SCRIPT.format(header="".join("#SBATCH %s\n" % one.replace("(", "\\(").replace(")", "\\)")
                                        for one in header), folder=folder)
    if array:
        text = "#!/bin/bash\n" + text.split("NXF_CHDIR")[0].split("\n", 1)[1] + (
            "array=( %s )\nbash ${array[SLURM_ARRAY_TASK_ID]}\n" % command)
    write(folder + "/.command.run", text)
    write(folder + "/.command.sh", command + "\n")
    out = output(["sbatch", ".command.run"], cwd=folder)
    return next(re.search(r"Submitted batch job (\d+)", line).group(1) for line in out.splitlines())


def states(queue="long"):
    words = ["squeue", "--noheader", "-o", "%i %t", "-t", "all", "-p", queue, "-u",
             getpass.getuser()]
    rows = [line.split() for line in output(words).splitlines()]
    for row in rows:
        expect("two words a line", [len(row), row[1] in KNOWN], [2, True])
    return dict(rows)


def main():
    good, bad = submit("aa", "echo hello"), submit("bb", "exit 7")
    for name, code in (("aa", "0"), ("bb", "7")):
        path = name + "/.exitcode"
        expect("exit of " + name, until(path, lambda: os.path.exists(path) and read(path)), code)
    until("states", lambda: [states()[good], states()[bad]] == ["CD", "F"])
    expect("output", read("aa/.command.out"), "hello\n")
    for at in range(2):
        write("task%d.sh" % at, "echo $SLURM_ARRAY_TASK_ID >%s/task%d.out\n" % (os.getcwd(), at))
    array = submit("cc", " ".join("%s/task%d.sh" % (os.getcwd(), at) for at in range(2)), array=2)
    until("the array", lambda: [states().get("%s_%d" % (array, at)) for at in range(2)]
          == ["CD", "CD"])
    expect("its tasks", [read("task%d.out" % at) for at in range(2)], ["0\n", "1\n"])
    lasting = [submit(name, "sleep 1000") for name in ("dd", "ee")]
    until("one began", lambda: os.path.exists("dd/.command.begin"))
    output(["scancel", *lasting])
    until("they are killed", lambda: [states()[job] for job in lasting] == ["CA", "CA"])


main()
