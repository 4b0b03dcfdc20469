/* See abd/mpi.h. Tested by tests/cli/ranks.sh. */
#include <abd/mpi.h>

#include "api/world.h"
#include "model/share.h"

int abd_mpi_owner(const AbdWorld *world, size_t k) {
  const Shares *shares = &world->state.shares;
  size_t count = (size_t)abd_mpi_count();
  if (shares->ranks == (int)count && shares->body[k].rank >= 0) return shares->body[k].rank;
  return (int)(k * count / (size_t)world->model.body_count);
}

#ifdef ABD_MPI
#include "mpi/mpi.h"
#include "mpi/ranks.h"

const char *abd_mpi_missing(void) { return NULL; }

AbdStatus abd_mpi_begin(AbdError *error) {
  AbdError own = {0};
  const char *why = ranks_begin();
  return why ? fault(error ? error : &own, ABD_ERROR_STATE, "%s", why) : ABD_OK;
}

void abd_mpi_end(void) {
  mpi_end_solvers();
  ranks_end();
}
int abd_mpi_rank(void) { return ranks_rank(); }
int abd_mpi_count(void) { return ranks_count(); }
bool abd_mpi_agree(bool good) { return ranks_agree(good); }
int abd_mpi_worst(int code, int *rank) { return ranks_worst(code, rank); }
bool abd_mpi_spread(void **bytes, size_t *size) { return ranks_count() == 1 || ranks_spread(bytes, size); }
AbdMpiReport abd_mpi_report(void) { return ranks_report(); }
void abd_mpi_spread_of(double value, double *mean, double *most) { ranks_spread_of(value, mean, most); }
void abd_mpi_abort(int code) { ranks_abort(code); }
bool abd_mpi_leads(void) { return ranks_machine_rank() == 0; }
int abd_mpi_machines(void) { return ranks_machines(); }
void world_unmap(AbdWorld *world) { ranks_unmap(&world->arena); }

/* Boxes, and the copy of the state that sub-steps start from. */
enum { MORE_BYTES = 1024, MORE_ROOM = 1 << 20 };
enum { MANY_BODIES = 100000 }; /* of so many a rank has few */

static bool can_share(const AbdWorld *world) {
  return world->started && !world->changing && mpi_divides_bodies(&world->model) && !share_obstacle(&world->model);
}

/* The leader's world moves to the arena. */
static bool publish(AbdWorld *world) {
  world_drop_backend(world);
  return share_publish(&world->arena, &world->model, &world->state, &world->next);
}

static bool take(AbdWorld *world) {
  if (!share_take(&world->arena, &world->model, &world->state, &world->next)) return false;
  world->given = world->model.def;
  return world->started = true;
}

bool abd_mpi_share_world(AbdWorld **world, bool contacts, AbdError *error) {
  bool leads = abd_mpi_leads();
  Arena arena = {0};
  size_t size = leads ? share_size(&(*world)->model, &(*world)->state, &(*world)->next, MORE_BYTES) + MORE_ROOM : 0;
  if (!ranks_agree(!leads || can_share(*world))) return false;
  if (!ranks_map(&arena, size))
    return fault(error, ABD_ERROR_STATE, "the ranks cannot share memory: each has the whole world"), false;
  AbdWorld *w = leads ? *world : mem_zeroed(1, sizeof *w);
  if (w) w->arena = arena;
  bool good = ranks_agree(w && (!leads || publish(w))); /* then the others see what was published */
  good = ranks_agree(good && (leads || take(w)));
  if (good && w->model.body_count >= MANY_BODIES) ranks_save_pages();
  if (good) share_divide(&w->state, &w->next, &w->model, ranks_machine_rank(), ranks_machine_count());
  if (good) w->no_contacts = !contacts; /* the backend is made at the first step, when the caller has freed the scene */
  else fault(error, ABD_ERROR_MEMORY, "out of memory while sharing a world");
  *world = w;
  return good;
}
#else
const char *abd_mpi_missing(void) {
  return "this build has no MPI: configure it with -DABD_MPI=ON (Debian: libopenmpi-dev, openmpi-bin)";
}

AbdStatus abd_mpi_begin(AbdError *error) {
  AbdError own = {0};
  return fault(error ? error : &own, ABD_ERROR_STATE, "%s", abd_mpi_missing());
}

void abd_mpi_end(void) {}
int abd_mpi_rank(void) { return 0; }
int abd_mpi_count(void) { return 1; }
bool abd_mpi_agree(bool good) { return good; }
int abd_mpi_worst(int code, int *rank) { return *rank = 0, code; }
bool abd_mpi_spread(void **bytes, size_t *size) { return (void)bytes, (void)size, true; }
AbdMpiReport abd_mpi_report(void) { return (AbdMpiReport){0}; }
void abd_mpi_spread_of(double value, double *mean, double *most) { *mean = *most = value; }
void abd_mpi_abort(int code) { (void)code; }
bool abd_mpi_leads(void) { return true; }
int abd_mpi_machines(void) { return 1; }
bool abd_mpi_share_world(AbdWorld **world, bool contacts, AbdError *error) {
  return (void)world, (void)contacts, (void)error, false;
}
void world_unmap(AbdWorld *world) { (void)world; }
#endif
