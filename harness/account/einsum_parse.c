/* einsum_parse.c - einops' grammar, one character after the other. */
#include "einsum.h"
#include "count.h"

#include <ctype.h>
#include <string.h>

struct parser {
    struct einsum *e;
    struct complaint *why;
    bool output;
};

static bool is_product(const struct einsum *e) { return e->kind == EINSUM_PRODUCT; }

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* A Python identifier that neither begins nor ends with an underscore; "_" alone is a name in products. */
static bool is_name(const char *word, size_t length, bool product) {
    if (length == 1 && *word == '_') return product;
    if (!isalpha((unsigned char)*word)) return false;
    return word[length - 1] != '_';
}

static int find_axis(const struct einsum *e, const char *name) {
    for (int i = 0; i < e->axes; i++)
        if (*name && strcmp(e->axis[i].name, name) == 0) return i;
    return -1;
}

static int new_axis(struct parser *p, const char *name, int64_t size) {
    struct einsum *e = p->e;
    if (e->axes == EINSUM_AXES) return complain(p->why, "more than %d dimensions", EINSUM_AXES);
    snprintf(e->axis[e->axes].name, EINSUM_NAME, "%s", name);
    e->axis[e->axes].size = size;
    return e->axes++;
}

/* The axis of a number: -1 after a complaint. */
static int number_axis(struct parser *p, const char *word) {
    int64_t size;
    if (is_product(p->e))
        return complain(p->why, "'%s': a product has no numbered dimensions", word);
    if (p->e->kind == EINSUM_REARRANGE)
        return complain(p->why, "'%s': of numbers a rearrangement has only 1", word);
    if (p->output) return complain(p->why, "'%s' is on the right side only", word);
    if (!parse_count(word, &size) || size < 2)
        return complain(p->why, "'%s': a numbered dimension is 1, or has a size of 2 or more",
                        word);
    return new_axis(p, "", size);
}

static int name_axis(struct parser *p, const struct einsum_tensor *t, const char *word) {
    int axis = find_axis(p->e, word);
    if (axis < 0 && p->output) return complain(p->why, "'%s' is on the right side only", word);
    if (axis < 0) return new_axis(p, word, 0);
    /* an operand of a product may have a name twice: its diagonal */
    if (einsum_has(t, axis) && (p->output || !is_product(p->e)))
        return complain(p->why, "'%s' is twice on one side", word);
    return axis;
}

static int add_to(struct parser *p, struct einsum_dim *d, int axis) {
    if (d->axes == EINSUM_DIMS)
        return complain(p->why, "more than %d dimensions in parentheses", EINSUM_DIMS);
    d->axis[d->axes++] = axis;
    return 0;
}

/* A word within parentheses (group) or a dimension of its own. */
static int add_word(struct parser *p, struct einsum_tensor *t, struct einsum_dim *group,
                    const char *text, size_t length) {
    char word[EINSUM_NAME];
    int axis = ELLIPSIS;
    if (length >= sizeof word)
        return complain(p->why, "'%.*s...': a name has at most %d characters", 20, text,
                        EINSUM_NAME - 1);
    memcpy(word, text, length);
    word[length] = '\0';
    const bool one = strcmp(word, "1") == 0;
    if (one && is_product(p->e))
        return complain(p->why, "a product has no dimensions of size 1 without a name");
    if (strcmp(word, "...") == 0) {
        if (group && !p->output)
            return complain(p->why, "'...' within parentheses on the left side");
        if (einsum_has(t, ELLIPSIS)) return complain(p->why, "'...' is twice in one tensor");
    } else if (!one && strspn(word, "0123456789") == length) {
        axis = number_axis(p, word);
    } else if (!one && is_name(word, length, is_product(p->e))) {
        axis = name_axis(p, t, word);
    } else if (!one) {
        return complain(p->why, "'%s' is no name: letters, digits and _ between them", word);
    }
    if (axis < 0 && strcmp(word, "...") != 0 && !one) return -1;
    if (group) return one ? 0 : add_to(p, group, axis);
    if (t->dims == EINSUM_DIMS) return complain(p->why, "more than %d dimensions", EINSUM_DIMS);
    struct einsum_dim *d = &t->dim[t->dims++];
    *d = (struct einsum_dim){.group = false};
    return one ? 0 : add_to(p, d, axis);
}

