/* Contacts in Newton's system. A stiffness K on points with node weights w is the block w_i w_j K between nodes i and
 * j. Moments are such blocks summed over all contacts of two stiff bodies, whose nodes they share. Tested in
 * tests/test_soft_contact.c and tests/test_determinism.c. */
#include <string.h>

#include "contact/turning.h"
#include "cpu/assembly.h"

/* ---- held coordinates ---- */

/* A body whose held coordinates are projected out here; those of a linked body are eliminated. */
static bool projected(const Model *m, int body) {
  return !block_is_vertex(m, body) && m->body[body].fixed && !is_linked(m, body);
}

/* Columns of a block with twelve rows, projected to a body's free directions. */
static void project_columns(const Body *b, double *block, int columns) {
  for (int j = 0; j < columns; j++) {
    Affine c;
    memcpy(&c, block + 12 * j, sizeof c);
    c = freedom_project(b, c);
    memcpy(block + 12 * j, &c, sizeof c);
  }
}

static void transpose(double *block) {
  for (int j = 0; j < 12; j++)
    for (int i = 0; i < j; i++) {
      double t = block[12 * j + i];
      block[12 * j + i] = block[12 * i + j];
      block[12 * i + j] = t;
    }
}

/* P H P + s (I - P): held directions keep a harmless pivot. */
static void project_diagonal(const Body *b, double *block) {
  double s = 0, unit[144] = {0};
  for (int i = 0; i < 12; i++) {
    if (block[13 * i] > s) s = block[13 * i];
    unit[13 * i] = 1;
  }
  project_columns(b, block, 12);
  transpose(block);
  project_columns(b, block, 12);
  project_columns(b, unit, 12);
  for (int k = 0; k < 144; k++) block[k] -= s * unit[k];
  for (int i = 0; i < 12; i++) block[13 * i] += s;
}

/* The block between two bodies, rows of a. */
static void project_block(const Model *m, int a, int b, double block[144]) {
  if (projected(m, a)) project_columns(&m->body[a], block, 12);
  if (!projected(m, b)) return;
  transpose(block);
  project_columns(&m->body[b], block, 12);
  transpose(block);
}

Affine contact_project_vector(const Model *m, int body, Affine gradient) {
  return projected(m, body) ? freedom_project(&m->body[body], gradient) : gradient;
}

void contact_project_body(Cpu *cpu, int body) {
  if (!projected(cpu->model, body)) return;
  const Body *b = &cpu->model->body[body];
  cpu->work.gradient.body[body] = freedom_project(b, cpu->work.gradient.body[body]);
  project_diagonal(b, diagonal_of(cpu, body));
}

/* ---- moments and springs of the pairs ---- */

/* Pairs that touched at any time in this step stay in the pattern, so that it seldom changes. */
void assemble_couple(Cpu *cpu, int k, Pair *p) {
  const int *body = cpu->pairs.body[k];
  if (cpu->pair_acts[k]) cpu->pair_coupled[k] = p->coupled = true;
  cpu->pair_couples[k] = p->soft || (p->coupled && takes_part(cpu, body[0]) && takes_part(cpu, body[1]));
}

/* After a whole step the barriers' own curvatures converge best. */
void expect_nothing(const Cpu *cpu, int k, Pair *p) {
  if (cpu->islands->island[islands_of_pair(cpu->islands, cpu->pairs.body[k])].steady > 0) p->expected = -1;
}

void assemble_task(Cpu *cpu, int k, Pair *p) {
  cpu->pair_acts[k] = pair_has_terms(p);
  assemble_couple(cpu, k, p);
  if (cpu->pair_acts[k]) expect_nothing(cpu, k, p);
  pair_assemble(p, &cpu->scene, &cpu->work.q.body[p->a], &cpu->work.q.body[p->b]);
}

static void list_and_assemble(Cpu *cpu, int k, Pair *p) {
  if (pair_has_terms(p)) loads_list_task(cpu, k, p);
  assemble_task(cpu, k, p);
}

