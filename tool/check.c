/* `abd check`: names every problem of meshes and scenes and a remedy. Problems prevent a scene from running or change
 * its meaning; remarks do not affect the exit code. Tested by tests/cli/look.sh. */
#include "args.h"
#include "findings.h"
#include "slow.h"
#include "trouble.h"
#include "volume.h"

#include <abd/record.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const Command command = {
    "check",
    "check SCENE.json|ROBOT.urdf|ROBOT.xml|MESH... [--mesh-dir DIR] [--set KEY=VALUE] [--fix OUT.obj] [--quiet]",
    "Names every problem of each scene or mesh: open, non-manifold or inconsistently oriented surfaces,\n"
    "flipped ones, repeated triangles, duplicate vertices, surfaces that cross themselves,\n"
    "bodies that cross each other at the start: which bodies, which triangles, where, with a remedy;\n"
    "impossible joints: anchors apart, no axis, unknown bodies, limits that exclude the start, loops that\n"
    "cannot close; of meshes of tetrahedra (.msh .vtk .mesh) slivers, inverted, flat, repeated and overlapping ones.\n"
    "--fix writes one mesh with its vertices welded, its triangles facing the same side and none of them repeated.",
    "Exit codes: 0 no problem; 1 problems found; 2 bad usage, or a file that cannot be read; 4 memory.",
};

enum { MOST_PAIRS = 20 };

static int fail(int code, const char *sentence) {
  fprintf(stderr, "abd check: %s\n", sentence);
  return code;
}

/* ---- One mesh ---- */

/* "(x, y, z)" of a vertex in the coordinates of the file. */
static const char *place(const AbdMeshDef *mesh, const AbdMeshView *view, uint32_t v, char text[96]) {
  double x[3];
  for (int k = 0; k < 3; k++) {
    const double *X = mesh->vertex + 3 * v;
    x[k] = view ? view->origin[k] + view->axes[k] * X[0] + view->axes[3 + k] * X[1] + view->axes[6 + k] * X[2] : X[k];
  }
  snprintf(text, 96, "(%.6g, %.6g, %.6g)", x[0], x[1], x[2]);
  return text;
}

typedef struct MeshUse {
  const char *name;        /* prefix of messages, "mesh 'x': " or "" */
  const AbdMeshView *view; /* NULL for a bare mesh file */
  bool solid_expected;     /* a dynamic body without thickness or a bare file: an open surface is a problem */
  bool solid;              /* the open surface has an inside all the same */
} MeshUse;

static void report_edges(Report *report, const MeshUse *use, const AbdMeshDef *mesh, const AbdFindings *t) {
  char a[96], b[96];
  const AbdFinding *f = &t->open_edge;
  const char *open =
      use->solid
          ? "it counts as a solid all the same; close the hole%s, or weld vertices"
          : "it has no inside, so it counts as a thin shell; close the hole%s, weld vertices, or give a thickness";
  if (f->count && use->solid_expected) {
    char advice[192];
    snprintf(advice, sizeof advice, open, plural(f->count));
    problem(report, "%sopen: %zu edge%s of one triangle only, the first of triangle %u from %s to %s; %s", use->name,
            f->count, plural(f->count), f->triangle, place(mesh, use->view, f->vertex[0], a),
            place(mesh, use->view, f->vertex[1], b), advice);
  } else if (f->count) {
    bool sheet = use->view && use->view->thickness > 0;
    remark(report, "%sopen: %zu edge%s of one triangle only; fine for %s", use->name, f->count, plural(f->count),
           sheet ? "a sheet with a thickness" : "a body that does not move");
  }
  f = &t->many_edge;
  if (f->count)
    problem(report,
            "%snon-manifold: %zu edge%s of three or more triangles, the first of triangle %u from %s to %s; "
            "split the surface there",
            use->name, f->count, plural(f->count), f->triangle, place(mesh, use->view, f->vertex[0], a),
            place(mesh, use->view, f->vertex[1], b));
  f = &t->against_edge;
  if (f->count)
    problem(report,
            "%sinconsistent orientation: %zu edge%s whose triangles face opposite sides, the first of triangle %u "
            "from %s to %s; reverse the flipped triangles (swap two of their corners)",
            use->name, f->count, plural(f->count), f->triangle, place(mesh, use->view, f->vertex[0], a),
            place(mesh, use->view, f->vertex[1], b));
}

