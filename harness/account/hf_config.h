/* hf_config.h - config.json of Hugging Face transformers, for the families that are known here. Sizes must
 * be stated; where another key is absent the family's default holds, as its configuration class has it. */
#ifndef ACCOUNT_HF_CONFIG_H
#define ACCOUNT_HF_CONFIG_H
#include "transformer.h"

/* 0, or -1 after a complaint that names the key. */
int hf_config_read(const char *text, size_t length, struct transformer *m, struct complaint *why);

/* The same of a file of at most a mebibyte. */
int hf_config_load(const char *path, struct transformer *m, struct complaint *why);

/* "gpt2 llama mistral ..." */
extern const char *const hf_families;
#endif
