/* unit_account_safetensors.c - headers that are right, and headers that lie: each lie ends in one line that says it. */
#include "test.h"

#include "../harness/account/checkpoint.h"

#include <stdlib.h>
#include <string.h>

static uint64_t state = 0x9e3779b97f4a7c15u;

static int64_t below(int64_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state % (uint64_t)n);
}

static void lies(void) {
    static const struct {
        const char *json;
        int64_t data;
        const char *want; /* NULL: accepted */
    } headers[] = {
        {"{}", 0, NULL},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}", 24, NULL},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}   ", 24, NULL},
        {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[0,2]}}", 2, NULL},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,7],\"data_offsets\":[0,0]}}", 0, NULL},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[2,8],\"data_offsets\":[0,8]}}", 8, NULL},
        {"{\"__metadata__\":{\"format\":\"pt\"},\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_"
         "offsets\":[1,2]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
         2, NULL},
        {"", 0, "does not begin"},
        {" {}", 0, "does not begin"},
        {"[]", 0, "does not begin"},
        {"{", 0, "line 1"},
        {"{}x", 0, "end of file"},
        {"{\"a\":{},\"a\":{}}", 0, "duplicate"},
        {"{\"a\":7}", 0, "no JSON object"},
        {"{\"a\":{}}", 0, "no dtype"},
        {"{\"a\":{\"dtype\":\"F31\",\"shape\":[],\"data_offsets\":[0,4]}}", 4, "unknown dtype"},
        {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "no shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "no whole number"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", 4,
         "no whole number"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4.0]}}", 4,
         "two whole numbers"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "two whole numbers"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 8,
         "two whole numbers"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "two whole numbers"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", 4, "outside"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, "outside"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}", 4, "outside"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
         "do not take 4 bytes"},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 1, "do not take"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
         "too many elements"},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}", 0,
         "do not take"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999],\"data_offsets\":[0,4]}}", 4,
         "too big integer"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[9223372036854775804,"
         "9223372036854775807]}}",
         4, "outside"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},\"b\":{\"dtype\":\"U8\","
         "\"shape\":"
         "[2],\"data_offsets\":[1,3]}}",
         3, "'a' and 'b' overlap at byte 1"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},\"b\":{\"dtype\":\"U8\","
         "\"shape\":"
         "[2],\"data_offsets\":[0,2]}}",
         2, "overlap"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"b\":{\"dtype\":\"U8\","
         "\"shape\":"
         "[1],\"data_offsets\":[2,3]}}",
         3, "bytes 1 to 2, before tensor 'b'"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 4, "last 3 bytes"},
        {"{}", 4, "last 4 bytes"},
        {"{\"__metadata__\":7}", 0, "__metadata__"},
        {"{\"__metadata__\":{\"a\":7}}", 0, "is no text"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],\"data_offsets\":["
         "0,1]}}",
         1, "more than 16 dimensions"},
        {"{\"a\\nb\":{\"dtype\":\"F31\"}}", 0, "'a?b': unknown dtype"},
        {"{\"a\\u0000\":{}}", 0, "line 1"},
        {"{\"\xff\":{}}", 0, "line 1"},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct stored_tensors t;
        struct complaint why = {""};
        const bool refused = safetensors_parse(headers[i].json, strlen(headers[i].json),
                                               headers[i].data, &t, &why) != 0;
        CHECK(refused == (headers[i].want != NULL), "header %zu: '%s'", i, why.text);
        if (!refused) safetensors_release(&t);
        if (refused && headers[i].want)
            CHECK(strstr(why.text, headers[i].want) && !strchr(why.text, '\n'),
                  "header %zu: '%s' does not say '%s'", i, why.text, headers[i].want);
    }
}

