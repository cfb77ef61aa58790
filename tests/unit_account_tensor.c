/* unit_account_tensor.c - views of random strided tensors against a walk over all of their elements. */
#include "test.h"

#include "../harness/account/tensor.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 4096 };

static uint64_t state = 88172645463325252u;

/* xorshift64: the same tensors everywhere. */
static int64_t below(int64_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state % (uint64_t)n);
}

/* Places of all elements, in row-major order of the indices. */
static int64_t walk(const struct tensor *t, int64_t *place) {
    const int64_t numel = tensor_numel(t);
    for (int64_t i = 0; i < numel; i++) {
        int64_t rest = i, at = t->offset;
        for (int d = t->dims - 1; d >= 0; d--) {
            at += rest % t->size[d] * t->stride[d];
            rest /= t->size[d];
        }
        place[i] = at;
    }
    return numel;
}

/* Whether places are those of a strided tensor of this shape: strides follow from single steps. */
static bool is_strided(const int64_t *place, const int64_t *size, int dims) {
    struct tensor t = {.dims = dims, .offset = place[0]};
    int64_t inner = 1;
    for (int d = dims - 1; d >= 0; d--) {
        t.size[d] = size[d];
        t.stride[d] = size[d] > 1 ? place[inner] - place[0] : 0;
        inner *= size[d];
    }
    static int64_t again[MAX_ELEMENTS];
    const int64_t numel = walk(&t, again);
    return memcmp(place, again, (size_t)numel * sizeof *place) == 0;
}

static void random_tensor(struct tensor *t) {
    static const int64_t sizes[] = {1, 2, 2, 3, 4, 4, 6};
    int64_t size[4];
    struct complaint why;
    const int dims = (int)below(4) + 1;
    for (int d = 0; d < dims; d++) size[d] = sizes[below(7)];
    CHECK(tensor_new(t, size, dims, &why) == 0, "%s", why.text);
    for (int i = 0; i < 3; i++) {
        const int64_t d = below(dims);
        switch (below(4)) {
        case 0:
            tensor_transpose(t, d, below(dims), &why);
            break;
        case 1:
            tensor_slice(t, d, below(2), INT64_MAX, below(2) + 1, &why);
            break;
        case 2:
            if (t->size[d] == 1) { /* expanded, as broadcasting does */
                t->size[d] = 2;
                t->stride[d] = 0;
            }
            break;
        default:
            break;
        }
    }
}

/* A shape of the same number of elements, by random factors. */
static int random_shape(int64_t numel, int64_t *size) {
    int dims = 0;
    while (numel > 1 && dims < 5) {
        int64_t factor = below(numel) + 1;
        while (numel % factor) factor--;
        size[dims++] = factor;
        numel /= factor;
    }
    if (numel > 1 || dims == 0) size[dims++] = numel;
    return dims;
}

static void views(void) {
    static int64_t before[MAX_ELEMENTS], after[MAX_ELEMENTS];
    long made = 0, refused = 0;
    for (int trial = 0; trial < 20000; trial++) {
        struct tensor t, reshaped;
        struct complaint why;
        int64_t size[8];
        bool copied;
        random_tensor(&t);
        reshaped = t;
        const int64_t numel = walk(&t, before);
        const int dims = random_shape(numel, size);
        const bool possible = is_strided(before, size, dims);
        const bool viewed = tensor_view(&t, size, dims, &why) == 0;
        made += viewed;
        refused += !viewed;
        CHECK(viewed == possible, "trial %d: a view is %spossible", trial, possible ? "" : "im");
        if (viewed && CHECK(walk(&t, after) == numel, "elements"))
            CHECK(memcmp(before, after, (size_t)numel * sizeof *before) == 0,
                  "trial %d: the view has other elements", trial);
        CHECK(tensor_reshape(&reshaped, size, dims, &copied, &why) == 0, "%s", why.text);
        CHECK(copied != viewed && tensor_numel(&reshaped) == numel, "copied where it must");
        CHECK(viewed || tensor_is_contiguous(&reshaped), "a copy is contiguous");
    }
    CHECK(made > 1000 && refused > 1000, "%ld views, %ld refused", made, refused);
}

