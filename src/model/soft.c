/* Soft bodies from their defs: elements, masses, the surface of a solid, hinges of a shell. */
#include "model/soft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

static AbdStatus no_memory(const char *name, AbdError *error) {
  return fault(error, ABD_ERROR_MEMORY, "soft body \"%s\": out of memory", name);
}

static AbdStatus check_indices(const char *name, const uint32_t *index, size_t count, int corners, size_t vertex_count,
                               AbdError *error) {
  const char *what = corners == 4 ? "tet" : corners == 3 ? "triangle" : "edge";
  for (size_t i = 0; i < count; i++)
    for (int k = 0; k < corners; k++) {
      uint32_t v = index[(size_t)corners * i + (size_t)k];
      if (v >= vertex_count)
        return fault(error, ABD_ERROR_MESH, "soft body \"%s\": %s %zu names vertex %u, but there are %zu", name, what,
                     i, v, vertex_count);
      for (int j = 0; j < k; j++)
        if (index[(size_t)corners * i + (size_t)j] == v)
          return fault(error, ABD_ERROR_MESH, "soft body \"%s\": %s %zu names vertex %u twice", name, what, i, v);
    }
  return ABD_OK;
}

static AbdStatus check_place(const AbdSoftDef *d, const char *name, AbdError *error) {
  struct {
    const double *v;
    int n;
    const char *what;
  } part[] = {{d->position, 3, "position"},
              {d->rotation, 4, "rotation"},
              {d->velocity, 3, "velocity"},
              {d->angular_velocity, 3, "angular velocity"},
              {d->force, 3, "force"}};
  for (int i = 0; i < ARRAY_COUNT(part); i++)
    if (model_check_vector(part[i].v, part[i].n, name, part[i].what, error)) return error->status;
  return model_check_rotation(name, d->rotation, error);
}

static AbdStatus check_def(const AbdSoftDef *d, const char *name, AbdError *error) {
  const struct {
    const char *what;
    double value;
  } positive[] = {{"density", d->density}, {"young", d->young}};
  for (int i = 0; i < ARRAY_COUNT(positive); i++)
    if (!isfinite(positive[i].value) || !(positive[i].value > 0))
      return fault(error, ABD_ERROR_ARGUMENT, "soft body \"%s\": %s is %g, expected a number > 0", name,
                   positive[i].what, positive[i].value);
  if (!(d->poisson > -1 && d->poisson < 0.5))
    return fault(error, ABD_ERROR_ARGUMENT, "soft body \"%s\": poisson is %g, expected a number above -1 and below 0.5",
                 name, d->poisson);
  if (!(d->damping >= 0) || !isfinite(d->damping))
    return fault(error, ABD_ERROR_ARGUMENT, "soft body \"%s\": damping is %g, expected a number >= 0", name,
                 d->damping);
  if (!(d->bending >= 0) || !isfinite(d->bending) || !isfinite(d->friction))
    return fault(error, ABD_ERROR_ARGUMENT, "soft body \"%s\": bending is %g, friction %g, expected numbers >= 0", name,
                 d->bending, d->friction);
  if ((unsigned)d->model > ABD_SOFT_COROTATED)
    return fault(error, ABD_ERROR_ARGUMENT, "soft body \"%s\": model %d is unknown", name, (int)d->model);
  if ((d->tet_count > 0) + (d->triangle_count > 0) + (d->edge_count > 0) != 1)
    return fault(error, ABD_ERROR_MESH,
                 "soft body \"%s\": has %zu tets, %zu triangles and %zu edges, expected one of the three", name,
                 d->tet_count, d->triangle_count, d->edge_count);
  if (!d->tet_count && !(d->thickness > 0 && isfinite(d->thickness)))
    return fault(error, ABD_ERROR_ARGUMENT, "soft body \"%s\": thickness is %g, expected a number > 0", name,
                 d->thickness);
  if (d->vertex_count > INT32_MAX / 16 || d->tet_count > INT32_MAX / 16 || d->triangle_count > INT32_MAX / 16 ||
      d->edge_count > INT32_MAX / 16)
    return fault(error, ABD_ERROR_MESH, "soft body \"%s\": too large", name);
  for (size_t i = 0; i < 3 * d->vertex_count; i++)
    if (!(fabs(d->vertex[i]) < 1e30))
      return fault(error, ABD_ERROR_MESH,
                   "soft body \"%s\": coordinate %zu of vertex %zu is %g, expected a finite number below 1e30", name,
                   i % 3, i / 3, d->vertex[i]);
  if (check_indices(name, d->tet, d->tet_count, 4, d->vertex_count, error) ||
      check_indices(name, d->triangle, d->triangle_count, 3, d->vertex_count, error) ||
      check_indices(name, d->edge, d->edge_count, 2, d->vertex_count, error))
    return error->status;
  if (model_check_thickness(name, d->contact_thickness, error)) return error->status;
  if (model_check_drag(name, d->gravity_scale, d->drag, 0, error)) return error->status;
  return check_place(d, name, error);
}