static int open_group(struct parser *p, struct einsum_tensor *t, struct einsum_dim **group) {
    if (is_product(p->e)) return complain(p->why, "a product has no parentheses");
    if (*group) return complain(p->why, "parentheses within parentheses");
    if (t->dims == EINSUM_DIMS) return complain(p->why, "more than %d dimensions", EINSUM_DIMS);
    *group = &t->dim[t->dims++];
    **group = (struct einsum_dim){.group = true};
    return 0;
}

/* A byte that is no ASCII would be half a letter. */
static int complain_character(struct parser *p, unsigned char c) {
    return c < 0x80 ? complain(p->why, "unknown character '%c'", c)
                    : complain(p->why, "names are ASCII, and byte 0x%x is not", c);
}

static int parse_tensor(struct parser *p, struct einsum_tensor *t, const char *text,
                        size_t length) {
    struct einsum_dim *group = NULL;
    t->dims = 0;
    for (size_t i = 0; i < length;) {
        const size_t left = length - i;
        size_t word = 0;
        while (word < left && is_word(text[i + word])) word++;
        if (text[i] == ' ') {
            word = 1;
        } else if (text[i] == '(') {
            if (open_group(p, t, &group)) return -1;
            word = 1;
        } else if (text[i] == ')') {
            if (!group) return complain(p->why, "')' without '('");
            group = NULL;
            word = 1;
        } else if (left >= 3 && memcmp(text + i, "...", 3) == 0) {
            /* as einops: dots join the word that they touch, and make it no name */
            if ((i > 0 && is_word(text[i - 1])) ||
                (left > 3 && (is_word(text[i + 3]) || text[i + 3] == '.')))
                return complain(p->why, "'...' stands alone");
            word = 3;
            if (add_word(p, t, group, text + i, word)) return -1;
        } else if (word == 0) {
            return complain_character(p, (unsigned char)text[i]);
        } else if (add_word(p, t, group, text + i, word)) {
            return -1;
        }
        i += word;
    }
    return group ? complain(p->why, "'(' without ')'") : 0;
}

/* What must be on both sides. */
static int check_sides(const struct einsum *e, struct complaint *why) {
    bool left = false;
    for (int i = 0; i < e->operands; i++) left |= einsum_has(&e->in[i], ELLIPSIS);
    const bool right = einsum_has(&e->out, ELLIPSIS);
    if (right && !left) return complain(why, "'...' is on the right side only");
    if (e->kind != EINSUM_REARRANGE) return 0;
    if (left && !right) return complain(why, "'...' is on the left side only");
    for (int i = 0; i < e->axes; i++)
        if (!einsum_has(&e->out, i))
            return complain(why, "'%s' is on the left side only", e->axis[i].name);
    return 0;
}

static int parse_sides(struct parser *p, const char *pattern, const char *arrow) {
    struct einsum *e = p->e;
    const char *text = pattern;
    for (;;) {
        const size_t most = (size_t)(arrow - text);
        size_t length = 0;
        while (length < most && !(is_product(e) && text[length] == ',')) length++;
        if (e->operands == EINSUM_OPERANDS)
            return complain(p->why, "more than %d operands", EINSUM_OPERANDS);
        if (parse_tensor(p, &e->in[e->operands++], text, length)) return -1;
        if (length == most) break;
        text += length + 1;
    }
    p->output = true;
    if (parse_tensor(p, &e->out, arrow + 2, strlen(arrow + 2))) return -1;
    return check_sides(e, p->why);
}

int einsum_parse(const char *pattern, enum einsum_kind kind, struct einsum *e,
                 struct complaint *why) {
    struct complaint reason;
    const char *arrow = strstr(pattern, "->");
    struct parser p = {.e = e, .why = &reason};
    *e = (struct einsum){.kind = kind};
    if (!arrow || strstr(arrow + 2, "->"))
        complain(&reason, arrow ? "'->' is there twice" : "no '->'");
    else if (parse_sides(&p, pattern, arrow) == 0)
        return 0;
    return complain(why, "pattern '%.100s%s': %s", pattern, strlen(pattern) > 100 ? "..." : "",
                    reason.text);
}
