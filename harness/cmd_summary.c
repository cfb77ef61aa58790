/* cmd_summary.c - a run's findings as a person wants them at the end. */
#include "commands.h"
int cmd_summary(int argc, char **argv) {
    (void)argc, (void)argv;
    return STATUS_OK;
}