static void report_triangles(Report *report, const MeshUse *use, const AbdMeshDef *mesh, const AbdFindings *t) {
  char a[96];
  if (t->closed && t->volume < 0)
    problem(report,
            "%sflipped: closed, but its triangles face inward (volume %.6g); reverse the order of every triangle's "
            "corners",
            use->name, t->volume);
  if (t->closed && t->volume == 0) problem(report, "%sno volume: closed, but flat", use->name);
  if (t->degenerate.count)
    remark(report, "%s%zu triangle%s without area, the first is triangle %u at %s; %s as edges and weigh%s nothing",
           use->name, t->degenerate.count, plural(t->degenerate.count), t->degenerate.triangle,
           place(mesh, use->view, t->degenerate.vertex[0], a),
           t->degenerate.count == 1 ? "it collides" : "they collide", t->degenerate.count == 1 ? "s" : "");
  if (t->repeated.count)
    problem(report, "%srepeated: %zu triangle%s with the corners of another, the first is triangle %u at %s; remove %s",
            use->name, t->repeated.count, plural(t->repeated.count), t->repeated.triangle,
            place(mesh, use->view, t->repeated.vertex[0], a), t->repeated.count == 1 ? "it" : "them");
  if (t->twin_vertex.count)
    problem(report, "%sduplicate vertices: %zu at the place of another, the first are %u and %u at %s; weld them",
            use->name, t->twin_vertex.count, t->twin_vertex.vertex[0], t->twin_vertex.vertex[1],
            place(mesh, use->view, t->twin_vertex.vertex[0], a));
}

/* False if memory runs out. */
static bool report_self_crossings(Report *report, const MeshUse *use, const AbdMeshDef *mesh, const AbdWorld *world,
                                  AbdMeshId id) {
  uint32_t pair[MOST_PAIRS][2];
  size_t count = abd_mesh_self_crossings(world, id, pair, MOST_PAIRS);
  if (!count) return true;
  if (count == SIZE_MAX) return false;
  problem(report,
          "%sself-crossing: %zu pair%s of triangles of this surface share points; separate or unite the parts. "
          "A body is not tested against itself, so it will run, but its mass may be wrong",
          use->name, count, plural(count));
  for (size_t k = 0; k < count && k < MOST_PAIRS; k++) {
    char a[96] = "an edge";
    if (pair[k][0] < mesh->triangle_count) place(mesh, use->view, mesh->triangle[3 * pair[k][0]], a);
    remark(report, "  triangles %u and %u, near %s", pair[k][0], pair[k][1], a);
  }
  return true;
}

static int check_mesh(Report *report, const MeshUse *use, const AbdMeshDef *mesh) {
  AbdFindings topology;
  if (abd_mesh_check(mesh, &topology) != ABD_OK) return fail(EXIT_FAILED, "out of memory");
  report_edges(report, use, mesh, &topology);
  report_triangles(report, use, mesh, &topology);
  remark(report, "%s%zu %s, %zu triangle%s, %zu piece%s, %s", use->name, mesh->vertex_count,
         vertices(mesh->vertex_count), mesh->triangle_count, plural(mesh->triangle_count), topology.piece_count,
         plural(topology.piece_count), topology.closed ? "closed" : "not a closed surface");
  return EXIT_GOOD;
}

/* ---- A mesh file ---- */

static void report_volume(const Report *report, const char *name, const AbdMeshView *view) {
  char text[VOLUME_TEXT];
  if (volume_text(view, text)) remark(report, "%s%s", name, text);
}

