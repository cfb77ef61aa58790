/* cmd_einsum.c - roofline account einsum: FLOPs, bytes and time of operations over named dimensions. */
#include "calculators.h"
#include "count.h"
#include "einsum.h"
#include "einsum_run.h"
#include "flags.h"
#include "gpu.h"
#include "training_memory.h"

#include "../commands.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char help[] =
    "Usage: roofline account einsum [--reduce HOW | --rearrange] PATTERN [NAME=SIZE]... [options]\n"
    "\n"
    "FLOPs, bytes, arithmetic intensity and, on a published GPU, the bound and the least time of "
    "an operation in einops'\n"
    "notation. A product sums what the output leaves out: 2 FLOPs a step, steps = the product of "
    "all dimensions.\n"
    "Three operands or more are multiplied pair by pair, in the order with the fewest FLOPs.\n"
    "\n"
    "  'batch seq1 hidden, batch seq2 hidden -> batch seq1 seq2'    a product of up to 8 "
    "operands\n"
    "  --reduce HOW       sum, mean, max or min: 'batch seq (heads hidden) -> batch heads'\n"
    "  --rearrange        '... (heads hidden) -> ... heads hidden': no FLOPs; says whether it is a "
    "view or a copy\n"
    "  NAME=SIZE          of each dimension; '...=8x16' what '...' stands for\n"
    "  --shape 8x512      of an operand, in order, instead: sizes that follow are found\n"
    "  --dtype TYPE       of the operands (default bf16); products of fp8 and nvfp4 are stored in "
    "bf16\n"
    "  --gpu NAME         h100, a100, b200, ... (plots/specs/gpus.csv)\n"
    "  --run              runs it here, whatever it is but a view: as calls of the catalogue, "
    "verified against the\n"
    "                     definition, then timed\n"
    "  --untimed          runs and verifies it, and takes no time of it\n"
    "  --device NAME      where: cpu, gpu, cuda:0 ... (default: the GPU where there is one)\n"
    "\n"
    "Bytes: each operand read once, the output written once. Time >= max(bytes / bandwidth, FLOPs "
    "/ peak).\n"
    "\n"
    "Examples: attention's scores; a product of square matrices, compute-bound on an H100 at n = "
    "1024:\n"
    "  roofline account einsum 'batch seq1 hidden, batch seq2 hidden -> batch seq1 seq2' batch=2 "
    "seq1=3 seq2=3 hidden=4\n"
    "  roofline account einsum 'm k, k n -> m n' m=1024 k=1024 n=1024 --gpu h100\n"
    "  roofline account einsum --rearrange '... (heads hidden1) -> ... heads hidden1' --shape "
    "2x3x8 heads=2\n"
    "  roofline account einsum --reduce mean '... hidden -> ...' ...=2x3 hidden=4\n"
    "  roofline account einsum 'm k, k n, n p -> m p' m=64 k=4096 n=8 p=4096 --run --untimed\n";

struct question {
    int reduce, dtype;
    bool rearrange, run, untimed;
    const char *gpu, *device;
    struct flag_steps shapes;
};

/* "name=4096", "...=2x3" */
static int read_size(char *word, struct einsum_sizes *s, struct complaint *why) {
    char *equals = strchr(word, '=');
    if (!equals || equals == word)
        return complain(why, "einsum: '%s': NAME=SIZE, such as batch=8", word);
    *equals = '\0';
    const char *value = equals + 1;
    if (strcmp(word, "...") == 0) {
        s->ellipsis = *value ? parse_sizes(value, 1, s->ellipsis_size, EINSUM_DIMS) : 0;
        return s->ellipsis < 0 ? complain(why, "einsum: ...='%s': sizes, such as 8x16", value) : 0;
    }
    if (s->names == EINSUM_AXES) return complain(why, "einsum: more than %d sizes", EINSUM_AXES);
    s->name[s->names] = word;
    if (!parse_count(value, &s->size[s->names]) || s->size[s->names] < 1)
        return complain(why, "einsum: %s='%s': a whole number from 1 on", word, value);
    s->names++;
    return 0;
}

