/* unit_compare.c - statistics of comparisons: against figures worked out by hand or from tables, then rates of false and
 * missed verdicts over many simulated comparisons with known truth. */
#include "../harness/compare/comparison.h"
#include "../harness/compare/fleet.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct doubt usual = {
    .threshold = 0.02, .same = 0.05, .confidence = 0.95, .noise = 0.03};

static bool near(double x, double y, double part) { return fabs(x - y) <= part * fabs(y); }

/* ---- figures from tables ---- */

static void test_student(void) {
    /* t with one degree of freedom is Cauchy's: 1/2 + atan(t) / pi; with two: 1/2 + t / (2 sqrt(2 + t^2)) */
    const double pi = 3.14159265358979323846;
    for (double t = -8; t <= 8; t += 0.5) {
        const double one = 0.5 + atan(t) / pi, two = 0.5 + t / (2 * sqrt(2 + t * t));
        CHECK(near(student_cdf(t, 1), one, 1e-10), "t = %g: %.15g, not %.15g", t, student_cdf(t, 1),
              one);
        CHECK(near(student_cdf(t, 2), two, 1e-10), "t = %g: %.15g, not %.15g", t, student_cdf(t, 2),
              two);
    }
    static const struct {
        double p, df, t;
    } table[] = {{0.975, 1, 12.7062},  {0.975, 4, 2.77645},   {0.975, 8, 2.30600},
                 {0.975, 30, 2.04227}, {0.95, 5, 2.01505},    {0.995, 10, 3.16927},
                 {0.9995, 3, 12.9240}, {0.975, 1000, 1.96234}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const double t = student_quantile(table[i].p, table[i].df);
        CHECK(near(t, table[i].t, 1e-5), "quantile(%g, %g) is %.6g, not %.6g", table[i].p,
              table[i].df, t, table[i].t);
        CHECK(near(student_quantile(1 - table[i].p, table[i].df), -t, 1e-9), "symmetry at %g",
              table[i].df);
    }
}

static void test_replicates(void) {
    /* A: 1 2 6, median 2, squares about 3: 4 + 1 + 9 = 14. B: 3 5, median 4, squares 2. 16 over 3 degrees of freedom. */
    double a[] = {6, 1, 2}, b[] = {5, 3};
    struct effect e = {.within = 0};
    effect_of_replicates(&e, a, 3, b, 2);
    CHECK(e.a == 2 && e.b == 4, "medians %g and %g", e.a, e.b);
    CHECK(e.freedom == 3 && near(e.variance, 16.0 / 3, 1e-12), "variance %g of %d", e.variance,
          e.freedom);
    CHECK(near(e.share, 0.4487 + 0.5, 1e-12), "share %g", e.share);
    double one[] = {1}, other[] = {2};
    effect_of_replicates(&e, one, 1, other, 1);
    CHECK(e.freedom == 0 && e.variance == 0 && e.share == 2, "one each");
}

static void test_half(void) {
    /* of 0 1 2 3 100: the narrowest three of five are two wide */
    double x[] = {100, 2, 0, 3, 1};
    CHECK(near(spread_of_half(x, 5), 2 / (2 * 0.6744898), 1e-9), "%g", spread_of_half(x, 5));
}

/* One row, five rounds each, worked through by hand: medians differ by d, pooled variance s^2 with 8 degrees of freedom,
 * standard error s sqrt(2 x 0.2868), quantile 2.306. */
