/* device.h - where kernels run. The harness knows devices only through this struct. */
#ifndef DEVICE_H
#define DEVICE_H
#include "../kernels/catalogue.h"
#include "../kernels/vendor/vendor.h"

#include <stdio.h>

enum { MAX_LEVELS = 4 };

/* A memory level and its capacity in bytes; the last one is DRAM, with the size of memory. */
struct level {
    char name[8];         /* "L1" "L2" "L3" "DRAM" */
    int64_t bytes;        /* of one instance */
    int shared_by;        /* logical CPUs that share an instance; DRAM: all */
    const int *instances; /* [threads - 1]: how many of them that many threads reach; NULL: one */
};

enum { CONDITIONS_TEXT = 96 };

/* What can be read about the state of the device; NaN where it can't. */
struct conditions {
    double clock_ghz, temperature_c;
    double power_w;                 /* mean since the last reading where energy is counted */
    char throttle[CONDITIONS_TEXT]; /* what holds the clock back; "" for nothing known */
};

/* A call by the hardware's own counters; NaN for what it does not count. */
struct counted_call {
    double bytes, flops,
        tensor_ops; /* of DRAM; of vector units; of tensor cores in the chip's own unit */
};

/* How the threads' CPUs lie to each other: a round trip of a cache line between the first and the last. */
struct placement {
    double pair_ns;    /* NaN with one thread */
    const char *label; /* "near", "far", "shared"; "" with one thread */
};

struct device {
    char name[16];            /* "cpu": what --device says */
    char slug[64], model[96]; /* "amd-epyc", "AMD EPYC": what the hardware says */
    int max_threads;          /* CPU threads that may be used; 1 for a GPU */
    int host_threads; /* CPU threads that fill operands in host memory; 0: those of the trial */
    int cores;        /* of these, on physical cores of their own */
    struct level level[MAX_LEVELS];
    int levels;
    bool host_moves_threads; /* a hypervisor may spread the threads over two last-level caches */
    double
        wait_left_s; /* what may still be spent on waiting for the host to give each thread a core */
    bool own_cores_seen; /* by placement(): the threads had a core each at least once */
    bool host_visible;   /* the host may read buffers directly */
    bool emulated;       /* no hardware: results count, times do not */
    const struct impl *const *kernels; /* tables of our rows for it, ending at NULL */
    /* Whether another row of its op and dtype is faster here on this problem, though it stands before this one;
     * NULL: none is. */
    bool (*outdone)(const struct impl *row, const struct args *problem);
    const struct vendor_set *vendors;               /* libraries for it, with their rows */
    const struct gpu_facts *gpu;                    /* NULL on the CPU */
    double spec_gflop_s[DTYPE_COUNT], spec_gbyte_s; /* published dense peaks; NaN when unknown */
    void *stream;
    void *state; /* the device's own */

    int (*open)(struct device *d); /* 0, or -1 after one line on stderr */
    void (*close)(struct device *d);
    int (*set_threads)(struct device *d, int threads); /* 0, or -1: threads could not be placed */
    void *(*alloc)(struct device *d, size_t bytes);    /* NULL when it does not fit */
    void (*release)(struct device *d, void *p, size_t bytes); /* p may be NULL */
    int (*clear)(struct device *d, void *p, size_t bytes);    /* to zeros; NULL: alloc() does */
    int (*upload)(struct device *d, void *dst, const void *src, size_t bytes);
    int (*download)(struct device *d, void *dst, const void *src, size_t bytes);
    /* Calls run on a[first % sets], a[(first + 1) % sets] ... reps times in a row; *seconds is for all of them.
     * 0, or the kernel's code. *disturbed says whether the system took a CPU away meanwhile. */
    int (*time)(struct device *d, kernel_fn *run, const struct args *a, int sets, int64_t first,
                int64_t reps, double *seconds, bool *disturbed);
    /* Thread t of `copies` calls run reps times on a[t], all at once; *seconds from the common start to the last end. */
    int (*time_copies)(struct device *d, kernel_fn *run, const struct args *a, int copies,
                       int64_t reps, double *seconds, bool *disturbed);
    /* For work that the caller launches by calling kernels itself: the moment at which all of it so far is done, kept under
     * a number from 0 on; and the seconds from one such moment to another, which it waits for. 0, or a code. */
    int (*mark)(struct device *d, int slot);
    int (*between)(struct device *d, int from, int to, double *seconds);
    /* Host memory that the device reads while it computes (pinned); NULL when there is none. */
    void *(*host_alloc)(struct device *d, size_t bytes);
    void (*host_release)(struct device *d, void *p, size_t bytes);
    /* In the order of the work launched: src, of host_alloc(), must stay until a later wait. */
    int (*upload_later)(struct device *d, void *dst, const void *src, size_t bytes);
    int64_t (*memory_in_use)(
        struct device *d); /* bytes of it given out, to everybody; -1 unknown */
    struct placement (*placement)(struct device *d);
    struct conditions (*conditions)(struct device *d);
    double (*flops_per_cycle)(struct device *d, enum dtype t,
                              int threads); /* of as many threads; NaN when unknown */
    /* What hardware counters say of one call on a[0]; cold: with the caches flushed before. 0, or -1 with a reason. NULL:
     * there are no counters. */
    int (*count)(struct device *d, kernel_fn *run, const struct args *a, bool cold,
                 struct counted_call *out, char *why, size_t size);
    void (*print_facts)(const struct device *d,
                        FILE *f); /* members of a JSON object, each with a comma; NULL: none */
    bool (*alive)(
        struct device
            *d); /* false: an error has poisoned it; only a new process helps. NULL: always */
    const char *(*error_text)(int error); /* of a kernel's code; NULL: codes have no names */
};

/* The CPU this program runs on. */
void device_cpu_init(struct device *d);

/* "AMD EPYC 9R14 96-Core Processor" -> "amd-epyc-9r14-96-core-processor" */
void device_make_slug(char *slug, size_t size, const char *model);

/* Whether rows of this device come from an emulation: verified, but their times mean nothing. */
bool device_slug_is_emulated(const char *slug);

/* Counts for struct level: instances[i] = how many different ones home[0] ... home[i] name, at least one. A home below
 * zero is none. */
void device_count_instances(const int home[], int threads, int instances[]);

/* Level that serves a working set of `bytes` used by `threads`: it must fit in three quarters of its share of a cache,
 * or exceed four times the last cache for DRAM. "" in between. */
const char *device_level(const struct device *d, double bytes, int threads);

/* Capacity in bytes of the last-level caches that `threads` threads reach; 0 when unknown. */
double device_last_cache(const struct device *d, int threads);
#endif