static int read_shapes(const struct flag_steps *shapes, struct einsum_sizes *s,
                       struct complaint *why) {
    if (shapes->count > EINSUM_OPERANDS)
        return complain(why, "einsum: more than %d shapes", EINSUM_OPERANDS);
    for (int i = 0; i < shapes->count; i++) {
        const char *text = shapes->value[i];
        s->dims[i] = *text ? parse_sizes(text, 1, s->shape[i], EINSUM_DIMS) : 0;
        if (s->dims[i] < 0) return complain(why, "--shape '%s': sizes, such as 8x512", text);
    }
    return 0;
}

static void shape_text(const struct einsum *e, const struct einsum_tensor *t, char *text,
                       size_t size) {
    size_t used = 0;
    snprintf(text, size, "scalar");
    for (int d = 0; d < t->dims && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, d ? "x" : "",
                                 einsum_dim_size(e, &t->dim[d]));
}

static void say_shapes(struct answer *a, const struct einsum *e) {
    char name[32], shape[256];
    for (int i = 0; i < e->operands; i++) {
        snprintf(name, sizeof name, "operand_%d", i + 1);
        shape_text(e, &e->in[i], shape, sizeof shape);
        answer_text(a, name, "%s", shape);
    }
    shape_text(e, &e->out, shape, sizeof shape);
    answer_text(a, "output", "%s", shape);
}

/* Of three operands or more. */
static void say_order(struct answer *a, const struct einsum *e, const struct einsum_cost *c) {
    struct einsum_order o;
    char text[64];
    einsum_find_order(e, &o);
    einsum_order_text(e, &o, text, sizeof text);
    answer_text(a, "order", "%s: of all orders the one with the fewest FLOPs", text);
    answer_real(a, "flops", o.flops, "FLOP", "2 a step, pair by pair in this order");
    answer_real(a, "flops_in_one_loop", o.one_loop, "FLOP", "%d x %s: %s times as many",
                e->operands, grouped(c->steps).text, figure(o.one_loop / o.flops).text);
}

static void say_cost(struct answer *a, const struct einsum *e, enum dtype t,
                     const struct einsum_cost *c) {
    char formula[160] = "1";
    size_t used = 0;
    for (int i = 0; i < e->axes && used < sizeof formula; i++)
        used += (size_t)snprintf(formula + used, sizeof formula - used, "%s%" PRId64,
                                 i ? " x " : "", e->axis[i].size);
    answer_count(a, "steps", c->steps, "", "%s", formula);
    if (e->operands == 2)
        answer_real(a, "flops", c->flops, "FLOP", "2 x %s", grouped(c->steps).text);
    else if (e->operands > 2)
        say_order(a, e, c);
    else if (!c->reduces)
        answer_real(a, "flops", 0, "FLOP", "nothing is summed");
    else
        answer_real(a, "flops", c->flops, "FLOP", "%s%s", grouped(c->steps).text,
                    e->kind == EINSUM_MEAN ? " + one division an output" : "");
    if (c->view) {
        answer_count(a, "bytes", 0, "B", "a view: only shape and strides change");
        return;
    }
    used = 0;
    for (int i = 0; i < e->operands && used < sizeof formula; i++)
        used += (size_t)snprintf(formula + used, sizeof formula - used, "%s%s", i ? " + " : "",
                                 grouped(einsum_numel(e, &e->in[i])).text);
    if (c->out == t)
        answer_count(a, "bytes", c->bytes, "B", "(%s + %s) x %g (%s)", formula,
                     grouped(einsum_numel(e, &e->out)).text, value_bytes(t), dtypes[t].name);
    else
        answer_count(a, "bytes", c->bytes, "B", "(%s) x %g (%s) + %s x %g (%s)", formula,
                     value_bytes(t), dtypes[t].name, grouped(einsum_numel(e, &e->out)).text,
                     value_bytes(c->out), dtypes[c->out].name);
    answer_real(a, "intensity", c->flops / (double)c->bytes, "FLOP/B", "%s / %s",
                figure(c->flops).text, figure((double)c->bytes).text);
}

