/* What a reader knows of a run that may be written meanwhile: the frames, and the bodies and joints of the same moment.
 * See run.h. Tested in tests/test_record_follow.c.
 *
 * SQLite shows all statements of one transaction the same state of the file. Without it, a step with a new body could be
 * written between the reading of the bodies and that of the steps: its frame would then have the numbers of one body
 * more than the reader knows. */
#include "record/file.h"

#include <stdlib.h>

bool run_begin_read(Run *run) {
  if (run->reads++) return true;
  run->read_began = false;
  bool good = run_drain(run);
  if (good && sqlite3_get_autocommit(run->db)) /* a transaction that writes sees one state too */
    good = run->read_began = run_exec(run, "BEGIN", "read the file");
  if (good && (run->is_shard || run_refresh_shards(run))) return true;
  run_end_read(run);
  return false;
}

void run_end_read(Run *run) {
  if (--run->reads == 0 && run->read_began) sqlite3_exec(run->db, "COMMIT", NULL, NULL, NULL);
}

static bool read_things(Run *run, RunListing *listing, int64_t changes) {
  RunScene scene;
  RunJoints joints;
  if (!run_read_scene(run, &scene)) return false;
  if (!run_read_joints(run, &scene, &joints)) {
    run_scene_destroy(&scene);
    return false;
  }
  run_scene_destroy(&listing->scene), run_joints_destroy(&listing->joints);
  listing->scene = scene, listing->joints = joints, listing->changes = changes;
  return true;
}

static bool list(Run *run, RunListing *listing) {
  int64_t changes, *step;
  size_t count;
  if (!run_count_changes(run, &changes) || !run_read_frame_steps(run, &step, &count)) return false;
  if (changes != listing->changes && !read_things(run, listing, changes)) {
    free(step);
    return false;
  }
  free(listing->step);
  listing->step = step, listing->step_count = count;
  return true;
}

bool run_list(Run *run, RunListing *listing) {
  if (!run_begin_read(run)) return false;
  bool good = list(run, listing);
  run_end_read(run);
  return good;
}

void run_listing_destroy(RunListing *listing) {
  run_scene_destroy(&listing->scene), run_joints_destroy(&listing->joints);
  free(listing->step);
  *listing = (RunListing){.changes = -1};
}
