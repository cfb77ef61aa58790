/* oracles.h - one oracle a row of ops.def. */
#ifndef ORACLES_H
#define ORACLES_H
#include "catalogue.h"
#define OP(name, ...) oracle_fn oracle_##name;
#include "ops.def"
#undef OP
#endif