int check_skin(Report *report, const AbdSurface *data, bool open_is_wrong) {
  AbdWorldDef world_def = abd_default_world_def();
  AbdMeshDef def = abd_surface_def(data, report->file);
  MeshUse use = {.name = "", .solid_expected = open_is_wrong};
  AbdMeshView view = {.name = NULL};
  AbdError error;
  AbdMeshId id;
  AbdWorld *world = abd_world_create(&world_def, &error);
  if (!world) return fail(EXIT_FAILED, error.text);
  bool added = abd_world_add_mesh(world, &def, &id) == ABD_OK && abd_mesh_view(world, id, &view) == ABD_OK;
  use.solid = view.source != ABD_VOLUME_SHEET;
  int code = check_mesh(report, &use, &def);
  if (added) report_volume(report, "", &view);
  else problem(report, "%s", abd_world_error(world));
  if (code == EXIT_GOOD && added && !report_self_crossings(report, &use, &def, world, id))
    code = fail(EXIT_FAILED, "out of memory");
  abd_world_destroy(world);
  return code;
}

/* Writes the repaired mesh and says what was changed. */
static int fix_mesh(const Report *report, AbdSurface *data, const char *out) {
  AbdSurfaceFix fix;
  AbdError error;
  if (abd_surface_fix(data, &fix) != ABD_OK) return fail(EXIT_FAILED, "out of memory");
  if (!data->triangle_count && !data->edge_count) return fail(EXIT_FOUND, "--fix: no triangle is left");
  if (abd_surface_write(data, out, &error) != ABD_OK) return fail(EXIT_BAD_INPUT, error.text);
  remark(report,
         "%s: %zu %s and %zu triangle%s; removed %zu repeated triangle%s and %zu unused %s, reversed %zu triangle%s%s",
         out, data->vertex_count, vertices(data->vertex_count), data->triangle_count, plural(data->triangle_count),
         fix.repeated, plural(fix.repeated), fix.unused, vertices(fix.unused), fix.flipped, plural(fix.flipped),
         fix.turned ? " and then all, which faced inward" : "");
  return EXIT_GOOD;
}

/* Any other reason why abd run refuses the mesh. */
static int check_start_alone(Report *report) {
  AbdError error;
  AbdScene *scene = abd_scene_load(&report->file, 1, NULL, &error);
  AbdWorld *world = scene ? abd_scene_build(scene, 1, &error) : NULL;
  AbdStatus status = world ? abd_world_start(world) : error.status;
  if (status != ABD_OK && status != ABD_ERROR_MEMORY)
    problem(report, "%s", world ? abd_world_error(world) : error.text);
  abd_world_destroy(world);
  abd_scene_destroy(scene);
  return status == ABD_ERROR_MEMORY ? fail(EXIT_FAILED, "out of memory") : EXIT_GOOD;
}

static int check_mesh_file(Report *report, const char *fixed) {
  AbdSurface data;
  AbdError error;
  if (abd_surface_load(report->file, &data, &error) != ABD_OK) return fail(EXIT_BAD_INPUT, error.text);
  if (data.dropped_count)
    remark(report, "%zu triangle%s with a corner twice; left out", data.dropped_count, plural(data.dropped_count));
  if (data.welded_count && data.weld_tolerance > 0)
    remark(report, "duplicate vertices: %zu merged with others at most %g apart, which joins the surface there",
           data.welded_count, data.weld_tolerance);
  else if (data.welded_count)
    remark(report, "duplicate vertices: %zu merged with others at the same place, which joins the surface there",
           data.welded_count);
  if (data.unused_count)
    remark(report, "%zu %s that no triangle and no edge uses, the first at (%g, %g, %g); left out", data.unused_count,
           vertices(data.unused_count), data.unused[0], data.unused[1], data.unused[2]);
  int code = check_skin(report, &data, true);
  if (code == EXIT_GOOD && !report->problems) code = check_start_alone(report);
  if (fixed && (code == EXIT_GOOD || code == EXIT_FOUND)) {
    int written = fix_mesh(report, &data, fixed);
    code = written > code ? written : code;
  }
  abd_surface_free(&data);
  return code;
}

