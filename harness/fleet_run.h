/* fleet_run.h - one command on several devices: of this machine (--device all, or a list), or a rank of mpirun or srun each. */
#ifndef FLEET_RUN_H
#define FLEET_RUN_H
#include <stdbool.h>

/* A process that a launcher started: by the environment that OpenMPI, MPICH's Hydra and Slurm set. No MPI is spoken: ranks
 * share a file system and nothing else, so that one that dies or hangs costs its own rows. */
struct rank {
    int rank, size; /* 0 of 1: no launcher */
    int local;      /* among the ranks of this machine */
    char job[96];   /* tells one launch from another; "" unknown */
};

struct rank rank_of_environment(void);

/* "all", or names between commas. */
bool device_is_list(const char *device);

/* Runs this command on each device alone, then on all at once, as processes of their own, with rows in dir/alone/<device> and
 * dir/together/<device>, and prints the fleet's table. Where `all` is one device it is named in *one (NULL otherwise) and
 * nothing has run. An exit status. */
int fleet_run_devices(int argc, char **argv, const char *device, const char *dir, const char *file,
                      const char **one);

/* A command's part in a fleet, from its options to its end. */
struct fleet_part {
    struct rank rank;
    const char *dir; /* as given */
    char *own_dir;   /* a rank's; NULL: no rank */
    double start_s, patience_s;
};

/* What --device and the launcher ask for: a list runs here, a rank gets a device of its own (*device, unless one is named)
 * and a folder below *dir. -1: the command goes on with *device and *dir, and ends with fleet_leave(); else the exit status.
 * patience_s: how long rank 0 waits for the others when it is done; 0: as long as it took itself, at least a minute. */
int fleet_enter(struct fleet_part *p, int argc, char **argv, const char **device, const char **dir,
                const char *file, double patience_s);

/* The exit status of a command that ended with `status`. A rank says that it is done. Rank 0 waits for the others and prints
 * the fleet's table with what is there; what is missing is named. Other ranks end with 0 whatever they found, since launchers
 * end a job for less; rank 0 has the worst of all. */
int fleet_leave(struct fleet_part *p, const char *file, int status);
#endif
