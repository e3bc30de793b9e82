#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--xlsx: every table of a comparison and of checks is in the spreadsheet, cell by cell, verdicts in their colours.

usage: workbook_check.py PROGRAM
"""
import csv
import glob
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
import zipfile

DATA = pathlib.Path(__file__).resolve().parent / "data" / "api_precision_compare"
NAMES = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
COLOURS = {"pass": "FFC6EFCE", "warning": "FFFFFF00", "error": "FFFF0000"}


def is_number(text):
    try:
        return math.isfinite(float(text)) and not text.startswith("_")
    except ValueError:
        return False


class Workbook:
    def __init__(self, path):
        with zipfile.ZipFile(path) as archive:
            book = ET.fromstring(archive.read("xl/workbook.xml"))
            styles = ET.fromstring(archive.read("xl/styles.xml"))
            fills = [(fill.find(".//m:fgColor", NAMES), fill) for fill in styles.findall("m:fills/m:fill", NAMES)]
            colours = ["" if colour is None else colour.get("rgb") for colour, _ in fills]
            self.formats = [colours[int(xf.get("fillId"))] for xf in styles.findall("m:cellXfs/m:xf", NAMES)]
            self.sheets = {sheet.get("name"): ET.fromstring(archive.read(f"xl/worksheets/sheet{number}.xml"))
                           for number, sheet in enumerate(book.findall("m:sheets/m:sheet", NAMES), 1)}

    def rows(self, name):
        """Of each row its cells by column: text or number, and colour. Empty cells are not stored."""
        for row in self.sheets[name].findall("m:sheetData/m:row", NAMES):
            cells = {}
            for cell in row.findall("m:c", NAMES):
                column = 0
                for letter in cell.get("r").rstrip("0123456789"):
                    column = column * 26 + ord(letter) - ord("A") + 1
                text = "".join(part.text or "" for part in cell.iter(f"{{{NAMES['m']}}}t"))
                value = cell.find("m:v", NAMES)
                cells[column - 1] = (text if value is None else float(value.text), self.formats[int(cell.get("s", 0))])
            yield cells


def compare(workbook, name, path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        wanted = list(csv.reader(file))
    got = list(workbook.rows(name))
    assert len(got) == len(wanted), f"{name}: {len(got)} rows, {path} has {len(wanted)}"
    coloured = 0
    for number, (row, cells) in enumerate(zip(wanted, got)):
        assert set(cells) <= set(range(len(row))), f"{name}, row {number}: {len(cells)} cells, expected {len(row)}"
        for column, text in enumerate(row):
            value, colour = cells.get(column, ("", ""))
            same = math.isclose(value, float(text), rel_tol=1e-15) if isinstance(value, float) else value == text
            assert same, f"{name}, row {number}: {value!r}, expected {text!r}"
            assert number == 0 or isinstance(value, float) == is_number(text), f"{name}, row {number}: kind of {text!r}"
            if number > 0 and text in COLOURS:
                assert colour == COLOURS[text], f"{name}, row {number}: {text} is {colour}"
                coloured += 1
    assert coloured > 0, f"{name}: no coloured cell"
    return len(got)


def main():
    program = sys.argv[1]
    npu, gpu = str(DATA / "npu_details.csv"), str(DATA / "gpu_details.csv")
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([program, "api_precision_compare", "-npu", npu, "-gpu", gpu, "-o", out, "--xlsx"], check=False,
                       capture_output=True)
        beside = glob.glob(os.path.join(out, "api_precision_compare_tables_*.xlsx"))
        assert len(beside) == 1, os.listdir(out)
        result, details = (glob.glob(os.path.join(out, f"api_precision_compare_{kind}_*.csv"))[0] for kind in ("result", "details"))
        book = Workbook(beside[0])
        assert list(book.sheets) == ["comparison result", "comparison details", "details", "details 2"], list(book.sheets)
        rows = compare(book, "comparison result", result) + compare(book, "comparison details", details)
        rows += compare(book, "details", npu) + compare(book, "details 2", gpu)

        named = os.path.join(out, "mine.xlsx")
        subprocess.run([program, "report", npu, "-o", os.path.join(out, "r.html"), "--xlsx", named], check=True, capture_output=True)
        rows += compare(Workbook(named), "details", npu)

        refused = subprocess.run([program, "report", npu, "-o", os.path.join(out, "r.html"), "--xlsx", "/nowhere/x.xlsx"], check=False,
                                 capture_output=True, text=True)
        assert refused.returncode == 2 and "/nowhere/x.xlsx: cannot be written: No such file" in refused.stderr, refused.stderr
        assert not glob.glob(os.path.join(out, "*.partial")), os.listdir(out)
    print(f"{rows} rows of 5 tables are as in their CSVs")


if __name__ == "__main__":
    main()
