/* The data of a run for the viewer, as JSON and packed little-endian numbers; docs/viewer.md describes the layout.
 *
 * The run file is opened for each request and closed after it, so that a writer can merge its log when it ends, and a
 * replaced file is detected. On failure every function that returns bool writes a sentence to data->error.
 * Tested in tests/test_view.c. */
#ifndef ABD_VIEW_DATA_H
#define ABD_VIEW_DATA_H

#include "record/run.h"
#include "view/bytes.h"

#include <sys/types.h>

typedef struct ViewData {
  char *path;
  RunListing run; /* of the last refresh */
  dev_t device;   /* of the file that was listed */
  ino_t inode;
  int64_t generation; /* how often the file was replaced */
  RunError error;
} ViewData;

enum { VIEW_MOST_BYTES = 8 << 20 }; /* an answer for a range ends after the item that exceeds this */

bool view_data_open(ViewData *data, const char *path); /* call destroy also after failure */
void view_data_destroy(ViewData *data);
/* Finds new frames and a replaced file. */
bool view_data_refresh(ViewData *data);

/* The scene: meshes (sizes), bodies, joints, dt, up. JSON; live: whether it can be controlled. */
bool view_data_meta(ViewData *data, bool live, Bytes *out);
/* Of meshes first.. : f32 vertices, u32 triangles, u32 wires, in the sizes that meta has. */
bool view_data_meshes(ViewData *data, size_t first, size_t count, Bytes *out);
/* f64 step of every frame from first on. */
bool view_data_steps(ViewData *data, size_t first, Bytes *out);
/* The next three write fewer than count frames if the run has no more, or if it was rewound or replaced after the last
 * refresh. */
/* For each frame: f64 step, time; f32 pose[12], velocity[6], strain for every body, each kind together, then the
 * vertices of soft bodies relative to their poses, then the stress at each of them. All are 0 for a body that is not
 * in the frame. */
bool view_data_frames(ViewData *data, size_t first, size_t count, Bytes *out);
/* For each frame: u32 count, then records of 14 words: u32 a, b, kind; f32 point, normal, distance, force, friction. */
bool view_data_contacts(ViewData *data, size_t first, size_t count, Bytes *out);
/* For each frame: u32 count, then records of 17 words: u32 id; f32 position, rate, force[3], torque[3], effort,
 * residual, anchor[3], axis[3]. Empty if there are no joints. */
bool view_data_joints(ViewData *data, size_t first, size_t count, Bytes *out);
/* u32 header length, JSON {"columns": [...]} padded with blanks to 8, then f64 rows after a step. */
bool view_data_reports(ViewData *data, int64_t after_step, size_t limit, Bytes *out);
/* Bytes of one frame. */
size_t view_frame_size(const RunScene *scene);

#endif
