# SPDX-License-Identifier: Apache-2.0
"""Functions whose bodies are exchanged for a while. Needs no PyTorch: the file is loaded by itself."""
import functools
import importlib.util
import os
import sys
import traceback
import unittest

_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "msprobe", "pytorch", "function_body.py")
_SPEC = importlib.util.spec_from_file_location("function_body", _PATH)
function_body = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(function_body)


def plain(a, b=2, *, c=3):
    return a, b, c


def _wrapped(function, argument=1, args=2):
    @functools.wraps(function)
    def wrapper(*given, **named):
        return function(*given, **named), argument, args
    return wrapper


decorated = _wrapped(plain)


class FunctionBody(unittest.TestCase):
    def exchanged(self, function):
        seen = []

        def replacement(original, args, kwargs):
            seen.append((args, kwargs))
            return original(*args, **kwargs)

        body = function_body.FunctionBody(function, replacement)
        body.exchange()
        self.addCleanup(body.restore)
        return seen

    def test_a_plain_function_and_one_with_free_variables(self):
        for function, result in ((plain, (1, 2, 4)), (decorated, ((1, 2, 4), 1, 2))):
            for _ in range(100):  # long enough for Python to specialise the call
                self.assertEqual(function(1, c=4), result)
            seen = self.exchanged(function)
            for _ in range(100):
                self.assertEqual(function(1, c=4), result)
            self.assertEqual(seen, [((1,), {"c": 4})] * 100)
            self.doCleanups()
            self.assertEqual(function(1, c=4), result)
            self.assertEqual(len(seen), 100)

    def test_an_exception_passes_and_its_frames_can_be_looked_at(self):
        self.exchanged(decorated)
        try:
            decorated(1, 2, 3, 4, 5)
            self.fail("it was to raise")
        except TypeError as error:
            text = "".join(traceback.TracebackException(TypeError, error, error.__traceback__, capture_locals=True).format())
        self.assertIn("in wrapper", text)
        self.assertIn("given = (1, 2, 3, 4, 5)", text)

    def test_what_somebody_else_has_put_there_stays(self):
        body = function_body.FunctionBody(plain, lambda original, args, kwargs: "ours")
        code = plain.__code__
        body.exchange()
        plain.__code__ = (lambda *args, **kwargs: "theirs").__code__
        body.restore()
        self.assertEqual(plain(1), "theirs")
        plain.__code__ = code

    def test_the_trace_function_sees_it(self):
        self.exchanged(decorated)
        places = []
        sys.settrace(lambda frame, event, argument: places.append(sorted(frame.f_locals)))
        try:
            decorated(1)
        finally:
            sys.settrace(None)
        self.assertTrue(places)


if __name__ == "__main__":
    unittest.main()
