/* operands.c - one slab an operand: guard, set 0, guard, set 1, ... guard.
 * The guards catch what a kernel writes outside its buffer; slabs start at staggered offsets, so that no two operands
 * share the low 12 bits of their addresses, which costs false store-to-load dependencies on x86. */
#include "operands.h"

#include "../kernels/numerics.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 256, ALIGNMENT = 256, STAGGER = 5 * ALIGNMENT };
static const unsigned char PATTERN = 0xff; /* NaN in every format that has one */

static size_t round_up(size_t x, size_t to) { return (x + to - 1) / to * to; }

/* Zeros at first, then as calls leave it: each implementation has its own. */
static int make_scratch(struct operands *o, const struct impl *impl, const struct args *problem) {
    struct device *d = o->device;
    o->scratch_bytes = impl->scratch_bytes ? impl->scratch_bytes(problem) : 0;
    if (o->scratch_bytes) {
        o->scratch = d->alloc(d, o->scratch_bytes);
        if (!o->scratch) return -1;
        if (d->clear && d->clear(d, o->scratch, o->scratch_bytes)) return -1;
    }
    for (int s = 0; s < o->sets; s++) o->args[s].scratch = o->scratch;
    return 0;
}

int operands_make(struct operands *o, struct device *d, const struct impl *impl,
                  const struct args *problem, int sets) {
    *o = (struct operands){.device = d, .op = &ops[impl->op], .dtype = impl->dtype, .sets = sets};
    o->count = op_operand_count(o->op);
    o->args = calloc((size_t)sets, sizeof *o->args);
    if (!o->args) return -1;
    o->truth = *problem;
    for (int s = 0; s < sets; s++) o->args[s] = *problem;

    for (int i = 0; i < o->count; i++) {
        const struct operand *operand = &o->op->operand[i];
        o->bytes[i] =
            storage_bytes(operand_dtype(operand, o->dtype), operand_elements(operand, problem->s));
        if (o->bytes[i] == 0) return -1;
        o->stride[i] = round_up(o->bytes[i], ALIGNMENT) + GUARD;
        const size_t offset = (size_t)i * STAGGER + GUARD;
        if (__builtin_mul_overflow(o->stride[i], (size_t)sets, &o->slab_bytes[i]) ||
            __builtin_add_overflow(o->slab_bytes[i], offset, &o->slab_bytes[i]))
            return -1;
        o->slab[i] = d->alloc(d, o->slab_bytes[i]);
        if (!o->slab[i]) return -1;
        for (int s = 0; s < sets; s++)
            o->args[s].buf[i] = (char *)o->slab[i] + offset + (size_t)s * o->stride[i];

        const bool changes = operand_is_read(operand, problem->beta) && operand_is_written(operand);
        if (changes || !d->host_visible) {
            o->copy[i] = malloc(o->bytes[i]);
            if (!o->copy[i]) return -1;
        }
        o->truth.buf[i] = o->copy[i] ? o->copy[i] : o->args[0].buf[i];
        if (!d->host_visible && o->bytes[i] > o->staging_bytes) o->staging_bytes = o->bytes[i];
    }
    if (o->staging_bytes && !(o->staging = malloc(o->staging_bytes))) return -1;
    for (int s = 0; s < sets; s++) o->args[s].stream = d->stream;
    return make_scratch(o, impl, problem);
}

int operands_share(struct operands *o, const struct operands *of, const struct impl *impl,
                   const struct args *problem) {
    *o = *of;
    o->borrowed = true;
    o->scratch = NULL;
    o->scratch_bytes = 0;
    o->args = malloc((size_t)of->sets * sizeof *o->args);
    if (!o->args) return -1;
    memcpy(o->args, of->args, (size_t)of->sets * sizeof *o->args);
    return make_scratch(o, impl, problem);
}

void operands_free(struct operands *o) {
    for (int i = 0; i < o->count && !o->borrowed; i++) {
        o->device->release(o->device, o->slab[i], o->slab_bytes[i]);
        free(o->copy[i]);
    }
    if (o->device) o->device->release(o->device, o->scratch, o->scratch_bytes);
    if (!o->borrowed) free(o->staging);
    free(o->args);
    *o = (struct operands){0};
}

/* Memory between set s of operand i and the next guard's end, to the pattern. */
static int paint_guard(struct operands *o, int i, int s) {
    unsigned char pattern[GUARD + ALIGNMENT];
    const size_t length = o->stride[i] - o->bytes[i];
    memset(pattern, PATTERN, sizeof pattern);
    char *end = (char *)o->args[s].buf[i] + o->bytes[i];
    if (o->device->upload(o->device, end, pattern, length)) return -1;
    return s == 0 ? o->device->upload(o->device, (char *)o->args[0].buf[i] - GUARD, pattern, GUARD)
                  : 0;
}

