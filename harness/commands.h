/* commands.h - one entry a subcommand: argv[0] is its name; returns the exit status. */
#ifndef COMMANDS_H
#define COMMANDS_H

/* Exit status: 0 fine, 1 the answer is no (a wrong kernel, a regression), 2 usage or environment, 130 interrupted. */
enum { STATUS_OK = 0, STATUS_NO = 1, STATUS_ERROR = 2, STATUS_INTERRUPTED = 130 };

int cmd_devices(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_peaks(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_summary(int argc, char **argv);
int cmd_account(int argc, char **argv);
int cmd_claims(int argc, char **argv);
int cmd_train(int argc, char **argv);
int cmd_tokens(int argc, char **argv);
int cmd_compare(int argc, char **argv);
#endif