static int say_time(struct answer *a, const char *name, enum dtype t, const struct einsum_cost *c,
                    struct complaint *why) {
    const struct gpu_spec *gpu = gpu_named(name, why);
    if (!gpu) return -1;
    const double peak = gpu_peak(gpu, t, why);
    if (isnan(peak)) return -1;
    const double bandwidth = 1e9 * gpu->gbyte_s, kink = peak / bandwidth;
    const double moving = (double)c->bytes / bandwidth, computing = c->flops / peak;
    const double intensity = c->bytes ? c->flops / (double)c->bytes : 0;
    answer_text(a, "gpu", "%s", gpu->name);
    answer_real(a, "accelerator_intensity", kink, "FLOP/B", "%s / %s", figure(peak).text,
                figure(bandwidth).text);
    answer_real(a, "moving", moving, "s", "%s / %s", figure((double)c->bytes).text,
                figure(bandwidth).text);
    answer_real(a, "computing", computing, "s", "%s / %s", figure(c->flops).text,
                figure(peak).text);
    answer_text(a, "bound", "%s",
                c->view            ? "none: a view"
                : intensity < kink ? "memory"
                                   : "compute");
    answer_real(a, "time", moving > computing ? moving : computing, "s",
                "the longer of both: at least this");
    answer_real(a, "mfu_at_most", intensity < kink ? intensity / kink : 1, "", "min(1, %s / %s)",
                figure(intensity).text, figure(kink).text);
    return 0;
}

/* 0, -1 after a complaint, or an exit status after a line on stderr. */
static int answer(struct answer *a, const struct question *q, char **word, int words,
                  struct complaint *why) {
    static const enum einsum_kind kinds[] = {EINSUM_SUM, EINSUM_MEAN, EINSUM_MAX, EINSUM_MIN};
    static struct einsum e;
    static struct einsum_sizes sizes;
    struct einsum_cost cost;
    struct complaint reason;
    if (words < 1) return complain(why, "einsum: say a pattern, such as 'm k, k n -> m n'");
    if (q->reduce >= 0 && q->rearrange) return complain(why, "einsum: --reduce or --rearrange");
    const enum einsum_kind kind = q->rearrange     ? EINSUM_REARRANGE
                                  : q->reduce >= 0 ? kinds[q->reduce]
                                                   : EINSUM_PRODUCT;
    einsum_sizes_none(&sizes);
    if (einsum_parse(word[0], kind, &e, why)) return -1;
    for (int i = 1; i < words; i++)
        if (read_size(word[i], &sizes, why)) return -1;
    if (read_shapes(&q->shapes, &sizes, why)) return -1;
    if (einsum_bind(&e, &sizes, &reason) || einsum_cost(&e, (enum dtype)q->dtype, &cost, &reason))
        return complain(why, "einsum: %s", reason.text);
    say_shapes(a, &e);
    say_cost(a, &e, (enum dtype)q->dtype, &cost);
    if (q->gpu && say_time(a, q->gpu, (enum dtype)q->dtype, &cost, why)) return -1;
    if (q->device && !q->run) return complain(why, "einsum: --device is where to --run");
    if (q->untimed && !q->run) return complain(why, "einsum: --untimed is how to --run");
    return q->run ? einsum_run(a, &e, (enum dtype)q->dtype, q->device, !q->untimed, why) : 0;
}

int account_einsum(int argc, char **argv) {
    static const char *const reductions[] = {"sum", "mean", "max", "min", NULL};
    static struct answer a;
    struct complaint why;
    struct question q = {.reduce = -1, .dtype = DT_bf16};
    const struct flag flags[] = {{"reduce", FLAG_CHOICE, &q.reduce, reductions},
                                 {"rearrange", FLAG_SET, &q.rearrange, NULL},
                                 {"shape", FLAG_STEP, &q.shapes, NULL},
                                 {"dtype", FLAG_DTYPE, &q.dtype, NULL},
                                 {"gpu", FLAG_TEXT, &q.gpu, NULL},
                                 {"run", FLAG_SET, &q.run, NULL},
                                 {"untimed", FLAG_SET, &q.untimed, NULL},
                                 {"device", FLAG_TEXT, &q.device, NULL},
                                 {.name = NULL}};
    int operands;
    const enum flags_result result = flags_read(argc, argv, flags, &a, help, &operands);
    if (result != FLAGS_OK) return result == FLAGS_HELP ? STATUS_OK : STATUS_ERROR;
    const int bad = answer(&a, &q, argv + 1, operands, &why);
    if (bad) answer_end(&a);
    if (bad) return bad < 0 ? account_refuse(&why) : bad;
    return account_print(&a);
}