static bool allocate(Soft *s, const AbdSoftDef *d) {
  size_t n = d->vertex_count;
  s->vertex_count = (int)n;
  s->rest = mem_alloc(n, sizeof(Vec3));
  s->mass = mem_zeroed(n, sizeof(double));
  s->attached = mem_alloc(n, sizeof(int));
  s->tet = mem_alloc(d->tet_count, sizeof(SoftTet));
  s->shell = mem_alloc(d->triangle_count, sizeof(SoftTriangle));
  s->piece = mem_alloc(d->edge_count, sizeof(SoftPiece));
  s->edge = mem_alloc(2 * d->edge_count, sizeof(uint32_t));
  s->tet_index = mem_alloc(4 * d->tet_count, sizeof(uint32_t));
  return s->piece && s->edge && s->rest && s->mass && s->attached && s->tet && s->shell && s->tet_index;
}

static AbdStatus make_tets(Soft *s, const AbdSoftDef *d, AbdError *error) {
  for (size_t i = 0; i < d->tet_count; i++) {
    SoftTet *t = &s->tet[i];
    Vec3 x[4];
    for (int k = 0; k < 4; k++)
      x[k] = s->rest[t->vertex[k] = (int)(s->tet_index[4 * i + (size_t)k] = d->tet[4 * i + (size_t)k])];
    double volume = tet_volume6(x) / 6, size = norm(sub(x[1], x[0])) * norm(sub(x[2], x[0])) * norm(sub(x[3], x[0]));
    if (!(fabs(volume) > 1e-9 * size))
      return fault(error, ABD_ERROR_MESH, "soft body \"%s\": tet %zu is flat: its volume is %g", s->name, i, volume);
    if (!tet_rest(x, &t->rest))
      return fault(error, ABD_ERROR_MESH, "soft body \"%s\": tet %zu is inside out: its volume is %g", s->name, i,
                   volume);
    for (int k = 0; k < 4; k++) s->mass[t->vertex[k]] += 0.25 * d->density * volume;
  }
  s->tet_count = (int)d->tet_count;
  return ABD_OK;
}

static AbdStatus make_shell(Soft *s, const AbdSoftDef *d, AbdError *error) {
  for (size_t i = 0; i < d->triangle_count; i++) {
    SoftTriangle *t = &s->shell[i];
    Vec3 x[3];
    for (int k = 0; k < 3; k++) x[k] = s->rest[t->vertex[k] = (int)d->triangle[3 * i + (size_t)k]];
    Vec3 a = sub(x[1], x[0]), b = sub(x[2], x[0]);
    bool area = norm(cross(a, b)) > 1e-9 * norm(a) * norm(b);
    if (!area || !membrane_rest(x, d->thickness, &t->rest))
      return fault(error, ABD_ERROR_MESH, "soft body \"%s\": triangle %zu has no area", s->name, i);
    for (int k = 0; k < 3; k++) s->mass[t->vertex[k]] += d->density * t->rest.volume / 3;
  }
  s->triangle_count = (int)d->triangle_count;
  return ABD_OK;
}