static void test_one_row(void) {
    double a[] = {-0.01, -0.005, 0, 0.005, 0.01}, b[5];
    struct effect e = {.within = 0};
    for (int i = 0; i < 5; i++) b[i] = a[i] + 0.1;
    effect_of_replicates(&e, a, 5, b, 5);
    effects_judge(&e, 1, &usual, true);
    const double s2 = 2 * 2.5e-4 / 8, se = sqrt(s2 * 2 * 0.2868);
    CHECK(near(e.se, se, 1e-9) && e.df == 8, "se %g, not %g; df %g", e.se, se, e.df);
    CHECK(near(e.ratio, exp(-0.1), 1e-12), "ratio %g", e.ratio);
    CHECK(near(e.low, exp(-0.1 - 2.306004 * se), 1e-6), "low %g", e.low);
    CHECK(near(e.high, exp(-0.1 + 2.306004 * se), 1e-6), "high %g", e.high);
    const double margin = log(1.02);
    CHECK(near(e.p, student_cdf(-(0.1 - margin) / se, 8) + student_cdf(-(0.1 + margin) / se, 8),
               1e-9),
          "p %g", e.p);
    CHECK(e.verdict == VERDICT_SLOWER && !e.assumed, "a tenth slower is %s",
          verdict_names[e.verdict]);
    CHECK(near(e.smallest, expm1(margin + (2.306004 + 0.888890) * se), 1e-5), "smallest %g",
          e.smallest);

    /* B itself again: the interval is +- 1.4 % */
    memcpy(b, a, sizeof b);
    effect_of_replicates(&e, a, 5, b, 5);
    effects_judge(&e, 1, &usual, true);
    CHECK(e.verdict == VERDICT_SAME && e.ratio == 1, "itself is %s", verdict_names[e.verdict]);

    /* One round each, one row: the assumed noise. 2 x 0.03^2, 8 degrees of freedom: +- 9.8 %. */
    double one[] = {0}, other[] = {0.05};
    effect_of_replicates(&e, one, 1, other, 1);
    effects_judge(&e, 1, &usual, true);
    CHECK(e.assumed && near(e.se, 0.03 * sqrt(2), 1e-9) && e.df == 8, "assumed noise: se %g", e.se);
    CHECK(e.verdict == VERDICT_UNDECIDABLE, "5 %% within an assumed 3 %% is %s",
          verdict_names[e.verdict]);
    other[0] = 0.5;
    effect_of_replicates(&e, one, 1, other, 1);
    effects_judge(&e, 1, &usual, false);
    CHECK(e.verdict == VERDICT_SLOWER, "half as fast is %s", verdict_names[e.verdict]);
}

/* p of 0.01, 0.02, 0.03 become, by Holm, 0.03, 0.04, 0.04: seen by verdicts at confidences between. */
static void test_holm(void) {
    struct effect e[3];
    const double wanted[] = {0.01, 0.02, 0.03}, adjusted[] = {0.03, 0.04, 0.04};
    const struct doubt none = {.threshold = 0, .same = 0.05, .confidence = 0.95, .noise = 0.03};
    for (int i = 0; i < 3; i++) {
        e[i] = (struct effect){.a = 0, .variance = 1e-4, .freedom = 8, .share = 1};
        e[i].b = 0.01 * student_quantile(1 - wanted[i] / 2, 8);
    }
    effects_judge(e, 3, &none, false);
    for (int i = 0; i < 3; i++) CHECK(near(e[i].p, adjusted[i], 1e-6), "p %d is %g", i, e[i].p);
}

/* ---- truth that is known ---- */

static unsigned long long state;

static double uniform(void) { /* xorshift64*; within (0, 1) */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return ((double)((state * 2685821657736338717ULL) >> 12) + 0.5) / 0x1p52;
}

static double normal(void) {
    return sqrt(-2 * log(uniform())) * cos(2 * 3.14159265358979323846 * uniform());
}

/* Seven in eight normal, else three times as wide: hosts have such hours. */
static double heavy(void) { return (uniform() < 0.125 ? 3 : 1) * normal(); }

static void test_share(void) {
    for (size_t n = 1; n <= 15; n++) {
        enum { TIMES = 40000 };
        double sum = 0, square = 0, x[16];
        for (int i = 0; i < TIMES; i++) {
            for (size_t j = 0; j < n; j++) x[j] = normal();
            const double m = effect_location(x, n);
            sum += m;
            square += m * m;
        }
        const double variance = square / TIMES - sum / TIMES * sum / TIMES;
        CHECK(near(effect_share(n), variance, 0.04), "n = %zu: %g, simulated %g", n,
              effect_share(n), variance);
    }
}

static void test_prior(void) {
    enum { ROWS = 4000 };
    static double v[ROWS];
    static int freedom[ROWS];
    double df0, v0;
    for (int i = 0; i < ROWS; i++) { /* all of variance 4, seen with four degrees of freedom */
        v[i] = 0;
        freedom[i] = 4;
        for (int j = 0; j < 4; j++) {
            const double z = 2 * normal();
            v[i] += z * z / 4;
        }
    }
    variance_prior(v, freedom, ROWS, &df0, &v0);
    CHECK((isinf(df0) || df0 > 60) && near(v0, 4, 0.05), "alike: %g of %g", v0, df0);
    for (int i = 0; i < ROWS; i++) { /* variances 6 x 2 / chi^2 of 6, the scaled inverse one */
        double chi = 0;
        for (int j = 0; j < 6; j++) {
            const double z = normal();
            chi += z * z;
        }
        v[i] *= 6 / chi * 0.5;
    }
    variance_prior(v, freedom, ROWS, &df0, &v0);
    CHECK(near(df0, 6, 0.25) && near(v0, 2, 0.1), "of six degrees: %g of %g", v0, df0);
    variance_prior(v, freedom, 5, &df0, &v0);
    CHECK(df0 == 0, "five rows are too few for a prior");
}

