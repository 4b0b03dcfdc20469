/* The settings of bodies that callers may change between steps. The State has them, so snapshots do; the Model has a
 * copy, which steps read. Tested in tests/test_handling.c. */
#ifndef ABD_MODEL_HANDLING_H
#define ABD_MODEL_HANDLING_H

#include "model/model.h"

Handling model_handling(const Model *model, int body);
void model_handle(Model *model, int body, const Handling *handling);
/* Copies those of all bodies from the state. */
void model_handle_all(Model *model, const State *state);

#endif
