/* calculators.h - the commands behind roofline account <what>: argv[0] is what to call it in complaints; each returns
 * the exit status. */
#ifndef ACCOUNT_CALCULATORS_H
#define ACCOUNT_CALCULATORS_H

int account_time(int argc, char **argv);
int account_memory(int argc, char **argv);
int account_tensor(int argc, char **argv);
int account_dtype(int argc, char **argv);
int account_transformer(int argc, char **argv);
int account_inspect(int argc, char **argv);
int account_einsum(int argc, char **argv);
#endif
