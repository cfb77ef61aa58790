/* findings.h - what a run says, in sentences. Each is worked out from rows; what can't be is not said. */
#ifndef REPORT_FINDINGS_H
#define REPORT_FINDINGS_H
#include "../csv_table.h"

#include "../chart.h"

enum finding_kind { FINDING_FACT, FINDING_WARNING };

struct report_finding {
    enum finding_kind kind;
    char lead[48];   /* what it is about: "DRAM" */
    char text[1600]; /* a sentence or two */
};

enum { MAX_FINDINGS = 32 };

struct findings {
    struct report_finding item[MAX_FINDINGS];
    size_t count;
};

/* Of one run. claims may have no columns. */
void findings_of_run(struct findings *out, const struct chart_run *run, const struct csv *claims);

/* Of two runs beside each other: ceilings and equal problems. 0, or -1 after one line on stderr. */
int findings_of_pair(struct findings *out, const struct chart_run *a, const struct chart_run *b);

/* ---- what tiles and tables show too ---- */

/* The best proven DRAM bandwidth of reads with all threads; where reads have none, of any pattern; NULL: none. */
const struct ceiling *finding_dram(const struct chart_run *run);

/* The fastest proven arithmetic with all threads; NULL: none. */
const struct ceiling *finding_arithmetic(const struct chart_run *run);

/* The product that comes nearest to its ceiling; NULL: none. */
const struct row *finding_product(const struct chart_run *run);

/* Rows by status; each counts once. */
struct row_counts {
    size_t all, ok, refused, bad, wide,
        above; /* refused: or without memory; wide: interval beyond +- 5 % */
    int64_t samples, disturbed;
    const struct row *first_bad;
};
struct row_counts finding_counts(const struct rows *rows);
#endif