/* ---- A scene ---- */

static void check_scene_meshes(Report *report, const AbdWorld *world, int *code) {
  for (uint32_t m = 1; m <= abd_world_mesh_count(world) && *code == EXIT_GOOD; m++) {
    AbdMeshView view;
    char name[160];
    bool moves = false, soft = false;
    if (abd_mesh_view(world, (AbdMeshId){m}, &view) != ABD_OK || view.half_space) continue;
    for (uint32_t b = 1; b <= abd_world_body_count(world); b++) {
      AbdBodyView body;
      if (abd_body_view(world, (AbdBodyId){b}, &body) != ABD_OK || body.mesh.id != m) continue;
      moves |= body.motion == ABD_MOTION_DYNAMIC;
      soft |= abd_body_is_soft(world, (AbdBodyId){b});
    }
    if (soft) continue; /* its surface may be a sheet; it is tested against itself below */
    snprintf(name, sizeof name, "mesh '%.120s': ", view.name ? view.name : "?");
    MeshUse use = {name, &view, moves && view.thickness == 0, view.source != ABD_VOLUME_SHEET};
    AbdMeshDef shape = abd_default_mesh_def();
    shape.vertex = view.vertex, shape.vertex_count = view.vertex_count;
    shape.triangle = view.triangle, shape.triangle_count = view.triangle_count;
    *code = check_mesh(report, &use, &shape);
    if (moves) report_volume(report, name, &view);
    if (*code == EXIT_GOOD && !report_self_crossings(report, &use, &shape, world, (AbdMeshId){m}))
      *code = fail(EXIT_FAILED, "out of memory");
  }
}

/* "triangle 3", or "an edge" for a wire. */
static const char *element_text(uint32_t triangle, char text[24]) {
  if (triangle == UINT32_MAX) snprintf(text, 24, "an edge");
  else snprintf(text, 24, "triangle %u", triangle);
  return text;
}

static int check_start(Report *report, const AbdWorld *world) {
  AbdCrossing crossing[MOST_PAIRS];
  double *nodes = abd_world_nodes_new(world);
  if (!nodes) return fail(EXIT_FAILED, "out of memory");
  size_t count = abd_world_find_crossings(world, nodes, crossing, MOST_PAIRS);
  abd_nodes_free(nodes);
  if (count == SIZE_MAX) return fail(EXIT_FAILED, "out of memory");
  for (size_t k = 0; k < count && k < MOST_PAIRS; k++) {
    const AbdCrossing *c = &crossing[k];
    char a[24], b[24];
    if (c->body_a.id == c->body_b.id)
      problem(report,
              "body '%s' (%u) touches or crosses itself at the start: %s and %s near (%.6g, %.6g, %.6g);"
              " repair its mesh, or let it pass through itself with \"self_contact\": false",
              trouble_body_name(world, c->body_a), c->body_a.id, element_text(c->triangle_a, a),
              element_text(c->triangle_b, b), c->point[0], c->point[1], c->point[2]);
    else
      problem(report,
              "bodies '%s' (%u) and '%s' (%u) touch or cross at the start: %s and %s near (%.6g, %.6g, %.6g);"
              " move one of them, exclude the pair, or join it: joined bodies do not collide",
              trouble_body_name(world, c->body_a), c->body_a.id, trouble_body_name(world, c->body_b), c->body_b.id,
              element_text(c->triangle_a, a), element_text(c->triangle_b, b), c->point[0], c->point[1], c->point[2]);
  }
  if (count > MOST_PAIRS) remark(report, "and %zu more pairs that cross", count - MOST_PAIRS);
  report->problems += count > MOST_PAIRS ? (int)(count - MOST_PAIRS) : 0;
  return EXIT_GOOD;
}

/* ---- Joints ---- */

/* Gears couple coordinates: each is factor times that of its leader. */
typedef struct Train {
  uint32_t *leader;
  double *factor;
  size_t count;
} Train;

