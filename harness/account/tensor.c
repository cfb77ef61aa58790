/* tensor.c - views: arithmetic on sizes and strides. */
#include "tensor.h"
#include "count.h"

#include <string.h>

static void row_major(struct tensor *t) {
    int64_t stride = 1;
    for (int d = t->dims - 1; d >= 0; d--) {
        t->stride[d] = stride;
        stride *= t->size[d];
    }
    t->offset = 0;
}

int tensor_new(struct tensor *t, const int64_t *size, int dims, struct complaint *why) {
    int64_t numel = 1;
    if (dims > TENSOR_DIMS) return complain(why, "more than %d dimensions", TENSOR_DIMS);
    *t = (struct tensor){.dims = dims};
    for (int d = 0; d < dims; d++) {
        t->size[d] = size[d];
        numel = count_mul(numel, size[d]);
    }
    if (numel >= INT64_MAX / 2) return complain(why, "too many elements");
    row_major(t);
    return 0;
}

int64_t tensor_numel(const struct tensor *t) {
    int64_t numel = 1;
    for (int d = 0; d < t->dims; d++) numel = count_mul(numel, t->size[d]);
    return numel;
}

bool tensor_is_contiguous(const struct tensor *t) {
    int64_t stride = 1;
    for (int d = t->dims - 1; d >= 0; d--) {
        if (t->size[d] == 1) continue; /* its stride is never used */
        if (t->stride[d] != stride) return false;
        stride *= t->size[d];
    }
    return true;
}

int64_t tensor_storage(const struct tensor *t) {
    int64_t last = t->offset;
    for (int d = 0; d < t->dims; d++)
        last = count_add(last, count_mul(t->size[d] - 1, t->stride[d]));
    return count_add(last, 1);
}

/* ---- views ---- */

static int find_dim(const struct tensor *t, int64_t dim, struct complaint *why) {
    if (dim >= -t->dims && dim < t->dims) return (int)(dim < 0 ? dim + t->dims : dim);
    return complain(why, "dimension %lld of a tensor of %d", (long long)dim, t->dims);
}

int tensor_select(struct tensor *t, int64_t dim, int64_t index, struct complaint *why) {
    const int d = find_dim(t, dim, why);
    if (d < 0) return -1;
    if (index < -t->size[d] || index >= t->size[d])
        return complain(why, "index %lld of dimension %d, which has %lld", (long long)index, d,
                        (long long)t->size[d]);
    t->offset += (index < 0 ? index + t->size[d] : index) * t->stride[d];
    t->dims--;
    for (int i = d; i < t->dims; i++) {
        t->size[i] = t->size[i + 1];
        t->stride[i] = t->stride[i + 1];
    }
    return 0;
}

static int64_t clamped(int64_t index, int64_t size) {
    if (index < 0) index = index < -size ? 0 : index + size;
    return index > size ? size : index;
}

int tensor_slice(struct tensor *t, int64_t dim, int64_t start, int64_t stop, int64_t step,
                 struct complaint *why) {
    const int d = find_dim(t, dim, why);
    if (d < 0) return -1;
    if (step < 1) return complain(why, "a slice's step is 1 or more, not %lld", (long long)step);
    start = clamped(start, t->size[d]);
    stop = clamped(stop, t->size[d]);
    if (start >= stop)
        return complain(why, "the slice %lld:%lld of dimension %d is empty", (long long)start,
                        (long long)stop, d);
    const int64_t size = (stop - start - 1) / step + 1;
    t->offset += start * t->stride[d];
    if (size > 1) t->stride[d] *= step; /* step < size: no overflow */
    t->size[d] = size;
    return 0;
}

int tensor_transpose(struct tensor *t, int64_t a, int64_t b, struct complaint *why) {
    const int first = find_dim(t, a, why);
    const int second = first < 0 ? -1 : find_dim(t, b, why);
    if (second < 0) return -1;
    const int64_t size = t->size[first], stride = t->stride[first];
    t->size[first] = t->size[second];
    t->stride[first] = t->stride[second];
    t->size[second] = size;
    t->stride[second] = stride;
    return 0;
}

