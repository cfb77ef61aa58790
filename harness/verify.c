/* verify.c - comparisons fail closed: what is not within the bound is wrong, NaN included. */
#include "verify.h"

#include "../kernels/cpu/parallel.h"
#include "../kernels/numerics.h"

#include <stdio.h>

/* What the element must be, as stored, and how far it may be off. */
static long double bound_of(const struct operands *o, enum fill fill, enum dtype stored,
                            long double want, long double mag) {
    const struct op *op = o->op;
    const bool exact = fill == FILL_integers;
    if (op->check == CHECK_BITWISE || (op->check == CHECK_SUMS && exact)) return 0;
    if (op->check == CHECK_SCALED && exact)
        return 2 * (long double)dtype_roundoff(stored) * fabsl(want);
    const double depth = op->depth(o->truth.s);
    const double unit = depth * dtype_roundoff(dtypes[o->dtype].acc) + 2 * dtype_roundoff(stored);
    return (long double)unit * mag + (long double)dtype_smallest(stored);
}

/* Both ends; the elements beside each border between threads; then places that no stride of a kernel is likely to share. */
static int64_t spot(int64_t c, int64_t checks, int64_t n, int threads) {
    if (checks >= n) return c;
    if (c == 0) return 0;
    if (c == 1) return n - 1;
    const int64_t border = c - 2;
    if (border < 2 * (int64_t)(threads - 1)) {
        const struct range r = slice(n, 64, (int)(border / 2) + 1, threads);
        const int64_t at = r.begin - border % 2;
        return at < 0 ? 0 : at < n ? at : n - 1;
    }
    const uint64_t fraction = (uint64_t)c * 0x9e3779b97f4a7c15u; /* golden ratio: evenly spread */
    return (int64_t)((double)(fraction >> 11) * 0x1p-53 * (double)n);
}

/* Elements to compare: all of a small problem, fewer where each takes many terms. */
static int64_t enough(const struct operands *o, double terms, int64_t n) {
    enum { LEAST = 64 };
    const double affordable = fmax(terms / fmax(o->op->depth(o->truth.s), 1), LEAST);
    return affordable < (double)n ? (int64_t)affordable : n;
}

static bool check_operand(struct operands *o, int i, enum fill fill, double terms,
                          struct verdict *v) {
    const enum dtype stored = operand_dtype(&o->op->operand[i], o->dtype);
    const int64_t n = operand_elements(&o->op->operand[i], o->truth.s);
    const void *output = operands_download(o, i);
    if (!output) {
        v->status = "failed";
        snprintf(v->reason, sizeof v->reason, "the result cannot be read back");
        return false;
    }
    const int64_t count = enough(o, terms, n);
    for (int64_t c = 0; c < count; c++) {
        const int64_t at = spot(c, count, n, o->truth.threads);
        long double mag = 0;
        long double want = o->op->oracle(&o->truth, o->dtype, i, at, &mag);
        if (stored != DT_nvfp4) want = value_round(stored, want); /* saturates as the format does */
        const long double got = value_get(stored, output, n, at);
        const long double bound = bound_of(o, fill, stored, want, mag), error = fabsl(got - want);
        const bool right = got == want || error <= bound;
        v->checked++;
        if (right) {
            if (error > 0 && (double)(error / bound) > v->max_error)
                v->max_error = (double)(error / bound);
            continue;
        }
        v->status = "wrong";
        v->max_error = bound > 0 && isfinite(error) ? (double)(error / bound) : INFINITY;
        snprintf(v->reason, sizeof v->reason,
                 "%s fill: operand %d, element %lld: got %.9Lg, want %.9Lg +- %.3Lg",
                 fill_names[fill], i, (long long)at, got, want, bound);
        return false;
    }
    return true;
}

struct verdict verify(struct operands *o, const struct impl *impl, double terms) {
    static const enum fill fills[] = {FILL_integers, FILL_normal};
    struct verdict v = {.status = "ok"};
    for (size_t f = 0; f < sizeof fills / sizeof *fills; f++) {
        double seconds;
        bool disturbed;
        if (operands_fill(o, fills[f])) {
            v.status = "failed";
            snprintf(v.reason, sizeof v.reason, "the operands cannot be filled");
            return v;
        }
        const int error =
            o->device->time(o->device, impl->run, o->args, 1, 0, 1, &seconds, &disturbed);
        if (error) {
            v.status = "failed";
            const char *text = o->device->error_text ? o->device->error_text(error) : "";
            snprintf(v.reason, sizeof v.reason, "the kernel returned error %d %s", error, text);
            return v;
        }
        const char *damage = operands_damage(o);
        if (damage) {
            v.status = "wrong";
            v.max_error = INFINITY;
            snprintf(v.reason, sizeof v.reason, "%s fill: %s", fill_names[fills[f]], damage);
            return v;
        }
        for (int i = 0; i < o->count; i++) {
            if (operand_is_written(&o->op->operand[i]) && !check_operand(o, i, fills[f], terms, &v))
                return v;
        }
    }
    return v;
}
