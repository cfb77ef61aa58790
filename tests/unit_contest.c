/* unit_contest.c - ratios of made-up samples, whose truth is known: drift cancels, intervals hold, moved threads do not count. */
#include "../harness/contest.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PER_TURN = 4, MOST_TURNS = 200 };

/* Uniform in (0, 1): Knuth's MMIX generator, upper bits. */
static double uniform(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *state) {
    const double u = uniform(state), v = uniform(state);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

struct made {
    struct sample sample[MOST_TURNS * PER_TURN];
    struct samples samples;
};

/* Turns of a kernel that takes time_s; at(turn) is what the machine multiplies it by. */
static void make(struct made *m, int turns, double time_s, double (*at)(double turn), double offset,
                 double noise, uint64_t *state) {
    m->samples = (struct samples){.taken = m->sample, .count = (size_t)(turns * PER_TURN)};
    for (int t = 0; t < turns; t++) {
        const double of_turn = exp(noise * normal(state)); /* samples of a turn have it in common */
        for (int i = 0; i < PER_TURN; i++)
            m->sample[t * PER_TURN + i] =
                (struct sample){.time_s = time_s * of_turn * at(t + (t % 2 ? 1 - offset : offset)) *
                                          exp(noise / 4 * normal(state)),
                                .turn = t + 1};
    }
}

static double steady(double turn) {
    (void)turn;
    return 1;
}
static double drifting(double turn) { return 1 + 0.02 * turn; }
static double jumping(double turn) { return fmod(turn, 14) < 7 ? 1 : 1.6; }

/* How often the interval of a ratio holds the true one, in percent. */
static double coverage(double ratio, int turns, double (*at)(double), uint64_t seed) {
    static struct made a, b;
    enum { TRIES = 1000 };
    int holds = 0;
    for (int i = 0; i < TRIES; i++) {
        struct contest c;
        make(&a, turns, 1e-3, at, 0, 0.01, &seed);
        make(&b, turns, ratio * 1e-3, at, 0.5, 0.01, &seed);
        CHECK(contest_of(&a.samples, &b.samples, &c) == 0, "memory");
        CHECK(c.turns == (size_t)turns && c.low <= c.ratio && c.ratio <= c.high,
              "%zu turns, %g <= %g <= %g", c.turns, c.low, c.ratio, c.high);
        holds += c.low <= ratio && ratio <= c.high;
    }
    return 100.0 * holds / TRIES;
}

static void intervals(void) {
    static const int turns[] = {6, 8, 20, 61};
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        const double same = coverage(1, turns[i], steady, 1),
                     moved = coverage(1, turns[i], jumping, 2),
                     faster = coverage(1.05, turns[i], steady, 3),
                     drift = coverage(1, turns[i], drifting, 4);
        CHECK(same > 93, "A/A, %d turns: the interval holds 1 in %g %%", turns[i], same);
        CHECK(moved > 93, "A/A on a machine that jumps, %d turns: %g %%", turns[i], moved);
        CHECK(faster > 93, "5 %% faster, %d turns: %g %%", turns[i], faster);
        CHECK(drift > 93, "A/A on a machine that drifts, %d turns: %g %%", turns[i], drift);
    }
}

/* By hand: the quotients are 1.0 1.1 1.2 1.3 1.4 1.5 1.6; from six on the extremes are the interval. */
static void by_hand(void) {
    static struct made a, b;
    struct contest c;
    uint64_t state = 1;
    make(&a, 7, 2, steady, 0, 0, &state);
    make(&b, 7, 2, steady, 0, 0, &state);
    for (int i = 0; i < 7 * PER_TURN; i++) b.sample[i].time_s *= 1 + 0.1 * (b.sample[i].turn - 1);
    CHECK(contest_of(&a.samples, &b.samples, &c) == 0, "memory");
    CHECK(fabs(c.ratio - 1.3) < 1e-12 && c.turns == 7, "ratio %g of %zu turns", c.ratio, c.turns);
    CHECK(fabs(c.low - 1) < 1e-12 && fabs(c.high - 1.6) < 1e-12, "%g ... %g", c.low, c.high);

    /* Turns that only one side has are no pair. */
    b.samples.count = 5 * PER_TURN;
    CHECK(contest_of(&a.samples, &b.samples, &c) == 0 && c.turns == 5, "%zu turns", c.turns);
    CHECK(isnan(c.ratio) && isnan(c.low) && isnan(c.high), "five turns are too few: %g", c.ratio);
    b.samples.count = 0;
    CHECK(contest_of(&a.samples, &b.samples, &c) == 0 && c.turns == 0 && isnan(c.ratio), "nothing");
    /* Nor are samples that were not taken in turns. */
    b.samples.count = 7 * PER_TURN;
    for (int i = 0; i < 7 * PER_TURN; i++) a.sample[i].turn = b.sample[i].turn = 0;
    CHECK(contest_of(&a.samples, &b.samples, &c) == 0 && c.turns == 0, "%zu turns", c.turns);
}

static void place(struct made *m, int from, int to, const char *label) {
    for (int i = from * PER_TURN; i < to * PER_TURN; i++)
        snprintf(m->sample[i].placement, sizeof m->sample[i].placement, "%s", label);
}

static void placements(void) {
    static struct made a, b;
    struct contest c;
    uint64_t state = 1;
    /* Far apart the second kernel is twice as slow: 20 turns near, 8 far, 2 of which one side had near. */
    make(&a, 30, 1, steady, 0, 0, &state);
    make(&b, 30, 1.1, steady, 0, 0, &state);
    place(&a, 0, 20, "near");
    place(&b, 0, 20, "near");
    place(&a, 20, 28, "far");
    place(&b, 20, 30, "far");
    place(&a, 28, 30, "near");
    for (int i = 20 * PER_TURN; i < 30 * PER_TURN; i++) b.sample[i].time_s = 2;
    CHECK(contest_of(&a.samples, &b.samples, &c) == 0 && c.turns == 20, "near: %zu turns", c.turns);
    CHECK(fabs(c.high - 1.1) < 1e-12, "near alone: %g", c.high);
    /* Most turns on a shared core: those on cores of their own count all the same, when they are enough. */
    place(&a, 0, 20, "shared");
    place(&b, 0, 20, "shared");
    CHECK(contest_of(&a.samples, &b.samples, &c) == 0 && c.turns == 8, "far: %zu turns", c.turns);
    CHECK(fabs(c.ratio - 2) < 1e-12, "far: %g", c.ratio);
    place(&b, 20, 24, "near");
    CHECK(contest_of(&a.samples, &b.samples, &c) == 0 && c.turns == 20, "shared: %zu turns",
          c.turns);
    /* Threads that were moved during a turn. */
    place(&a, 0, 30, "mixed");
    place(&b, 0, 30, "mixed");
    CHECK(contest_of(&a.samples, &b.samples, &c) == 0 && c.turns == 0 && isnan(c.ratio), "mixed");
}

int main(void) {
    by_hand();
    intervals();
    placements();
    return test_result();
}
