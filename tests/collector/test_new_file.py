# SPDX-License-Identifier: Apache-2.0
"""How the Python package makes files: whole or not at all, through no link, with one mode, whatever goes wrong."""
import contextlib
import errno
import os
import pathlib
import stat
import tempfile
import unittest
from unittest import mock

import numpy
import torch

from msprobe.common import new_file


def mode_of(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


class NewFile(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.at = pathlib.Path(scratch.name)
        self.addCleanup(os.umask, os.umask(0))

    def names(self):
        return sorted(path.name for path in self.at.iterdir())

    def test_modes_whatever_the_umask(self):
        for umask in (0, 0o077):
            with self.subTest(umask=umask):
                os.umask(umask)
                place = self.at / f"a{umask}" / "b" / "c"
                new_file.make_directories(place)
                new_file.make_directories(f"{place}/.")
                new_file.write_text(place / "text", "x")
                new_file.append_text(place / "log", "x")
                self.assertEqual([mode_of(place / name) for name in ("text", "log")], [0o640, 0o640])
                self.assertEqual([mode_of(path) for path in (place, place.parent, place.parent.parent)], [0o750] * 3)

    def test_no_link_is_followed(self):
        victim = self.at / "victim"
        victim.write_text("mine")
        for name in ("a", "a.partial", "log"):
            (self.at / name).symlink_to(victim)
        new_file.write_text(self.at / "a", "new")
        with self.assertRaises(OSError):
            new_file.append_text(self.at / "log", "more")
        self.assertEqual(victim.read_text(), "mine")
        self.assertEqual((self.at / "a").read_text(), "new")
        self.assertFalse((self.at / "a").is_symlink())
        self.assertEqual(self.names(), ["a", "log", "victim"])

    def test_a_pipe_is_no_file_to_append_to(self):
        os.mkfifo(self.at / "log")
        with self.assertRaises(OSError):
            new_file.append_text(self.at / "log", "more")

    def test_an_exception_leaves_what_was_there(self):
        path = self.at / "a"
        new_file.write_text(path, "before")
        with contextlib.suppress(ZeroDivisionError), new_file.new_file(path) as file:
            file.write(b"half")
            file.write(bytes([1 // 0]))
        self.assertEqual((path.read_text(), self.names()), ("before", ["a"]))

    def test_every_write_that_fails(self):
        real = os.write
        values = torch.arange(100.0)

        def save(file):
            torch.save(values, file)

        def save_array(file):
            numpy.save(file, values.numpy())

        for saves in (save, save_array):
            calls = []
            with mock.patch("os.write", side_effect=lambda fd, data: calls.append(1) or real(fd, data)), \
                    new_file.new_file(self.at / "counted") as file:
                saves(file)
            os.unlink(self.at / "counted")
            for failing in range(len(calls)):
                left = [failing]

                def full(fd, data):
                    left[0] -= 1
                    if left[0] < 0:
                        raise OSError(errno.ENOSPC, "no space")
                    return real(fd, data)

                with self.subTest(saves=saves.__name__, failing=failing), self.assertRaises((OSError, RuntimeError)), \
                        mock.patch("os.write", side_effect=full), new_file.new_file(self.at / "a") as file:
                    saves(file)
                self.assertEqual(self.names(), [])

    def test_short_writes_are_gone_on_with(self):
        real = os.write
        values = torch.arange(1000.0)
        with mock.patch("os.write", side_effect=lambda fd, data: real(fd, data[:max(1, len(data) // 2)])):
            with new_file.new_file(self.at / "a.pt") as file:
                torch.save(values, file)
            with new_file.new_file(self.at / "a.npy") as file:
                numpy.save(file, values.numpy())
        self.assertTrue(torch.equal(torch.load(self.at / "a.pt", weights_only=True), values))
        self.assertTrue((numpy.load(self.at / "a.npy") == values.numpy()).all())

    def test_another_that_takes_the_name(self):
        with self.assertRaisesRegex(OSError, "replaced"), new_file.new_file(self.at / "a") as file:
            file.write(b"x")
            os.unlink(self.at / "a.partial")
            (self.at / "a.partial").write_text("another's")
        self.assertEqual(self.names(), ["a.partial"])

    def test_a_rename_that_fails(self):
        (self.at / "a").mkdir()
        with self.assertRaises(OSError):
            new_file.write_text(self.at / "a", "x")
        self.assertEqual(self.names(), ["a"])

    def test_a_file_where_a_directory_should_be(self):
        (self.at / "a").write_text("x")
        with self.assertRaises(OSError):
            new_file.make_directories(self.at / "a" / "b")


if __name__ == "__main__":
    unittest.main()
