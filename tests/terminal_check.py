#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What acc_check shows on a terminal, in a pipe, and with -q and -v.

A pseudo-terminal of a given width takes what the program writes.

usage: terminal_check.py MSPROBE
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASE = ROOT / "tests" / "cases" / "recorded_json_summary"
STAMP = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d+\) \[(INFO|WARNING|ERROR)\] ", re.MULTILINE)

failures = []


def expect(what, fine, shown=""):
    if not fine:
        failures.append(f"{what}\n{shown}")


def environment(**changes):
    names = {"PATH": os.environ["PATH"], "HOME": "/tmp", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    names.update({name: os.environ[name] for name in ("LD_LIBRARY_PATH", "MSPROBE_ENGINE", "ASAN_OPTIONS") if name in os.environ})
    return {**names, **changes}


def on_terminal(words, columns, piped=(), **changes):
    """What a terminal of this width is sent, what the pipes in its place got, and the exit status."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    streams = {name: subprocess.PIPE if name in piped else follower for name in ("stdout", "stderr")}
    running = subprocess.Popen(words, stdin=subprocess.DEVNULL, env=environment(**changes), **streams)
    os.close(follower)
    sent = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        sent += part
    out, errors = running.communicate()
    os.close(leader)
    return sent.decode().replace("\r\n", "\n"), (out or errors or b"").decode(), running.returncode


def in_pipe(words, **changes):
    return subprocess.run(words, stdin=subprocess.DEVNULL, env=environment(**changes), capture_output=True, text=True)


def lines_of(sent):
    """The lines that stay on the screen: a bar is drawn over."""
    return [re.sub(r"\033\[[0-9;]*m", "", line.rsplit("\r", 1)[-1].replace("\033[K", "")) for line in sent.splitlines()]


def bars_of(sent):
    return [part.replace("\033[K", "") for part in re.split(r"[\r\n]", sent) if "%|" in part]


def check_a_terminal(command):
    for columns in (40, 80, 140):
        sent, _, status = on_terminal(command, columns)
        lines = lines_of(sent)
        shown = "\n".join(lines)
        expect(f"{columns}: status", status == 1, f"{status}\n{shown}")
        expect(f"{columns}: a line for each wrong call", any(line.startswith("FAIL Torch.mul.1") for line in lines), shown)
        expect(f"{columns}: the sentence", "recorded: 2 APIs wrong (" in shown.replace("\n  ", " "), shown)
        expect(f"{columns}: the next command", "next:" in shown and "msprobe shrink" in shown, shown)
        expect(f"{columns}: no log lines", not STAMP.search(shown), shown)
        too_wide = [line for line in lines if len(line) > columns and not re.match("(results|report|next): ", line)]
        expect(f"{columns}: lines fit", not too_wide, "\n".join(too_wide))
        expect(f"{columns}: bars fit", all(len(bar) <= columns for bar in bars_of(sent)), str(bars_of(sent)[:3]))
        expect(f"{columns}: colour", "\033[31mFAIL\033[0m" in sent, repr(sent[:300]))


def check_what_the_environment_says(command):
    sent, _, _ = on_terminal(command, 80, NO_COLOR="1")
    expect("NO_COLOR", "\033[31m" not in sent and "FAIL Torch.mul.1" in sent, repr(sent[:300]))
    sent, _, _ = on_terminal(command, 80, TERM="dumb")
    expect("TERM=dumb", "\033" not in sent and "%|" not in sent, repr(sent[:300]))
    sent, _, _ = on_terminal(command, 140, COLUMNS="40")
    expect("COLUMNS", all(len(bar) <= 40 for bar in bars_of(sent)), str(bars_of(sent)[:2]))


def check_all_is_well(command):
    sent, _, status = on_terminal([*command, "--only", "Tensor.neg.0"], 100)
    lines = lines_of(sent)
    expect("one good call: status", status == 0, sent)
    expect("one good call: its whole result", any("strict: pass" in line and "documented: pass" in line for line in lines), sent)
    expect("one good call: OK", any(line.startswith("recorded: OK. 1 call checked, none wrong") for line in lines), sent)


def check_one_call(command):
    sent, _, status = on_terminal([*command, "--only", "Torch.mul.1"], 100)
    shown = "\n".join(lines_of(sent))
    expect("--only: status", status == 1, shown)
    for part in ("Torch.mul.1", "argument input", "forward.output.0", "strict: error", "bound", "cause", "Cosine"):
        expect(f"--only: {part}", part in shown, shown)


def check_quiet_calls(command):
    quiet = in_pipe([*command, "--only", "T*", "-q"]).stdout
    expect("--only -q: what fails in full", quiet.startswith("Torch.mul.1\n") and "strict: error" in quiet, quiet)
    expect("--only -q: nothing that passes", "Tensor.neg.0\n" not in quiet and "more call" not in quiet, quiet)


def check_pipes(command):
    def steady(text):
        return re.sub(r"\d{14}|\d+\.\d s", "N", text)

    plain = in_pipe(command)
    sent, _, _ = on_terminal(command, 1000)
    on_screen = "\n".join(line for line in lines_of(sent) if line)
    expect("pipe: the text of a terminal", steady(on_screen) == steady("\n".join(line for line in plain.stdout.splitlines() if line)),
           f"{on_screen}\n--\n{plain.stdout}")
    expect("pipe: no colour and no bar", "\033" not in plain.stdout + plain.stderr and "%|" not in plain.stderr, plain.stderr)
    expect("pipe: no log lines", plain.stderr == "", plain.stderr)
    quiet = in_pipe([*command, "-q"])
    expect("-q: no log", quiet.stderr == "", quiet.stderr)
    expect("-q: failures", quiet.stdout.startswith("FAIL ") and "recorded: 2 APIs wrong" in quiet.stdout, quiet.stdout)
    verbose = in_pipe([*command, "-v"])
    expect("-v: log", len(STAMP.findall(verbose.stderr)) == 7, verbose.stderr)
    expect("-v: both", "FAIL " in verbose.stdout and "recorded 7, checked 7 (" in verbose.stdout, verbose.stdout)
    sent, out, _ = on_terminal(command, 80, piped=("stdout",))
    expect("piped output: the answer is there", steady(out) == steady(plain.stdout), out)
    expect("piped output: and not on the terminal", "FAIL" not in sent, sent)
    sent, errors, _ = on_terminal(command, 80, piped=("stderr",))
    expect("piped log: nothing", errors == "", errors)
    expect("piped log: the answer is on the terminal", "FAIL Torch.mul.1" in sent.replace("\033[31m", "").replace("\033[0m", "").replace("\033[1m", ""), sent)


def check_a_reader_that_leaves(command):
    """... | head, in a process that ignores SIGPIPE, as services do."""
    running = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               restore_signals=False)
    running.stdout.readline()
    running.stdout.close()
    told = running.stderr.read()
    running.wait()
    expect("a reader that leaves: no complaint", "cannot be written" not in told, told)


def check_json(command):
    done = in_pipe([*command, "--json"])
    summary = json.loads(done.stdout)
    wrong = {call["name"]: call for call in summary["failures"]}
    expect("--json: every failing call", sorted(wrong) == ["Functional.relu.1", "Torch.mul.1"], done.stdout)
    call = wrong["Torch.mul.1"]
    expect("--json: only calls that fail", all(call["kind"] == "wrong" for call in summary["failures"]), done.stdout)
    expect("--json: what is known of one", call["directions"] == "forward" and call["error_over_bound"] != 0, str(call))
    rerun = subprocess.run([command[0], *call["rerun"].split()[1:], "-o", command[-1]], cwd="/", env=environment(), capture_output=True, text=True)
    expect("--json: its command works from anywhere", rerun.returncode == 1 and "Torch.mul.1" in rerun.stdout, rerun.stderr)


def check_directories(command, scratch):
    """Of a rank; of several ranks: a directory of results each, one report, the worst status."""
    tree = pathlib.Path(scratch) / "dump"
    for place in ("step1/rank0", "step1/rank1"):
        shutil.copytree(CASE, tree / place)
    program, _, _, *options = command
    one = in_pipe([program, "acc_check", str(tree / "step1" / "rank1"), *options[:-1], f"{scratch}/one"])
    expect("a directory of one dump: as that dump", one.returncode == 1 and one.stdout.startswith("FAIL Torch.mul.1"), one.stderr)
    expect("its results are in the directory itself", list(pathlib.Path(scratch, "one").glob("*_result_*.csv")), one.stderr)

    out = pathlib.Path(scratch) / "all"
    both = [program, "acc_check", str(tree), *options[:-1], str(out)]
    done = in_pipe([*both, "--report", "--json"])
    summary = json.loads(done.stdout)
    expect("several dumps: status", done.returncode == 1 and summary["exit_status"] == 1, done.stderr)
    expect("several dumps: JSON", [check["place"] for check in summary["checks"]] == ["step1/rank0", "step1/rank1"], done.stdout)
    for place in ("step1/rank0", "step1/rank1"):
        expect(f"several dumps: {place}", list((out / place).glob("accuracy_checking_details_*.csv")), done.stderr)
    pages = list(out.glob("*.html"))
    expect("several dumps: one report", len(pages) == 1 and not list(out.glob("step1/*/*.html")), str(pages))
    sent, _, status = on_terminal(both, 100)
    shown = "\n".join(lines_of(sent))
    expect("several dumps: a sentence", status == 1 and "step1/rank0, recorded: 2 APIs wrong" in shown, shown)
    expect("several dumps: what repeats is said once", "step1/rank1, recorded: the same calls and causes as in step1/rank0; " in shown
           and shown.count("FAIL Torch.mul.1") == 1, shown)
    expect("several dumps: over all", "0 of 2 dumps OK" in shown and "all 2 dumps, recorded: 2 APIs wrong" in shown
           and "2 calls, in 2 of 2 dumps" in shown, shown)

    (tree / "step1" / "rank0" / "dump.json").write_text("{")
    broken = in_pipe(both)
    expect("a damaged dump does not stop the others", broken.returncode == 2 and "step1/rank1, recorded: 2 APIs wrong" in broken.stdout, broken.stderr)
    expect("a damaged dump is counted", "0 of 2 dumps OK, 1 could not be checked" in broken.stdout, broken.stdout)


def check_resumed_directories(command, scratch):
    """A check of two ranks that was stopped in the first one is continued with the directory of its results, or with that rank's CSV."""
    program, _, _, *options = command
    tree, out = pathlib.Path(scratch) / "ranks", pathlib.Path(scratch) / "stopped"
    for place in ("step1/rank0", "step1/rank1"):
        shutil.copytree(CASE, tree / place)
    both = [program, "acc_check", str(tree), *options[:-1], str(out)]
    in_pipe(both)
    first = next((out / "step1" / "rank0").glob("accuracy_checking_result_*.csv"))
    wanted = first.read_bytes()
    for given in (out, first):
        first.write_bytes(wanted[:wanted.index(b"\n", wanted.index(b"\n") + 1) + 1])
        shutil.rmtree(out / "step1" / "rank1")
        done = in_pipe([*both, "-csv_path", str(given), "--json"])
        expect(f"continued with {given}: status", done.returncode == 1, done.stderr)
        checks = json.loads(done.stdout)["checks"] if done.stdout else []
        expect(f"continued with {given}: both ranks", [(check["place"], check["checked"], len(check["failures"])) for check in checks] ==
               [("step1/rank0", 7, 2), ("step1/rank1", 7, 2)], done.stdout)
        expect(f"continued with {given}: the same rows", first.read_bytes() == wanted, done.stderr)
        expect(f"continued with {given}: one result each", len(list(out.glob("step1/*/*_result_*.csv"))) == 2, done.stderr)
    page = in_pipe([program, "report", str(first.parent), "-o", f"{scratch}/page.html"])
    expect("report of a directory", page.returncode == 0 and pathlib.Path(scratch, "page.html").exists(), page.stderr)
    page = in_pipe([program, "report", str(tree), "-o", f"{scratch}/none.html"])
    expect("report of another directory", page.returncode == 2 and "no accuracy_checking_result_*.csv in it" in page.stderr, page.stderr)
    same = in_pipe([program, "diff", str(first.parent), str(first.parent), "--fail-on", "strict"])
    expect("diff of directories", same.returncode == 0 and "still failing" in same.stdout, same.stdout + same.stderr)
    alone = in_pipe([program, "acc_check", str(tree / "step1" / "rank0"), *options[:-1], scratch, "-csv_path", str(first.parent)])
    expect("one dump: continued with the directory", alone.returncode == 1 and "2 of 7 calls" in alone.stdout, alone.stderr)
    refused = in_pipe([*both, "-csv_path", "accuracy_checking_result_20260101000000.csv"])
    expect("a CSV of none of the dumps", refused.returncode == 2 and "the -o of the interrupted check" in refused.stderr, refused.stderr)
    refused = in_pipe([program, "acc_check", str(tree / "step1" / "rank0"), *options[:-1], scratch, "-csv_path", str(tree)])
    expect("a directory without results", refused.returncode == 2 and "no accuracy_checking_result_*.csv to continue" in refused.stderr, refused.stderr)


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(ROOT)
        command = [program, "acc_check", os.path.relpath(CASE / "dump.json"), "-d", "recorded", "-o", scratch]
        for check in (check_a_terminal, check_what_the_environment_says, check_all_is_well, check_one_call, check_quiet_calls,
                      check_pipes, check_a_reader_that_leaves, check_json):
            check(command)
        check_directories(command, scratch)
        check_resumed_directories(command, scratch)
    print("\n".join(failures) or "the terminal shows what it should")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
