"""Plain-Python twins of the hash kernels: each reads like the description of its algorithm, one key at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MASK32, MASK64 = 2**32 - 1, 2**64 - 1


def signed(value: int, bits: int = 32) -> int:
    """The two's complement number in the low bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def murmur2(key: bytes, seed: int = 0x9747B28C) -> int:
    """Kafka's Utils.murmur2, or the same with another seed."""
    m, h = 0x5BD1E995, seed ^ len(key)
    whole = len(key) // 4 * 4
    for at in range(0, whole, 4):
        k = int.from_bytes(key[at : at + 4], "little") * m & MASK32
        k = (k ^ k >> 24) * m & MASK32
        h = (h * m & MASK32) ^ k
    if tail := key[whole:]:
        h = (h ^ int.from_bytes(tail, "little")) * m & MASK32
    h = (h ^ h >> 13) * m & MASK32
    return signed(h ^ h >> 15)


def fnv1a(key: bytes) -> int:
    """FNV-1a, 32 bits."""
    h = 0x811C9DC5
    for byte in key:
        h = (h ^ byte) * 0x01000193 & MASK32
    return signed(h)


def _rotl(x: int, r: int, bits: int = 32) -> int:
    return (x << r | x >> (bits - r)) & ((1 << bits) - 1)


def _fmix64(k: int) -> int:
    k = (k ^ k >> 33) * 0xFF51AFD7ED558CCD & MASK64
    k = (k ^ k >> 33) * 0xC4CEB9FE1A85EC53 & MASK64
    return k ^ k >> 33


def spark_murmur3(key: bytes, seed: int = 42) -> int:
    """Spark's Murmur3_x86_32.hashUnsafeBytes: each tail byte is a block, sign-extended."""
    whole = len(key) // 4 * 4
    blocks = [int.from_bytes(key[at : at + 4], "little") for at in range(0, whole, 4)]
    blocks += [byte - 256 if byte > 127 else byte for byte in key[whole:]]
    h = seed
    for block in blocks:
        k = _rotl((block & MASK32) * 0xCC9E2D51 & MASK32, 15) * 0x1B873593 & MASK32
        h = (_rotl(h ^ k, 13) * 5 + 0xE6546B64) & MASK32
    h ^= len(key)
    h = (h ^ h >> 16) * 0x85EBCA6B & MASK32
    h = (h ^ h >> 13) * 0xC2B2AE35 & MASK32
    return signed(h ^ h >> 16)


def cassandra_token(key: bytes) -> int:
    """Murmur3Partitioner.getToken: murmur3 x64 128, whose tail bytes carry their sign."""
    if not key:
        return -(2**63)
    c1, c2, h1, h2 = 0x87C37B91114253D5, 0x4CF5AD432745937F, 0, 0
    whole = len(key) // 16 * 16

    def scrambled(k: int, r: int, first: int, second: int) -> int:
        return _rotl(k * first & MASK64, r, 64) * second & MASK64

    for at in range(0, whole, 16):
        k1, k2 = int.from_bytes(key[at : at + 8], "little"), int.from_bytes(key[at + 8 : at + 16], "little")
        h1 = ((_rotl(h1 ^ scrambled(k1, 31, c1, c2), 27, 64) + h2) * 5 + 0x52DCE729) & MASK64
        h2 = ((_rotl(h2 ^ scrambled(k2, 33, c2, c1), 31, 64) + h1) * 5 + 0x38495AB5) & MASK64
    k1 = k2 = 0
    for i, byte in enumerate(key[whole:]):
        value = byte - 256 if byte > 127 else byte
        if i < 8:
            k1 ^= value << 8 * i
        else:
            k2 ^= value << 8 * (i - 8)
    h2 ^= scrambled(k2 & MASK64, 33, c2, c1)
    h1 ^= scrambled(k1 & MASK64, 31, c1, c2)
    h1, h2 = h1 ^ len(key), h2 ^ len(key)
    h1 = (h1 + h2) & MASK64
    h2 = (h2 + h1) & MASK64
    token = signed(_fmix64(h1) + _fmix64(h2), 64)
    return 2**63 - 1 if token == -(2**63) else token


