/* flags.c - options of a calculator. Every complaint names the option, the value, and what would be one. */
#include "flags.h"
#include "count.h"

#include "../../kernels/catalogue.h"
#include "../commands.h"
#include "../options.h"

#include <string.h>

static const struct flag *find(const struct flag *flags, const char *name, size_t length) {
    for (; flags->name; flags++)
        if (strlen(flags->name) == length && memcmp(flags->name, name, length) == 0) return flags;
    return NULL;
}

static int bad(const char *name, const char *text, const char *wanted) {
    struct complaint why;
    complain(&why, "--%s '%s': %s", name, text, wanted);
    account_refuse(&why);
    return -1;
}

static int choose(const struct flag *flag, const char *text) {
    char option[64];
    int count = 0;
    while (flag->choices[count]) count++;
    snprintf(option, sizeof option, "--%s", flag->name);
    return option_choice(option, text, flag->choices, count, flag->value);
}

static int choose_dtype(const struct flag *flag, const char *text) {
    const char *names[DTYPE_COUNT];
    char option[64];
    for (int t = 0; t < DTYPE_COUNT; t++) names[t] = dtypes[t].name;
    snprintf(option, sizeof option, "--%s", flag->name);
    return option_choice(option, text, names, DTYPE_COUNT, flag->value);
}

static bool is_lone(const struct flag *flag) {
    return flag->kind == FLAG_SET || flag->kind == FLAG_LONE_STEP;
}

static int take(const struct flag *flag, const char *text) {
    switch (flag->kind) {
    case FLAG_SET:
        *(bool *)flag->value = true;
        return 0;
    case FLAG_COUNT:
        if (parse_count(text, flag->value) && *(int64_t *)flag->value > 0) return 0;
        return bad(flag->name, text, "a whole number from 1 on, such as 4096 or 70e9 or 70B");
    case FLAG_BYTES:
        if (parse_bytes(text, flag->value) && *(int64_t *)flag->value > 0) return 0;
        return bad(flag->name, text, "bytes, such as 80e9 or 80GB or 80GiB");
    case FLAG_QUANTITY:
        if (parse_quantity(text, flag->value) && *(double *)flag->value > 0) return 0;
        return bad(flag->name, text, "a number above 0, such as 70e9 or 70B");
    case FLAG_FRACTION:
        if (parse_quantity(text, flag->value) && *(double *)flag->value > 0 &&
            *(double *)flag->value <= 1)
            return 0;
        return bad(flag->name, text, "a number above 0, at most 1");
    case FLAG_DTYPE:
        return choose_dtype(flag, text);
    case FLAG_CHOICE:
        return choose(flag, text);
    case FLAG_TEXT:
        *(const char **)flag->value = text;
        return 0;
    case FLAG_STEP:
    case FLAG_LONE_STEP: {
        struct flag_steps *steps = flag->value;
        if (steps->count == FLAG_STEPS) return bad(flag->name, text, "too many steps");
        steps->name[steps->count] = flag->name;
        steps->value[steps->count++] = text;
        return 0;
    }
    }
    return -1;
}

enum flags_result flags_read(int argc, char **argv, const struct flag *flags, struct answer *a,
                             const char *help, int *operands) {
    static const char *const unit_names[] = {"binary", "si", NULL};
    bool json = false, csv = false;
    int si = 0;
    const struct flag common[] = {{"json", FLAG_SET, &json, NULL},
                                  {"csv", FLAG_SET, &csv, NULL},
                                  {"units", FLAG_CHOICE, &si, unit_names},
                                  {.name = NULL}};
    bool only_operands = false;
    struct complaint why;
    *operands = 0;
    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        if (only_operands || strncmp(word, "--", 2) != 0) {
            if (!only_operands && strcmp(word, "-h") == 0) {
                fputs(help, stdout);
                return FLAGS_HELP;
            }
            argv[++*operands] = word;
            continue;
        }
        if (!word[2]) {
            only_operands = true;
            continue;
        }
        if (strcmp(word, "--help") == 0) {
            fputs(help, stdout);
            return FLAGS_HELP;
        }
        const size_t length = strcspn(word + 2, "=");
        const struct flag *flag = find(flags, word + 2, length);
        if (!flag) flag = find(common, word + 2, length);
        const char *value = word[2 + length] == '=' ? word + 3 + length : NULL;
        if (!flag) {
            complain(&why, "%s: unknown option '%s'; --help lists them", argv[0], word);
        } else if (is_lone(flag) && value) {
            complain(&why, "%s: --%s takes no value", argv[0], flag->name);
        } else if (!is_lone(flag) && !value && i + 1 == argc) {
            complain(&why, "%s: --%s needs a value", argv[0], flag->name);
        } else {
            if (!is_lone(flag) && !value) value = argv[++i];
            if (take(flag, value ? value : "")) return FLAGS_BAD;
            continue;
        }
        account_refuse(&why);
        return FLAGS_BAD;
    }
    if (json && csv) {
        complain(&why, "%s: --json or --csv, not both", argv[0]);
        account_refuse(&why);
        return FLAGS_BAD;
    }
    a->format = json ? ANSWER_JSON : csv ? ANSWER_CSV : ANSWER_TEXT;
    a->si = si == 1;
    answer_begin(a);
    return FLAGS_OK;
}

int account_no_operands(char **argv, int operands) {
    struct complaint why;
    if (operands == 0) return 0;
    complain(&why, "%s: unexpected argument '%s'", argv[0], argv[1]);
    account_refuse(&why);
    return -1;
}

int account_refuse(const struct complaint *why) {
    fprintf(stderr, "roofline: %s\n", why->text);
    return STATUS_ERROR;
}

int account_print(struct answer *a) {
    struct complaint why;
    const int bad_answer = answer_print(a, stdout);
    answer_end(a);
    if (!bad_answer) return STATUS_OK;
    complain(&why, "out of memory");
    return account_refuse(&why);
}