static AbdStatus make_rod(Soft *s, const AbdSoftDef *d, AbdError *error) {
  double radius = 0.5 * d->thickness, section = rod_stretch_stiffness(1, radius);
  s->stretch = rod_stretch_stiffness(d->young, radius);
  s->flexure = d->bending * rod_bending_stiffness(d->young, radius);
  for (size_t i = 0; i < d->edge_count; i++) {
    SoftPiece *p = &s->piece[i];
    for (int k = 0; k < 2; k++) p->vertex[k] = (int)(s->edge[2 * i + (size_t)k] = d->edge[2 * i + (size_t)k]);
    p->length = norm(sub(s->rest[p->vertex[1]], s->rest[p->vertex[0]]));
    if (!(p->length > 0)) return fault(error, ABD_ERROR_MESH, "soft body \"%s\": edge %zu has no length", s->name, i);
    for (int k = 0; k < 2; k++) s->mass[p->vertex[k]] += 0.5 * d->density * section * p->length;
  }
  s->piece_count = (int)d->edge_count;
  return ABD_OK;
}

/* Where just two pieces meet the rod bends. */
static bool find_bends(Soft *s) {
  int(*piece)[2] = mem_alloc((size_t)s->vertex_count, sizeof *piece),
  *count = mem_zeroed((size_t)s->vertex_count, sizeof *count);
  s->bend = mem_alloc((size_t)s->vertex_count, sizeof(SoftBend));
  bool ok = piece && count && s->bend;
  for (int i = 0; ok && i < 2 * s->piece_count; i++) {
    int v = s->piece[i / 2].vertex[i % 2];
    if (count[v] < 2) piece[v][count[v]] = i / 2;
    count[v]++;
  }
  for (int v = 0; ok && s->flexure > 0 && v < s->vertex_count; v++) {
    if (count[v] != 2) continue;
    SoftBend *b = &s->bend[s->bend_count++];
    for (int k = 0; k < 2; k++) {
      const SoftPiece *p = &s->piece[piece[v][k]];
      b->vertex[2 * k] = p->vertex[p->vertex[0] == v];
      b->rest.l[k] = p->length;
    }
    b->vertex[1] = v;
  }
  mem_free(piece);
  mem_free(count);
  return ok;
}

/* A face of a tet or an edge of a triangle, by its corners in ascending order. */
typedef struct Facet {
  uint32_t key[3], corner[3], opposite;
} Facet;

static int compare_facets(const void *x, const void *y) {
  return memcmp(((const Facet *)x)->key, ((const Facet *)y)->key, sizeof((Facet *)0)->key);
}

static void sort_key(Facet *f, int n) {
  memset(f->key, 0, sizeof f->key);
  memcpy(f->key, f->corner, (size_t)n * sizeof(uint32_t));
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0 && f->key[j] < f->key[j - 1]; j--) {
      uint32_t t = f->key[j];
      f->key[j] = f->key[j - 1];
      f->key[j - 1] = t;
    }
}