struct experiment {
    int rows, rounds;
    double noise;  /* between rounds; rows have from half to twice of it */
    double runs;   /* further noise that a row's rounds within a run share */
    double change; /* of time, in B's first `changed` rows */
    int changed;
    bool heavy;
};

struct outcome {
    int false_comparisons, times;
    double found, same, undecidable; /* shares: of changed rows; of unchanged ones */
};

static struct outcome simulate(const struct experiment *x, int times) {
    struct outcome o = {.times = times};
    struct effect *e = calloc((size_t)x->rows, sizeof *e);
    double *a = calloc((size_t)x->rounds, sizeof *a), *b = calloc((size_t)x->rounds, sizeof *b);
    double found = 0, same = 0, undecidable = 0;
    if (!e || !a || !b) abort();
    for (int t = 0; t < times; t++) {
        bool wrong = false;
        for (int i = 0; i < x->rows; i++) {
            const double noise = x->noise * exp2(2 * uniform() - 1);
            const double run_a = x->runs * normal(), run_b = x->runs * normal();
            for (int j = 0; j < x->rounds; j++) {
                a[j] = run_a + noise * (x->heavy ? heavy() : normal());
                b[j] = run_b + noise * (x->heavy ? heavy() : normal()) +
                       (i < x->changed ? log1p(x->change) : 0);
            }
            e[i] = (struct effect){.within = 0};
            effect_of_replicates(&e[i], a, (size_t)x->rounds, b, (size_t)x->rounds);
        }
        effects_judge(e, (size_t)x->rows, &usual, true);
        for (int i = 0; i < x->rows; i++) {
            const enum verdict v = e[i].verdict;
            if (i < x->changed) {
                found += v == VERDICT_SLOWER;
                wrong |= v == VERDICT_FASTER;
            } else {
                wrong |= v == VERDICT_FASTER || v == VERDICT_SLOWER;
                same += v == VERDICT_SAME;
                undecidable += v == VERDICT_UNDECIDABLE;
            }
        }
        o.false_comparisons += wrong;
    }
    const double unchanged = (double)times * (x->rows - x->changed);
    o.found = x->changed ? found / times / x->changed : NAN;
    o.same = same / unchanged;
    o.undecidable = undecidable / unchanged;
    free(e);
    free(a);
    free(b);
    return o;
}

/* At most 5 % of comparisons may have a false verdict: of 400, 20; 32 is three deviations above. */
static void check_rates(const char *what, struct experiment x, double least_same,
                        double least_found) {
    const struct outcome o = simulate(&x, 400);
    printf("%-58s false %3d of %d, same %.3f, undecidable %.3f, found %.3f\n", what,
           o.false_comparisons, o.times, o.same, o.undecidable, o.found);
    CHECK(o.false_comparisons <= 32, "%s: %d of %d are false", what, o.false_comparisons, o.times);
    CHECK(o.same >= least_same, "%s: only %.3f are the same", what, o.same);
    CHECK(x.changed == 0 || o.found >= least_found, "%s: only %.3f are found", what, o.found);
}

