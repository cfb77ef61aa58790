/* execute.c - allocate, upload, call, download. */
#include "execute.h"

const struct impl *best_impl(const struct device *d, enum op_id op, enum dtype t,
                             const struct args *problem) {
    const struct impl *best = NULL;
    if (op_refuses_shape(&ops[op], t, problem)) return NULL;
    for (const struct impl *const *table = d->kernels; *table; table++)
        for (const struct impl *row = *table; row->run; row++)
            if (row->op == op && row->dtype == t && !(d->outdone && d->outdone(row, problem)) &&
                !(row->refuses && row->refuses(problem)))
                best = row;
    return best;
}

int execute(struct device *d, const struct impl *impl, const struct args *problem,
            const void *const in[MAX_OPERANDS], void *const out[MAX_OPERANDS]) {
    const struct op *op = &ops[impl->op];
    const int count = op_operand_count(op);
    struct args a = *problem;
    size_t bytes[MAX_OPERANDS] = {0};
    const size_t scratch = impl->scratch_bytes ? impl->scratch_bytes(problem) : 0;
    double seconds;
    bool disturbed;
    int error = -1;
    a.scratch = NULL;
    a.stream = d->stream;
    for (int i = 0; i < count; i++) a.buf[i] = NULL;
    if (d->set_threads(d, problem->threads)) goto done;
    for (int i = 0; i < count; i++) {
        bytes[i] = storage_bytes(operand_dtype(&op->operand[i], impl->dtype),
                                 operand_elements(&op->operand[i], problem->s));
        if (bytes[i] == 0 || !(a.buf[i] = d->alloc(d, bytes[i]))) goto done;
        if (in[i] && (error = d->upload(d, a.buf[i], in[i], bytes[i])) != 0) goto done;
        error = -1;
    }
    if (scratch) {
        a.scratch = d->alloc(d, scratch);
        if (!a.scratch) goto done;
        if (d->clear && (error = d->clear(d, a.scratch, scratch)) != 0) goto done;
    }
    error = d->time(d, impl->run, &a, 1, 0, 1, &seconds, &disturbed);
    for (int i = 0; i < count && !error; i++)
        if (out[i]) error = d->download(d, out[i], a.buf[i], bytes[i]);
done:
    for (int i = 0; i < count; i++) d->release(d, a.buf[i], bytes[i]);
    d->release(d, a.scratch, scratch);
    return error;
}
