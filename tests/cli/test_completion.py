"""Shell completion, each script in its own shell where that is installed."""

import json
import re
import shutil
import subprocess

import pytest
from conftest import ROOT

STOCK = {path.stem for path in (ROOT / "configs").glob("*.json") if not path.stem.endswith(".schema")}
SHELLS = ["bash", "zsh", "fish"]


@pytest.fixture
def script(kselect, tmp_path):
    """Writes a shell's completion script; returns its path."""

    def write(shell):
        path = tmp_path / {"bash": "kselect.bash", "zsh": "_kselect", "fish": "kselect.fish"}[shell]
        path.write_text(kselect("completion", shell).stdout)
        return path

    return write


@pytest.fixture
def complete(script, tmp_path):
    """The words that bash offers for a command line; the last word is the one at the cursor."""
    path = script("bash")

    def offered(*words):
        # bash makes three words of --option=value before it calls the function.
        line = [part for word in words for part in re.split(r"(=)", word) if part] if words[-1] else list(words)
        quoted = " ".join("'" + word + "'" for word in ["kselect", *line])
        program = (
            f"source {path}; COMP_WORDS=({quoted}); COMP_CWORD={len(line)}; _kselect; "
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(["bash", "--norc", "-c", program], cwd=tmp_path, capture_output=True, text=True,
                              check=True)
        assert done.stderr == "", done.stderr
        return [word for word in done.stdout.splitlines() if word]

    return offered


def test_commands(complete):
    assert {"select", "knn", "index", "help", "completion"} <= set(complete(""))
    assert complete("sel") == ["select"]
    assert set(complete("index", "")) >= {"build", "info", "knn", "range", "generate"}
    assert complete("worke") == [], "internal"
    assert complete("help", "ind") == ["index"]
    assert set(complete("help", "index", "")) >= {"build", "info", "knn"}


def test_options_are_those_of_the_command(complete, kselect):
    for command in ("select", "knn", "run", "index knn", "generate rows", "compare"):
        helped = kselect("help", *command.split()).stdout.split("\nExamples:\n")[0]
        listed = set(re.findall(r"^  (?:[A-Z]+(?:\.\.\.)?, )?(?:-h, )?(--[a-z0-9-]+)", helped, re.MULTILINE))
        assert listed and listed == set(complete(*command.split(), "--")), command
    assert complete("select", "rows.npy", "--va") == ["--values"]


def test_algorithms_and_words(complete, kselect):
    names = [entry["name"] for entry in json.loads(kselect("list", "--json").stdout)]
    assert complete("select", "--algorithm", "") == names
    assert complete("select", "--algorithm", "cpu/he") == [n for n in names if n.startswith("cpu/he")]
    assert complete("select", "--executor", "") == ["auto", "cpu", "fiber", "cuda"]
    assert complete("select", "--executor=f") == ["fiber"]
    assert complete("select", "--executor=") == ["auto", "cpu", "fiber", "cuda"]
    assert complete("completion", "") == ["bash", "zsh", "fish"]
    assert complete("select", "--k", "") == [], "a number cannot be guessed"
    assert complete("select", "--sorted", "--ex") == ["--executor"], "a flag has no value"


def test_files(complete, tmp_path):
    (tmp_path / "configs").mkdir()
    for name in ("quick.json", "rows.npy", "two words.npy"):
        (tmp_path / name).write_text("")
    assert set(complete("run", "")) == {"configs", "quick.json", *STOCK}
    assert complete("select", "ro") == ["rows.npy"]
    assert complete("select", "--input", "two") == ["two words.npy"]
    assert complete("knn", "--base", "rows.npy", "two") == ["two words.npy"], "--base takes several"
    assert "--query" in complete("knn", "--base", "rows.npy", "--que")
    assert complete("run", "quick.json", "--out", "") == ["configs"]
    assert complete("compare", "configs", "") == ["configs"]
    assert "rows.npy" in complete("prove", "rows.npy", "--sorted", "")


@pytest.mark.parametrize("command", ["run", "tune", "noise", "counters", "ab old new"])
def test_stock_configs_by_name(complete, command):
    assert {"smoke", "quick"} <= STOCK
    assert complete(*command.split(), "smok") == ["smoke"]
    assert not [name for name in complete(*command.split(), "") if name.endswith("schema")]


def test_a_real_bash_completes_at_the_prompt(script, tmp_path):
    """Readline itself splits the line, calls the function and inserts what it offers."""
    path = script("bash")
    (tmp_path / "rows.npy").write_text("")
    # `complete` binds the function; compgen -F cannot show readline's splitting, a terminal can.
    import pty
    import os
    import select
    import time

    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.environ |= {"PS1": "$ ", "TERM": "dumb", "HOME": str(tmp_path)}
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])

    def send(text, until, seconds=120):
        os.write(terminal, text.encode())
        seen, end = "", time.monotonic() + seconds
        while until not in seen and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                seen += os.read(terminal, 4096).decode(errors="replace")
        assert until in seen, seen
        return seen

    try:
        send(f"source {path}; echo rea''dy\n", "ready\r\n$ ")  # the prompt: what was typed before is echoed
        send("kselect sel\tro\t--exec\tfi\t", "kselect select rows.npy --executor fiber")
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_itself_parses_it(script, shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed; the structure is tested below")
    done = subprocess.run([shell, "-n", script(shell)], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_in_it(script, kselect, shell):
    text = script(shell).read_text()
    assert text.count("'") % 2 == 0 or "\\'" in text
    for command in ("select", "knn", "index knn", "completion"):
        helped = kselect("help", *command.split()).stdout.split("\nExamples:\n")[0]
        for option in re.findall(r"(--[a-z0-9-]+)", " ".join(
                line for line in helped.splitlines() if re.match(r"  ([A-Z]+, )?-", line))):
            assert option in text or f"-l {option[2:]}" in text, (command, option)
    assert "cpu/nth_element" in text and "worker" not in text


def zsh_offers(path, line, folder):
    """What zsh adds for a line, by a compadd that prints; zsh completes only at a terminal (zpty)."""
    program = f"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1= PROMPT=; cd {folder}; fpath=({path.parent} $fpath); autoload -Uz compinit; compinit -u -D'
zpty -w shell 'zstyle ":completion:*" list-prompt ""; LISTMAX=10000; unsetopt menucomplete; bindkey "^I" complete-word'
zpty -w shell 'function comp() {{ compadd() {{ local -a found; builtin compadd -A found "$@"; print -rl -- "<$^found>" >> {folder}/offered; builtin compadd "$@" }} ; _main_complete }}'
zpty -w shell 'zle -C tab complete-word comp; bindkey "^I" tab; print rea""dy'
zpty -r shell output '*ready*'
zpty -w -n shell $'{line}\\t'
repeat 100 {{ [[ -s {folder}/offered ]] && break; sleep 0.1 }}
sleep 0.3
zpty -d shell
"""
    (folder / "offered").unlink(missing_ok=True)
    subprocess.run(["zsh", "-f", "-c", program], capture_output=True, text=True, timeout=60, check=False)
    found = folder / "offered"
    return set(re.split(r"[<>\s]+", found.read_text())) if found.exists() else set()


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_offers_words(script, tmp_path):
    path = script("zsh")
    assert {"auto", "cpu", "fiber", "cuda"} <= zsh_offers(path, "kselect select --executor ", tmp_path)
    assert "cpu/nth_element" in zsh_offers(path, "kselect select --algorithm ", tmp_path)
    assert {"build", "info", "knn"} <= zsh_offers(path, "kselect index ", tmp_path)
    (tmp_path / "mine.json").write_text("")
    assert {"quick", "smoke"} <= zsh_offers(path, "kselect run ", tmp_path)
    assert "mine.json" in zsh_offers(path, "kselect run m", tmp_path)


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_offers_words(script, tmp_path):
    path = script("fish")
    (tmp_path / "rows.npy").write_text("")

    def offers(line):
        done = subprocess.run(
            ["fish", "--no-config", "-c", f"source {path}; complete -C '{line}'"], cwd=tmp_path,
            capture_output=True, text=True, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, check=True)
        return {word.split("\t")[0] for word in done.stdout.splitlines()}

    assert {"select", "knn", "index"} <= offers("kselect ")
    assert offers("kselect select --executor ") == {"auto", "cpu", "fiber", "cuda"}
    assert "cpu/nth_element" in offers("kselect select --algorithm cpu/")
    assert {"build", "info", "knn"} <= offers("kselect index ")
    assert "--values" in offers("kselect select --val")
    (tmp_path / "mine.json").write_text("")
    assert {"quick", "smoke", "mine.json"} <= offers("kselect run ")
    assert "rows.npy" in offers("kselect select ro") and "rows.npy" in offers("kselect select --input ro")
