/* unit_sustain.c - burst against sustained on made-up series; sustain.csv written and read back. */
#define _POSIX_C_SOURCE 200809L
#include "../harness/run.h"
#include "../harness/sustain.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POINTS = 300 };

static bool near(double x, double y) { return fabs(x - y) <= 1e-9 * fabs(y); }

/* 30 s: 100 GFLOP/s at 2 GHz and 50 W in the first second, then less, from 20 s on 80 at 1.6 GHz and 40 W. */
static void make(struct sustain_point point[POINTS]) {
    for (int i = 0; i < POINTS; i++) {
        const double at_s = 0.1 * (i + 1);
        const bool burst = at_s<1.05, last = at_s> 19.95;
        point[i] = (struct sustain_point){.at_s = at_s,
                                          .gflop_s = burst  ? 100
                                                     : last ? 80
                                                            : 90,
                                          .gbyte_s = (burst  ? 100
                                                      : last ? 80
                                                             : 90) /
                                                     8.0,
                                          .clock_ghz = burst  ? 2
                                                       : last ? 1.6
                                                              : 1.8,
                                          .power_w = burst  ? 50
                                                     : last ? 40
                                                            : 45,
                                          .temperature_c = burst ? 40 : 60};
    }
}

static void summaries(void) {
    struct sustain_point point[POINTS];
    const struct sustain_series s = {.point = point, .count = POINTS};
    struct sustain_summary sum;
    make(point);
    CHECK(sustain_summarise(&s, &sum) == 0 && sum.by_flops, "eight FLOPs a byte are arithmetic");
    CHECK(sum.burst.rate == 100 && sum.sustained.rate == 80, "%g, %g", sum.burst.rate,
          sum.sustained.rate);
    CHECK(sum.sustained.low == 80 && sum.sustained.high == 80, "interval of equal rates");
    CHECK(near(sum.burst.clock_ghz, 2) && near(sum.sustained.clock_ghz, 1.6), "clocks %g %g",
          sum.burst.clock_ghz, sum.sustained.clock_ghz);
    CHECK(near(sum.burst.power_w, 50) && near(sum.sustained.power_w, 40), "power %g %g",
          sum.burst.power_w, sum.sustained.power_w);
    /* 40 W for 80e9 FLOPs a second are 0.5 nJ each */
    CHECK(near(sum.sustained.pj_flop, 500) && near(sum.sustained.pj_byte, 4000), "%g pJ, %g pJ",
          sum.sustained.pj_flop, sum.sustained.pj_byte);
    CHECK(near(sum.sustained.temperature_c, 60), "%g C", sum.sustained.temperature_c);

    /* What was not read throughout is unknown; the rate stays known. */
    point[POINTS - 5].power_w = NAN;
    for (int i = 0; i < POINTS; i++) point[i].temperature_c = NAN;
    CHECK(sustain_summarise(&s, &sum) == 0, "memory");
    CHECK(isnan(sum.sustained.power_w) && isnan(sum.sustained.pj_flop) &&
              isnan(sum.sustained.pj_byte),
          "a gap in the energy");
    CHECK(near(sum.burst.power_w, 50), "the burst has none");
    CHECK(isnan(sum.burst.temperature_c) && sum.sustained.rate == 80, "no sensor");

    /* Without FLOPs: bytes. */
    for (int i = 0; i < POINTS; i++) point[i].gflop_s = NAN;
    CHECK(sustain_summarise(&s, &sum) == 0 && !sum.by_flops, "no FLOPs");
    CHECK(near(sum.burst.rate, 12.5) && near(sum.sustained.rate, 10), "%g GB/s, %g GB/s",
          sum.burst.rate, sum.sustained.rate);
    CHECK(isnan(sum.burst.pj_flop) && near(sum.burst.pj_byte, 4000), "%g pJ a byte",
          sum.burst.pj_byte);

    /* Short: the burst is a third at most; one point is both. */
    const struct sustain_series three = {.point = point, .count = 3},
                                one = {.point = point, .count = 1};
    for (int i = 0; i < 3; i++) point[i].gbyte_s = 10 * (i + 1), point[i].at_s = i + 1;
    CHECK(sustain_summarise(&three, &sum) == 0, "memory");
    CHECK(sum.burst.rate == 10 && sum.sustained.rate == 30, "%g, %g", sum.burst.rate,
          sum.sustained.rate);
    CHECK(sustain_summarise(&one, &sum) == 0 && sum.burst.rate == 10 && sum.sustained.rate == 10,
          "one point");
}

static void files(void) {
    char folder[] = "/tmp/roofline-sustain-XXXXXX";
    struct sample taken[2] = {{.time_s = 1e-3, .placement = "near"},
                              {.time_s = 2e-3, .placement = "far", .disturbed = true}};
    struct reading reading[2] = {{0.5, {2.5, NAN, 100, "sw-power-cap"}}, {1, {2.25, 50, NAN, ""}}};
    struct samples s = {.taken = taken, .reading = reading, .count = 2};
    struct append_file file;
    struct sustain_list list;
    struct row r;
    if (!mkdtemp(folder)) exit(1);
    row_init(&r);
    row_set_text(r.device, "made-up");
    row_set_text(r.op, "matmul");
    row_set_text(r.dtype, "fp32");
    row_set_text(r.fill, "zeros");
    r.b = 1;
    r.m = r.n = r.k = 100;
    r.flops = 2e6;
    r.bytes = 1e5;
    char *path = path_join(folder, "sustain.csv");
    CHECK(sustain_file_open(&file, path) == 0, "opened");
    CHECK(sustain_file_append(&file, &r, &s) == 0, "written");
    row_set_text(r.fill, "normal");
    CHECK(sustain_file_append(&file, &r, &s) == 0, "written");
    row_set_text(r.device, "another");
    CHECK(sustain_file_append(&file, &r, &s) == 0, "written");
    s.reading = NULL;
    CHECK(sustain_file_append(&file, &r, &s) == 0, "a trial that was not sustained has no lines");
    append_file_close(&file);

    CHECK(sustain_read(folder, "made-up", &list) == 0 && list.count == 2, "%zu series", list.count);
    if (list.count == 2) {
        const struct sustain_series *x = &list.series[1];
        CHECK(strcmp(list.series[0].key.fill, "zeros") == 0 && strcmp(x->key.fill, "normal") == 0,
              "their order");
        CHECK(x->count == 2 && x->key.k == 100 && strcmp(x->key.op, "matmul") == 0, "%zu points",
              x->count);
        CHECK(near(x->point[0].gflop_s, 2) && near(x->point[1].gflop_s, 1) &&
                  near(x->point[0].gbyte_s, 0.1),
              "rates %g %g", x->point[0].gflop_s, x->point[0].gbyte_s);
        CHECK(x->point[0].power_w == 100 && isnan(x->point[1].power_w), "power, and none");
        CHECK(isnan(x->point[0].temperature_c) && x->point[1].temperature_c == 50, "temperature");
        CHECK(x->point[1].at_s == 1 && x->point[1].clock_ghz == 2.25, "time and clock");
    }
    sustain_release(&list);
    CHECK(sustain_read(folder, "third", &list) == 0 && list.count == 0, "no such device");
    unlink(path);
    CHECK(sustain_read(folder, "made-up", &list) == 0 && list.count == 0, "no file");
    free(path);
    rmdir(folder);
}

int main(void) {
    summaries();
    files();
    return test_result();
}