static void couple(Train *train, uint32_t a, uint32_t b, double ratio) {
  uint32_t old = train->leader[b], now = train->leader[a];
  double change = ratio * train->factor[a] / train->factor[b];
  for (size_t k = 1; k <= train->count; k++)
    if (train->leader[k] == old) train->leader[k] = now, train->factor[k] *= change;
}

static void check_gear(Report *report, const AbdWorld *world, Train *train, const AbdJointDef *gear) {
  AbdJointDef a, b;
  uint32_t i = gear->joint_a.id, j = gear->joint_b.id;
  if (abd_joint_def(world, gear->joint_a, &a) != ABD_OK || abd_joint_def(world, gear->joint_b, &b) != ABD_OK) return;
  if (train->leader[i] != train->leader[j]) {
    couple(train, i, j, gear->ratio);
    return;
  }
  double others = train->factor[j] / train->factor[i];
  if (fabs(others - gear->ratio) <= 1e-9 * fabs(gear->ratio)) {
    remark(report, "gear '%s' follows from others: it changes nothing", gear->name ? gear->name : "?");
    return;
  }
  problem(report,
          "gear '%s' closes a loop that cannot turn: through the other gears '%s' moves %.6g times as far as '%s', "
          "through this one %.6g times; make the ratios fit or leave one gear out",
          gear->name ? gear->name : "?", b.name ? b.name : "?", others, a.name ? a.name : "?", gear->ratio);
}

static int check_gears(Report *report, const AbdWorld *world) {
  Train train = {.count = abd_world_joint_count(world)};
  train.leader = malloc((train.count + 1) * sizeof *train.leader);
  train.factor = malloc((train.count + 1) * sizeof *train.factor);
  bool good = train.leader && train.factor;
  for (uint32_t k = 0; good && k <= train.count; k++) train.leader[k] = k, train.factor[k] = 1;
  for (uint32_t k = 1; good && k <= train.count; k++) {
    AbdJointDef def;
    if (abd_joint_def(world, (AbdJointId){k}, &def) == ABD_OK && def.kind == ABD_JOINT_GEAR)
      check_gear(report, world, &train, &def);
  }
  free(train.leader), free(train.factor);
  return good ? EXIT_GOOD : fail(EXIT_FAILED, "out of memory");
}

/* Names the first joints with redundant equations. */
static void remark_redundant(const Report *report, const AbdWorld *world) {
  enum { NAMED = 5 };
  int named = 0;
  for (uint32_t k = 1; k <= abd_world_joint_count(world); k++) {
    AbdJointDef def;
    int rows = abd_joint_redundant_rows(world, (AbdJointId){k});
    if (rows == 0 || abd_joint_def(world, (AbdJointId){k}, &def) != ABD_OK) continue;
    if (named++ < NAMED)
      remark(report, "joint '%s': %d of its linear equations follow%s from joints before it; it holds all the same",
             def.name, rows, rows == 1 ? "s" : "");
  }
  if (named > NAMED) remark(report, "and %d more joints like these", named - NAMED);
}

static void remark_joints(const Report *report, const AbdWorld *world) {
  AbdJointSummary s = abd_world_joint_summary(world);
  if (s.redundant_rows) remark_redundant(report, world);
  if (s.joint_count)
    remark(report, "%zu joint%s; %d unknowns are left%s", s.joint_count, plural(s.joint_count), s.unknowns,
           s.unknowns ? "" : ": nothing can move");
}

static void remark_counts(const Report *report, const AbdScene *scene, const AbdWorld *world) {
  size_t bodies = abd_scene_body_count(scene), meshes = abd_world_mesh_count(world);
  size_t later = bodies - abd_world_body_count(world);
  long long steps = abd_scene_steps(scene);
  remark(report, "%zu %s, %zu mesh%s, %lld step%s of %.6g s", bodies, bodies == 1 ? "body" : "bodies", meshes,
         meshes == 1 ? "" : "es", steps, steps == 1 ? "" : "s", abd_scene_dt(scene));
  if (later) remark(report, "%zu %s after the start", later, later == 1 ? "body comes" : "bodies come");
}

