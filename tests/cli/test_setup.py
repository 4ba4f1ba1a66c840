"""scripts/setup.sh: what it finds, says and installs, with programs and libraries hidden or made up."""

import os
import shutil
import subprocess

import pytest
from conftest import ROOT

NEEDS = """\
build python | Git | $ git --version | | git-deb | git-ubuntu | git-conda
build | Zlib | <zlib.h> ZLIB_VERNUM >= 0x1200 | -lz | zlib-deb | zlib-ubuntu | zlib-conda
build | Made up 2 | <made/up.h> MADE_UP >= 2 | pkg:made-up | up-deb | up-ubuntu | - (its headers from example.org)
?build | Extra | $ extra --version | | extra-deb | - (snap install extra) | extra-conda
"""
OS = {"debian": 'ID=debian\nVERSION_ID="12"\n', "ubuntu": 'ID=ubuntu\nVERSION_ID="24.04"\n', "fedora": "ID=fedora\n"}


class Machine:
    """A project of scripts alone, on a machine whose programs are those of a folder."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "scripts").mkdir()
        shutil.copy(ROOT / "scripts" / "setup.sh", folder / "scripts")
        (folder / "scripts" / "needs.txt").write_text(NEEDS)
        self.programs = folder / "bin"
        self.programs.mkdir()
        for name in ("bash", "env", "dirname", "mktemp", "rm", "mkdir", "as", "ld", "c++", "pkg-config", "git"):
            (self.programs / name).symlink_to(shutil.which(name))
        self.user(0)
        self.prefix = folder / "prefix"

    def user(self, number):
        self.program("id", f"echo {number}")

    def program(self, name, text):
        path = self.programs / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)

    def made_up(self, version=2):
        """The library that needs.txt asks for, where only CMAKE_PREFIX_PATH or its like leads."""
        (self.prefix / "include" / "made").mkdir(parents=True, exist_ok=True)
        (self.prefix / "include" / "made" / "up.h").write_text(f"#define MADE_UP {version}\n")
        (self.prefix / "lib" / "pkgconfig").mkdir(parents=True, exist_ok=True)
        (self.prefix / "lib" / "pkgconfig" / "made-up.pc").write_text(
            f"Name: made-up\nDescription: x\nVersion: {version}\nCflags: -I{self.prefix}/include\n")

    def apt(self, installs="true"):
        """An apt-get that writes down what it is asked for and then does what a shell command says."""
        self.program("apt-get", f'echo "$*" >>"{self.folder}/asked"\n[[ "$*" != *install* ]] || {installs}')

    @property
    def asked(self):
        path = self.folder / "asked"
        return path.read_text().splitlines() if path.exists() else []

    def need(self, *parts, system="debian", **environment):
        (self.folder / "os-release").write_text(OS[system])
        script = f"set -euo pipefail; source '{self.folder}/scripts/setup.sh'; need {' '.join(parts)}; " \
                 'echo "done, ${CMAKE_PREFIX_PATH:-} ${CMAKE_INCLUDE_PATH:-} ${CXX:-}"'  # fmt: skip
        return subprocess.run(
            [shutil.which("bash"), "-c", script], capture_output=True, text=True, check=False, timeout=300,
            stdin=subprocess.DEVNULL,
            env={"PATH": str(self.programs), "KSELECT_OS_RELEASE": str(self.folder / "os-release"),
                 "TMPDIR": os.environ.get("TMPDIR", "/tmp"), **environment})  # fmt: skip


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_what_is_there_is_found_without_asking_a_package_manager(machine):
    machine.made_up()
    machine.program("extra", "true")
    machine.apt()
    machine.user(1000)
    done = machine.need("build", CMAKE_PREFIX_PATH=str(machine.prefix))
    assert (done.returncode, done.stderr, machine.asked) == (0, "", []), done.stderr
    assert done.stdout.startswith("done, ")


@pytest.mark.parametrize("variable, folder", [("CONDA_PREFIX", ""), ("CPATH", "/include")])
def test_cmake_is_told_of_the_folders_where_things_were_found(machine, variable, folder):
    machine.made_up()
    done = machine.need("build", **{variable: f"{machine.prefix}{folder}"})
    assert done.returncode == 0, done.stderr
    assert "not found, and done without: Extra" in done.stdout
    assert f"done, {machine.prefix}" in done.stdout


def test_all_names_are_said_where_nothing_may_be_installed(machine):
    (machine.programs / "git").unlink()
    machine.apt()
    machine.user(1000)
    done = machine.need("build")
    assert (done.returncode, machine.asked) == (1, [])
    assert "done, " not in done.stdout
    assert done.stderr.splitlines()[:4] == [
        "missing: Git, Made up 2",
        "  Debian 12:    apt-get install git-deb up-deb",
        "  Ubuntu 24.04: apt-get install git-ubuntu up-ubuntu",
        "  conda:        conda install -c conda-forge git-conda; not there: Made up 2 (its headers from example.org)",
    ]  # fmt: skip


def test_a_version_that_is_too_old_is_missing(machine):
    machine.made_up(version=1)
    done = machine.need("build", system="fedora", CMAKE_PREFIX_PATH=str(machine.prefix))
    assert done.returncode == 1
    assert done.stderr.startswith("missing: Made up 2\n")


def test_without_a_compiler_it_says_that_libraries_were_not_tried(machine):
    (machine.programs / "c++").unlink()
    done = machine.need("build", system="fedora")
    assert done.returncode == 1
    assert done.stderr.startswith("missing: Zlib, Made up 2\n")
    assert "only once there is a compiler" in done.stderr


@pytest.mark.parametrize("system, asked", [
    ("debian", ["install -y --no-install-recommends up-deb", "install -y --no-install-recommends extra-deb"]),
    ("ubuntu", ["install -y --no-install-recommends up-ubuntu"]),
])  # fmt: skip
def test_root_has_the_systems_own_names_installed(machine, system, asked):
    machine.made_up()
    header = machine.prefix / "include" / "made" / "up.h"
    header.rename(header.with_name("away.h"))
    machine.program("mv", f'exec {shutil.which("mv")} "$@"')
    machine.apt(f"[ -e {header} ] || mv {header.with_name('away.h')} {header}")
    done = machine.need("build", system=system, CMAKE_PREFIX_PATH=str(machine.prefix))
    assert done.returncode == 0, done.stderr
    assert [line.removeprefix("-qq ") for line in machine.asked] == ["update", *asked]
    assert f"installing with apt: up-{'deb' if system == 'debian' else 'ubuntu'}" in done.stdout


def test_sudo_is_used_where_it_asks_nothing(machine):
    machine.user(1000)
    machine.program("sudo", f'[ "$1" = -n ] || {{ echo sudo >>"{machine.folder}/asked"; exec "$@"; }}')
    machine.apt()
    done = machine.need("build")
    assert machine.asked[:2] == ["sudo", "-qq update"]
    assert done.returncode == 1 and done.stderr.startswith("missing: Made up 2\n")  # apt did not bring it


def test_sudo_that_would_ask_for_a_password_is_not_used(machine):
    machine.user(1000)
    machine.program("sudo", "exit 1")
    machine.apt()
    done = machine.need("build")
    assert (done.returncode, machine.asked) == (1, [])


def test_only_what_a_part_needs_is_tried(machine):
    assert machine.need("python").returncode == 0
    done = machine.need("pyhton")
    assert done.returncode == 1
    assert done.stderr == "scripts/needs.txt lists nothing for 'pyhton'; correct the part's name\n"


def test_every_need_has_a_name_in_each_list():
    lines = (ROOT / "scripts" / "needs.txt").read_text().splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if line and not line.startswith("#")]
    assert len(rows) > 20
    for row in rows:
        assert len(row) == 7, row
        assert all(row[column] for column in (0, 1, 2, 4, 5, 6)), row
        assert row[2].startswith(("$ ", "<")), row