static void slices(void) {
    for (int trial = 0; trial < 5000; trial++) {
        struct tensor t;
        struct complaint why;
        const int64_t size = below(9) + 1, start = below(25) - 12, stop = below(25) - 12,
                      step = below(4) + 1;
        tensor_new(&t, &size, 1, &why);
        int64_t want[16], count = 0;
        const int64_t first = start < 0 ? (start + size < 0 ? 0 : start + size) : start,
                      end = stop < 0      ? stop + size
                            : stop > size ? size
                                          : stop;
        for (int64_t i = first; i < end; i += step) want[count++] = i;
        if (tensor_slice(&t, 0, start, stop, step, &why)) {
            CHECK(count == 0, "%lld:%lld:%lld of %lld is not empty", (long long)start,
                  (long long)stop, (long long)step, (long long)size);
            continue;
        }
        CHECK(t.size[0] == count, "%lld elements, not %lld", (long long)t.size[0],
              (long long)count);
        for (int64_t i = 0; i < count; i++)
            CHECK(tensor_at(&t, &i, 1, &why) == want[i], "element %lld", (long long)i);
    }
}

static void figures(void) {
    const int64_t matrix[] = {4, 8}, flat[] = {32}, most[] = {-1}, two[] = {-1, -1},
                  none[] = {-1, 5}, huge[] = {INT64_MAX / 2, 4}, at[] = {2, 3}, last[] = {-1, -1},
                  outside[] = {4, 0};
    struct tensor t;
    struct complaint why;
    bool copied;
    CHECK(tensor_new(&t, matrix, 2, &why) == 0, "4x8");
    CHECK(tensor_at(&t, at, 2, &why) == 19 && tensor_at(&t, last, 2, &why) == 31, "elements");
    CHECK(tensor_at(&t, outside, 2, &why) == -1 && tensor_at(&t, at, 1, &why) == -1, "outside");
    CHECK(tensor_view(&t, most, 1, &why) == 0 && t.size[0] == 32, "-1 is what is left");
    CHECK(tensor_view(&t, two, 2, &why) == -1 && tensor_view(&t, none, 2, &why) == -1, "refused");
    tensor_new(&t, matrix, 2, &why);
    CHECK(tensor_transpose(&t, 0, -1, &why) == 0 && t.stride[0] == 1 && t.stride[1] == 8,
          "transposed");
    CHECK(tensor_view(&t, flat, 1, &why) == -1 && strstr(why.text, "not a view"), "%s", why.text);
    CHECK(t.dims == 2 && t.size[0] == 8, "a refused view leaves the tensor");
    tensor_contiguous(&t, &copied);
    CHECK(copied && t.stride[0] == 4, "made contiguous");
    tensor_contiguous(&t, &copied);
    CHECK(!copied, "it is already");
    CHECK(tensor_new(&t, huge, 2, &why) == -1, "too many elements");
    tensor_new(&t, matrix, 2, &why);
    CHECK(tensor_select(&t, 1, 8, &why) == -1 && tensor_select(&t, 2, 0, &why) == -1, "outside");
    CHECK(tensor_select(&t, 1, -1, &why) == 0 && t.dims == 1 && t.offset == 7 && t.stride[0] == 8,
          "the last column");
    CHECK(tensor_select(&t, 0, 3, &why) == 0 && t.dims == 0 && tensor_numel(&t) == 1 &&
              t.offset == 31,
          "a scalar");
    const int order[] = {1, 0}, wrong[] = {1, 1};
    tensor_new(&t, matrix, 2, &why);
    CHECK(tensor_permute(&t, wrong, &why) == -1, "no permutation");
    CHECK(tensor_permute(&t, order, &why) == 0 && t.size[0] == 8 && t.stride[0] == 1, "permuted");
    CHECK(tensor_storage(&t) == 32, "the storage is as before");
}

int main(void) {
    figures();
    slices();
    views();
    return test_result();
}
