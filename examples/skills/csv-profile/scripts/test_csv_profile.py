#!/usr/bin/env python3
"""Tests of csv_profile.py. Run: python3 scripts/test_csv_profile.py"""

import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "csv_profile.py")
SAMPLE = os.path.join(HERE, "..", "assets", "sample.csv")
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

from csv_profile import Refused, profile, type_of  # noqa: E402


def of(text, **options):
    return profile(io.StringIO(text, newline=""), **options)


def column(text, **options):
    return of("head,other\n" + "".join(f"{value},x\n" for value in text), **options)["columns"][0]


class Types(unittest.TestCase):
    def test_each_value_has_the_narrowest_type(self):
        expected = {
            "1": "integer", "-12": "integer", "1.5": "number", ".5": "number", "1e9": "number", "true": "boolean", "No": "boolean",
            "2025-01-31": "date", "2025-02-30": "text", "2025-01-31T10:00:00Z": "datetime", "2025-01-31 10:00": "datetime",
            "31/01/2025": "text", "1,5": "text", "0x10": "text", "inf": "text", "１２": "text",
        }
        self.assertEqual({value: type_of(value) for value in expected}, expected)

    def test_whole_numbers_and_fractions_make_a_number(self):
        self.assertEqual(column(["1", "2.5", "3"])["type"], "number")

    def test_a_country_code_that_reads_as_a_boolean_is_text(self):
        norway = column(["SE", "NO", "DK"])
        self.assertEqual((norway["type"], norway["warnings"]), ("text", []))

    def test_one_odd_value_in_forty_keeps_the_type_and_is_told(self):
        mostly = column([str(number) for number in range(39)] + ["many"])
        self.assertEqual((mostly["type"], mostly["warnings"]), ("integer", ["not of type integer: 1 of 40"]))


class Figures(unittest.TestCase):
    def test_mean_and_deviation_survive_a_large_offset(self):
        figures = column(["1000000004", "1000000007", "1000000013", "1000000016"])
        self.assertAlmostEqual(figures["mean"], 1000000010)
        self.assertAlmostEqual(figures["deviation"] ** 2, 30)

    def test_missing_words_count_as_missing_and_are_named(self):
        gaps = column(["1", "", "N/A", "2"])
        self.assertEqual((gaps["missing"], gaps["missing_share"]), (2, 0.5))
        self.assertIn("missing is written in several ways: '', 'N/A'", gaps["warnings"])

    def test_missing_words_can_be_chosen(self):
        self.assertEqual(column(["NA", "ZA"], missing_words=[""])["missing"], 0)

    def test_distinct_stops_at_the_limit_and_says_so(self):
        many = column([str(number) for number in range(100)], limit=10)
        self.assertEqual((many["distinct"], many["distinct_is_exact"], many["unique"]), (10, False, False))


class Suspicions(unittest.TestCase):
    def assert_told(self, values, part):
        self.assertTrue(any(part in warning for warning in column(values)["warnings"]), column(values)["warnings"])

    def test_leading_zeros(self):
        self.assert_told(["00420", "10115"], "leading zeros: 1")

    def test_dates_with_the_day_first(self):
        self.assert_told(["03/01/2025", "14/01/2025"], "the day stands first")

    def test_dates_in_both_orders(self):
        self.assert_told(["01/14/2025", "14/01/2025"], "both orders")

    def test_dates_that_cannot_be_told(self):
        self.assert_told(["03/01/2025", "04/01/2025"], "cannot be told")

    def test_a_day_that_does_not_exist(self):
        self.assert_told(["2025-02-28", "2025-02-30"], "shaped like an ISO date, but not one: 1")

    def test_numbers_that_lose_digits(self):
        self.assert_told(["12345678901234567890"], "beyond 2^53")

    def test_case_twins(self):
        self.assert_told(["ES", "es"], "upper and lower case: 1")

    def test_padding(self):
        self.assert_told([" a", "b"], "spaces around the value: 1")


class Shapes(unittest.TestCase):
    def test_the_delimiter_is_found(self):
        for delimiter in ",;\t|":
            text = "\n".join(delimiter.join(("1,5", "b c", "d")) if delimiter != "," else "1,b c,d" for _ in range(5))
            self.assertEqual(of(text, header=False)["delimiter"], delimiter)

    def test_quotes_hold_delimiters_and_line_ends(self):
        quoted = of('a,b\n"x, y","one\ntwo"\n')
        self.assertEqual((quoted["rows"], quoted["ragged_rows"]), (1, {}))

    def test_every_line_end_is_read(self):
        for end in ("\n", "\r\n", "\r"):
            self.assertEqual(of(end.join(("a,b", "1,2", "3,4")))["rows"], 2)

    def test_a_line_separator_character_ends_no_row(self):
        self.assertEqual(of("a,b\n1\u2028x,2\n")["rows"], 1)

    def test_rows_are_the_same_on_both_sides_of_the_sample(self):
        for padding in range(65_530, 65_540):
            text = "a,b\r\n" + "x" * padding + ",1\r\n" + "y,2\r\nz,3\r\n"
            self.assertEqual(of(text)["rows"], 3)

    def test_ragged_rows_are_counted_and_left_out(self):
        ragged = of("a,b\n1,2\n1\n1,2,3\n")
        self.assertEqual((ragged["rows"], ragged["ragged_rows"]), (3, {"1": 1, "3": 1}))
        self.assertEqual(ragged["columns"][0]["top"], [["1", 1]])

    def test_an_empty_file_is_refused(self):
        self.assertRaises(Refused, of, " \n")

    def test_header_troubles_are_told(self):
        self.assertEqual(of("a,A,\n1,2,3\n")["warnings"], ["column names repeat: 'a'", "a column has no name"])
        self.assertEqual(of("1,2\n3,4\n")["warnings"], ["the header holds values: try --no-header"])


class CommandLine(unittest.TestCase):
    def run_script(self, *arguments, **options):
        return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, **options)

    def test_help_exits_with_0(self):
        self.assertEqual(self.run_script("--help").returncode, 0)

    def test_the_sample_is_profiled_as_json(self):
        ran = self.run_script("--json", SAMPLE)
        self.assertEqual((ran.returncode, json.loads(ran.stdout)["rows"]), (0, 8))

    def test_standard_input_is_read(self):
        ran = self.run_script("-", input="a;b\n1;å\n".encode())
        self.assertIn(b"delimiter `;`", ran.stdout)

    def test_a_byte_order_mark_is_no_part_of_the_name(self):
        ran = self.run_script("--json", "-", input=b"\xef\xbb\xbfa,b\n1,2\n")
        self.assertEqual(json.loads(ran.stdout)["columns"][0]["name"], "a")

    def test_a_wrong_encoding_is_told_and_no_crash(self):
        with tempfile.NamedTemporaryFile(suffix=".csv") as file:
            file.write("a,b\nZürich,2\n".encode("cp1252"))
            file.flush()
            ran = self.run_script(file.name)
        self.assertIn(b"bytes that the encoding does not know: 1", ran.stdout)

    def test_a_missing_file_is_one_line_and_exit_1(self):
        ran = self.run_script("no-such-file.csv")
        self.assertEqual((ran.returncode, ran.stderr.count(b"\n")), (1, 1))

    def test_a_field_over_the_limit_is_refused(self):
        ran = self.run_script("--max-field", "10", "-", input=b"a,b\n" + b"x" * 20 + b",1\n")
        self.assertEqual((ran.returncode, ran.stdout), (1, b""))


if __name__ == "__main__":
    unittest.main()
