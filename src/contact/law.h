/* Laws of contact: how stiff a barrier is, when it is made stiffer, when the loads of friction have settled. Pairs of
 * bodies and stops of joints obey the same laws. Tested in tests/test_law.c. */
#ifndef ABD_CONTACT_LAW_H
#define ABD_CONTACT_LAW_H

#include "contact/pair.h"

/* A step or sub-step: its length [s]; the square of that in energies. */
typedef struct LawStep {
  double h, h2;
} LawStep;
/* Stiffness of a barrier [J times h^2]. At half the range a contact then resists like 40 inertias over dt^2, carries
 * thirty times the weight, both times the factor, and stops its own approach [m] within the step. But for the approach
 * it has as many joules in sub-steps as in whole steps. Contacts under load would otherwise gain energy when steps are
 * split. */
double law_stiffness(const Model *model, LawStep step, double factor, double mass, double approach);
/* What the end of a step makes of its factor, from the gap and the one at which the factor last grew, as parts of the
 * range. A barrier whose gap is below a tenth of the range is too soft for its load: the factor doubles, unless the gap
 * hardly changed when it last did. */
Stiffening law_stiffening(double factor, double grown_at, double gap);
/* Whether the gap is about that at which the barrier was made stiffer last: then its load grew with the stiffness. */
bool law_jams(double grown_at, double gap);
/* The factor at the start of the next step: if the gap is beyond half of the range, what would carry the load there, 1
 * at least. */
double law_relaxed(double factor, double gap);
/* The factor by which a barrier is raised in the middle of a step, 1 if it is stiff enough already. */
double law_raise(double stiffening);
/* Whether the loads of friction in an island are its normal forces: their difference against their sum. */
bool law_loads_agree(double difference, double total);

/* The lighter of a pair's dynamic bodies [kg]. */
double pair_mass(const Model *model, const Pair *pair);
/* [m] How far the surfaces of a pair would move into each other if nothing held them, on the way from q to target:
 * along the normals if they touch, else all of their relative motion if their boxes meet on the way. */
double pair_approach(const Pair *pair, const ContactScene *scene, Nodes q, Nodes target);
/* The way of a contact's point of one side between two poses; from = NULL: under displacements `to`. v, w: vertices and
 * weights of a soft side. */
Vec3 point_way(const Model *model, const Nodes *from, Nodes to, int body, Vec3 rest, const int v[3], const double w[3]);
/* Prepares a pair for a step from q to target: margin of its list, coefficient of friction; stiffness 1. */
void pair_begin(Pair *pair, const ContactScene *scene, const Affine *q, const Affine *target);
/* Sets the stiffness from what the pair remembers and its approach. */
void pair_set_stiffness(Pair *pair, const ContactScene *scene, double h2, const State *state);
/* The energy that the barrier had at the end of the last step, as far as is known: less than that at the start of this
 * one if it is stiffer now, by its stiffening or to stop an approach. */
double pair_barrier_before(const Pair *pair, const ContactScene *scene, double h2, const State *state);
/* Raises the stiffness in the middle of a step if the gap is tight and the expected force needs it, unless the pair
 * jams. state: at the start of the step. */
void pair_stiffen(Pair *pair, double range, const State *state);
/* Makes the friction points at poses q, slips from the anchors of the state. False if memory is out. */
bool pair_renew_friction(Pair *pair, const ContactScene *scene, const State *state, const Affine *q, bool begins);
/* What the pair remembers for the next step, sorted by pair_key; NULL if nothing. */
const PairMemory *pair_memory(const State *state, int a, int b);
/* The stiffening it leaves, after a step from `state`. */
Stiffening pair_stiffening(const Pair *pair, const ContactScene *scene, const State *state);
/* How many anchors the pair leaves; whether it leaves anything. */
int pair_anchor_count(const Pair *pair, const Model *model);
bool pair_remembers(const Pair *pair, const Model *model);
/* Writes them, at the poses q at the end of the step. */
void pair_save_anchors(const Pair *pair, const ContactScene *scene, const Affine *q, Anchor *anchor);

#endif