static const struct fill_pool *pool_of(const struct operands *o, int i) {
    const struct operand *operand = &o->op->operand[i];
    const enum domain domain = operand->role == ROLE_SQUARES ? DOMAIN_POSITIVE : o->op->domain;
    return fill_pool_get(o->fill, operand_dtype(operand, o->dtype), domain);
}

/* Elements from the fill, into host memory. */
static int fill_host(struct operands *o, int i, void *host, uint64_t seed) {
    const struct operand *operand = &o->op->operand[i];
    const int64_t elements = operand_elements(operand, o->truth.s);
    const int threads = o->device->host_threads ? o->device->host_threads : o->truth.threads;
    if (operand->role == ROLE_HYPER) { /* the same numbers in every set */
        fill_hyper(operand_dtype(operand, o->dtype), host);
        return 0;
    }
    if (operand->role == ROLE_INDEX) {
        fill_indices(o->fill, host, elements, o->truth.s.n, seed, threads);
        return 0;
    }
    const struct fill_pool *pool = pool_of(o, i);
    if (!pool) return -1;
    fill_tensor(pool, host, elements, seed, threads);
    return 0;
}

static int fill_operand(struct operands *o, int i, int s) {
    const struct operand *operand = &o->op->operand[i];
    void *target = o->args[s].buf[i];
    if (!operand_is_read(operand, o->truth.beta)) {
        void *host = o->device->host_visible ? target : o->staging;
        memset(host, PATTERN, o->bytes[i]);
        return host == target ? 0 : o->device->upload(o->device, target, host, o->bytes[i]);
    }
    const uint64_t seed = (uint64_t)(i + 1) + 16 * (uint64_t)s;
    if (o->device->host_visible) {
        if (fill_host(o, i, target, seed)) return -1;
        if (s == 0 && o->copy[i]) memcpy(o->copy[i], target, o->bytes[i]);
        return 0;
    }
    void *host = s == 0 ? o->copy[i] : o->staging;
    if (fill_host(o, i, host, seed)) return -1;
    return o->device->upload(o->device, target, host, o->bytes[i]);
}

int operands_fill(struct operands *o, enum fill fill) {
    o->fill = fill;
    for (int i = 0; i < o->count; i++)
        for (int s = 0; s < o->sets; s++)
            if (fill_operand(o, i, s) || paint_guard(o, i, s)) return -1;
    return 0;
}

const void *operands_download(struct operands *o, int i) {
    if (o->device->host_visible) return o->args[0].buf[i];
    return o->device->download(o->device, o->staging, o->args[0].buf[i], o->bytes[i]) ? NULL
                                                                                      : o->staging;
}

static bool is_intact(const struct operands *o, int i, const void *input) {
    const struct operand *operand = &o->op->operand[i];
    const int64_t elements = operand_elements(operand, o->truth.s);
    const uint64_t seed = (uint64_t)i + 1;
    if (operand->role == ROLE_HYPER) {
        double numbers[HYPER_COUNT];
        fill_hyper(operand_dtype(operand, o->dtype), numbers);
        return memcmp(input, numbers, o->bytes[i]) == 0;
    }
    return operand->role == ROLE_INDEX
               ? indices_are_intact(o->fill, input, elements, o->truth.s.n, seed)
               : fill_is_intact(pool_of(o, i), input, elements, seed);
}

static bool is_painted(struct operands *o, const char *from, size_t length) {
    unsigned char seen[GUARD + ALIGNMENT];
    if (o->device->download(o->device, seen, from, length)) return false;
    for (size_t i = 0; i < length; i++)
        if (seen[i] != PATTERN) return false;
    return true;
}

const char *operands_damage(struct operands *o) {
    for (int i = 0; i < o->count; i++) {
        const char *buffer = o->args[0].buf[i];
        if (!is_painted(o, buffer - GUARD, GUARD)) return "wrote before the start of a buffer";
        if (!is_painted(o, buffer + o->bytes[i], o->stride[i] - o->bytes[i]))
            return "wrote past the end of a buffer";
        if (operand_is_written(&o->op->operand[i])) continue;

        const void *input = operands_download(o, i);
        if (!input) return "cannot be read back";
        if (!is_intact(o, i, input)) return "wrote to an input";
    }
    return NULL;
}
