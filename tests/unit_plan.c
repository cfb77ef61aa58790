/* unit_plan.c - shapes, filters, cold and warm, resuming. */
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
    plan_drop_measured(&p, d, &rows);
    CHECK(p.count == 2 && p.trial[0].problem.s.n == 16 && p.trial[1].problem.s.n == 48,
          "what is left, in order");
    done[0].threads += 1; /* another problem */
    done[1].threads += 1;
    plan_drop_measured(&p, d, &rows);
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
    resuming(&d);
    levels();
    many_instances();
    instances_here(&d);
    d.close(&d);
    return test_result();
}