/* As assemble_couple, of a pair of stiff bodies that was assembled or has no terms. */
static void couple_item(void *context, int k) {
  Cpu *cpu = context;
  const int *body = cpu->pairs.body[k];
  cpu->pair_couples[k] = cpu->pair_coupled[k] && takes_part(cpu, body[0]) && takes_part(cpu, body[1]);
  cpu->pair_acts[k] = cpu->pair_terms[k];
}

Outcome contact_assemble(Cpu *cpu) {
  cpu->regrouped = false;
  if (cpu->pairs.count) memset(cpu->pair_couples, 0, (size_t)cpu->pairs.count * sizeof *cpu->pair_couples);
  const Accelerator *other = cpu->accelerator;
  if (other && other->moments) return other->moments(cpu->accelerator_self, cpu);
  PairTask *task = cpu->follows && !other ? list_and_assemble : assemble_task;
  if (!noted_terms(cpu) || cpu->model->soft_count) return for_pairs(cpu, task);
  return for_acting_pairs(cpu, task, couple_item);
}

/* ---- blocks ---- */

/* Adds sign times a symmetric 3x3 as the block of nodes i and j. */
static void add_nodes(double *out, int rows, int i, int j, double sign, const double *k) { /* xx yy zz xy xz yz */
  double *c = out + rows * (3 * j) + 3 * i;
  c[0] += sign * k[0];
  c[1] += sign * k[3];
  c[2] += sign * k[4];
  c[rows] += sign * k[3];
  c[rows + 1] += sign * k[1];
  c[rows + 2] += sign * k[5];
  c[2 * rows] += sign * k[4];
  c[2 * rows + 1] += sign * k[5];
  c[2 * rows + 2] += sign * k[2];
}

/* Adds to the blocks of nodes i >= j. */
static void add_diagonal_moments(double *out, const Entry moment[10]) {
  for (int i = 0, e = 0; i < 4; i++)
    for (int j = 0; j <= i; j++, e++) add_nodes(out, 12, i, j, 1, moment[e]);
}

/* Copies the blocks of nodes i > j to j, i. */
static void mirror_diagonal(double *out) {
  for (int j = 0; j < 9; j++)
    for (int i = 3 * (j / 3) + 3; i < 12; i++) out[12 * i + j] = out[12 * j + i];
}

void contact_add_to_body(Cpu *cpu, int body) {
  Affine *gradient = &cpu->work.gradient.body[body];
  double *diagonal = diagonal_of(cpu, body);
  for (int e = cpu->body_pairs.first[body]; e < cpu->body_pairs.first[body + 1]; e++) {
    int pair = cpu->body_pairs.item[e] / 2, side = cpu->body_pairs.item[e] % 2;
    if (!cpu->pair_acts[pair]) continue;
    const Moments *m = pair_moment_sums(pairs_at(&cpu->pairs, pair), &cpu->scene);
    const Vec3 *g = side ? m->gb : m->ga;
    for (int i = 0; i < 4; i++) gradient->n[i] = add(gradient->n[i], g[i]);
    add_diagonal_moments(diagonal, side ? m->bb : m->aa);
  }
  mirror_diagonal(diagonal);
}

/* The trace bounds the stiffness of a strain |E| = 1. */
bool contact_strains_body(const Cpu *cpu, int body, double most) {
  double sum = 0;
  if (projected(cpu->model, body)) return true;
  for (int e = cpu->body_pairs.first[body]; e < cpu->body_pairs.first[body + 1]; e++) {
    int pair = cpu->body_pairs.item[e] / 2, side = cpu->body_pairs.item[e] % 2;
    if (!cpu->pair_acts[pair]) continue;
    const Moments *m = pair_moment_sums(pairs_at(&cpu->pairs, pair), &cpu->scene);
    const Entry *own = side ? m->bb : m->aa; /* nodes 1 1, 2 2, 3 3 */
    for (int i = 0; i < 3; i++) sum += own[2][i] + own[5][i] + own[9][i];
  }
  return !(sum <= most);
}

