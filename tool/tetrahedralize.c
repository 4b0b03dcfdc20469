/* `abd tetrahedralize`: fills a closed surface with tetrahedra by an external program. Tested by tests/cli/soft.sh. */
#include "args.h"
#include "mesher.h"

#include <stdio.h>
#include <string.h>

static const Command command = {
    "tetrahedralize",
    "tetrahedralize SURFACE -o FILE.msh [--edge L] [--keep-surface] [--with PROGRAM]",
    "Fills a closed surface (.obj .stl .ply .off) with tetrahedra, for soft bodies, and writes them as Gmsh 2.2\n"
    "text. It calls TetGen or Gmsh, whichever is installed, as a separate program.",
    "Exit codes: 0 good; 2 bad usage, a surface that cannot be filled, or no such program; 4 disk, memory.",
};

static bool check_surface(const char *path, const AbdSurface *surface, AbdError *error) {
  AbdMeshDef def = abd_surface_def(surface, path);
  AbdFindings t;
  if (abd_mesh_check(&def, &t) != ABD_OK)
    return snprintf(error->text, sizeof error->text, "%.500s: out of memory", path), false;
  if (t.closed && t.volume != 0) return true;
  snprintf(error->text, sizeof error->text,
           "%.500s: not a closed surface (%zu open edges, %zu of three or more triangles, %zu whose triangles face "
           "opposite sides): it has no inside to fill; 'abd check %.200s' names them",
           path, t.open_edge.count, t.many_edge.count, t.against_edge.count, path);
  return false;
}

static int fill(const char *path, const char *output, const MesherOptions *options) {
  AbdSurface surface;
  AbdTets mesh = {0};
  AbdError error;
  bool missing = false, written = false;
  if (abd_surface_load(path, &surface, &error) != ABD_OK)
    return fprintf(stderr, "abd tetrahedralize: %s\n", error.text), EXIT_BAD_INPUT;
  bool ok = check_surface(path, &surface, &error) && mesher_run(&surface, options, &mesh, &missing, &error) &&
            abd_tets_require_sound(&mesh, path, &error) == ABD_OK;
  if (ok) written = abd_tets_write(&mesh, output, &error) == ABD_OK;
  double volume = 0;
  for (size_t t = 0; t < mesh.tet_count; t++) volume += abd_tets_volume(&mesh, t);
  if (written)
    printf("%s: %zu vertices, %zu tetrahedra, volume %.6g\n", output, mesh.mesh.vertex_count, mesh.tet_count, volume);
  else fprintf(stderr, "abd tetrahedralize: %s\n", error.text);
  abd_surface_free(&surface);
  abd_tets_free(&mesh);
  return written ? EXIT_GOOD : ok ? EXIT_FAILED : EXIT_BAD_INPUT;
}

int command_tetrahedralize(int argc, char **argv) {
  MesherOptions options = {.quality = 1.414};
  const char *output = NULL;
  TextList path;
  const Option option[] = {
      {"output", 'o', OPTION_TEXT, &output, "FILE", "the mesh to write, ends in .msh"},
      {"edge", 0, OPTION_POSITIVE, &options.edge, "L", "longest edge inside, approximately (as the surface permits)"},
      {"quality", 0, OPTION_POSITIVE, &options.quality, "Q",
       "largest circumradius over shortest edge, TetGen only (1.414)"},
      {"keep-surface", 0, OPTION_FLAG, &options.keep_surface, NULL,
       "no new vertices on the surface; Gmsh never adds any"},
      {"with", 0, OPTION_TEXT, &options.program, "PROGRAM", "tetgen or gmsh (the first that is installed)"},
      {0},
  };
  int code = args_parse(&command, option, argc, argv, &path);
  size_t length = output ? strlen(output) : 0;
  if (code == ARGS_GO_ON) {
    if (path.count != 1) code = args_usage_error(&command, "expected one surface (.obj .stl .ply .off)");
    else if (!output) code = args_usage_error(&command, "-o FILE is missing");
    else if (length < 4 || strcmp(output + length - 4, ".msh") != 0)
      code = args_usage_error(&command, "-o: expected a name that ends in .msh, got '%s'", output);
    else if (options.program && strcmp(options.program, "tetgen") != 0 && strcmp(options.program, "gmsh") != 0)
      code = args_usage_error(&command, "--with: expected tetgen or gmsh, got '%s'", options.program);
    else code = fill(path.text[0], output, &options);
  }
  args_free(&path);
  return code;
}