static void test_rates(void) {
    check_rates("A/A, 20 rows, 5 rounds, 1 % noise",
                (struct experiment){.rows = 20, .rounds = 5, .noise = 0.01}, 0.6, 0);
    check_rates("A/A, 20 rows, 3 rounds, 1 % noise",
                (struct experiment){.rows = 20, .rounds = 3, .noise = 0.01}, 0.3, 0);
    check_rates("A/A, 200 rows, 3 rounds, 0.5 % noise",
                (struct experiment){.rows = 200, .rounds = 3, .noise = 0.005}, 0.9, 0);
    check_rates("A/A, 3 rows, 5 rounds, 1 % noise",
                (struct experiment){.rows = 3, .rounds = 5, .noise = 0.01}, 0.4, 0);
    check_rates("A/A, 20 rows, 5 rounds, 3 % noise of heavy tails",
                (struct experiment){.rows = 20, .rounds = 5, .noise = 0.03, .heavy = true}, 0, 0);
    check_rates("A/A, 20 rows, 1 round, 1 % noise",
                (struct experiment){.rows = 20, .rounds = 1, .noise = 0.01}, 0, 0);
    check_rates("A/A, 20 rows, 5 rounds, 0.5 %, runs differ by 3 %",
                (struct experiment){.rows = 20, .rounds = 5, .noise = 0.005, .runs = 0.03}, 0, 0);
    check_rates(
        "5 % slower, 1 of 20 rows, 5 rounds, 0.5 % noise",
        (struct experiment){.rows = 20, .rounds = 5, .noise = 0.005, .change = 0.05, .changed = 1},
        0.9, 0.95);
    check_rates(
        "5 % slower, 1 of 20 rows, 10 rounds, 1 % noise",
        (struct experiment){.rows = 20, .rounds = 10, .noise = 0.01, .change = 0.05, .changed = 1},
        0.8, 0.75);
    check_rates(
        "5 % slower, 5 of 20 rows, 5 rounds, 0.5 % noise",
        (struct experiment){.rows = 20, .rounds = 5, .noise = 0.005, .change = 0.05, .changed = 5},
        0.9, 0.9);
    check_rates(
        "5 % slower, all of 20 rows, 5 rounds, 0.5 % noise",
        (struct experiment){.rows = 21, .rounds = 5, .noise = 0.005, .change = 0.05, .changed = 20},
        0.8, 0.9);
    check_rates(
        "1 % slower, all rows, 5 rounds, 0.3 %: within the threshold",
        (struct experiment){.rows = 20, .rounds = 5, .noise = 0.003, .change = 0.01, .changed = 19},
        0.9, 0);
}

/* ---- samples ---- */

static void test_log_median(void) {
    /* 7 samples: no pair of ranks but the extremes (1 and 7) encloses the median with 95 %: 2 / 2^7 = 1.6 % */
    const double x[] = {1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6};
    double location, error;
    log_median(x, 7, &location, &error);
    CHECK(near(location, log(1.3), 1e-12) && near(error, log(1.6) / (2 * 1.959964), 1e-6),
          "%g +- %g", location, error);
    /* Eight blocks of seven, each at a level of its own: the blocks' error, not the much smaller one of 56 equal ranks */
    double blocks[56];
    for (int i = 0; i < 56; i++) blocks[i] = i / 7 % 2 ? 1.1 : 1.0;
    log_median(blocks, 56, &location, &error);
    const double mean = log(1.1) / 2;
    CHECK(error >= sqrt(8 * mean * mean / 7 / 8) - 1e-12, "drifting samples: %g", error);
}

/* ---- fleets ---- */

static void set_member(struct member *m, const char *name, struct row *rows, const double *time_s,
                       int n) {
    *m = (struct member){.rows = {.row = rows, .count = (size_t)n}};
    snprintf(m->name, sizeof m->name, "%s", name);
    for (int i = 0; i < n; i++) {
        row_init(&rows[i]);
        row_set_text(rows[i].op, "copy");
        row_set_text(rows[i].status, "ok");
        rows[i].n = i;
        rows[i].time_s = time_s[i];
    }
}

static void test_fleet(void) {
    static struct row rows[4][2];
    struct member m[4];
    struct standing s[4];
    const double usual_times[] = {1, 2}, slow_times[] = {1.25, 2.5};
    struct fleet fleet = {m, 4};
    for (int i = 0; i < 4; i++)
        set_member(&m[i], i == 2 ? "odd" : "even", rows[i], i == 2 ? slow_times : usual_times, 2);
    fleet_stand(&fleet, 0.02, s);
    CHECK(near(s[2].speed, 0.8, 1e-9) && s[2].outlier && s[2].slow == 2, "the slow one: %g",
          s[2].speed);
    for (int i = 0; i < 4; i++)
        CHECK(i == 2 || (near(s[i].speed, 1, 1e-9) && !s[i].outlier && s[i].slow == 0), "%d: %g", i,
              s[i].speed);
    fleet = (struct fleet){m + 1, 2};
    fleet_stand(&fleet, 0.02, s);
    CHECK(!s[0].outlier && !s[1].outlier, "of two neither is the odd one");
}

int main(void) {
    state = 88172645463325252ULL;
    test_student();
    test_replicates();
    test_half();
    test_one_row();
    test_holm();
    test_share();
    test_prior();
    test_rates();
    test_log_median();
    test_fleet();
    return test_result();
}
