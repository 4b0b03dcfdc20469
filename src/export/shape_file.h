/* Frames as geometry and tables: OBJ and PLY of the posed meshes, CSV of poses, step reports, contacts and joints.
 * Each writes a complete file or none: on failure it removes the file and error holds a sentence.
 * Tested in tests/test_record.c. */
#ifndef ABD_EXPORT_SHAPE_FILE_H
#define ABD_EXPORT_SHAPE_FILE_H

#include "record/run.h"

typedef struct ExportError {
  char text[640];
} ExportError;

bool export_obj(const RunScene *scene, const RunFrame *frame, const char *path, ExportError *error);
/* Binary little-endian: vertices as double with colour and body id; faces, and edges of wires. */
bool export_ply(const RunScene *scene, const RunFrame *frame, const char *path, ExportError *error);
/* One row per body and given frame: centre of mass, position and quaternion of the mesh's own frame, velocities. */
bool export_poses_csv(Run *run, const RunScene *scene, const int64_t *steps, size_t step_count, const char *path,
                      ExportError *error);
/* Every vertex of every soft body. */
bool export_vertices_csv(Run *run, const RunScene *scene, const int64_t *steps, size_t step_count, const char *path,
                         ExportError *error);
bool export_reports_csv(Run *run, const char *path, ExportError *error);
/* Contacts, joints or events of the given steps, NULL = all, and the number of rows. */
bool export_table_csv(Run *run, RunTable table, const int64_t *steps, size_t step_count, const char *path, size_t *rows,
                      ExportError *error);

#endif
