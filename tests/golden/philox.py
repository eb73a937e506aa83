#!/usr/bin/env python3
"""Makes philox4x32_7.txt: known answers for glint/base/rng, from the definition in Salmon et al., "Parallel random
numbers: as easy as 1, 2, 3" (2011), written here with Python's unbounded integers and no look at the C++ code.

A line: rounds, key as one 64-bit number (low word first), the four counter words, the four result words, all in hex.
Usage: python3 philox.py > philox4x32_7.txt"""

LOW = 2**32 - 1


def philox4x32(counter, key, rounds):
    x0, x1, x2, x3 = counter
    k0, k1 = key
    for _ in range(rounds):
        left, right = x0 * 0xD2511F53, x2 * 0xCD9E8D57
        x0, x1, x2, x3 = (right >> 32) ^ x1 ^ k0, right & LOW, (left >> 32) ^ x3 ^ k1, left & LOW
        k0, k1 = (k0 + 0x9E3779B9) & LOW, (k1 + 0xBB67AE85) & LOW
    return x0, x1, x2, x3


def main():
    cases = [((0, 0, 0, 0), (0, 0)), ((LOW, LOW, LOW, LOW), (LOW, LOW)), ((1, 0, 0, 0), (0, 0)), ((0, 0, 0, 1), (0, 0)),
             ((0, 0, 0, 0), (1, 0)), ((0, 0, 0, 0), (0, 1))]
    state = 12345  # a small congruential generator picks the rest
    def word():
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return state >> 32
    cases += [(tuple(word() for _ in range(4)), (word(), word())) for _ in range(26)]
    for counter, key in cases:
        result = philox4x32(counter, key, 7)
        print(f"7 {key[1] << 32 | key[0]:016x} " + " ".join(f"{w:08x}" for w in counter + result))


if __name__ == "__main__":
    main()
