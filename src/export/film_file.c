/* Films: pipes pictures of the software renderer to ffmpeg, a separate process. See series.h. */
#define _GNU_SOURCE
#include "export/series.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct Encoder {
  pid_t process;
  int pipe;
} Encoder;

static bool fail(const char *path, const char *reason, ExportError *error) {
  snprintf(error->text, sizeof error->text, "%s: %s", path, reason);
  return false;
}

enum { MOST_ARGUMENTS = 40 };

/* Arguments of ffmpeg. Players need even sizes and 4:2:0 colours with their range stated; a .gif needs its own
 * palette. */
static void write_arguments(const char *argv[MOST_ARGUMENTS], const char *size, const char *rate, const char *output) {
  static const char *const film[] = {
      "-vf",
      "scale=out_color_matrix=bt709:out_range=tv,pad=ceil(iw/2)*2:ceil(ih/2)*2,format=yuv420p",
      "-colorspace",
      "bt709",
      "-color_primaries",
      "bt709",
      "-color_trc",
      "bt709",
      "-color_range",
      "tv",
      "-preset",
      "veryfast",
      "-crf",
      "20",
      "-movflags",
      "+faststart",
      NULL};
  static const char *const gif[] = {
      "-vf", "split[a][b];[a]palettegen=stats_mode=diff[p];[b][p]paletteuse=dither=bayer:bayer_scale=4", NULL};
  const char *const input[] = {"ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt",
                               "rgb24",  "-s",       size,        "-r",    rate, "-i", "pipe:0",   NULL};
  const char *dot = strrchr(output, '.');
  int count = 0;
  for (int k = 0; input[k]; k++) argv[count++] = input[k];
  for (const char *const *more = dot && !strcasecmp(dot, ".gif") ? gif : film; *more; more++) argv[count++] = *more;
  argv[count++] = output;
  argv[count] = NULL;
}

static int spawn_encoder(Encoder *encoder, const int ends[2], char *const *argv) {
  posix_spawn_file_actions_t actions;
  int code = posix_spawn_file_actions_init(&actions);
  if (code) return code;
  code = posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  if (!code) code = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  if (!code) code = posix_spawnp(&encoder->process, "ffmpeg", &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  return code;
}

static bool start_encoder(Encoder *encoder, const PictureView *view, double fps, const char *path, ExportError *error) {
  char size[32], rate[32], *output = NULL;
  int ends[2];
  snprintf(size, sizeof size, "%dx%d", view->width, view->height);
  snprintf(rate, sizeof rate, "%.6g", fps);
  if (asprintf(&output, "file:%s", path) < 0) return fail(path, "out of memory", error);
  const char *argv[MOST_ARGUMENTS];
  write_arguments(argv, size, rate, output);
  if (pipe2(ends, O_CLOEXEC) != 0) {
    free(output);
    return fail(path, strerror(errno), error);
  }
  int code = spawn_encoder(encoder, ends, (char *const *)argv);
  close(ends[0]);
  free(output);
  encoder->pipe = ends[1];
  if (!code) return true;
  close(ends[1]);
  if (code == ENOENT)
    return fail(
        path,
        "a film needs the program ffmpeg, which is not installed (Debian: apt-get install ffmpeg); pictures need "
        "nothing: -o frame_%05d.png",
        error);
  return fail(path, strerror(code), error);
}

static bool feed(const Encoder *encoder, const unsigned char *bytes, size_t size) {
  while (size) {
    ssize_t written = write(encoder->pipe, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written, size -= (size_t)written;
  }
  return true;
}

/* Waits for the encoder to finish its file; false if it failed. */
static bool end_encoder(Encoder *encoder) {
  int status = 0;
  close(encoder->pipe);
  while (waitpid(encoder->process, &status, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool draw_all(const ExportSeries *series, const PictureView *view, PictureModel *model, const Encoder *encoder,
                     const char *path, ExportError *error) {
  Picture picture = {0};
  bool good = true;
  for (size_t k = 0; good && k < series->step_count; k++) {
    RunFrame frame = {0};
    bool again = k && series->step[k] == series->step[k - 1]; /* the same picture once more */
    good = again || series_read(series, k, &frame, error);
    if (good && !again && !picture_draw(&picture, view, model, frame.nodes))
      good = fail(path, "out of memory for the picture", error);
    if (good && !feed(encoder, picture.rgb, 3 * (size_t)picture.width * (size_t)picture.height))
      good = fail(path, "ffmpeg stopped before the film was whole", error);
    run_frame_destroy(&frame);
    series_tell(series, k + 1);
  }
  picture_destroy(&picture);
  return good;
}

bool export_film(const ExportSeries *series, const PictureView *view, double fps, const char *path,
                 ExportError *error) {
  Encoder encoder;
  PictureModel *model = picture_model_create(series->scene);
  if (!model) return fail(path, "out of memory for the picture", error);
  struct sigaction ignore = {.sa_handler = SIG_IGN}, before; /* an encoder that ends early is an error, not a signal */
  bool good = start_encoder(&encoder, view, fps, path, error);
  if (good) {
    sigaction(SIGPIPE, &ignore, &before);
    good = draw_all(series, view, model, &encoder, path, error);
    bool ended = end_encoder(&encoder);
    sigaction(SIGPIPE, &before, NULL);
    if (good && !ended) good = fail(path, "ffmpeg could not write the film", error);
    if (!good) remove(path);
  }
  picture_model_destroy(model);
  return good;
}
