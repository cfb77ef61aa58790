/* philox.c - the counter holds the place in the stream, the key the seed; draws that are rejected count in the top word. */
#include "philox.h"

#include <math.h>

static void multiply(uint32_t a, uint32_t b, uint32_t *high, uint32_t *low) {
    const uint64_t product = (uint64_t)a * b;
    *high = (uint32_t)(product >> 32);
    *low = (uint32_t)product;
}

void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    enum { ROUNDS = 10 };
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int r = 0; r < ROUNDS; r++) {
        uint32_t h0, l0, h1, l1;
        multiply(0xd2511f53u, c0, &h0, &l0);
        multiply(0xcd9e8d57u, c2, &h1, &l1);
        c0 = h1 ^ c1 ^ k0;
        c1 = l1;
        c2 = h0 ^ c3 ^ k1;
        c3 = l0;
        k0 += 0x9e3779b9u; /* the golden ratio and sqrt(3) - 1, in 32 bits */
        k1 += 0xbb67ae85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static void draw(uint64_t seed, uint64_t stream, uint64_t i, uint32_t attempt, uint32_t out[4]) {
    const uint32_t counter[4] = {(uint32_t)i, (uint32_t)(i >> 32), (uint32_t)stream, attempt};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32) ^ (uint32_t)(stream >> 32)};
    philox(counter, key, out);
}

uint64_t philox_bits(uint64_t seed, uint64_t stream, uint64_t i) {
    uint32_t word[4];
    draw(seed, stream, i, 0, word);
    return (uint64_t)word[1] << 32 | word[0];
}

/* In (0, 1). */
static double uniform(uint32_t high, uint32_t low) {
    const uint64_t bits = ((uint64_t)high << 32 | low) >> 11;
    return ((double)bits + 0.5) * 0x1p-53;
}

double philox_normal(uint64_t seed, uint64_t stream, uint64_t i, double limit) {
    const double two_pi = 6.28318530717958647692;
    for (uint32_t attempt = 0;; attempt++) {
        uint32_t w[4];
        draw(seed, stream, i, attempt, w);
        const double x = sqrt(-2 * log(uniform(w[1], w[0]))) * cos(two_pi * uniform(w[3], w[2]));
        if (limit <= 0 || fabs(x) <= limit) return x;
    }
}
