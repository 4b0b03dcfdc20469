/* See glue.h. Tested by python/tests. */
#define _GNU_SOURCE
#include "glue.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Ctrl-C ----
 *
 * Python's own handler of SIGINT only notes the signal until C returns. While the main thread steps, this one stops the
 * step as well, and then calls Python's. */

static AbdWorld *volatile stepping;
static volatile sig_atomic_t caught;
static struct sigaction python_action;

static void on_interrupt(int number, siginfo_t *info, void *context) {
  AbdWorld *world = stepping;
  caught = 1;
  if (world) abd_world_interrupt(world);
  if (python_action.sa_flags & SA_SIGINFO) python_action.sa_sigaction(number, info, context);
  else python_action.sa_handler(number);
}

static bool in_main_thread(void) {
  static __thread int known; /* 1 = yes, 2 = no */
  if (!known) known = gettid() == getpid() ? 1 : 2;
  return known == 1;
}

/* Whether Ctrl-C is caught until release_interrupt. Not if the signal is ignored or ends the process. */
static bool catch_interrupt(AbdWorld *world) {
  struct sigaction action = {.sa_sigaction = on_interrupt, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  if (stepping || !in_main_thread() || sigaction(SIGINT, NULL, &python_action) != 0) return false;
  if (python_action.sa_handler == SIG_DFL || python_action.sa_handler == SIG_IGN) return false;
  caught = 0;
  stepping = world;
  if (sigaction(SIGINT, &action, NULL) == 0) return true;
  stepping = NULL;
  return false;
}

static void release_interrupt(void) {
  stepping = NULL;
  sigaction(SIGINT, &python_action, NULL);
}

/* ---- Steps ---- */

static AbdStatus fail(Glue *glue, AbdStatus status, const char *sentence) {
  glue->error.status = status;
  snprintf(glue->error.text, sizeof glue->error.text, "%s", sentence);
  return status;
}

static AbdStatus apply_scene(Glue *glue) {
  if (!glue->scene) return ABD_OK;
  AbdStatus status = abd_scene_apply(glue->scene, glue->world, &glue->error);
  for (size_t k = 0; status == ABD_OK && k < glue->drive_count; k++) {
    AbdJointDef def;
    if (abd_joint_def(glue->world, glue->drive[k].joint, &def) != ABD_OK) continue; /* removed */
    status = abd_joint_set_drive(glue->world, glue->drive[k].joint, &glue->drive[k].drive);
    if (status != ABD_OK) fail(glue, status, abd_world_error(glue->world));
  }
  return status;
}

/* A step. An interruption that was requested too late for an earlier one is not meant for it. */
static AbdStatus step_world(Glue *glue) {
  AbdStatus status = abd_world_step(glue->world, &glue->report);
  if (status == ABD_INTERRUPTED && glue->late && !caught) status = abd_world_step(glue->world, &glue->report);
  glue->late = false;
  return status == ABD_OK ? ABD_OK : fail(glue, status, abd_world_error(glue->world));
}

static AbdStatus step_once(Glue *glue) {
  AbdStatus status = apply_scene(glue);
  if (status == ABD_OK) status = step_world(glue);
  if (status != ABD_OK) return status;
  glue->done++;
  glue->not_converged += glue->report.outcome != ABD_CONVERGED;
  if (!glue->run) return ABD_OK;
  status = abd_run_record(glue->run, glue->world, &glue->report);
  return status == ABD_OK ? ABD_OK : fail(glue, status, abd_run_error(glue->run));
}

static void update_poses(Glue *glue) {
  size_t count = glue->pose ? abd_world_body_count(glue->world) : 0;
  if (!count || count != glue->pose_count || abd_world_body_at(glue->world, count - 1).id != glue->pose_last) return;
  glue_poses(glue->world, glue->pose_soft, glue->pose);
}

AbdStatus glue_step(Glue *glue, int64_t count) {
  AbdStatus status = ABD_OK;
  glue->done = glue->not_converged = 0;
  bool catching = catch_interrupt(glue->world);
  while (status == ABD_OK && glue->done < count) {
    status = step_once(glue);
    if (catching && caught && status == ABD_OK) {
      glue->late = true;
      status = fail(glue, ABD_INTERRUPTED, "interrupted after a step");
    }
  }
  if (catching) release_interrupt();
  update_poses(glue);
  return status;
}

AbdStatus glue_start(Glue *glue) {
  bool catching = catch_interrupt(glue->world);
  AbdStatus status = abd_world_start(glue->world);
  if (status != ABD_OK) fail(glue, status, abd_world_error(glue->world));
  else glue->late |= catching && caught;
  if (catching) release_interrupt();
  return status;
}

/* ---- Drives ---- */

static AbdStatus keep_drive(Glue *glue, AbdJointId joint, const AbdDrive *drive) {
  size_t k = glue->drive_next, seen = 0; /* drives are mostly set in the same order */
  while (seen < glue->drive_count && glue->drive[k % glue->drive_count].joint.id != joint.id) k++, seen++;
  if (seen < glue->drive_count) k %= glue->drive_count;
  else {
    k = glue->drive_count;
    GlueDrive *more = realloc(glue->drive, (k + 1) * sizeof *more);
    if (!more) return fail(glue, ABD_ERROR_MEMORY, "out of memory for a drive");
    glue->drive = more, glue->drive_count++;
  }
  glue->drive[k] = (GlueDrive){joint, *drive};
  glue->drive_next = k + 1;
  return ABD_OK;
}

AbdStatus glue_set_drive(Glue *glue, AbdJointId joint, const AbdDrive *drive) {
  AbdStatus status = abd_joint_set_drive(glue->world, joint, drive);
  if (status != ABD_OK) return fail(glue, status, abd_world_error(glue->world));
  return glue->scene ? keep_drive(glue, joint, drive) : ABD_OK;
}

/* A target without a drive has no effect. */
static AbdStatus check_drives(Glue *glue, const uint32_t *joint, size_t count, bool named) {
  size_t driven = 0;
  for (size_t k = 0; k < count; k++) {
    AbdDrive drive;
    AbdJointDef def;
    if (abd_joint_drive(glue->world, (AbdJointId){joint[k]}, &drive) != ABD_OK) continue; /* told below */
    if (drive.kind != ABD_DRIVE_NONE) driven++;
    else if (named && abd_joint_def(glue->world, (AbdJointId){joint[k]}, &def) == ABD_OK) {
      char sentence[256];
      snprintf(sentence, sizeof sentence,
               "joint \"%.100s\" has no drive, so a target has no effect: set_drive gives it one", def.name);
      return fail(glue, ABD_ERROR_ARGUMENT, sentence);
    }
  }
  if (named || driven || !count) return ABD_OK;
  return fail(glue, ABD_ERROR_ARGUMENT,
              "no joint has a drive, so targets have no effect: set_drive gives it one, and a robot's joints are held "
              "by servos if it is loaded with hold=True");
}

AbdStatus glue_set_targets(Glue *glue, const uint32_t *joint, size_t count, const double *target, bool named) {
  if (check_drives(glue, joint, count, named) != ABD_OK) return glue->error.status;
  for (size_t k = 0; k < count; k++) {
    AbdDrive drive;
    AbdJointId id = {joint[k]};
    AbdStatus status = abd_joint_drive(glue->world, id, &drive);
    if (status != ABD_OK) return fail(glue, status, "a joint does not exist");
    drive.target = target[k];
    status = glue_set_drive(glue, id, &drive);
    if (status != ABD_OK) return status;
  }
  return ABD_OK;
}

void glue_release(Glue *glue) {
  free(glue->drive);
  glue->drive = NULL, glue->drive_count = 0;
}

/* ---- All bodies and joints ---- */

void glue_poses(const AbdWorld *world, bool soft, double *pose) {
  size_t count = abd_world_body_count(world);
  if (!soft) {
    abd_world_poses(world, pose, NULL);
    return;
  }
  for (size_t k = 0; k < count; k++)
    if (abd_body_nodes(world, abd_world_body_at(world, k), pose + 12 * k) != ABD_OK)
      for (int i = 0; i < 12; i++) pose[12 * k + i] = NAN;
}

void glue_velocities(const AbdWorld *world, double *velocity) {
  size_t count = abd_world_body_count(world);
  for (size_t k = 0; k < count; k++, velocity += 6)
    abd_body_velocity(world, abd_world_body_at(world, k), velocity, velocity + 3);
}

void glue_body_ids(const AbdWorld *world, uint32_t *id) {
  size_t count = abd_world_body_count(world);
  for (size_t k = 0; k < count; k++) id[k] = abd_world_body_at(world, k).id;
}

void glue_joint_ids(const AbdWorld *world, uint32_t *id) {
  size_t count = abd_world_joint_count(world);
  for (size_t k = 0; k < count; k++) id[k] = abd_world_joint_at(world, k).id;
}

AbdStatus glue_readings(const AbdWorld *world, AbdJointReading *reading) {
  AbdStatus status = ABD_OK;
  size_t count = abd_world_joint_count(world);
  for (size_t k = 0; status == ABD_OK && k < count; k++)
    status = abd_joint_reading(world, abd_world_joint_at(world, k), &reading[k]);
  return status;
}

AbdStatus glue_loads(const AbdWorld *world, AbdContactLoad *load) {
  AbdStatus status = ABD_OK;
  size_t count = abd_world_body_count(world);
  for (size_t k = 0; status == ABD_OK && k < count; k++)
    status = abd_body_contact_load(world, abd_world_body_at(world, k), &load[k]);
  return status;
}

/* ---- For several worlds in one call ---- */

bool glue_catch_interrupt(Glue *glue) { return catch_interrupt(glue->world); }

bool glue_interrupted(void) { return caught; }

void glue_release_interrupt(Glue *glue) {
  glue->late |= caught;
  release_interrupt();
}

AbdStatus glue_fail(Glue *glue, AbdStatus status, const char *sentence) { return fail(glue, status, sentence); }

void glue_update_poses(Glue *glue) { update_poses(glue); }
