/* effect.c - moderated t against a threshold, Holm over the rows. */
#include "effect.h"

#include <math.h>
#include <stdlib.h>

const char *const verdict_names[VERDICT_COUNT] = {"slower", "faster", "undecidable", "same"};

enum {
    FEW_ROWS = 10,      /* below, their spread says little */
    ASSUMED_FREEDOM = 8 /* of a noise that was not seen */
};

static const double most_freedom = 1000, power = 0.8;

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- Student's t ---- */

/* The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's method. */
static double beta_fraction(double a, double b, double x) {
    enum { MOST_STEPS = 500 };
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double f = d;
    for (int m = 1; m < MOST_STEPS; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        f *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        f *= d * c;
        if (fabs(d * c - 1) < 1e-14) break;
    }
    return f;
}

/* I_x(a, b), the regularised incomplete beta function. */
static double incomplete_beta(double a, double b, double x) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_cdf(double t, double df) {
    if (isnan(t)) return NAN;
    if (isinf(t)) return t > 0;
    const double tail = incomplete_beta(df / 2, 0.5, df / (df + t * t)) / 2;
    return t > 0 ? 1 - tail : tail;
}

double student_quantile(double p, double df) {
    double high = 1;
    if (p < 0.5) return -student_quantile(1 - p, df);
    while (student_cdf(high, df) < p && high < 1e12) high *= 2;
    double low = 0;
    for (int i = 0; i < 100 && high - low > 1e-10 * high; i++) {
        const double middle = (low + high) / 2;
        if (student_cdf(middle, df) < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

/* ---- variances of all rows ---- */

/* First and second derivative of log gamma; x > 0. Recurrence up to 8, then Stirling's series. */
static double digamma(double x) {
    double sum = 0;
    for (; x < 8; x++) sum -= 1 / x;
    const double r = 1 / (x * x);
    return sum + log(x) - 0.5 / x - r * (1.0 / 12 - r * (1.0 / 120 - r / 252));
}

static double trigamma(double x) {
    double sum = 0;
    for (; x < 8; x++) sum += 1 / (x * x);
    const double r = 1 / (x * x);
    return sum + 1 / x + r / 2 + r / x * (1.0 / 6 - r * (1.0 / 30 - r / 42));
}

/* y with trigamma(y) = x: it falls from infinity to 0. */
static double trigamma_inverse(double x) {
    double low = 1e-8, high = 1e8;
    for (int i = 0; i < 200; i++) {
        const double middle = sqrt(low * high);
        if (trigamma(middle) > x)
            low = middle;
        else
            high = middle;
    }
    return sqrt(low * high);
}

void variance_prior(const double *variance, const int *freedom, size_t n, double *df0,
                    double *variance0) {
    /* log s^2 has the mean log(s0^2) + digamma(d/2) - log(d/2) - digamma(d0/2) + log(d0/2), and the variance
     * trigamma(d/2) + trigamma(d0/2). */
    double mean = 0, square = 0, own = 0, used = 0;
    *df0 = 0;
    *variance0 = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            if (freedom[i] < 1 || !(variance[i] > 0)) continue;
            const double half = freedom[i] / 2.0;
            const double e = log(variance[i]) - digamma(half) + log(half);
            if (pass == 0) {
                mean += e;
                own += trigamma(half);
                used++;
            } else {
                square += (e - mean / used) * (e - mean / used);
            }
        }
    }
    if (used < FEW_ROWS) return;
    mean /= used;
    const double excess = square / (used - 1) - own / used;
    *df0 = excess > 0 ? 2 * trigamma_inverse(excess) : INFINITY;
    if (*df0 > most_freedom) *df0 = INFINITY;
    *variance0 = exp(mean + (isinf(*df0) ? 0 : digamma(*df0 / 2) - log(*df0 / 2)));
}

double spread_of_half(double *x, size_t n) {
    const size_t half = n / 2;
    double width = INFINITY;
    qsort(x, n, sizeof *x, ascending);
    for (size_t i = 0; i + half < n; i++) width = fmin(width, x[i + half] - x[i]);
    return width /
           (2 * 0.6744898); /* the half of a normal distribution lies within 0.674 deviations */
}

/* ---- one row ---- */

double effect_location(double *x, size_t n) {
    qsort(x, n, sizeof *x, ascending);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Variance of the median of n normal values over that of one: from tables of normal order statistics, beyond them pi / 2n with
 * a correction for small n. */
double effect_share(size_t n) {
    static const double exact[] = {NAN, 1, 0.5, 0.4487, 0.2982, 0.2868, 0.2147, 0.2104, 0.1682};
    return n < sizeof exact / sizeof *exact ? exact[n]
                                            : 1.5708 / ((double)n + (n % 2 ? 0.47 : 1.28));
}

static double squares_about_mean(const double *x, size_t n) {
    double mean = 0, sum = 0;
    for (size_t i = 0; i < n; i++) mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sum;
}

void effect_of_replicates(struct effect *e, double *a, size_t na, double *b, size_t nb) {
    e->freedom = (int)(na + nb) - 2;
    e->variance =
        e->freedom > 0 ? (squares_about_mean(a, na) + squares_about_mean(b, nb)) / e->freedom : 0;
    e->a = effect_location(a, na);
    e->b = effect_location(b, nb);
    e->share = effect_share(na) + effect_share(nb);
}

/* ---- all rows ---- */

/* Variance and freedom of each log ratio by what its replicates show, moderated by the others'. */
static void set_errors(struct effect *e, size_t n, const double *variance, const int *freedom) {
    double df0, variance0;
    variance_prior(variance, freedom, n, &df0, &variance0);
    for (size_t i = 0; i < n; i++) {
        const double own = e[i].freedom;
        const double v = isinf(df0)      ? variance0
                         : own + df0 > 0 ? (own * e[i].variance + df0 * variance0) / (own + df0)
                                         : 0;
        e[i].df = isinf(df0) ? most_freedom : own + df0;
        e[i].se = fmax(sqrt(v * e[i].share), e[i].within);
    }
}

/* The half's width is worth as much as a standard deviation of this part of the rows. */
static const double half_efficiency = 0.37;

/* Variance between runs that the rows show by differing among themselves more than their errors explain; all of them
 * shifted alike is a finding, not noise. Where there are errors, the excess has to be more than chance. */
static double excess_variance(const struct effect *e, size_t n, double *work) {
    if (n < FEW_ROWS) return 0;
    for (size_t i = 0; i < n; i++) work[i] = e[i].a - e[i].b;
    const double seen = spread_of_half(work, n);
    for (size_t i = 0; i < n; i++) work[i] = e[i].se;
    const double chance = 1 + 1 / sqrt(2 * half_efficiency * (double)n);
    const double expected = chance * effect_location(work, n);
    return fmax(0, seen * seen - expected * expected);
}

static void add_variance(struct effect *e, double variance, double df) {
    const double own = e->se * e->se, sum = own + variance;
    if (variance <= 0) return;
    /* Satterthwaite's freedom of a sum of two estimates */
    const double own_part = e->df > 0 ? own * own / e->df : 0;
    e->df = fmax(1, sum * sum / (own_part + variance * variance / df));
    e->se = sqrt(sum);
}

struct quantiles {
    double p, of[1024]; /* by whole degrees of freedom; NaN: not asked yet */
};

static double quantile_at(struct quantiles *q, double df) {
    const int i = (int)fmin(fmax(df, 1), most_freedom);
    if (isnan(q->of[i])) q->of[i] = student_quantile(q->p, i);
    return q->of[i];
}

static struct quantiles quantiles_of(double p) {
    struct quantiles q = {.p = p};
    for (size_t i = 0; i < sizeof q.of / sizeof *q.of; i++) q.of[i] = NAN;
    return q;
}

struct ranked {
    double p;
    size_t row;
};

static int by_p(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    return (x->p > y->p) - (x->p < y->p);
}

/* Step-down: the i-th smallest p counts (n - i) times, and never less than one before it. */
static void adjust(struct effect *e, size_t n, struct ranked *rank) {
    double most = 0;
    for (size_t i = 0; i < n; i++) rank[i] = (struct ranked){e[i].p, i};
    qsort(rank, n, sizeof *rank, by_p);
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fmin(1, rank[i].p * (double)(n - i)));
        e[rank[i].row].p = most;
    }
}