def kafkajs_legacy_murmur2(key: bytes) -> int:
    """KafkaJS's murmur2 before 2.0: products are doubles, bit operations see their low 32 bits."""
    m = float(0x5BD1E995)
    h = float(signed(0x9747B28C ^ len(key)))

    def int32(x: float) -> int:
        return signed(int(x))

    for at in range(0, len(key), 4):
        k = float(signed(int.from_bytes(key[at : at + 4].ljust(4, b"\0"), "little"))) * m
        k = float(signed(int32(k) ^ (int32(k) & MASK32) >> 24)) * m
        h *= m
        h = float(signed(int32(h) ^ int32(k)))
    if tail := key[len(key) // 4 * 4 :]:
        h = float(signed(int32(h) ^ int.from_bytes(tail, "little"))) * m
    h = float(signed(int32(h) ^ (int32(h) & MASK32) >> 13)) * m
    return signed(int32(h) ^ (int32(h) & MASK32) >> 15)


def string_hash_code(text: str) -> int:
    """Java's String.hashCode."""
    units = text.encode("utf-16-be", "surrogatepass")
    h = 0
    for at in range(0, len(units), 2):
        h = 31 * h + int.from_bytes(units[at : at + 2], "big") & MASK32
    return signed(h)


def array_hash_code(data: bytes) -> int:
    """Java's Arrays.hashCode(byte[])."""
    h = 1
    for byte in data:
        h = 31 * h + signed(byte, 8)
    return signed(h)


def phash2(key: bytes) -> int:
    """Erlang's phash2 of a binary: lookup2 from 13 times its constant; the low 27 bits."""
    golden = 0x9E3779B9
    a = b = golden
    c = 13 * golden & MASK32
    if not key:
        return c & 2**27 - 1

    def mix() -> None:
        nonlocal a, b, c
        for of_a, of_b, of_c in ((13, 8, 13), (12, 16, 5), (3, 10, 15)):
            a = (a - b - c & MASK32) ^ c >> of_a
            b = (b - c - a & MASK32) ^ (a << of_b & MASK32)
            c = (c - a - b & MASK32) ^ b >> of_c

    whole = len(key) // 12 * 12
    for at in range(0, whole, 12):
        words = [int.from_bytes(key[at + i : at + i + 4], "little") for i in (0, 4, 8)]
        a, b, c = a + words[0] & MASK32, b + words[1] & MASK32, c + words[2] & MASK32
        mix()
    tail = key[whole:]
    a, b = a + int.from_bytes(tail[:4], "little") & MASK32, b + int.from_bytes(tail[4:8], "little") & MASK32
    c = c + len(key) + (int.from_bytes(tail[8:], "little") << 8) & MASK32
    mix()
    return c & 2**27 - 1


def lookup3(units: Sequence[int], *, signed_end: bool = False) -> int:
    """Event Hubs' hash of bytes or code points: hashlittle2's two words xored, 16 bits. signed_end : as the Java library."""

    def total(values: Sequence[int]) -> int:
        if signed_end and len(values) < 4:
            values = [signed(value, 8) for value in values]
        return sum(value << 8 * i for i, value in enumerate(values))

    a = b = c = 0xDEADBEEF + len(units) & MASK32
    at = 0
    while len(units) - at > 12:
        a, b, c = (x + total(units[at + i : at + i + 4]) & MASK32 for x, i in ((a, 0), (b, 4), (c, 8)))
        for by in (4, 6, 8, 16, 19, 4):
            a, b, c = b, c + b & MASK32, (a - c & MASK32) ^ _rotl(c, by)
        at += 12
    if at < len(units):
        a, b, c = (x + total(units[at + i : at + i + 4]) & MASK32 for x, i in ((a, 0), (b, 4), (c, 8)))
        for by in (14, 11, 25, 16, 4, 14, 24):
            a, b, c = b, (c ^ b) - _rotl(b, by) & MASK32, a
        b, c = a, b  # seven turns of three
    return signed(b ^ c, 16)


def infinispan_murmur3(key: bytes, seed: int) -> int:
    """MurmurHash3_x64_32 of Infinispan: an early murmur3 x64, whose multipliers change with each block."""
    h1, h2 = 0x9368E53C2F6AF274 ^ seed, 0x586DCD208F7CD3FD ^ seed
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    for at in range(0, len(key), 16):
        block = key[at : at + 16]
        k1, k2 = (int.from_bytes(half, "little") for half in (block[:8], block[8:]))
        if len(block) < 16:  # each byte is xored with its sign in all higher bits
            k1 = k2 = 0
            for i, byte in enumerate(block):
                extended = signed(byte, 8) << 8 * (i % 8) & MASK64
                k1, k2 = (k1 ^ extended, k2) if i < 8 else (k1, k2 ^ extended)
        h1 = (h1 ^ _rotl(k1 * c1 & MASK64, 23, 64) * c2 & MASK64) + h2 & MASK64
        h2 = (_rotl(h2, 41, 64) ^ _rotl(k2 * c2 & MASK64, 23, 64) * c1 & MASK64) + h1 & MASK64
        h1, h2 = h1 * 3 + 0x52DCE729 & MASK64, h2 * 3 + 0x38495AB5 & MASK64
        c1, c2 = c1 * 5 + 0x7B7D159C & MASK64, c2 * 5 + 0x6BCE6396 & MASK64
    h2 ^= len(key)
    h1 = h1 + h2 & MASK64
    h2 = h2 + h1 & MASK64
    return signed(_fmix64(h1) + _fmix64(h2) >> 32)
