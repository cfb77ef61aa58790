/* devices.h - which devices are here, and the one that a command line names. */
#ifndef DEVICES_H
#define DEVICES_H
#include "device.h"

enum { MAX_GPUS = 64, DEVICE_TEXT = 96 };

/* A GPU as the driver describes it, or one MIG slice of it. */
struct gpu_info {
    int index;              /* among the devices that the driver shows this process */
    char name[DEVICE_TEXT]; /* "NVIDIA H200" */
    char uuid[DEVICE_TEXT]; /* "GPU-..." or "MIG-..." */
    char pci_bus_id[32];    /* "0000:1B:00.0" */
    struct gpu_facts facts;
    int64_t memory_bytes;
    double boost_ghz, memory_ghz; /* maximum clocks; NaN when unknown */
    int bus_bits;                 /* width of the memory bus; 0 when unknown */
    bool ecc, mig, emulated;
    int driver_version, runtime_version; /* 13000 is 13.0 */
};

struct gpus {
    int count;
    struct gpu_info gpu[MAX_GPUS];
    char why_none[160]; /* when count is 0, as a sentence */
};

/* Asked in a child process: a process that has initialised the CUDA driver must not fork workers. Asked once, then kept. */
const struct gpus *devices_gpus(void);

/* The device that --device names: "cpu"; "gpu" the first GPU; "cuda:1" by index; a UUID or its start, a PCI bus id, or a
 * model's name. NULL: the first GPU where there is one, else the CPU. 0, or -1 after one line on stderr. */
int device_pick(const char *name, struct device *out);

/* ---- a build with CUDA ---- */

/* In this process: initialises the driver. */
void device_cuda_list(struct gpus *out);

/* Facts only: the driver is not touched before open(). */
void device_cuda_init(struct device *d, const struct gpu_info *gpu);

/* What a device of device_cuda_init() was made from. */
const struct gpu_info *device_cuda_info(const struct device *d);
#endif