void effects_judge(struct effect *e, size_t n, const struct doubt *doubt, bool like) {
    double *work = calloc(n + 1, sizeof *work);
    int *freedom = calloc(n + 1, sizeof *freedom);
    struct ranked *rank = calloc(n + 1, sizeof *rank);
    const double margin = log1p(doubt->threshold), alpha = 1 - doubt->confidence;
    if (!work || !freedom || !rank) abort();
    for (size_t i = 0; i < n; i++) {
        work[i] = e[i].variance;
        freedom[i] = e[i].freedom;
    }
    set_errors(e, n, work, freedom);
    const double between = like ? excess_variance(e, n, work) : 0;
    struct quantiles alone = quantiles_of(1 - alpha / 2),
                     among = quantiles_of(1 - alpha / 2 / (double)(n ? n : 1)),
                     reached = quantiles_of(power);
    for (size_t i = 0; i < n; i++) {
        struct effect *x = &e[i];
        x->assumed = x->df <= 0 && (!like || n < FEW_ROWS);
        if (x->assumed)
            add_variance(x, 2 * doubt->noise * doubt->noise, ASSUMED_FREEDOM);
        else
            add_variance(x, between, half_efficiency * (double)n);
        if (x->df <= 0) x->df = fmax(1, half_efficiency * (double)n);
        const double d = x->a - x->b, df = floor(fmin(fmax(x->df, 1), most_freedom));
        const double se = fmax(x->se, 1e-12), reach = quantile_at(&alone, df) * se;
        x->ratio = exp(d);
        x->low = exp(d - reach);
        x->high = exp(d + reach);
        x->p =
            student_cdf(-(fabs(d) - margin) / se, df) + student_cdf(-(fabs(d) + margin) / se, df);
        x->smallest = expm1(margin + (quantile_at(&among, df) + quantile_at(&reached, df)) * se);
    }
    adjust(e, n, rank);
    for (size_t i = 0; i < n; i++) {
        struct effect *x = &e[i];
        const bool within = x->low >= 1 / (1 + doubt->same) && x->high <= 1 + doubt->same;
        x->verdict = x->p <= alpha ? (x->ratio > 1 ? VERDICT_FASTER : VERDICT_SLOWER)
                     : within      ? VERDICT_SAME
                                   : VERDICT_UNDECIDABLE;
    }
    free(work);
    free(freedom);
    free(rank);
}
