# SPDX-License-Identifier: Apache-2.0
"""The build backend of `pip install .`: scikit-build-core, after a look at what this machine lacks.

pip asks here before it downloads or compiles anything, so what is missing is said in the first second.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig

# A header of each library, and the packages that have it: of Debian and Ubuntu, and of systems with dnf.
HEADERS = (
    ("fmt/core.h", "libfmt-dev", "fmt-devel"),
    ("spdlog/spdlog.h", "libspdlog-dev", "spdlog-devel"),
    ("CLI/CLI.hpp", "libcli11-dev", "cli11-devel"),
    ("yaml-cpp/yaml.h", "libyaml-cpp-dev", "yaml-cpp-devel"),
    ("simdjson.h", "libsimdjson-dev", "simdjson-devel"),
    ("hwy/highway.h", "libhwy-dev", "highway-devel"),
    ("sqlite3.h", "libsqlite3-dev", "sqlite-devel"),
    ("xlsxwriter.h", "libxlsxwriter-dev", "libxlsxwriter-devel"),
    ("xxhash.h", "libxxhash-dev", "xxhash-devel"),
    ("zlib.h", "zlib1g-dev", "zlib-devel"),
)
REQUIRES = ["scikit-build-core>=0.8"]
OLDEST_CMAKE = (3, 22)


class Missing(SystemExit):
    """Ends the build with a sentence instead of a traceback."""


def compiler():
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        words = shlex.split(name or "")
        if words and shutil.which(words[0]):
            return words
    return None


def is_jammy():
    """Ubuntu 22.04, whose g++ is 11."""
    try:
        return 'VERSION_ID="22.04"' in pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return False


def answer(command, text):
    """What the compiler says of a program, None if it does not take it."""
    done = subprocess.run([*command, "-std=c++23", "-x", "c++", "-E", "-P", "-"], input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          universal_newlines=True, check=False)
    return done.stdout if done.returncode == 0 else None


def elsewhere(settings):
    """The user says where libraries are: CMake looks there, and reports what it does not find."""
    named = [key for key in settings if re.match(r"cmake\.(args|define\.\w+_(DIR|ROOT|PATH)$)", key)]
    return bool(named) or any(os.environ.get(name) for name in ("CMAKE_ARGS", "CMAKE_PREFIX_PATH", "CMAKE_TOOLCHAIN_FILE", "SKBUILD_CMAKE_ARGS"))


def complain(what, debian, dnf):
    install = f"dnf install {' '.join(dnf)}" if shutil.which("dnf") and not shutil.which("apt-get") else f"apt-get install {' '.join(debian)}"
    root = "" if os.geteuid() == 0 else ", as root"
    raise Missing(f"\nmsprobe is compiled when it is installed from its sources, and {what}.\n"
                  f"Install what is missing ({install}{root}), or use the wheels, which need nothing of it (docs/install.md).\n")


def look(settings):
    """Ends the build if something is missing."""
    command = compiler()
    debian, dnf = [], []
    if command is None:
        debian, dnf = ["g++-12" if is_jammy() else "g++"], ["gcc-c++"]
    elif answer(command, "#if !__has_include(<expected>)\n#error\n#endif\n") is None:
        found = subprocess.run([*command, "--version"], stdout=subprocess.PIPE, universal_newlines=True, check=False).stdout.split("\n")[0]
        newer = [name for name in ("g++-14", "g++-13", "g++-12") if shutil.which(name)]
        if newer:
            raise Missing(f"\nmsprobe needs g++ 12 or clang 16, or newer; {' '.join(command)} is {found}.\nName the newer one: CXX={newer[0]} pip install .\n")
        complain(f"needs g++ 12 or clang 16, or newer, where {' '.join(command)} is {found} (then: CXX=g++-12 pip install .)", ["g++-12"], ["gcc-c++"])
    if not shutil.which(os.environ.get("PKG_CONFIG", "pkg-config")):
        debian.append("pkg-config")
        dnf.append("pkgconf")
    if not elsewhere(settings):
        # Without a compiler the usual place tells.
        lacks = {header for header, _, _ in HEADERS if not pathlib.Path("/usr/include", header).exists()}
        if command is not None:
            text = "".join(f"#if !__has_include(<{header}>)\n\"{header}\"\n#endif\n" for header, _, _ in HEADERS)
            lacks = set(re.findall(r'"(.*)"', answer(command, text) or ""))
        for header, of_debian, of_dnf in HEADERS:
            if header in lacks:
                debian.append(of_debian)
                dnf.append(of_dnf)
    if not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists() and settings.get("cmake.define.MSPROBE_COLLECTOR") != "OFF":
        debian.append("python3-dev")
        dnf.append("python3-devel")
    if debian:
        complain(f"{len(debian)} of the packages that this needs are missing" if len(debian) > 1 else "a package that this needs is missing", debian, dnf)
    if settings.get("cmake.define.MSPROBE_ENGINE") != "OFF":
        # -E: past the walls that pip builds in. Looked for, not imported, which takes seconds.
        has_torch = subprocess.run([sys.executable, "-E", "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"], check=False)
        if has_torch.returncode != 0:
            raise Missing(f"\nmsprobe is built for the PyTorch of the environment that it is installed into, and {sys.prefix} has none.\n"
                          "Install PyTorch first (pip install torch), then msprobe. (-C cmake.define.MSPROBE_ENGINE=OFF: without the engine.)\n")


def version_of(program):
    try:
        text = subprocess.run([program, "--version"], stdout=subprocess.PIPE, universal_newlines=True, check=False).stdout
    except OSError:
        return ()
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


def requires(settings):
    look(settings or {})
    return REQUIRES + (["cmake>=3.22"] if version_of("cmake") < OLDEST_CMAKE else []) + ([] if version_of("ninja") else ["ninja"])


def get_requires_for_build_wheel(config_settings=None):
    return requires(config_settings)


def get_requires_for_build_editable(config_settings=None):
    return requires(config_settings)


def get_requires_for_build_sdist(config_settings=None):
    return REQUIRES


def _of_backend(hook):
    def call(*arguments, **options):
        from scikit_build_core import build
        return getattr(build, hook)(*arguments, **options)
    return call


build_wheel = _of_backend("build_wheel")
build_editable = _of_backend("build_editable")
build_sdist = _of_backend("build_sdist")
prepare_metadata_for_build_wheel = _of_backend("prepare_metadata_for_build_wheel")
prepare_metadata_for_build_editable = _of_backend("prepare_metadata_for_build_editable")