void contact_block(const Cpu *cpu, const Pair *p, double block[144]) {
  const Model *m = cpu->model;
  const Moments *moments = pair_moment_sums(p, &cpu->scene);
  memset(block, 0, 144 * sizeof(double));
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) add_nodes(block, 12, i, j, -1, moments->ab[4 * i + j]);
  project_block(m, p->a, p->b, block);
}

/* The block between a pair's stiff body and a vertex, both with a weighted sum's weights. */
static void add_strip(Cpu *cpu, int body, const double node[4], int vertex, double weight, const double k[6]) {
  double block[36] = {0};
  for (int i = 0; i < 4; i++) add_nodes(block, 12, i, 0, node[i] * weight, k);
  if (projected(cpu->model, body)) project_columns(&cpu->model->body[body], block, 3);
  system_add_strip(&cpu->system, body, vertex, block);
}

/* body: the stiff side, -1 if there is none or it does not move. Its own block is in the moments. */
static void add_spring(Cpu *cpu, const Spring *s, int body) {
  const double k[6] = {s->stiffness.xx, s->stiffness.yy, s->stiffness.zz,
                       s->stiffness.xy, s->stiffness.xz, s->stiffness.yz};
  for (int j = 0; j < s->count; j++) {
    Vec3 *g = node_at(cpu->model, cpu->work.gradient, s->vertex[j]);
    *g = add_scaled(*g, s->weight[j], s->force);
    if (k[0] + k[1] + k[2] == 0) continue;
    for (int i = 0; i <= j; i++) {
      double block[9] = {0};
      add_nodes(block, 3, 0, 0, s->weight[i] * s->weight[j], k);
      system_add_nodes(&cpu->system, s->vertex[i], s->vertex[j], block);
    }
    if (body >= 0) add_strip(cpu, body, s->body, s->vertex[j], s->weight[j], k);
  }
}

/* ---- the pattern ---- */

static bool couple_springs(Cpu *cpu, const Pair *p) {
  const Spring *spring = pair_springs(p, &cpu->scene);
  int body = pair_stiff_side(p, cpu->model);
  for (int k = 0; k < p->spring.count; k++)
    for (int j = 0; j < spring[k].count; j++) {
      for (int i = 0; i < j; i++)
        if (!system_couple(&cpu->system, spring[k].vertex[i], spring[k].vertex[j])) return false;
      if (body >= 0 && !system_couple(&cpu->system, body, spring[k].vertex[j])) return false;
    }
  return true;
}

/* The solver of several processes visits the bodies that act on those of others again and again. */
static void put_border_last(Cpu *cpu) {
  for (int k = 0; k < cpu->pairs.count; k++) {
    const int *body = cpu->pairs.body[k];
    if (!cpu->pair_couples[k] || is_own(cpu, body[0]) == is_own(cpu, body[1])) continue;
    system_put_last(&cpu->system, body[is_own(cpu, body[1])]);
  }
}

/* Several processes step free bodies alone. */
bool contact_couple(Cpu *cpu) {
  if (cpu->domain) put_border_last(cpu);
  if (model_is_free(cpu->model))
    return system_couple_pairs(&cpu->system, (const int(*)[2])cpu->pairs.body, cpu->pair_couples, cpu->pairs.count);
  for (int k = 0; k < cpu->pairs.count; k++) {
    const int *body = cpu->pairs.body[k];
    if (!cpu->pair_couples[k]) continue;
    bool soft = cpu->model->soft_count && pairs_at(&cpu->pairs, k)->soft;
    if (soft ? !couple_springs(cpu, pairs_at(&cpu->pairs, k)) : !system_couple(&cpu->system, body[0], body[1]))
      return false;
  }
  return true;
}

/* ---- values ---- */

void contact_add_springs(Cpu *cpu) {
  for (int k = 0; cpu->model->soft_count && k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    if (!p->soft || !pair_selected(cpu, k)) continue;
    const Spring *spring = pair_springs(p, &cpu->scene);
    int body = pair_stiff_side(p, cpu->model);
    for (int i = 0; i < p->spring.count; i++) add_spring(cpu, &spring[i], body);
  }
}

