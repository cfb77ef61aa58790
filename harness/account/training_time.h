/* training_time.h - how long a training run takes: FLOPs = factor N D, time = FLOPs / (count x peak x MFU), and each
 * of its unknowns from the others. factor 6: 2 forward and 4 backward a parameter and token. */
#ifndef ACCOUNT_TRAINING_TIME_H
#define ACCOUNT_TRAINING_TIME_H

/* What is unknown is 0; training_time() fills it in. */
struct training_run {
    double factor; /* FLOPs a parameter and token */
    double parameters, tokens;
    double flops;       /* factor x parameters x tokens, or given itself */
    double peak, count; /* FLOP/s of one device, devices */
    double mfu;         /* of the peak; 0: unknown, to be found from the time */
    double seconds;     /* wall time; 0: to be found */
    double tokens_s;    /* rate of a measured run; an alternative to seconds and tokens */
};

/* Fills in what follows from the rest. */
void training_time(struct training_run *run);

/* FLOPs that GPT-3 took: Brown et al. 2020, table D.1. */
#define GPT3_FLOPS 3.14e23
#endif