/* 10,000 brackets; 100 MB of commas; a length beyond any file. */
static void bombs(void) {
    struct stored_tensors t;
    struct complaint why = {""};
    enum { DEEP = 10000, WIDE = 100000000 };
    static char deep[WIDE]; /* without an initialiser, which would make the program as long */
    snprintf(deep, sizeof deep, "{\"a\":");
    memset(deep + 5, '[', DEEP);
    CHECK(safetensors_parse(deep, DEEP, 0, &t, &why) == -1 && strstr(why.text, "depth"), "%s",
          why.text);
    memset(deep + 5, ',', WIDE - 5);
    CHECK(safetensors_parse(deep, WIDE, 0, &t, &why) == -1 && strstr(why.text, "JSON values"), "%s",
          why.text);
    memset(deep + 5, '\\', WIDE - 5); /* a text that never ends */
    deep[5] = '"';
    CHECK(safetensors_parse(deep, WIDE, 0, &t, &why) == -1, "a text without end");

    static const unsigned char hundred_mb[8] = {0x00, 0xe1, 0xf5, 0x05},
                               more[8] = {0x01, 0xe1, 0xf5, 0x05},
                               all[8] = {255, 255, 255, 255, 255, 255, 255, 255}, two[8] = {2};
    CHECK(safetensors_header_bytes(hundred_mb, 1000, &why) == -1 &&
              strstr(why.text, "in a file of 1000"),
          "%s", why.text);
    CHECK(safetensors_header_bytes(hundred_mb, 200000000, &why) == 100000000, "%s", why.text);
    CHECK(safetensors_header_bytes(more, 200000000, &why) == -1 &&
              strstr(why.text, "format allows"),
          "%s", why.text);
    CHECK(safetensors_header_bytes(all, INT64_MAX, &why) == -1, "the largest length");
    CHECK(safetensors_header_bytes(two, 10, &why) == 2, "two bytes");
    CHECK(safetensors_header_bytes(two, 9, &why) == -1, "one byte short");
}

/* Random tensors in random order: accepted, and refused once a single offset is moved. */
static void random_headers(void) {
    for (int trial = 0; trial < 500; trial++) {
        char json[4096];
        int64_t begin[8], length[8], at = 0;
        const int count = (int)below(6) + 2;
        for (int i = 0; i < count; i++) {
            begin[i] = at;
            length[i] = below(5) + 1;
            at += length[i];
        }
        const int moved = (int)below(count), rotated = (int)below(count);
        const bool wrong = below(2);
        size_t used = 1;
        json[0] = '{';
        for (int k = 0; k < count; k++) {
            const int i = (k + rotated) % count;
            const int64_t shift = wrong && i == moved ? (below(2) ? 1 : -1) : 0;
            const long long first = begin[i] + shift, last = first + length[i];
            used += (size_t)snprintf(json + used, sizeof json - used,
                                     "%s\"layers.%d.w\":{\"dtype\":\"U8\",\"shape\":[%lld],"
                                     "\"data_offsets\":[%lld,%lld]}",
                                     k ? "," : "", i, (long long)length[i], first, last);
        }
        json[used++] = '}';
        struct checkpoint c = {.files = 1};
        struct complaint why = {""};
        const bool refused = safetensors_parse(json, used, at, &c.tensors, &why) != 0;
        CHECK(refused == wrong, "trial %d: %s", trial, why.text);
        if (refused) continue;
        CHECK(c.tensors.count == (size_t)count, "%zu tensors", c.tensors.count);
        size_t parts;
        struct checkpoint_part *part = checkpoint_parts(&c, &parts);
        CHECK(part && parts == 1 && part[0].tensors == (size_t)count && part[0].bytes == at &&
                  strcmp(part[0].pattern, "layers.*.w") == 0,
              "one group of all");
        checkpoint_parts_release(part, parts);
        checkpoint_release(&c);
    }
}

static void roles(void) {
    static const struct {
        const char *name, *role;
    } names[] = {{"model.embed_tokens.weight", "embedding"},
                 {"transformer.wte.weight", "embedding"},
                 {"transformer.h.*.ln_1.bias", "norms"},
                 {"model.layers.*.input_layernorm.weight", "norms"},
                 {"model.layers.*.self_attn.q_norm.weight", "norms"},
                 {"model.layers.*.self_attn.q_proj.weight", "attention"},
                 {"model.layers.*.mlp.experts.*.up_proj.weight", "experts"},
                 {"model.layers.*.mlp.up_proj.weight", "mlp"},
                 {"lm_head.weight", "output_layer"},
                 {"whatever", "other"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(strcmp(checkpoint_role(names[i].name), names[i].role) == 0, "%s is %s", names[i].name,
              checkpoint_role(names[i].name));
}

int main(void) {
    lies();
    bombs();
    random_headers();
    roles();
    return test_result();
}
