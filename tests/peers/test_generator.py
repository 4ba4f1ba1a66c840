"""Rows made in Python are those that the harness makes."""

import numpy as np
import pytest

from peers.generator import philox4x32, uniform_rows

ONES = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [  # Random123's known answers for philox4x32, 10 rounds
        ([0, 0, 0, 0], 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([ONES] * 4, ONES << 32 | ONES, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            0x299F31D0 << 32 | 0xA4093822,
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_gives_the_known_answers(counter, key, expected):
    words = philox4x32([np.array([word]) for word in counter], key)
    assert [int(word[0]) for word in words] == expected


def test_an_element_depends_on_its_place_alone():
    whole = uniform_rows(0, 5, 23, 42, "float32")
    part = uniform_rows(3, 2, 7, 42, "float32")
    assert np.array_equal(part, whole[3:, :7])
    assert not np.array_equal(whole, uniform_rows(0, 5, 23, 43, "float32"))


def test_elements_are_the_leading_bits_of_their_words():
    words = [int(word[0]) for word in philox4x32([np.array([word]) for word in (1, 0, 2, 0)], 42)]
    singles = uniform_rows(2, 1, 8, 42, "float32")[0, 4:]
    assert singles.tolist() == [(word >> 8) / 2**24 for word in words]
    doubles = uniform_rows(2, 1, 4, 42, "float64")[0, 2:]
    pairs = [words[1] << 32 | words[0], words[3] << 32 | words[2]]
    assert doubles.tolist() == [(p >> 11) / 2**53 for p in pairs]
