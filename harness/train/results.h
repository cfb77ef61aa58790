/* results.h - what a training run came to: phases beside their prediction, memory beside its formulas, the losses; as text
 * for people and as train.csv, memory.csv and loss.csv. */
#ifndef TRAIN_RESULTS_H
#define TRAIN_RESULTS_H
#include "trainer.h"

#include "../ceilings.h"

/* The rows of train.csv. Update's calls and the norm's are "optimizer". */
enum row_phase { ROW_forward, ROW_backward, ROW_optimizer, ROW_step, ROW_PHASES };
extern const char *const row_phase_names[ROW_PHASES];

/* What a phase is, by its calls. */
struct phase_cost {
    double formula_flops;   /* 2 N rows, 4 N rows (recomputation not counted), 0; their sum */
    double flops, bytes;    /* of all its calls by the catalogue's count */
    double recompute_flops; /* of these, computed a second time */
    double
        roof_s; /* sum over calls of max(bytes / bandwidth, FLOPs / peak); NaN without ceilings */
    double read, written, in_place;
};

struct phase_time {
    double time_s, ci_low_s, ci_high_s, min_s; /* median and its 95 % interval; NaN: not measured */
};

struct train_results {
    struct phase_cost cost[ROW_PHASES];
    struct phase_time time[ROW_PHASES];
    int64_t samples;         /* steps in the statistics */
    double peak_gflop_s;     /* published, or a cycle's FLOPs at the clock seen; NaN: unknown */
    const char *peak_source; /* "published", "clock", "" */
    double first_loss, last_loss;
    int64_t steps, skipped;
    struct model_bytes predicted;
    int64_t measured[MEMORY_KINDS], peak_bytes, scratch_bytes, padding_bytes, slack_bytes,
        before_bytes; /* of the device beyond the ledger's, and before it; -1: unknown */
};

/* Costs of a step. looked_at: the gradients' norm is part of it. ceilings may be NULL. */
void results_cost(struct train_results *r, struct trainer *t, const struct ceilings *ceilings,
                  bool looked_at);
void results_memory(struct train_results *r, struct trainer *t);
void results_peak(struct train_results *r, struct trainer *t);

/* Statistics of a phase from what each step took; sorts seconds. */
void results_time(struct train_results *r, enum row_phase phase, double *seconds, size_t n);

/* A device that only exists as numbers has no times. */
void results_print_plan(FILE *f, const struct train_spec *spec, const struct train_results *r);
void results_print_phases(FILE *f, const struct train_spec *spec, const struct train_results *r);

/* One step, for loss.csv. */
struct loss_point {
    int64_t step;
    double loss, grad_norm, loss_scale, step_s;
    bool skipped;
};

/* Adds to, or makes, train.csv and memory.csv of dir; rows of the same device and model take the place of older ones.
 * 0, or -1 after one line on stderr. */
int results_write(const char *dir, const struct trainer *t, const struct train_results *r);

/* The same with loss.csv, where older rows of steps before first_step are kept, for a resumed run. */
int results_write_losses(const char *dir, const struct trainer *t, const struct loss_point *point,
                         size_t points, int64_t first_step);
#endif