static void warn(void *user, const char *sentence) { remark(user, "warning: %s", sentence); }

static int check_scene(Report *report, const AbdSceneDef *options) {
  AbdError error;
  AbdScene *scene = abd_scene_load(&report->file, 1, options, &error);
  if (!scene) return fail(EXIT_BAD_INPUT, error.text);
  for (size_t k = 0; k < abd_scene_note_count(scene); k++) remark(report, "%s", abd_scene_note(scene, k));
  AbdWorld *world = abd_scene_build(scene, 1, &error);
  int code = EXIT_GOOD;
  if (!world) {
    problem(report, "%s", error.text);
  } else {
    /* links of robots may have several shells that overlap; their masses come from the file */
    if (!abd_scene_is_robot(report->file)) check_scene_meshes(report, world, &code);
    int before = report->problems;
    if (code == EXIT_GOOD) code = check_start(report, world);
    if (code == EXIT_GOOD) code = check_gears(report, world);
    /* any other reason why the world does not start */
    if (code == EXIT_GOOD && report->problems == before) {
      bool started = abd_world_start(world) == ABD_OK;
      if (!started) problem(report, "%s", abd_world_error(world));
      else remark_joints(report, world);
      if (started && !slow_warn(world, warn, report)) code = fail(EXIT_FAILED, "out of memory");
    }
    remark_counts(report, scene, world);
  }
  abd_world_destroy(world);
  abd_scene_destroy(scene);
  return code;
}

int command_check(int argc, char **argv) {
  const char *mesh_dir = NULL, *fixed = NULL;
  bool quiet = false;
  TextList path, set = {0};
  AbdSceneDef options = abd_default_scene_def();
  const Option option[] = {
      {"mesh-dir", 0, OPTION_TEXT, &mesh_dir, "DIR", "folder in which meshes are searched last"},
      {"set", 's', OPTION_LIST, &set, "KEY=VALUE", "a setting by its name in a scene"},
      {"fix", 0, OPTION_TEXT, &fixed, "OUT.obj", "write the mesh welded, oriented and without repeated triangles"},
      {"quiet", 'q', OPTION_FLAG, &quiet, NULL, "print problems only"},
      ROBOT_OPTIONS(&options),
      {0},
  };
  int code = args_parse(&command, option, argc, argv, &path);
  if (code == ARGS_GO_ON && path.count == 0)
    code = args_usage_error(
        &command, "expected scenes (.json), robots (.urdf .xml) or meshes (.obj .stl .ply .off .msh .vtk .mesh)");
  if (code == ARGS_GO_ON && fixed && (strlen(fixed) < 4 || strcasecmp(fixed + strlen(fixed) - 4, ".obj") != 0))
    code = args_usage_error(&command, "--fix: expected a name that ends in .obj, got '%s'", fixed);
  if (code == ARGS_GO_ON && fixed && (path.count != 1 || !abd_surface_known(path.text[0])))
    code = args_usage_error(&command, "--fix expects one mesh file");
  if (code == ARGS_GO_ON) {
    options.mesh_dir = mesh_dir, options.set = set.text, options.set_count = (size_t)set.count;
    code = EXIT_GOOD;
    for (int k = 0; k < path.count; k++) {
      Report report = {.file = path.text[k], .quiet = quiet};
      int one = abd_scene_is_robot(report.file)  ? check_scene(&report, &options)
                : abd_surface_known(report.file) ? check_mesh_file(&report, fixed)
                : abd_tets_known(report.file)    ? check_tet_file(&report)
                                                 : check_scene(&report, &options);
      if (one == EXIT_GOOD && report.problems) one = EXIT_FOUND;
      if (one == EXIT_GOOD && !quiet) printf("%s: no problem\n", report.file);
      if (one > code) code = one;
    }
  }
  args_free(&path);
  args_free(&set);
  return code;
}
