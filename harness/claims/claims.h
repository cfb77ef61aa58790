/* claims.h - statements about how training uses a machine, each with what it needs measured and how it is judged.
 *
 * A claim says which rows it wants; all of them are measured as one plan, by the trials that `bench` and `peaks` run; then
 * each claim judges the evidence. Judging measures nothing: it is a function of the rows. */
#ifndef CLAIMS_H
#define CLAIMS_H
#include "../ceilings.h"
#include "../plan.h"

enum { CLAIM_WANTS = 160, CLAIM_ROUNDS = 2, CLAIM_MOST_ROUNDS = 6, CLAIM_TEXT = 360 };

/* A problem to be measured. */
struct want {
    enum op_id op;
    enum dtype dtype;
    enum layout layout;
    struct shape s;
    bool cold;
    bool roof; /* by every implementation, as a ceiling is */
};

/* What an operation of the device has made of given numbers. */
enum claim_value { FP16_OF_1E_8, BF16_OF_1E_8, BF16_SUM, CLAIM_VALUES };
struct claim_stored {
    double value; /* NaN: not known, and why not */
    char why[128];
};

struct evidence {
    bool gpu;
    int threads;
    enum dtype dtype;  /* of the claims on speed: fp32 on a CPU, bf16 on a GPU */
    double last_cache; /* bytes; 0: unknown */
    double spec_gflop_s[DTYPE_COUNT];
    struct want want[CLAIM_WANTS];
    int wants;
    struct rows rows;
    size_t capacity;       /* of rows */
    struct ceilings roofs; /* of these rows */
    struct claim_stored stored[CLAIM_VALUES];
    double pinned_gbyte_s, pageable_gbyte_s; /* host to device; NaN: not measured */
    char why_no_copies[128];
};

enum claim_verdict { CLAIM_HOLDS, CLAIM_FAILS, CLAIM_UNTESTED };
extern const char
    *const claim_verdicts[]; /* "holds", "does not hold here", "can't be tested here" */

struct finding {
    enum claim_verdict verdict;
    const struct row
        *interrupted; /* one that it rests on, every sample of which was disturbed; NULL */
    double predicted, measured; /* NaN: none */
    char model[CLAIM_TEXT];     /* where the prediction comes from, figures put in; may be empty */
    char why[CLAIM_TEXT];       /* of the verdict; empty where the figures say it all */
};

struct claim {
    const char *id, *says;
    const char *quantity; /* what both figures are, with its unit */
    const char *holds_if; /* the threshold, in words */
    void (*want)(struct evidence *e);
    void (*judge)(const struct evidence *e, struct finding *f);
    bool copies, stored; /* needs the copies' speed; what the device stores */
};

extern const struct claim claims[];
extern const int claim_count;
int claim_find(const char *id); /* -1: there is none */

/* Judges. Times of which every sample was interrupted are too long, and do not refute a claim: it is then untested. */
void claim_judge(const struct claim *c, const struct evidence *e, struct finding *f);

/* ---- evidence ---- */

/* Adds a problem once. */
void want(struct evidence *e, struct want w);
/* DRAM bandwidth in two patterns, and the multiply-add rate of a dtype and of its accumulator. */
void want_bandwidth(struct evidence *e);
void want_arithmetic(struct evidence *e, enum dtype t);
/* The trials of one round for what is wanted and not settled yet. A problem is settled when the fastest samples of two
 * rounds agree within 5 %. What no row of the device accepts is left out. */
void evidence_plan(const struct evidence *e, const struct device *d, int round, struct plan *out);

/* Takes a row over at its fastest sample: what others do on the machine meanwhile only ever adds time, and a median of it
 * compares what they did. Aborts without memory. */
void evidence_add(struct evidence *e, const struct row *r);

/* The fastest row of each of n problems, all at the same placement of the threads and seen again in another round within
 * 30 %. False: there are none, and why. */
bool evidence_rows(const struct evidence *e, const struct want *w, int n, const struct row *out[],
                   struct finding *f);
/* The fastest row of one problem, at any placement and whether it was seen again or not; NULL: none is ok. */
const struct row *evidence_fastest(const struct evidence *e, const struct want *w);

/* GB/s of DRAM in a pattern (ceilings.h) and GFLOP/s in a dtype; false: nothing proven, and f says so. */
bool evidence_bandwidth(const struct evidence *e, const char *pattern, const char *placement,
                        double *gbyte_s, struct finding *f);
bool evidence_arithmetic(const struct evidence *e, enum dtype t, double *gflop_s,
                         struct finding *f);

/* Vectors in DRAM, matrices in DRAM, square products that arithmetic bounds, those of a pass through layers. */
struct want want_vector(const struct evidence *e, enum op_id op);
struct want want_matrix(const struct evidence *e, enum op_id op, enum layout layout);
struct want want_product(enum dtype t, enum layout layout, struct shape s);
struct shape large_product(const struct evidence *e);

/* ---- verdicts ---- */

#if defined(__GNUC__)
#define CLAIM_FORMAT __attribute__((format(printf, 2, 3)))
#else
#define CLAIM_FORMAT
#endif
void claim_model(struct finding *f, const char *format, ...) CLAIM_FORMAT;
void claim_why(struct finding *f, const char *format, ...) CLAIM_FORMAT;
/* Can't be tested, with the reason. */
void claim_untested(struct finding *f, const char *format, ...) CLAIM_FORMAT;
/* Holds when low <= measured <= high. */
void claim_within(struct finding *f, double low, double high);

/* ---- judges and what they want, by file ---- */

void want_relu_gelu(struct evidence *e);
void judge_relu_gelu(const struct evidence *e, struct finding *f);
void want_dot(struct evidence *e);
void judge_dot(const struct evidence *e, struct finding *f);
void want_matvec(struct evidence *e);
void judge_matvec(const struct evidence *e, struct finding *f);
void want_adamw(struct evidence *e);
void judge_adamw(const struct evidence *e, struct finding *f);
void want_contiguous(struct evidence *e);
void judge_contiguous(const struct evidence *e, struct finding *f);

void want_turn(struct evidence *e);
void judge_turn(const struct evidence *e, struct finding *f);
void want_mfu(struct evidence *e);
void judge_mfu(const struct evidence *e, struct finding *f);
void want_flops(struct evidence *e);
void judge_flops(const struct evidence *e, struct finding *f);
void want_tensor_cores(struct evidence *e);
void judge_tensor_cores(const struct evidence *e, struct finding *f);

void want_backward(struct evidence *e);
void judge_backward(const struct evidence *e, struct finding *f);
void want_stack(struct evidence *e);
void judge_6nd(const struct evidence *e, struct finding *f);
void judge_checkpointing(const struct evidence *e, struct finding *f);

void judge_accumulation(const struct evidence *e, struct finding *f);
void judge_adamw_bytes(const struct evidence *e, struct finding *f);
void judge_view(const struct evidence *e, struct finding *f);
void judge_fp16(const struct evidence *e, struct finding *f);
void judge_bf16(const struct evidence *e, struct finding *f);
void judge_bf16_sum(const struct evidence *e, struct finding *f);
void judge_pinned(const struct evidence *e, struct finding *f);
#endif