int tensor_permute(struct tensor *t, const int *order, struct complaint *why) {
    struct tensor result = *t;
    bool used[TENSOR_DIMS] = {false};
    for (int d = 0; d < t->dims; d++) {
        if (order[d] < 0 || order[d] >= t->dims || used[order[d]])
            return complain(why, "no permutation of %d dimensions", t->dims);
        used[order[d]] = true;
        result.size[d] = t->size[order[d]];
        result.stride[d] = t->stride[order[d]];
    }
    *t = result;
    return 0;
}

/* Fills in the one size that is -1; the elements must be as many as before. */
static int complete_shape(const struct tensor *t, const int64_t *size, int dims, int64_t *full,
                          struct complaint *why) {
    int64_t known = 1;
    int unknown = -1;
    if (dims > TENSOR_DIMS) return complain(why, "more than %d dimensions", TENSOR_DIMS);
    for (int d = 0; d < dims; d++) {
        full[d] = size[d];
        if (size[d] == -1 && unknown >= 0) return complain(why, "only one size can be -1");
        if (size[d] == -1)
            unknown = d;
        else
            known = count_mul(known, size[d]);
    }
    const int64_t numel = tensor_numel(t);
    if (unknown >= 0 && known > 0 && known != COUNT_OVERFLOW && numel % known == 0)
        full[unknown] = numel / known;
    else if (unknown >= 0 || known != numel)
        return complain(why, "%s elements do not make that shape", grouped(numel).text);
    return 0;
}

int tensor_view(struct tensor *t, const int64_t *size, int dims, struct complaint *why) {
    struct tensor result = {.dims = dims, .offset = t->offset};
    if (complete_shape(t, size, dims, result.size, why)) return -1;
    /* Old dimensions, from the last, are gathered into runs that lie one behind the other; new ones must fill each run
     * exactly. Sizes of 1 fit anywhere. */
    int next = dims - 1;
    for (int d = t->dims - 1; d >= 0;) {
        if (t->size[d] == 1) {
            d--;
            continue;
        }
        const int64_t stride = t->stride[d];
        int64_t run = 1;
        int inner = d; /* the last dimension taken into the run */
        while (d >= 0 && (t->size[d] == 1 || t->stride[d] == run * stride)) {
            run *= t->size[d];
            if (t->size[d] != 1) inner = d;
            d--;
        }
        int64_t filled = 1;
        while (next >= 0 && filled < run) {
            result.stride[next] = filled * stride;
            filled *= result.size[next--];
        }
        if (filled == run) continue;
        return complain(why,
                        "not a view: dimension %d has stride %lld, not %lld x %lld as one behind "
                        "dimension %d would; the new shape runs across both, which takes a copy",
                        d, (long long)t->stride[d], (long long)t->size[inner],
                        (long long)t->stride[inner], inner);
    }
    for (; next >= 0; next--) result.stride[next] = 0;
    for (int d = dims - 1; d >= 0;
         d--) /* strides that are never used, as a contiguous tensor has */
        if (result.size[d] == 1)
            result.stride[d] = d + 1 < dims ? result.size[d + 1] * result.stride[d + 1] : 1;
    *t = result;
    return 0;
}

void tensor_contiguous(struct tensor *t, bool *copied) {
    *copied = !tensor_is_contiguous(t);
    if (*copied) row_major(t);
}

int tensor_reshape(struct tensor *t, const int64_t *size, int dims, bool *copied,
                   struct complaint *why) {
    struct tensor result = *t;
    struct complaint ignored;
    *copied = false;
    if (tensor_view(t, size, dims, &ignored) == 0) return 0;
    result.dims = dims;
    if (complete_shape(t, size, dims, result.size, why)) return -1;
    row_major(&result);
    *t = result;
    *copied = true;
    return 0;
}

int64_t tensor_at(const struct tensor *t, const int64_t *index, int count, struct complaint *why) {
    int64_t at = t->offset;
    if (count != t->dims)
        return complain(why, "%d indices for a tensor of %d dimensions", count, t->dims);
    for (int d = 0; d < count; d++) {
        if (index[d] < -t->size[d] || index[d] >= t->size[d])
            return complain(why, "index %lld of dimension %d, which has %lld", (long long)index[d],
                            d, (long long)t->size[d]);
        at += (index[d] < 0 ? index[d] + t->size[d] : index[d]) * t->stride[d];
    }
    return at;
}
