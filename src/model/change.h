/* Changes of a started world between two steps. A step never changes a Model, so a change makes another one: a branch.
 *
 *     model_branch   copies the arrays; meshes, names and soft bodies are shared
 *     model_add_..., model_remove_..., model_rebase   edit the branch
 *     model_start, state_init, state_carry            make what follows from it
 *     model_merge or model_prune                      the branch replaces the model, or is discarded
 *
 * The branch numbers its bodies and joints without gaps, as a world that was made without the removed ones does. So
 * both take the same steps. Ids find the same body in both. Tested in tests/test_change.c. */
#ifndef ABD_MODEL_CHANGE_H
#define ABD_MODEL_CHANGE_H

#include "model/model.h"

AbdStatus model_branch(Model *branch, const Model *model, AbdError *error);
/* Frees the branch and what it alone has. */
void model_prune(Model *branch, const Model *model);
/* Frees what the model alone has; the branch becomes the model. */
void model_merge(Model *model, Model *branch);

/* Removes a body with its joints, the gears on them, its rules. No soft body may be attached to it. */
void model_remove_body(Model *branch, int body);
/* Removes a joint and the gears on it. The pair stays excluded. */
void model_remove_joint(Model *branch, int joint);
/* Lets an excluded pair collide again; both bodies are then unchecked. */
void model_include_pair(Model *branch, int a, int b);
/* The soft body that is attached to a body; NULL if there is none. */
const Soft *model_attached_to(const Model *model, int body);
/* Makes the poses q the start of all bodies that joints connect to a body: joints that are added refer to them. False
 * if soft vertices are attached to one of them. */
bool model_rebase(Model *branch, const Affine *q, int body);

/* Copies what the bodies, vertices, joints and pairs of both models have. `to` is the start of the branch. */
AbdStatus state_carry(State *to, const Model *branch, const State *from, const Model *model, AbdError *error);

#endif
