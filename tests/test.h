/* test.h - checks for tests that are plain C programs: a failure is printed and counted, the test goes on.
 *
 * A test's main() ends with `return test_result();`, which prints the counts and gives the exit status. */
#ifndef TEST_H
#define TEST_H
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

struct test_counts {
    long checks, failures;
};

enum { TEST_FAILURES_PRINTED = 20 };

/* One count per program; test.h is included by one source file of each. */
static struct test_counts test_counts;

#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
static inline bool
test_check(bool ok, const char *file, int line, const char *condition, const char *format, ...) {
    test_counts.checks++;
    if (ok) return true;
    if (++test_counts.failures <= TEST_FAILURES_PRINTED) {
        va_list values;
        va_start(values, format);
        fprintf(stderr, "%s:%d: %s: ", file, line, condition);
        vfprintf(stderr, format, values);
        fputc('\n', stderr);
        va_end(values);
    }
    return false;
}

/* CHECK(condition, format, values...): the format says what the values were. */
#define CHECK(condition, ...) test_check((condition), __FILE__, __LINE__, #condition, __VA_ARGS__)

static inline int test_result(void) {
    printf("%ld checks, %ld failed\n", test_counts.checks, test_counts.failures);
    return test_counts.failures > 0 || test_counts.checks == 0;
}
#endif
