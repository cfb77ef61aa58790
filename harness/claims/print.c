/* print.c - one block a claim for people, one record for scripts. */
#include "print.h"

#include "../chart.h"
#include "../runinfo.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 110, INDENT = 11 };

const char *const claims_formats[] = {"table", "csv", "json"};

/* Text broken at blanks, each further line indented; a word longer than a line stays whole. */
static void print_wrapped(FILE *f, const char *label, const char *text) {
    int column = fprintf(f, "  %-*s", INDENT - 2, label);
    for (bool first = true; *text; first = false) {
        const size_t word = strcspn(text, " ");
        if (!first && column + 1 + (int)word > WIDTH) {
            fprintf(f, "\n%*s", INDENT, "");
            column = INDENT;
        } else if (!first) {
            fputc(' ', f);
            column++;
        }
        column += fprintf(f, "%.*s", (int)word, text);
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', f);
}

static void figure_text(double x, char *text, size_t size) {
    if (isnan(x))
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%.4g", x);
}

static void print_block(FILE *f, const struct claim *c, const struct finding *found) {
    char predicted[32], measured[32], line[512];
    figure_text(found->predicted, predicted, sizeof predicted);
    figure_text(found->measured, measured, sizeof measured);
    fprintf(f, "%-14s %s\n", c->id, claim_verdicts[found->verdict]);
    print_wrapped(f, "says", c->says);
    snprintf(line, sizeof line, "predicted %s, measured %s; holds: %s", predicted, measured,
             c->holds_if);
    print_wrapped(f, "compares", c->quantity);
    print_wrapped(f, "", line);
    if (*found->model) print_wrapped(f, "model", found->model);
    if (*found->why) print_wrapped(f, "why", found->why);
    fputc('\n', f);
}

static void print_record(FILE *f, const char *device, int threads, const struct claim *c,
                         const struct finding *found) {
    chart_csv_text(f, device);
    fprintf(f, "%d,", threads);
    chart_csv_text(f, c->id);
    chart_csv_text(f, claim_verdicts[found->verdict]);
    chart_csv_text(f, c->says);
    chart_csv_text(f, c->quantity);
    chart_csv_number(f, found->predicted);
    chart_csv_number(f, found->measured);
    chart_csv_text(f, c->holds_if);
    chart_csv_text(f, found->model);
    /* ours are without quotes; reasons of rows need not be */
    fputc('"', f);
    for (const char *at = found->why; *at; at++) {
        if (*at == '"') fputc('"', f);
        fputc(*at, f);
    }
    fputs("\"\n", f);
}

static void print_member(FILE *f, const char *name, const char *text) {
    fprintf(f, "\"%s\": ", name);
    json_text(f, text);
    fputs(", ", f);
}

static void print_number(FILE *f, const char *name, double x) {
    char text[32] = "null";
    if (isfinite(x)) snprintf(text, sizeof text, "%.9g", x);
    for (char *c = text; *c; c++)
        if (*c == ',') *c = '.';
    fprintf(f, "\"%s\": %s, ", name, text);
}

static void print_object(FILE *f, const struct claim *c, const struct finding *found) {
    fputs("    {", f);
    print_member(f, "claim", c->id);
    print_member(f, "verdict", claim_verdicts[found->verdict]);
    print_member(f, "says", c->says);
    print_member(f, "quantity", c->quantity);
    print_number(f, "predicted", found->predicted);
    print_number(f, "measured", found->measured);
    print_member(f, "holds_if", c->holds_if);
    print_member(f, "model", found->model);
    fputs("\"why\": ", f);
    json_text(f, found->why);
    fputc('}', f);
}

static void print_totals(FILE *f, const char *device, int threads, const bool which[],
                         const struct finding found[]) {
    int count[CLAIM_UNTESTED + 1] = {0}, all = 0;
    for (int i = 0; i < claim_count; i++) {
        if (!which[i]) continue;
        all++;
        count[found[i].verdict]++;
    }
    fprintf(f,
            "%s, %d thread%s: of %d claims %d hold, %d do not hold here, %d can't be tested here\n",
            device, threads, threads == 1 ? "" : "s", all, count[CLAIM_HOLDS], count[CLAIM_FAILS],
            count[CLAIM_UNTESTED]);
}

void claims_print(FILE *f, enum claims_format format, const char *device, int threads,
                  const bool which[], const struct finding found[]) {
    const char *separator = "";
    if (format == CLAIMS_CSV)
        fputs("device,threads,claim,verdict,says,quantity,predicted,measured,holds_if,model,why\n",
              f);
    if (format == CLAIMS_JSON) {
        fputs("{\"device\": ", f);
        json_text(f, device);
        fprintf(f, ", \"threads\": %d, \"claims\": [\n", threads);
    }
    for (int i = 0; i < claim_count; i++) {
        if (!which[i]) continue;
        switch (format) {
        case CLAIMS_TABLE:
            print_block(f, &claims[i], &found[i]);
            break;
        case CLAIMS_CSV:
            print_record(f, device, threads, &claims[i], &found[i]);
            break;
        case CLAIMS_JSON:
            fputs(separator, f);
            print_object(f, &claims[i], &found[i]);
            separator = ",\n";
            break;
        }
    }
    if (format == CLAIMS_TABLE) print_totals(f, device, threads, which, found);
    if (format == CLAIMS_JSON) fputs("\n]}\n", f);
}
