/* unit_plan.c - shapes, filters, cold and warm, contests, resuming. */
#include "../harness/plan.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static bool parses(const char *op, const char *text, struct shape want) {
    struct shape s;
    return shape_parse(&ops[op_find(op)], text, &s) == 0 && s.b == want.b && s.m == want.m &&
           s.n == want.n && s.k == want.k;
}

static void shapes(void) {
    struct shape s;
    CHECK(parses("copy", "4096", (struct shape){1, 1, 4096, 1}), "vector");
    CHECK(parses("softmax", "64x1024", (struct shape){1, 64, 1024, 1}), "rows");
    CHECK(parses("matmul", "2x3x4", (struct shape){1, 2, 3, 4}), "product");
    CHECK(parses("bmm", "5x2x3x4", (struct shape){5, 2, 3, 4}), "batch");
    CHECK(parses("embedding", "2x3x4", (struct shape){1, 2, 3, 4}), "table");
    CHECK(parses("fma", "128x16", (struct shape){1, 1, 128, 16}), "chain");
    static const char *const bad[] = {"",
                                      "x",
                                      "0",
                                      "-1",
                                      "1x",
                                      "x1",
                                      "1xx2",
                                      "1x2",
                                      "1.5",
                                      " 1",
                                      "1 ",
                                      "0x10",
                                      "+1",
                                      "1e6",
                                      "99999999999999999999",
                                      "1099511627777"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(shape_parse(&ops[OP_copy], bad[i], &s) != 0, "'%s' was taken for a vector", bad[i]);
    CHECK(shape_parse(&ops[OP_matmul], "64x64", &s) != 0, "two dimensions for a product");
    CHECK(shape_parse(&ops[OP_matmul], "64x64x64x64", &s) != 0, "four dimensions for a product");
}

static void selections(struct device *d) {
    struct plan p = {0};
    struct selection s = {.op = "copy",
                          .dtype = "fp32",
                          .impl = "portable",
                          .shape = "1000,100000000",
                          .effort = EFFORT_default};
    CHECK(plan_build(d, &s, &p) == 0, "accepted");
    CHECK(p.count == 2, "%zu trials, want 2", p.count);
    CHECK(!p.trial[0].cold && p.trial[1].cold, "auto: large problems run cold, small ones warm");
    CHECK(p.trial[0].problem.threads == d->max_threads, "all threads by default");
    free(p.trial);
    s.cache = CACHE_both;
    CHECK(plan_build(d, &s, &p) == 0, "accepted");
    CHECK(p.count == 4, "%zu trials, want 4", p.count);
    free(p.trial);

    s = (struct selection){.op = "copy,sc*", .dtype = "fp*", .impl = "best", .shape = "64"};
    CHECK(plan_build(d, &s, &p) == 0, "globs");
    for (size_t i = 0; i < p.count; i++) {
        const struct impl *impl = p.trial[i].impl;
        CHECK(impl->op == OP_copy || impl->op == OP_scale, "%s", ops[impl->op].name);
        CHECK(strncmp(dtypes[impl->dtype].name, "fp", 2) == 0, "%s", dtypes[impl->dtype].name);
        CHECK(!impl_is_vendor(impl->name), "%s is no implementation of ours", impl->name);
        for (size_t j = 0; j < i; j++)
            CHECK(p.trial[j].impl->op != impl->op || p.trial[j].impl->dtype != impl->dtype,
                  "two best rows");
    }
    free(p.trial);

    s = (struct selection){.op = "matmul",
                           .dtype = "fp32",
                           .impl = "portable",
                           .shape = "8x8x8",
                           .effort = EFFORT_full,
                           .threads = "1"};
    CHECK(plan_build(d, &s, &p) == 0, "accepted");
    CHECK(p.count == 3, "%zu trials, want the three layouts", p.count);
    free(p.trial);

    static const struct selection wrong[] = {
        {.op = "cpoy"},
        {.dtype = "fp31"},
        {.impl = "fastest"},
        {.layout = "tt"},
        {.op = "copy", .shape = "0"},
        {.threads = "0"},
        {.threads = "1000000"},
        {.threads = "x"},
        {.op = ""},
        {.op = "relu", .dtype = "nvfp4"},
        {.op = "copy", .threads = ""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(plan_build(d, &wrong[i], &p) != 0, "selection %zu was accepted", i);
}

/* Ours first, then the rivals, in every mode; each knows how many follow. */
static void contests(struct device *d) {
    struct plan p = {0};
    struct selection s = {.op = "copy",
                          .dtype = "fp32",
                          .impl = "portable",
                          .vs = "best,portable",
                          .shape = "1000,100000000",
                          .threads = "1",
                          .fill = "zeros,normal,zeros"};
    const char *best = NULL;
    const struct selection alone = {.op = "copy", .dtype = "fp32", .impl = "best", .shape = "1000"};
    CHECK(plan_build(d, &alone, &p) == 0 && p.count == 1 && !p.trial[0].more, "alone");
    best = p.trial[0].impl->name;
    free(p.trial);
    if (strcmp(best, "portable") == 0) s.vs = "blis"; /* a CPU without another kernel */
    CHECK(plan_build(d, &s, &p) == 0, "accepted");
    CHECK(p.count == 8, "%zu trials: two problems, two fills, two kernels", p.count);
    for (size_t i = 0; i < p.count; i++) {
        const struct trial *t = &p.trial[i];
        CHECK(t->rival == (i % 2 == 1) && t->more == (i % 2 == 0), "trial %zu", i);
        CHECK((strcmp(t->impl->name, "portable") == 0) == !t->rival, "%s", t->impl->name);
        CHECK(t->cold == (i >= 4), "trial %zu: small ones warm, large ones cold", i);
        CHECK(t->fill == (i % 4 < 2 ? FILL_zeros : FILL_normal), "trial %zu: fill %d", i, t->fill);
    }

    /* Resumed: what is there whole is dropped; a part of it, or what was measured in other company, is refused. */
    struct row done[2];
    const struct rows both = {.row = done, .count = 2}, one = {.row = done, .count = 1};
    for (int i = 0; i < 2; i++) {
        row_init(&done[i]);
        trial_key(&p.trial[2 + i], d, &done[i]);
        row_set_text(done[i].status, "ok");
        row_set_text(done[i].vs, p.trial[3 - i].impl->name);
    }
    CHECK(plan_drop_measured(&p, d, &one) != 0, "half of a contest");
    CHECK(plan_drop_measured(&p, d, &both) == 0 && p.count == 6, "%zu left", p.count);
    CHECK(p.trial[2].problem.s.n == 100000000 && !p.trial[2].rival && p.trial[2].more == 1,
          "order");
    free(p.trial);
    CHECK(plan_build(d, &s, &p) == 0, "accepted");
    row_set_text(done[0].vs, "another");
    CHECK(plan_drop_measured(&p, d, &both) != 0, "against another one");
    row_set_text(done[0].vs, "");
    CHECK(plan_drop_measured(&p, d, &both) != 0, "alone");
    row_set_text(done[1].status, "refused"); /* its rival could not run: then ours was alone */
    CHECK(plan_drop_measured(&p, d, &both) == 0 && p.count == 6, "%zu left", p.count);
    plan_repeat(&p, 2);
    CHECK(p.count == 12 && p.trial[6].round == 2 && p.trial[6].more == 1 && p.trial[7].rival,
          "rounds keep contests together");
    free(p.trial);

    s.vs = "portable"; /* none but itself */
    CHECK(plan_build(d, &s, &p) != 0, "a contest with itself was accepted");
    s.vs = "vendor"; /* no library is said to be installed */
    CHECK(plan_build(d, &s, &p) == 0 && p.count == 4 && p.trial[0].more == 0, "no library: alone");
    free(p.trial);
    s.vs = "fastest";
    CHECK(plan_build(d, &s, &p) != 0, "an unknown rival was accepted");
    static const char *const fills[] = {"", "gravel", "zeros,gravel", "zeros;normal"};
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
        const struct selection bad = {.op = "copy", .fill = fills[i]};
        CHECK(plan_build(d, &bad, &p) != 0, "fill '%s' was accepted", fills[i]);
    }
}

static void resuming(struct device *d) {
    struct plan p = {0};
    struct row done[2];
    const struct selection s = {
        .op = "copy", .dtype = "fp32", .impl = "portable", .shape = "16,32,48,64"};
    CHECK(plan_build(d, &s, &p) == 0, "accepted");
    CHECK(p.count == 4, "%zu", p.count);
    for (int i = 0; i < 2; i++) {
        row_init(&done[i]);
        trial_key(&p.trial[2 * i + 1], d, &done[i]);
    }
    const struct rows rows = {.row = done, .count = 2};
    CHECK(plan_drop_measured(&p, d, &rows) == 0, "dropped");
    CHECK(p.count == 2 && p.trial[0].problem.s.n == 16 && p.trial[1].problem.s.n == 48,
          "what is left, in order");
    done[0].threads += 1; /* another problem */
    done[1].threads += 1;
    CHECK(plan_drop_measured(&p, d, &rows) == 0, "nothing to drop");
    CHECK(p.count == 2, "%zu", p.count);
    free(p.trial);
}

struct known_level {
    double bytes;
    int threads;
    const char *level;
};

static void check_levels(const struct device *d, const struct known_level *known, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *level = device_level(d, known[i].bytes, known[i].threads);
        CHECK(strcmp(level, known[i].level) == 0, "%.0f bytes, %d threads: '%s', want '%s'",
              known[i].bytes, known[i].threads, level, known[i].level);
    }
}

/* Caches of 32 KiB and 1 MiB a core, 32 MiB for all: DRAM from 128 MiB on. */
static void levels(void) {
    static const int each[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const struct device d = {.level = {{"L1", 32 << 10, 1, each},
                                       {"L2", 1 << 20, 1, each},
                                       {"L3", 32 << 20, 8, NULL},
                                       {"DRAM", 1ll << 34, 8, NULL}},
                             .levels = 4};
    static const struct known_level known[] = {
        {1000, 1, "L1"},        {24 << 10, 1, "L1"},  {32 << 10, 1, ""}, {48 << 10, 1, "L2"},
        {48 << 10, 2, "L1"},    {768 << 10, 1, "L2"}, {1 << 20, 1, ""},  {1 << 20, 2, "L2"},
        {2 << 20, 1, "L3"},     {24 << 20, 8, "L3"},  {32 << 20, 8, ""}, {(128 << 20) - 64, 1, ""},
        {128 << 20, 1, "DRAM"}, {1e12, 2, "DRAM"}};
    check_levels(&d, known, sizeof known / sizeof *known);
}

/* 96 cores, 192 CPUs: 12 last-level caches of 32 MiB, each of 8 cores and their siblings. */
static void many_instances(void) {
    enum { CPUS = 192, CORES = 96 };
    int home[CPUS], own[CPUS], shared[CPUS];
    for (int i = 0; i < CPUS; i++) home[i] = i % CORES;
    device_count_instances(home, CPUS, own);
    for (int i = 0; i < CPUS; i++) home[i] = i % CORES / 8 * 8;
    device_count_instances(home, CPUS, shared);
    struct device d = {.level = {{"L2", 1 << 20, 2, own},
                                 {"L3", 32 << 20, 16, shared},
                                 {"DRAM", 1ll << 40, CPUS, NULL}},
                       .levels = 3};
    static const int reached[][2] = {{1, 1},   {8, 1},   {9, 2},   {16, 2},
                                     {95, 12}, {96, 12}, {192, 12}};
    for (size_t i = 0; i < sizeof reached / sizeof *reached; i++)
        CHECK(device_last_cache(&d, reached[i][0]) == (double)(32 << 20) * reached[i][1],
              "%d threads: %.0f bytes", reached[i][0], device_last_cache(&d, reached[i][0]));
    static const struct known_level known[] = {
        {24 << 20, 1, "L3"},      {128 << 20, 1, "DRAM"},    {128 << 20, 8, "DRAM"},
        {128 << 20, 9, ""},       {288 << 20, 96, "L3"},     {512 << 20, 96, ""},
        {1536 << 20, 96, "DRAM"}, {1536 << 20, 192, "DRAM"}, {72 << 20, 96, "L2"}};
    check_levels(&d, known, sizeof known / sizeof *known);

    /* an affinity mask with one CPU of each of 12 caches, then with siblings next to each other */
    for (int i = 0; i < 12; i++) home[i] = 8 * i;
    device_count_instances(home, 12, shared);
    CHECK(device_last_cache(&d, 12) == 12.0 * (32 << 20), "%.0f", device_last_cache(&d, 12));
    CHECK(device_last_cache(&d, 3) == 3.0 * (32 << 20), "%.0f", device_last_cache(&d, 3));
    static const int pairs[] = {4, 4, -1, 6, 6, 4};
    device_count_instances(pairs, 6, own);
    static const int want[] = {1, 1, 1, 2, 2, 2};
    CHECK(memcmp(own, want, sizeof want) == 0, "%d %d %d %d %d %d", own[0], own[1], own[2], own[3],
          own[4], own[5]);
    d.host_moves_threads = true;
    CHECK(device_last_cache(&d, 1) == 32 << 20, "one thread: one cache");
    CHECK(device_last_cache(&d, 2) == 4.0 * (32 << 20), "two threads may be on twice as many");
}

/* Every usable CPU of this machine is in some instance, and none in more. */
static void instances_here(const struct device *d) {
    for (int i = 0; i + 1 < d->levels; i++) {
        const struct level *level = &d->level[i];
        CHECK(level->instances[0] == 1, "%s: %d", level->name, level->instances[0]);
        for (int t = 1; t < d->max_threads; t++) {
            const int more = level->instances[t] - level->instances[t - 1];
            CHECK(more == 0 || more == 1, "%s, %d threads: %d more", level->name, t + 1, more);
        }
    }
}

int main(void) {
    struct device d;
    device_cpu_init(&d);
    shapes();
    selections(&d);
    contests(&d);
    resuming(&d);
    levels();
    many_instances();
    instances_here(&d);
    d.close(&d);
    return test_result();
}
