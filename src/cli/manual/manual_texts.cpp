// What the manual pages of the verbs say beside their options.
#include <algorithm>

#include "cli/manual/manual.hpp"

namespace berth::cli {

namespace {

constexpr std::string_view kJobCode =
    "The job's own exit code; 128 + n if signal n ended it, 124 at its time limit, 137 cancelled, "
    "77 out of GPU memory, 127 if its program was not found, 126 if it could not be run.\n\n"
    "2 for an unknown option or a value that is not allowed; 125 for a failure of berth's own.";

const std::vector<ManualText>& texts() {
  static const std::vector<ManualText> all = {
      {"run",
       "Submits a job and waits until it ends. Its input, output, signals and exit code pass "
       "through, and in a terminal it gets a terminal of its own, so that a program under berth "
       "run behaves as if it were started directly. While it waits for a place, the reason is "
       "printed. A restart of berthd does not disturb it.\n\n"
       "--vram is the memory that the job needs on each of its GPUs. Without it, berth charges "
       "what earlier runs of the same program held and a margin; a program that is not known yet "
       "gets a GPU to itself.\n\n"
       "In a terminal, ~d at the beginning of a line detaches: the job goes on, and berth attach "
       "returns to it. When the terminal closes, the job ends, unless --detach-on-hangup is "
       "given.\n\n"
       "Sizes are 10G, 10GB or 10GiB, all the same; durations are 90s, 30min, 1h30m, 2d, 1:30:00 "
       "or 1-12:00:00. berth(1) has more on requests.",
       {{"berth run --vram 10G -- python train.py", "A job that needs 10 GiB on one GPU"},
        {"berth run --gpus 2 --vram 20G --time 4h -- torchrun --nproc-per-node 2 train.py",
         "Two GPUs, for four hours at most"},
        {"berth run --detach-on-hangup --vram 4G -- python",
         "A session that survives the "
         "connection it was started from"}},
       kJobCode,
       "berth-attach(1), berth-submit(1), berth-why(1)"},
      {"submit",
       "Queues a job and prints its number. The job runs in the folder, environment, umask, limits "
       "(ulimit), niceness (nice) and processors (taskset) of the caller, and its output is in "
       "berth logs.\n\n"
       "If the command is a script, its #BERTH lines are options, and #SBATCH lines where berth "
       "has an equal. Without a command, a script that begins with #! is read from standard "
       "input, with - and its arguments any; it goes with the job. --array makes one job of each "
       "number, --after "
       "lets jobs wait for each "
       "other, and --file submits a graph of jobs from a TOML file; see berth(1).\n\n"
       "--snapshot copies the code first and lets the job run in the copy, so that later edits "
       "do not change a job that waits. Of a git work tree the files that git knows or would add "
       "are copied; what git ignores, and what --snapshot-exclude names, is linked to the "
       "original. The copy is below ~/.local/state/berth/snapshots, is shown by berth show, "
       "serves all attempts and all tasks of an array, and is removed with the job's record. "
       "BERTH_SUBMIT_DIR names the original folder to the job.",
       {{"berth submit --vram 10G -- python train.py --seed 7", "Queue one job"},
        {"berth submit --vram 8G --array 1-100%8 -- ./sweep.sh", "A hundred jobs, eight at once"},
        {"berth submit - 0.1 <job.sh", "The script as it is now, with an argument"},
        {"berth submit --after 7 --vram 2G -- python report.py", "A job that waits for job 7"},
        {"berth submit --snapshot --vram 10G -- python train.py",
         "A job that runs the code as it is now"},
        {"berth submit --dry-run --gpus 4 -- true", "When a job of four GPUs would start"}},
       "",
       "berth-run(1), berth-ls(1), berth-logs(1), berth-wait(1)"},
      {"attach",
       "Returns to a job that berth run started and that was detached or lost its terminal: its "
       "output appears here, what is typed goes to it, and so do keys such as Ctrl-C and the size "
       "of the terminal. If the job has not started yet, attach waits for that. Only its own "
       "user may attach, and a terminal that is attached to it already is detached.\n\n"
       "When this terminal closes or berth attach is killed, the job goes on. ~d at the beginning "
       "of a line detaches again. Output that came meanwhile is in berth logs.\n\n"
       "A job of berth submit has no input and no terminal: its output is shown as it comes.",
       {{"berth attach 7", "Return to job 7"},
        {"berth attach --detach-keys 'ctrl-p,ctrl-q' 7", "With docker's keys to detach"}},
       "The job's exit code as berth run passes it; 0 if it was detached.",
       "berth-run(1), berth-logs(1)"},
      {"adopt",
       "Makes a job of a process that was started by hand, with all that runs below it. What they "
       "hold on each GPU was foreign memory and is the job's charge from then on: other jobs are "
       "not placed onto it, and berth ls, gpus, show and history have it like any other job's. "
       "berth cancel and the end of --time send it SIGTERM, and SIGKILL after the grace.\n\n"
       "Without --vram it is charged what it holds and an eighth more, 512 MiB at least, as far as "
       "there is room. With it, it must hold no more already. A process that goes beyond its "
       "charge is treated like any other job that does.\n\n"
       "Its own user may adopt it, and an administrator. It must hold GPU memory. It is never "
       "suspended, moved or started again. What it writes stays where it goes: berth logs has none "
       "of it. Its exit status is not known, so a job that ended by itself counts as done. Its "
       "limit is kept by watching alone: it stays in the cgroup that it is in. When it ends, what "
       "is still known to run below it is ended, too; a process whose parent ended before berth "
       "saw it below (every five seconds) is foreign again.",
       {{"berth adopt 4242", "Process 4242, as berth gpus lists it"},
        {"berth adopt --vram 20G --time 8h --name night 4242",
         "With room to grow, for eight hours at most"}},
       "",
       "berth-gpus(1), berth-show(1), berth-cancel(1)"},
      {"ls",
       "Lists running jobs, then those that wait with what they wait for and when they start: "
       "~17:43, by 19:40 by estimates (half of such jobs start by the first, nine of ten by the "
       "second, which is left out where a line has no room), by 17:43 where time limits bound it. "
       "On a terminal, jobs of one user "
       "that wait alike are folded into one row, and totals end the list; of more than 1000 jobs "
       "or arrays the first are listed, and the number of the others, unless -n, --each or --fold "
       "says how much is wanted. In a pipe each job has one line. An array has one row, with what "
       "is done and when it is predicted to end; "
       "--each, or its number, lists its tasks. With --json and --format each task is a job, "
       "unless --fold is given.",
       {{"berth ls --mine", "Your own jobs"},
        {"berth ls --all --state failed,oom -n 20", "The latest twenty that failed"},
        {"berth ls --format id,state,reason", "Three members of --json, for scripts"}},
       "",
       "berth-why(1), berth-top(1), berth-history(1)"},
      {"show",
       "Prints everything about jobs: request, attempts, measured use and peak, what to ask for "
       "next time, how their memory is limited, reports. Of an array, how far it is and which "
       "tasks failed.\n\n"
       "With --json, one job, task or array by its number is an object; what may be several (a "
       "range, a name, more words) is {\"jobs\": [...]}, even if it is one.",
       {{"berth show 7", "One job"}, {"berth show --json 7-9", "Three jobs, for programs"}},
       "",
       "berth-why(1), berth-logs(1)"},
      {"logs",
       "Prints the output of jobs, both streams in order. A terminal gets lines, tabs and colours "
       "only; --raw, a pipe or a file gets every byte. Of a job that failed, the ends of files to "
       "which its processes wrote their errors follow. Of a job without output it says on "
       "standard error why.",
       {{"berth logs -f 7", "Follow job 7 to its end"}},
       "",
       "berth-show(1), berth-attach(1)"},
      {"why",
       "Says why jobs wait: how much memory each GPU lacks and which jobs hold it, which jobs must "
       "end first, the place that is reserved, and the predicted start with what it is based on: a "
       "bound by enforced time limits, or an estimate, with the time by which nine of ten such "
       "jobs start: from past predictions on this machine, or assumed while they are few.\n\n"
       "Jobs that must end, or must leave where the policy lets jobs give way, are those of the "
       "prediction: while they stay the job lacks room where it is predicted to start, or is over "
       "its user's limit.\n\n"
       "Of a job of the caller's, the line sooner, and those below it, say with what change the "
       "job "
       "would start at once: a shorter time limit, less memory, fewer GPUs, other GPUs, or a "
       "higher priority among its user's jobs. Each was tried on a copy of the scheduler, with the "
       "largest value that does it; a minute is left to type a time limit. Where nothing starts it "
       "at once they say with what it would wait half as long at most.",
       {{"berth why 7", "What job 7 waits for"},
        {"berth update 7 --time 38min", "Do what it said"}},
       "",
       "berth-ls(1), berth-submit(1), berth-update(1)"},
      {"gpus",
       "Lists GPUs, the jobs on them, and processes that berth did not start, with their users "
       "and their memory. Your own of these can become jobs: berth adopt.",
       {{"berth gpus", "All GPUs"}},
       "",
       "berth-top(1), berth-adopt(1), berth-doctor(1)"},
      {"top",
       "Shows GPUs and jobs, live. Arrows, page keys or j k choose a job, whose reason is shown "
       "in full; s sorts, u goes through the users, c cancels the chosen job after a y, r looks "
       "now, q quits.",
       {{"berth top --every 5", "A look every five seconds"}},
       "",
       "berth-gpus(1), berth-ls(1)"},
      {"history",
       "Lists jobs that ended, the latest last: what they asked for and held at most, how long "
       "they waited and ran.",
       {{"berth history --mine --since 7d", "Your jobs of a week"},
        {"berth history --since all --csv", "All jobs that berth remembers, for a spreadsheet"}},
       "",
       "berth-usage(1), berth-ls(1)"},
      {"usage",
       "Sums up what users used: GPU-hours, GiB-hours of GPU memory asked for, peaks, and jobs by "
       "how they ended.",
       {{"berth usage --since 30d", "A month by user"},
        {"berth usage --by month-user --since 2026-01-01 --csv", "A year, for a report"}},
       "",
       "berth-history(1)"},
      {"interference",
       "Lists how fast programs run beside each other on one GPU, against their speed alone, as "
       "berthd learned it: from the progress that jobs report beside a neighbour and alone, else "
       "from run times. A program is called as its latest run was. SPEED is of the program, beside "
       "the other; the other way is another line. +- is how far runs differ from it. NOTE says "
       "where runs are too few for the scheduler to read the line.\n\n"
       "Below are the speeds that count for pairs that were never seen: by the share of time in "
       "which each program alone keeps its GPU busy.",
       {{"berth interference", "What is known of whom beside whom"},
        {"berth interference --json", "The same for a program"}},
       "",
       "berth-gpus(1), berth-why(1)"},
      {"wait",
       "Waits until the jobs end, and prints a line for each; of an array a line for each task "
       "that does not end well, and one for all. A restart of berthd is waited out.\n\n"
       "A name or pattern is that of jobs that have not ended and of those of their batch that "
       "have: after another of the same name was submitted, or submitted five seconds before that "
       "at most, or, with a name that none of the others has, ended at most ten minutes before the "
       "first of them. Earlier jobs of the same name are named on standard error and left out.",
       {{"berth wait 7 9-12", "Five jobs"},
        {"berth wait 643", "All tasks of array 643"},
        {"berth wait 'sweep-*'", "All jobs of a sweep, those that have failed already too"},
        {"berth wait --timeout 2h 7", "For two hours at most; with 0 it only looks"}},
       "The first exit code of a job, in the order of their numbers, that is not 0, as berth run "
       "passes it; 0 if all are. 124 if --timeout is over before that, as of timeout(1), and a "
       "line on standard error says so: a job that reached its own time limit has 124, too.",
       "berth-run(1), berth-show(1)"},
      {"cancel",
       "Ends jobs, whether they wait or run: a job that runs gets SIGTERM, and SIGKILL after the "
       "grace. Jobs are numbers, ranges, names with patterns, or all of a user's; the number of "
       "an array is all of it. Those that wait are ended first, and none of them starts "
       "meanwhile. Only operators may end jobs of others.\n\n"
       "With --json the answer is one object, whatever is refused: jobs has those that were "
       "changed, refused the others with the reason. So it is for hold, release, resume, suspend "
       "and update.",
       {{"berth cancel 7 9-12", "By number"},
        {"berth cancel 643", "All that is left of array 643"},
        {"berth cancel 643_5 643_7-9", "Four tasks of it"},
        {"berth cancel 'sweep-*'", "By name"},
        {"berth cancel --all", "All of your own"}},
       "",
       "berth-hold(1), berth-suspend(1)"},
      {"hold",
       "Keeps jobs that wait from starting, until berth release.",
       {{"berth hold 7", "One job"}},
       "",
       "berth-release(1), berth-suspend(1)"},
      {"release",
       "Lets held jobs start again, when it is their turn.",
       {{"berth release 7", "One job"}},
       "",
       "berth-hold(1)"},
      {"next",
       "Gives waiting jobs a larger priority than the other waiting jobs of their user have, so "
       "that they are the next of them to start. Jobs of other users keep their turns, but under "
       "the policy priority, which compares the priorities of all users. Of several jobs the one "
       "with the smallest number goes first. A job behind others in the queue may still start "
       "before it, where there is no room for this one.",
       {{"berth next 7", "Job 7 before all others of its user"}},
       "",
       "berth-update(1), berth-why(1), berth-ls(1)"},
      {"update",
       "Changes jobs that wait to start; what is not given stays as it is.",
       {{"berth update 7 --vram 12G --time 2h", "Ask for other memory and time"},
        {"berth update 7 --gpus 1", "Ask for fewer GPUs"},
        {"berth update 643 --at-once 4", "Of a sweep that runs, let four jobs go at once"}},
       "",
       "berth-why(1), berth-show(1)"},
      {"requeue",
       "Submits jobs that have ended once more, as they were submitted: command, directory, "
       "variables and requests are theirs, not those of here. Tasks of an array become a new array "
       "in which they keep their numbers and parameters.",
       {{"berth requeue 643 --failed", "The tasks of array 643 that did not end well"},
        {"berth requeue 7", "One job"}},
       "",
       "berth-submit(1), berth-history(1)"},
      {"suspend",
       "Takes running jobs off their GPUs: their processes stay, and what they held there is in "
       "host memory. Not every machine and not every job can: berth doctor and the message say "
       "why.",
       {{"berth suspend 7", "One job"}},
       "",
       "berth-resume(1), berth-doctor(1)"},
      {"resume",
       "Lets suspended jobs go on where they were, when there is room.",
       {{"berth resume 7", "One job"}},
       "",
       "berth-suspend(1)"},
      {"sim",
       "Replays a trace under a policy, by the same code as berthd runs. A trace is a published "
       "workload in one of twelve formats, gzipped or plain, or a daemon's own journal. With "
       "--verify it decides a journal again and says whether every decision comes out the same.",
       {{"berth sim --trace jobs.csv --cluster 32x4 --policy sjf", "One policy"},
        {"berth sim --verify journal.db", "Whether a daemon's decisions come out alike"}},
       "",
       "berth-compare(1), berth-trace(1), berth-policies(7)"},
      {"compare",
       "Replays a trace under several policies, as many at a time as there are cores, and prints "
       "them side by side, above a mean completion time and a mean wait that no schedule can be "
       "below.",
       {{"berth compare --trace jobs.csv --cluster 32x4 --policies fifo,sjf,srtf --report "
         "page.html",
         "Three policies, with a page of charts"}},
       "",
       "berth-sim(1), berth-trace(1), berth-policies(7)"},
      {"policies",
       "Describes policies, backfills and placements: rule, source, proof and keys.",
       {{"berth policies headroom", "One in full"}},
       "",
       "berth-policies(7), berth-sim(1)"},
      {"trace",
       "Describes traces, converts them, generates workloads, and prints tables of speeds.",
       {{"berth trace generate philly-like --jobs 5000 --seed 1 --out jobs.csv",
         "A workload like Philly's"},
        {"berth trace info jobs.csv", "What is in it"}},
       "",
       "berth-sim(1), berth-compare(1)"},
      {"doctor",
       "Says what is and what is not enforced on this machine, and what is wrong with it.",
       {{"berth doctor", "All findings"}},
       "",
       "berth-gpus(1)"},
      {"drain",
       "Lets GPUs take no more jobs; jobs that run there go on. berth ls and why show the "
       "reason to users whose jobs wait. For operators.",
       {{"berth drain 0 --reason 'new fan' --until +2h", "One GPU for two hours"},
        {"berth drain all", "The machine"}},
       "",
       "berth-undrain(1)"},
      {"undrain",
       "Lets drained GPUs take jobs again. For operators.",
       {{"berth undrain all", "All GPUs"}},
       "",
       "berth-drain(1)"},
      {"reserve",
       "Reserves GPUs for users: while the reservation is in force, only their jobs start there. "
       "Before it begins, a job of another user starts there only if its time limit ends it in "
       "time, so a job without one does not. Jobs that are there go on, and those that may still "
       "be there when it begins are named. Without options it lists what is reserved. For "
       "operators; everybody may list.",
       {{"berth reserve --gpu 0,1 --user alice --from 22:00 --until 06:00", "For one night"},
        {"berth reserve --gpu all --user @lab --for 8h --reason deadline", "The machine, from now"},
        {"berth reserve", "What is reserved"}},
       "",
       "berth-unreserve(1), berth-drain(1)"},
      {"unreserve",
       "Ends reservations of GPUs, by their numbers in the list of berth reserve. For operators.",
       {{"berth unreserve 3", "One of them"}},
       "",
       "berth-reserve(1)"},
      {"config",
       "Lets berthd read its configuration again; prints which keys wait for the next start. For "
       "administrators.",
       {{"berth config reload", "After a change of berth.toml"}},
       "",
       "berth-doctor(1)"},
      {"compat",
       "Takes a command line of task-spooler or gflow with its common options, and does the same "
       "with berth; an option without an equal is named.",
       {{"berth compat tsp -G 1 -L train python train.py", "task-spooler's"}},
       "",
       "berth-submit(1)"},
      {"mcp",
       "Serves the Model Context Protocol on standard input and output: a program, such as an "
       "assistant, submits and follows jobs with the rights of the user who started it.",
       {{"berth mcp", "For the configuration of such a program"}},
       "",
       "berth-submit(1)"},
      {"completion",
       "Prints a script that completes the command line. The packages install it.",
       {{"berth completion bash", "For bash"}},
       "",
       ""},
      {"version",
       "Prints the versions of berth and of the berthd that answers.",
       {{"berth version", "Both"}},
       "",
       ""},
  };
  return all;
}

}  // namespace

const ManualText* manual_text(std::string_view verb) {
  const auto found = std::ranges::find(texts(), verb, &ManualText::verb);
  return found == texts().end() ? nullptr : &*found;
}

}  // namespace berth::cli