bool contact_adds_block(const Cpu *cpu, int k, bool *shared) {
  const int *body = cpu->pairs.body[k];
  *shared = is_linked(cpu->model, body[0]) || is_linked(cpu->model, body[1]);
  return pair_selected(cpu, k) && cpu->pair_acts[k] && takes_part(cpu, body[0]) && takes_part(cpu, body[1]) &&
         !pairs_at(&cpu->pairs, k)->soft;
}

/* The pair of two bodies that move, -1 if there is none. */
static int pair_between(const Cpu *cpu, int a, int b) {
  const Segments *s = &cpu->body_pairs;
  if (s->first[a + 1] - s->first[a] > s->first[b + 1] - s->first[b]) {
    int t = a;
    a = b;
    b = t;
  }
  for (int e = s->first[a]; e < s->first[a + 1]; e++) {
    int k = s->item[e] / 2, side = s->item[e] % 2;
    if (cpu->pairs.body[k][1 - side] == b) return k;
  }
  return -1;
}

/* As contact_block, added in place: blocks of two nodes are symmetric. */
static void add_in_place(Cpu *cpu, const Pair *p, int edge) {
  const Moments *moments = pair_moment_sums(p, &cpu->scene);
  int stride;
  bool rows;
  double *to = system_edge(&cpu->system, edge, p->a, &stride, &rows);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) add_nodes(to, stride, rows ? i : j, rows ? j : i, -1, moments->ab[4 * i + j]);
}

void contact_add_edge(Cpu *cpu, int edge) {
  const System *s = &cpu->system;
  int a = s->body[s->edge[edge][0]], b = s->body[s->edge[edge][1]];
  if (block_is_vertex(cpu->model, a) || block_is_vertex(cpu->model, b)) return;
  int k = pair_between(cpu, a, b);
  bool shared;
  double block[144];
  if (k < 0 || !contact_adds_block(cpu, k, &shared) || shared) return;
  const Pair *p = pairs_at(&cpu->pairs, k);
  if (!projected(cpu->model, a) && !projected(cpu->model, b) && !system_is_condensed(s, a) &&
      !system_is_condensed(s, b)) {
    add_in_place(cpu, p, edge);
    return;
  }
  contact_block(cpu, p, block);
  system_add_edge(&cpu->system, edge, p->a, block);
}

void contact_add_shared(Cpu *cpu) {
  bool shared;
  double block[144];
  for (int k = 0; cpu->model->linkage.linked_count && k < cpu->pairs.count; k++) {
    if (!contact_adds_block(cpu, k, &shared) || !shared) continue;
    const Pair *p = pairs_at(&cpu->pairs, k);
    contact_block(cpu, p, block);
    system_add(&cpu->system, p->a, p->b, block);
  }
}

/* ---- turning ---- */

/* Does pair k have turning terms? Its contacts were fetched. */
static bool turns(const Cpu *cpu, int k) {
  if (!cpu->pair_acts[k] || !pair_selected(cpu, k)) return false;
  return is_exact(cpu, &cpu->islands->island[islands_of_pair(cpu->islands, cpu->pairs.body[k])]);
}

static bool is_stiff(const Cpu *cpu, int body) { return !cpu->model->body[body].soft; }

/* Adds the blocks of a side's nodes with those of another side. */
static void add_sides(const Turning *t, int row_side, int column_side, double block[144]) {
  for (int j = 0; j < 4; j++)
    for (int i = 0; i < 4; i++) turning_add(t, 4 * row_side + i, 4 * column_side + j, block + 12 * (3 * j) + 3 * i, 12);
}

static Turning turning_at(const Cpu *cpu, const Pair *p, int contact) {
  const Affine *q = cpu->work.q.body;
  return contact_turning(p, &cpu->scene, &pair_contacts(p, &cpu->scene)[contact], &q[p->a], &q[p->b]);
}