/* Faces that only one tet has, turned outward. */
static bool find_surface(Soft *s) {
  static const int face[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
  size_t count = 4 * (size_t)s->tet_count;
  Facet *f = mem_alloc(count, sizeof *f);
  s->triangle = mem_alloc(3 * count, sizeof(uint32_t));
  if (!f || !s->triangle) {
    mem_free(f);
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    for (int k = 0; k < 3; k++) f[i].corner[k] = (uint32_t)s->tet[i / 4].vertex[face[i % 4][k]];
    sort_key(&f[i], 3);
  }
  qsort(f, count, sizeof *f, compare_facets);
  for (size_t i = 0; i < count;) {
    size_t same = 1;
    while (i + same < count && compare_facets(&f[i], &f[i + same]) == 0) same++;
    if (same == 1) memcpy(s->triangle + 3 * (size_t)s->surface_count++, f[i].corner, sizeof f[i].corner);
    i += same;
  }
  mem_free(f);
  return true;
}

/* Edges of two triangles bend. */
static bool find_hinges(Soft *s) {
  size_t count = 3 * (size_t)s->triangle_count;
  const AbdSoftDef *d = &s->def;
  double rigidity = d->bending * bending_rigidity(d->young, d->poisson, d->thickness);
  Facet *f = mem_alloc(count, sizeof *f);
  s->hinge = mem_alloc(count, sizeof(SoftHinge));
  if (!f || !s->hinge) {
    mem_free(f);
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    const SoftTriangle *t = &s->shell[i / 3];
    f[i].corner[0] = (uint32_t)t->vertex[i % 3];
    f[i].corner[1] = (uint32_t)t->vertex[(i + 1) % 3];
    f[i].opposite = (uint32_t)t->vertex[(i + 2) % 3];
    sort_key(&f[i], 2);
  }
  qsort(f, count, sizeof *f, compare_facets);
  for (size_t i = 0; i + 1 < count; i++) {
    if (compare_facets(&f[i], &f[i + 1]) != 0 || rigidity == 0) continue;
    SoftHinge *h = &s->hinge[s->hinge_count++];
    const int vertex[4] = {(int)f[i].corner[0], (int)f[i].corner[1], (int)f[i].opposite, (int)f[i + 1].opposite};
    Vec3 x[4];
    for (int k = 0; k < 4; k++) x[k] = s->rest[h->vertex[k] = vertex[k]];
    h->rest = bending_rest(x, rigidity, false);
  }
  mem_free(f);
  return true;
}

static bool copy_shell(Soft *s) {
  s->surface_count = s->triangle_count;
  s->triangle = mem_alloc(3 * (size_t)s->triangle_count, sizeof(uint32_t));
  for (int i = 0; s->triangle && i < s->triangle_count; i++)
    for (int k = 0; k < 3; k++) s->triangle[3 * i + k] = (uint32_t)s->shell[i].vertex[k];
  return s->triangle != NULL;
}

/* A rod has no triangles: all of its vertices collide. */
static bool copy_rod(Soft *s) {
  s->triangle = mem_alloc(0, sizeof(uint32_t));
  return s->triangle && find_bends(s);
}

/* The colliding mesh: the surface's vertices alone, or those of a rod, renumbered, in the world at the start. */
static AbdStatus make_mesh(Model *m, Soft *s, AbdError *error) {
  int *number = mem_alloc((size_t)s->vertex_count, sizeof(int)), count = 0;
  uint32_t *triangle = mem_alloc(3 * (size_t)s->surface_count, sizeof(uint32_t));
  s->surface_vertex = mem_alloc((size_t)s->vertex_count, sizeof(int));
  Vec3 *vertex = mem_alloc((size_t)s->vertex_count, sizeof(Vec3));
  AbdStatus status = ABD_ERROR_MEMORY;
  if (number && triangle && s->surface_vertex && vertex) {
    for (int v = 0; v < s->vertex_count; v++) number[v] = -1;
    for (int i = 0; i < 3 * s->surface_count; i++) {
      int v = (int)s->triangle[i];
      if (number[v] < 0) {
        vertex[count] = soft_place(s, v);
        s->surface_vertex[count] = v;
        number[v] = count++;
      }
      triangle[i] = (uint32_t)number[v];
    }
    for (int v = 0; s->piece_count && v < s->vertex_count; v++)
      vertex[v] = soft_place(s, v), s->surface_vertex[v] = v, count++;
    AbdMeshDef def = {.name = s->name,
                      .vertex = &vertex[0].x,
                      .vertex_count = (size_t)count,
                      .triangle = triangle,
                      .triangle_count = (size_t)s->surface_count,
                      .edge = s->edge,
                      .edge_count = (size_t)s->piece_count,
                      .thickness = 1,
                      .keep_frame = true};
    status = model_add_mesh(m, &def, error);
  } else {
    no_memory(s->name, error);
  }
  mem_free(number);
  mem_free(triangle);
  mem_free(vertex);
  return status;
}

static AbdStatus compile(Model *m, Soft *s, const AbdSoftDef *d, AbdError *error) {
  if (!allocate(s, d)) return no_memory(s->name, error);
  s->pose = model_pose_of(vec3_from(d->position), d->rotation);
  for (int v = 0; v < s->vertex_count; v++) {
    s->attached[v] = SOFT_FREE;
    s->rest[v] = vec3_from(d->vertex + 3 * (size_t)v);
  }
  if (make_tets(s, d, error) || make_shell(s, d, error) || make_rod(s, d, error)) return error->status;
  for (int v = 0; v < s->vertex_count; v++) {
    if (!(s->mass[v] > 0))
      return fault(error, ABD_ERROR_MESH, "soft body \"%s\": vertex %d belongs to no element", s->name, v);
    s->total_mass += s->mass[v];
  }
  bool ok = s->tet_count ? find_surface(s) : s->piece_count ? copy_rod(s) : copy_shell(s) && find_hinges(s);
  if (!ok) return no_memory(s->name, error);
  return make_mesh(m, s, error);
}

AbdStatus model_add_soft(Model *m, const AbdSoftDef *d, AbdError *error) {
  char number[32];
  snprintf(number, sizeof number, "body %u", m->last_body + 1);
  const char *name = d->name && d->name[0] ? d->name : number;
  if (check_def(d, name, error)) return error->status;
  if (!mem_reserve((void **)&m->soft, &m->soft_capacity, m->soft_count + 1, sizeof(Soft)) ||
      !mem_reserve((void **)&m->body, &m->body_capacity, m->block_count + 1, sizeof(Body)))
    return no_memory(name, error);
  Soft *s = &m->soft[m->soft_count];
  Body *b = &m->body[m->block_count];
  memset(s, 0, sizeof *s);
  memset(b, 0, sizeof *b);
  s->def = *d;
  s->def.vertex = NULL;
  s->def.tet = s->def.triangle = s->def.edge = NULL;
  s->name = mem_string(name);
  b->name = mem_string(name);
  AbdStatus status = s->name && b->name ? compile(m, s, d, error) : no_memory(name, error);
  if (status != ABD_OK) {
    soft_destroy(s);
    mem_free(b->name);
    return status;
  }
  s->body = m->block_count;
  b->motion = ABD_MOTION_STATIC;
  b->soft = ++m->soft_count;
  b->mesh = m->mesh_count - 1;
  b->density = d->density;
  b->mass = s->total_mass;
  b->friction = d->friction;
  b->group = d->group;
  b->thickness = d->contact_thickness;
  b->gravity_scale = d->gravity_scale;
  b->drag = d->drag;
  b->start = affine(vec3(0, 0, 0), mat3_identity());
  b->force = vec3_from(d->force);
  b->id = ++m->last_body;
  m->body_count = ++m->block_count;
  return ABD_OK;
}

/* A vertex that nothing holds yet. */
static AbdStatus check_free(const Soft *s, size_t vertex, AbdError *error) {
  if (vertex >= (size_t)s->vertex_count)
    return fault(error, ABD_ERROR_ARGUMENT, "soft body \"%s\": vertex %zu does not exist (there are %d)", s->name,
                 vertex, s->vertex_count);
  if (s->attached[vertex] == SOFT_FREE) return ABD_OK;
  return fault(error, ABD_ERROR_ARGUMENT, "soft body \"%s\": vertex %zu is %s already", s->name, vertex,
               s->attached[vertex] == SOFT_SCRIPTED ? "scripted" : "attached");
}

AbdStatus model_script(Model *m, int soft, size_t vertex, AbdError *error) {
  Soft *s = &m->soft[soft];
  if (check_free(s, vertex, error)) return error->status;
  s->attached[vertex] = SOFT_SCRIPTED;
  return ABD_OK;
}

AbdStatus model_attach(Model *m, int soft, size_t vertex, int body, AbdError *error) {
  Soft *s = &m->soft[soft];
  if (check_free(s, vertex, error)) return error->status;
  if (body >= 0 && m->body[body].soft)
    return fault(error, ABD_ERROR_ARGUMENT, "soft body \"%s\": body \"%s\" is soft too: attach it to a stiff one",
                 s->name, m->body[body].name);
  bool moves = body >= 0 && m->body[body].motion != ABD_MOTION_STATIC;
  if (moves &&
      !mem_reserve((void **)&m->attachment, &m->attachment_capacity, m->attachment_count + 1, sizeof(Attachment)))
    return no_memory(s->name, error);
  s->attached[vertex] = body < 0 ? SOFT_PINNED : body;
  if (!moves) return ABD_OK;
  m->attachment[m->attachment_count++] = (Attachment){soft, (int)vertex, body};
  return ABD_OK;
}

Vec3 soft_place(const Soft *s, int vertex) { return affine_point(&s->pose, s->rest[vertex]); }

Vec3 soft_center(const Soft *s) {
  Vec3 c = vec3(0, 0, 0);
  for (int v = 0; v < s->vertex_count; v++) c = add_scaled(c, s->mass[v] / s->total_mass, soft_place(s, v));
  return c;
}

Vec3 soft_velocity(const Soft *s, int vertex, Vec3 center) {
  Vec3 spin = vec3_from(s->def.angular_velocity);
  return add(vec3_from(s->def.velocity), cross(spin, sub(soft_place(s, vertex), center)));
}

static AbdMotion vertex_motion(const Model *m, int attached) {
  if (attached == SOFT_PINNED || (attached >= 0 && m->body[attached].motion == ABD_MOTION_STATIC))
    return ABD_MOTION_STATIC;
  return attached == SOFT_SCRIPTED ? ABD_MOTION_KINEMATIC : ABD_MOTION_DYNAMIC;
}

AbdStatus model_place_soft(Model *m, AbdError *error) {
  size_t count = 0;
  m->body_count = m->block_count;
  for (int k = 0; k < m->soft_count; k++) count += (size_t)m->soft[k].vertex_count;
  m->vertex_soft = mem_alloc(count, sizeof(int));
  m->vertex_motion = mem_alloc(count, 1);
  if (!m->vertex_soft || !m->vertex_motion)
    return fault(error, ABD_ERROR_MEMORY, "out of memory while starting a world of %zu soft vertices", count);
  for (int k = 0; k < m->soft_count; k++) {
    Soft *s = &m->soft[k];
    s->first = m->block_count;
    s->vertex = m->block_count - m->body_count;
    s->still = true;
    for (int v = 0; v < s->vertex_count; v++) {
      m->vertex_soft[s->vertex + v] = k;
      AbdMotion motion = vertex_motion(m, s->attached[v]);
      m->vertex_motion[s->vertex + v] = (unsigned char)motion;
      s->still &= motion == ABD_MOTION_STATIC;
    }
    m->block_count += s->vertex_count;
  }
  return ABD_OK;
}

void soft_destroy(Soft *s) {
  void *array[] = {s->name, s->rest, s->mass,      s->tet,      s->shell,          s->hinge,   s->piece,
                   s->bend, s->edge, s->tet_index, s->triangle, s->surface_vertex, s->attached};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  memset(s, 0, sizeof *s);
}
