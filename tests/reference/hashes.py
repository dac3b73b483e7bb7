"""Plain-Python twins of the hash kernels: each reads like the description of its algorithm, one key at a time."""

from __future__ import annotations

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

    def final(k: int) -> int:
        k = (k ^ k >> 33) * 0xFF51AFD7ED558CCD & MASK64
        k = (k ^ k >> 33) * 0xC4CEB9FE1A85EC53 & MASK64
        return k ^ k >> 33

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
    token = signed(final(h1) + final(h2), 64)
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