void contact_add_turning_diagonals(Cpu *cpu) {
  for (int k = 0; k < cpu->pairs.count; k++) {
    if (!turns(cpu, k)) continue;
    const Pair *p = pairs_at(&cpu->pairs, k);
    for (int i = 0; i < p->acting; i++) {
      const Turning t = turning_at(cpu, p, i);
      for (int side = 0; side < 2; side++) {
        int body = side ? p->b : p->a;
        if (is_stiff(cpu, body) && takes_part(cpu, body)) add_sides(&t, side, side, diagonal_of(cpu, body));
      }
    }
  }
}

/* The blocks between two stiff bodies. */
static void add_stiff_turning(Cpu *cpu, const Pair *p) {
  double block[144] = {0};
  if (!takes_part(cpu, p->a) || !takes_part(cpu, p->b)) return;
  for (int i = 0; i < p->acting; i++) {
    const Turning t = turning_at(cpu, p, i);
    add_sides(&t, 0, 1, block);
  }
  project_block(cpu->model, p->a, p->b, block);
  system_add(&cpu->system, p->a, p->b, block);
}

/* The vertices of a contact's soft sides by node; -1 = none, or it does not move. */
static void find_vertices(const Cpu *cpu, const Pair *p, const Contact *c, int vertex[TURNING_NODES]) {
  const Model *m = cpu->model;
  int v[2][3];
  pair_corners(p, &cpu->scene, c, v[0], v[1]);
  for (int n = 0; n < TURNING_NODES; n++) {
    int side = n / 4, body = side ? p->b : p->a, corner = n % 4;
    const double *w = side ? c->wb : c->wa;
    vertex[n] = -1;
    if (is_stiff(cpu, body) || corner == 3 || w[corner] == 0) continue;
    const Soft *soft = &m->soft[m->body[body].soft - 1];
    int block = soft->first + soft->surface_vertex[v[side][corner]];
    if (block_moves(m, block)) vertex[n] = block;
  }
}

/* Two nodes of one vertex have a block and its transpose. */
static void add_vertex_turning(Cpu *cpu, const Turning *t, const int vertex[TURNING_NODES]) {
  for (int j = 0; j < TURNING_NODES; j++)
    for (int i = 0; i <= j; i++) {
      double block[9] = {0};
      if (vertex[i] < 0 || vertex[j] < 0) continue;
      turning_add(t, i, j, block, 3);
      if (i != j && vertex[i] == vertex[j]) turning_add(t, j, i, block, 3);
      system_add_nodes(&cpu->system, vertex[i], vertex[j], block);
    }
}

/* The blocks between a stiff side and the vertices of the other one. */
static void add_strip_turning(Cpu *cpu, const Pair *p, const Turning *t, const int vertex[TURNING_NODES]) {
  int body = pair_stiff_side(p, cpu->model), first = body == p->a ? 0 : 4;
  if (body < 0 || !takes_part(cpu, body)) return;
  for (int n = 0; n < TURNING_NODES; n++) {
    double block[36] = {0};
    if (vertex[n] < 0) continue;
    for (int i = 0; i < 4; i++) turning_add(t, first + i, n, block + 3 * i, 12);
    if (projected(cpu->model, body)) project_columns(&cpu->model->body[body], block, 3);
    system_add_strip(&cpu->system, body, vertex[n], block);
  }
}

static void add_soft_turning(Cpu *cpu, const Pair *p) {
  for (int i = 0; i < p->acting; i++) {
    const Turning t = turning_at(cpu, p, i);
    int vertex[TURNING_NODES];
    find_vertices(cpu, p, &pair_contacts(p, &cpu->scene)[i], vertex);
    add_vertex_turning(cpu, &t, vertex);
    add_strip_turning(cpu, p, &t, vertex);
  }
}

void contact_add_turning(Cpu *cpu) {
  for (int k = 0; k < cpu->pairs.count; k++) {
    if (!turns(cpu, k)) continue;
    const Pair *p = pairs_at(&cpu->pairs, k);
    if (p->soft) add_soft_turning(cpu, p);
    else add_stiff_turning(cpu, p);
  }
}
