/* finding.c - what a judge says, in words. */
#include "claims.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

const char *const claim_verdicts[] = {"holds", "does not hold here", "can't be tested here"};

void claim_model(struct finding *f, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(f->model, sizeof f->model, format, values);
    va_end(values);
}

void claim_why(struct finding *f, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(f->why, sizeof f->why, format, values);
    va_end(values);
}

void claim_untested(struct finding *f, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(f->why, sizeof f->why, format, values);
    va_end(values);
    f->verdict = CLAIM_UNTESTED;
    f->measured = NAN;
}

void claim_within(struct finding *f, double low, double high) {
    f->verdict = f->measured >= low && f->measured <= high ? CLAIM_HOLDS : CLAIM_FAILS;
}

void claim_judge(const struct claim *c, const struct evidence *e, struct finding *f) {
    *f = (struct finding){.verdict = CLAIM_UNTESTED, .predicted = NAN, .measured = NAN};
    c->judge(e, f);
    if (f->verdict != CLAIM_FAILS || !f->interrupted) return;
    const double measured = f->measured;
    claim_untested(f, "the machine is busy: every sample of %s, n = %lld, was interrupted",
                   f->interrupted->op, (long long)f->interrupted->n);
    f->measured = measured;
}
