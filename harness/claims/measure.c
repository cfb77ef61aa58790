/* measure.c - rounds. */
#include "measure.h"

#include "../commands.h"
#include "../os.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int evidence_threads(const struct device *d, const char *text) {
    int counts[MAX_THREAD_COUNTS];
    const int n = threads_parse(d, text ? text : d->host_moves_threads ? "1" : "all", counts);
    if (n > 1) fprintf(stderr, "roofline: --threads '%s': one number, or all\n", text);
    return n == 1 ? counts[0] : -1;
}

void evidence_begin(struct evidence *e, const struct device *d, int threads) {
    *e = (struct evidence){.gpu = d->gpu != NULL,
                           .threads = threads,
                           .dtype = d->gpu ? DT_bf16 : DT_fp32,
                           .last_cache = device_last_cache(d, threads),
                           .pinned_gbyte_s = NAN,
                           .pageable_gbyte_s = NAN};
    memcpy(e->spec_gflop_s, d->spec_gflop_s, sizeof e->spec_gflop_s);
}

void evidence_end(struct evidence *e) {
    free(e->rows.row);
    free(e->roofs.ceiling);
    e->rows = (struct rows){0};
    e->roofs = (struct ceilings){0};
    e->capacity = 0;
}

static void collect(const struct row *r, void *context) { evidence_add(context, r); }

int evidence_measure(struct evidence *e, struct device *d, const struct run *how, double time_s,
                     double enough_s) {
    const double start = os_now_s();
    struct bench_settings settings = bench_settings_for(EFFORT_smoke, time_s);
    struct run run = *how;
    int status = STATUS_OK;
    settings.count = d->count != NULL;
    run.dir = NULL; /* rows are evidence, not results */
    run.on_row = collect;
    run.context = e;
    for (int round = 1; round <= CLAIM_MOST_ROUNDS; round++) {
        struct plan plan;
        evidence_plan(e, d, round, &plan);
        const bool all = plan.count == 0 || (round > CLAIM_ROUNDS && os_now_s() > start + enough_s);
        const int result = all ? STATUS_OK : run_plan(&run, d, &plan, &settings);
        free(plan.trial);
        if (result != STATUS_OK) status = result;
        if (all || (result != STATUS_OK && result != STATUS_NO)) break;
    }
    if (status != STATUS_OK && status != STATUS_NO) return status;
    if (ceilings_of(&e->rows, e->last_cache, &e->roofs)) {
        perror("roofline");
        return STATUS_ERROR;
    }
    return status;
}
