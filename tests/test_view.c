/* The viewer's data and its server: answers have the layout of docs/viewer.md; forbidden requests are refused; slow,
 * large or malformed clients do not block others; an exported page contains its run. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "scene/scene.h"
#include "view/data.h"
#include "view/host.h"
#include "view/html.h"
#include "view/page.h"
#include "view/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FOLDER ABD_BINARY "/tests"
static const char path[] = FOLDER "/test_view.abd";
enum { STEPS = 12, BODIES = 3, FRAME_BYTES = 16 + 232 };

static const char scene_words[] =
    "{\"version\": 1, \"name\": \"</script><b>\", \"contact\": {\"friction\": 0.5}, \"bodies\": [{\"shape\": "
    "\"ground\"},"
    "{\"name\": \"<i>low</i>\", \"shape\": \"box\", \"size\": [1, 1, 0.5], \"position\": [0, 0, 0.2505]},"
    "{\"name\": \"high\", \"shape\": \"box\", \"size\": [0.5, 0.5, 0.5], \"position\": [0, 0, 0.9]}]}";

/* ---- A run ---- */

#define CHECK(run, call)                                                                                               \
  do {                                                                                                                 \
    if (!(call)) fail_msg("%s", run_error(run));                                                                       \
  } while (0)

static void record(Run *run, AbdWorld *world) {
  AbdStepReport report;
  if (abd_world_step(world, &report) != ABD_OK) fail_msg("%s", abd_world_error(world));
  CHECK(run, run_begin(run) && run_write_frame(run, world) && run_write_report(run, &report, abd_world_hash(world)) &&
                 run_write_contacts(run, world) && run_commit(run));
}

static Run *begin_run(AbdWorld *world) {
  RunError error;
  unlink(path);
  Run *run = run_create(path, &error);
  if (!run) fail_msg("%s", error.text);
  CHECK(run, run_write_meta(run, "up", "0 0 1") && run_write_meta(run, "dt", "0.01") &&
                 run_write_meta(run, "contacts", "1") && run_write_meta(run, "scene_name", "</script><b>") &&
                 run_write_world(run, world) && run_write_frame(run, world) && run_publish(run));
  return run;
}

static int make_run(void **state) {
  SceneError error;
  Scene *scene = scene_parse(scene_words, strlen(scene_words), "test.json", NULL, &error);
  if (!scene) fail_msg("%s", error.text);
  AbdWorld *world = scene_build(scene, 1, &error);
  if (!world) fail_msg("%s", error.text);
  if (abd_world_start(world) != ABD_OK) fail_msg("%s", abd_world_error(world));
  Run *run = begin_run(world);
  for (int k = 0; k < STEPS; k++) record(run, world);
  run_close(run);
  abd_world_destroy(world);
  scene_destroy(scene);
  *state = NULL;
  return 0;
}

static ViewData open_data(void) {
  ViewData data;
  if (!view_data_open(&data, path)) fail_msg("%s", data.error.text);
  return data;
}

/* ---- Data ---- */

static void test_frames_are_the_runs(void **state) {
  (void)state;
  ViewData data = open_data();
  Bytes out = {0};
  RunFrame frame;
  RunError error;
  assert_int_equal(data.run.step_count, STEPS + 1);
  assert_int_equal(view_frame_size(&data.run.scene), FRAME_BYTES);
  if (!view_data_frames(&data, 5, 3, &out)) fail_msg("%s", data.error.text);
  assert_int_equal(out.size, 3 * FRAME_BYTES);
  Run *run = run_open(path, RUN_READ, &error);
  assert_non_null(run);
  CHECK(run, run_read_frame(run, &data.run.scene, 6, &frame));
  double head[2];
  memcpy(head, out.data + FRAME_BYTES, sizeof head);
  assert_true(head[0] == 6 && fabs(head[1] - 0.06) < 1e-12);
  const float *pose = (const float *)(void *)(out.data + FRAME_BYTES + 16);
  for (int k = 0; k < 12 * BODIES; k++) assert_true(pose[k] == (float)frame.nodes[k]);
  for (int k = 0; k < 6 * BODIES; k++) assert_true(pose[12 * BODIES + k] == (float)frame.velocity[k]);
  for (int b = 0; b < BODIES; b++) assert_true(pose[18 * BODIES + b] >= 0 && pose[18 * BODIES + b] < 1e-3f);
  run_frame_destroy(&frame);
  run_close(run);
  bytes_free(&out);
  assert_true(view_data_frames(&data, 1000, 3, &out));
  assert_int_equal(out.size, 0);
  view_data_destroy(&data);
}

static void test_contacts_are_the_runs(void **state) {
  (void)state;
  ViewData data = open_data();
  Bytes out = {0};
  AbdContact *contact;
  size_t count;
  RunError error;
  Run *run = run_open(path, RUN_READ, &error);
  assert_non_null(run);
  CHECK(run, run_read_contacts(run, STEPS, &contact, &count));
  assert_true(count >= 4);
  if (!view_data_contacts(&data, STEPS, 1, &out)) fail_msg("%s", data.error.text);
  uint32_t stored, a;
  float force;
  memcpy(&stored, out.data, 4), memcpy(&a, out.data + 4, 4), memcpy(&force, out.data + 4 + 40, 4);
  assert_int_equal(stored, count);
  assert_int_equal(out.size, 4 + 56 * count);
  assert_int_equal(a, contact[0].body_a.id);
  assert_true(force == (float)contact[0].normal_force && force > 0);
  free(contact);
  run_close(run);
  bytes_free(&out);
  view_data_destroy(&data);
}

static void test_meta_and_reports(void **state) {
  (void)state;
  ViewData data = open_data();
  Bytes meta = {0}, reports = {0}, meshes = {0};
  assert_true(view_data_meta(&data, false, &meta) && view_data_reports(&data, 2, 5, &reports));
  json_t *o = json_loadb((const char *)meta.data, meta.size, 0, NULL);
  assert_non_null(o);
  const json_t *names = json_object_get(json_object_get(o, "bodies"), "name");
  assert_string_equal(json_string_value(json_array_get(names, 1)), "<i>low</i>");
  assert_true(view_data_meshes(&data, 1, 1, &meshes));
  const json_t *mesh = json_array_get(json_object_get(o, "meshes"), 1);
  assert_int_equal(meshes.size, 12 * json_integer_value(json_object_get(mesh, "vertices")) +
                                    12 * json_integer_value(json_object_get(mesh, "triangles")));
  json_decref(o);
  uint32_t length;
  memcpy(&length, reports.data, 4);
  assert_int_equal((4 + length) % 8, 0);
  o = json_loadb((const char *)reports.data + 4, length, 0, NULL);
  size_t columns = json_array_size(json_object_get(o, "columns"));
  json_decref(o);
  assert_int_equal(reports.size, 4 + length + 5 * columns * 8);
  double step;
  memcpy(&step, reports.data + 4 + length, 8);
  assert_true(step == 3);
  bytes_free(&meta), bytes_free(&reports), bytes_free(&meshes);
  view_data_destroy(&data);
}

static void test_rewinding_drops_frames(void **state) {
  RunError error;
  (void)state;
  ViewData data = open_data();
  Run *run = run_open(path, RUN_APPEND, &error);
  assert_non_null(run);
  CHECK(run, run_rewind(run, 4));
  Bytes out = {0};
  if (!view_data_frames(&data, 3, 5, &out)) fail_msg("%s", data.error.text); /* listed before the run went back */
  assert_int_equal(out.size, 2 * FRAME_BYTES);
  bytes_free(&out);
  assert_true(view_data_refresh(&data));
  assert_int_equal(data.run.step_count, 5);
  run_close(run);
  view_data_destroy(&data);
  make_run(state);
}

static void test_replaced_file_is_detected(void **state) {
  ViewData data = open_data();
  int64_t before = data.generation;
  assert_true(view_data_refresh(&data));
  assert_int_equal(data.generation, before);
  rename(path, FOLDER "/test_view_old.abd"); /* else the new file may get the old one's number */
  make_run(state);
  assert_true(view_data_refresh(&data));
  assert_int_equal(data.generation, before + 1);
  unlink(FOLDER "/test_view_old.abd");
  view_data_destroy(&data);
}

/* ---- Hosts ---- */

static void test_hosts(void **state) {
  (void)state;
  static const char *const good[] = {"localhost", "localhost:8520", "127.0.0.1:1",
                                     "127.3.2.1", "[::1]:80",       "LOCALHOST"};
  static const char *const bad[] = {"",
                                    "evil.example",
                                    "evil.example:8520",
                                    "localhost.evil.example",
                                    "127.0.0.1.evil.example",
                                    "localhost:80x",
                                    "[::1",
                                    "localhost:123456",
                                    "0x7f.1",
                                    "10.0.0.5",
                                    ":80"};
  for (size_t k = 0; k < sizeof good / sizeof good[0]; k++)
    if (!host_allowed(good[k], false)) fail_msg("'%s' was refused", good[k]);
  for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
    if (host_allowed(bad[k], false)) fail_msg("'%s' was let in", bad[k]);
  assert_false(host_allowed(NULL, true));
  assert_true(host_allowed("10.0.0.5:8520", true));
  assert_false(host_allowed("evil.example:8520", true));
  assert_true(origin_allowed(NULL, "localhost:1") && origin_allowed("http://localhost:1", "localhost:1"));
  assert_false(origin_allowed("http://localhost:2", "localhost:1") || origin_allowed("null", "localhost:1") ||
               origin_allowed("https://evil.example", "localhost:1"));
}

static size_t count_of(const char *text, const char *word) {
  size_t count = 0;
  for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) count++;
  return count;
}

/* ---- The server ---- */

typedef struct Told {
  char text[256];
  int count;
} Told;

static bool on_command(void *user, const char *text, size_t length, char *error, size_t error_size) {
  Told *told = user;
  told->count++;
  snprintf(told->text, sizeof told->text, "%.*s", (int)length, text);
  snprintf(error, error_size, "not that");
  return strstr(told->text, "pause") != NULL;
}

static ViewServer *start(Told *told) {
  char error[640];
  ViewData data = open_data();
  ViewServerDef def = {.address = "127.0.0.1"};
  if (told) def.control = (ViewControl){told, on_command, NULL};
  ViewServer *server = view_server_start(&def, &data, error, sizeof error);
  if (!server) fail_msg("%s", error);
  return server;
}

static void be_patient(int line, int seconds) {
  setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = seconds}, sizeof(struct timeval));
}

static int dial(const ViewServer *server) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)view_server_port(server)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int line = socket(AF_INET, SOCK_STREAM, 0);
  if (line < 0 || connect(line, (struct sockaddr *)&address, sizeof address) != 0)
    fail_msg("cannot connect: %s", strerror(errno));
  be_patient(line, 8);
  return line;
}

/* What comes until the other side ends, as text in a static buffer. */
static const char *listen_to(int line) {
  static char text[1 << 20];
  size_t used = 0;
  ssize_t got;
  while (used < sizeof text - 1 && (got = recv(line, text + used, sizeof text - 1 - used, 0)) > 0) used += (size_t)got;
  text[used] = 0;
  return text;
}

static const char *ask_with(const ViewServer *server, const char *request, size_t size) {
  int line = dial(server);
  for (size_t sent = 0; sent < size;) {
    ssize_t put = send(line, request + sent, size - sent, MSG_NOSIGNAL);
    if (put <= 0) break; /* it may have heard enough */
    sent += (size_t)put;
  }
  const char *text = listen_to(line);
  close(line);
  return text;
}

static const char *ask(const ViewServer *server, const char *method, const char *target, const char *more) {
  char request[1024];
  int size = snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n",
                      method, target, more);
  return ask_with(server, request, (size_t)size);
}

/* Says something that need not be a request and no more: some are met with silence. */
static const char *tell(const ViewServer *server, const char *words) {
  int line = dial(server);
  send(line, words, strlen(words), MSG_NOSIGNAL);
  shutdown(line, SHUT_WR);
  be_patient(line, 1);
  const char *text = listen_to(line);
  close(line);
  return text;
}

static void expect_code(const char *answer, int code, const char *what) {
  int got = 0;
  sscanf(answer, "HTTP/1.%*d %d", &got);
  if (got != code) fail_msg("%s: answer %d instead of %d: %.200s", what, got, code, answer);
}

static void expect_get(const ViewServer *server, const char *target, int code) {
  expect_code(ask(server, "GET", target, ""), code, target);
}

static void test_answers(void **state) {
  (void)state;
  ViewServer *server = start(NULL);
  static const char *const good[] = {"/api/meta",
                                     "/api/status",
                                     "/api/steps?from=3",
                                     "/api/meshes?from=0&count=9",
                                     "/api/frames?from=0&count=5",
                                     "/api/contacts?from=2",
                                     "/api/reports?after=-1",
                                     "/api/frames?from=999999999999&count=5",
                                     "/",
                                     "/viewer.js",
                                     "/viewer.css"};
  for (size_t k = 0; k < sizeof good / sizeof good[0]; k++) expect_get(server, good[k], 200);
  const char *text = ask(server, "GET", "/api/status", "");
  assert_non_null(strstr(text, "\"frames\": 13"));
  static const char *const header[] = {"X-Content-Type-Options: nosniff", "Content-Security-Policy: default-src 'none'",
                                       "Cache-Control: no-store", "Content-Type: application/json",
                                       "X-Frame-Options: DENY"};
  for (size_t k = 0; k < sizeof header / sizeof header[0]; k++)
    if (!strstr(text, header[k])) fail_msg("no '%s' in %s", header[k], text);
  text = ask(server, "HEAD", "/", "");
  expect_code(text, 200, "HEAD");
  assert_string_equal(strstr(text, "\r\n\r\n"), "\r\n\r\n");
  view_server_stop(server);
}

/* A page gets no frames of other bodies than it has. */
static void test_frames_of_the_bodies_that_a_page_has(void **state) {
  (void)state;
  ViewServer *server = start(NULL);
  char target[96];
  long long changes = -1;
  const char *text = strstr(ask(server, "GET", "/api/status", ""), "\"changes\": ");
  assert_true(text && sscanf(text, "\"changes\": %lld", &changes) == 1 && changes > 0);
  for (int older = 0; older < 2; older++) {
    snprintf(target, sizeof target, "/api/frames?from=0&count=1&changes=%lld", changes - older);
    text = ask(server, "GET", target, "");
    print_message("%s: %.60s\n", target, strstr(text, "Content-Length"));
    expect_code(text, 200, target);
    assert_true((strstr(text, "Content-Length: 0\r\n") != NULL) == (older == 1));
  }
  view_server_stop(server);
}

static void test_nothing_else_is_reachable(void **state) {
  (void)state;
  ViewServer *server = start(NULL);
  static const char *const lost[] = {"/etc/passwd",
                                     "/../../../../etc/passwd",
                                     "/..%2f..%2fetc/passwd",
                                     "/api/../../etc/passwd",
                                     "/api/",
                                     "/api/meta/",
                                     "//",
                                     "/index.html",
                                     "/%2e%2e/%2e%2e/etc/passwd",
                                     "/api/meta%00.js",
                                     "/test_view.abd",
                                     "/viewer.js/..",
                                     "/api/frames/1",
                                     "/\\..\\..\\etc\\passwd"};
  for (size_t k = 0; k < sizeof lost / sizeof lost[0]; k++) {
    const char *text = ask(server, "GET", lost[k], "");
    int code = 0;
    sscanf(text, "HTTP/1.%*d %d", &code);
    if (code != 404 && code != 400) fail_msg("%s: answer %d: %.200s", lost[k], code, text);
    assert_null(strstr(text, "root:"));
  }
  static const char *const bad[] = {"/api/frames?from=-1",      "/api/frames?from=x",
                                    "/api/frames?from=1e3",     "/api/frames?count=0",
                                    "/api/frames?changes=x",    "/api/frames?from=99999999999999999999",
                                    "/api/reports?after=1;drop"};
  for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) expect_get(server, bad[k], 400);
  static const char *const method[] = {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"};
  for (size_t k = 0; k < sizeof method / sizeof method[0]; k++)
    expect_code(ask(server, method[k], "/api/control", ""), 405, method[k]);
  view_server_stop(server);
}

static void test_foreign_pages_are_refused(void **state) {
  (void)state;
  ViewServer *server = start(NULL);
  static const char rebound[] = "GET /api/meta HTTP/1.1\r\nHost: evil.example:8520\r\nConnection: close\r\n\r\n";
  expect_code(ask_with(server, rebound, strlen(rebound)), 403, "a foreign Host");
  static const char old[] = "GET /api/meta HTTP/1.0\r\n\r\n";
  expect_code(ask_with(server, old, strlen(old)), 403, "no Host");
  expect_code(ask(server, "GET", "/api/meta", "Origin: http://evil.example\r\n"), 403, "a foreign Origin");
  expect_code(ask(server, "GET", "/api/meta", "Origin: http://localhost\r\n"), 200, "its own Origin");
  view_server_stop(server);
}

static void test_malformed_and_oversized(void **state) {
  (void)state;
  ViewServer *server = start(NULL);
  static const char *const garbage[] = {
      "\r\n\r\n\r\n",
      "GET\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "\x16\x03\x01\x02garbage\r\n\r\n",
      "GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
      "POST /api/control HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n"};
  for (size_t k = 0; k < sizeof garbage / sizeof garbage[0]; k++)
    if (strstr(tell(server, garbage[k]), " 200 ")) fail_msg("good answer to: %s", garbage[k]);
  size_t size = 200000;
  char *large = malloc(size + 1);
  memset(large, 'a', size), large[size] = 0;
  memcpy(large, "GET /", 5);
  if (strstr(ask_with(server, large, size), " 200 ")) fail_msg("a target of %zu bytes was answered", size);
  int head = snprintf(large, size, "GET / HTTP/1.1\r\nHost: localhost\r\nX: ");
  large[head] = 'a';
  if (strstr(ask_with(server, large, size), " 200 ")) fail_msg("a header of %zu bytes was answered", size);
  free(large);
  expect_get(server, "/api/status", 200);
  view_server_stop(server);
}

static const char *post(const ViewServer *server, const char *type, const char *body, size_t size, const char *more) {
  static char request[32768];
  int head = snprintf(request, sizeof request,
                      "POST /api/control HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s%s"
                      "Content-Length: %zu\r\n\r\n",
                      type, more, size);
  memcpy(request + head, body, size);
  return ask_with(server, request, (size_t)head + size);
}

static void test_commands(void **state) {
  (void)state;
  Told told = {0};
  ViewServer *server = start(&told);
  static const char type[] = "Content-Type: application/json\r\n", pause[] = "{\"do\": \"pause\"}";
  static char long_text[5000];
  memset(long_text, ' ', sizeof long_text);
  expect_code(post(server, type, pause, strlen(pause), ""), 200, "a command");
  assert_string_equal(told.text, pause);
  expect_code(post(server, type, "{}", 2, ""), 400, "a command that is not understood");
  assert_int_equal(told.count, 2);
  expect_code(post(server, "Content-Type: text/plain\r\n", pause, strlen(pause), ""), 415, "another type");
  expect_code(post(server, "", pause, strlen(pause), ""), 415, "no type");
  expect_code(post(server, type, long_text, sizeof long_text, ""), 413, "too long a command");
  expect_code(post(server, type, pause, strlen(pause), "Origin: http://evil.example\r\n"), 403,
              "another page's command");
  expect_code(ask(server, "POST", "/api/meta", type), 405, "POST to data");
  assert_int_equal(told.count, 2);
  view_server_stop(server);
}

static double clock_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Clients that send a letter now and then do not keep others out, and are sent away in the end. */
static void test_slow_clients(void **state) {
  (void)state;
  enum { SLOW = 100 };
  int line[SLOW], open = SLOW;
  ViewServer *server = start(NULL);
  for (int k = 0; k < SLOW; k++) {
    line[k] = dial(server);
    send(line[k], "GET /api", 8, MSG_NOSIGNAL);
  }
  double begun = clock_now();
  expect_get(server, "/api/status", 200);
  assert_true(clock_now() - begun < 3);
  while (open && clock_now() - begun < 12) {
    view_server_watch(server);
    usleep(200000);
    for (int k = 0; k < SLOW; k++) {
      char letter;
      if (line[k] < 0) continue;
      send(line[k], "a", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (recv(line[k], &letter, 1, MSG_DONTWAIT) != 0 && errno == EAGAIN) continue;
      close(line[k]), line[k] = -1, open--;
    }
  }
  if (open) fail_msg("%d of %d slow clients are still there after %.1f s", open, SLOW, clock_now() - begun);
  expect_get(server, "/api/status", 200);
  view_server_stop(server);
}

/* Clients that ask for much and do not read it do not keep others waiting. */
static void test_slow_readers(void **state) {
  (void)state;
  enum { SLOW = 60 };
  static const char request[] = "GET /viewer.js HTTP/1.1\r\nHost: localhost\r\n\r\n";
  int line[SLOW];
  ViewServer *server = start(NULL);
  for (int k = 0; k < SLOW; k++) {
    line[k] = dial(server);
    setsockopt(line[k], SOL_SOCKET, SO_RCVBUF, &(int){4096}, sizeof(int));
    for (int n = 0; n < 20; n++)
      send(line[k], request, strlen(request), MSG_NOSIGNAL | MSG_DONTWAIT); /* one after the other */
  }
  double begun = clock_now();
  for (int k = 0; k < 5; k++) expect_get(server, "/api/status", 200);
  double took = clock_now() - begun;
  if (took > 3) fail_msg("five answers took %.1f s while %d clients do not read theirs", took, SLOW);
  for (int k = 0; k < SLOW; k++) close(line[k]);
  expect_get(server, "/api/frames?from=0&count=5", 200);
  view_server_stop(server);
}

/* More clients than there are places: those that wait are served once slow ones have been sent away. */
static void test_more_clients_than_places(void **state) {
  (void)state;
  enum { CROWD = 200 };
  int line[CROWD];
  ViewServer *server = start(NULL);
  for (int k = 0; k < CROWD; k++) {
    line[k] = dial(server);
    send(line[k], "GET /api/status HTTP/1.1\r\n", 26, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  double begun = clock_now();
  bool served = false;
  while (!served && clock_now() - begun < 20) {
    for (int k = 0; k < 10; k++) view_server_watch(server), usleep(50000);
    served = strstr(ask(server, "GET", "/api/status", ""), " 200 ") != NULL;
  }
  if (!served) fail_msg("nobody was served %.1f s after %d slow clients came", clock_now() - begun, CROWD);
  for (int k = 0; k < CROWD; k++) close(line[k]);
  view_server_stop(server);
}

/* Requests whose ends can be understood in two ways, and other names for this machine and its files. */
static void test_smuggled_requests(void **state) {
  (void)state;
  Told told = {0};
  ViewServer *server = start(&told);
  static const char *const twofold[] = {
      "POST /api/control HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4\r\n"
      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nPOST /api/control HTTP/1.1\r\nHost: evil.example\r\n"
      "Content-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"do\": \"pause\"}",
      "POST /api/control HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 15\r\n"
      "Content-Length: 2\r\n\r\n{\"do\": \"pause\"}",
      "GET http://evil.example/api/meta HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
      "GET /api/meta HTTP/1.1\r\nHost: localhost@evil.example\r\nConnection: close\r\n\r\n",
      "GET * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      "GET /api/meta#/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"};
  for (size_t k = 0; k < sizeof twofold / sizeof twofold[0]; k++) {
    const char *text = tell(server, twofold[k]);
    if (strstr(text, "\"bodies\"") || strstr(text, "root:"))
      fail_msg("data in the answer to %s: %.300s", twofold[k], text);
  }
  if (told.count) fail_msg("%d commands came through, the last: %s", told.count, told.text);
  /* many in one go are answered one by one */
  static const char head[] = "HEAD /api/status HTTP/1.1\r\nHost: localhost\r\n\r\n";
  char many[32 * sizeof head];
  size_t size = 0;
  for (int k = 0; k < 31; k++) memcpy(many + size, head, strlen(head)), size += strlen(head);
  size += (size_t)sprintf(many + size, "HEAD /api/status HTTP/1.0\r\nHost: localhost\r\n\r\n");
  size_t answers = count_of(ask_with(server, many, size), " 200 OK");
  if (answers != 32) fail_msg("%zu answers to 32 requests sent in one go", answers);
  view_server_stop(server);
}

static int skip_server(void **state) {
  (void)state;
  if (!view_server_present()) print_message("skipped: built without libmicrohttpd\n");
  return view_server_present() ? 0 : 1;
}

/* ---- The page ---- */

static char *read_whole(const char *name, size_t *size) {
  FILE *file = fopen(name, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(*size + 1);
  assert_int_equal(fread(text, 1, *size, file), *size);
  text[*size] = 0;
  fclose(file);
  return text;
}

/* Frames 0, every, 2 every, ... */
static void export_page(const char *name, size_t every, bool expected) {
  RunError run_error_;
  ExportError error = {""};
  int64_t step[STEPS + 1];
  size_t count = 0;
  Run *run = run_open(path, RUN_READ, &run_error_);
  assert_non_null(run);
  for (int64_t k = 0; k <= STEPS; k += (int64_t)every) step[count++] = k;
  ExportSeries series = {.run = run, .step = step, .step_count = count};
  bool good = view_write_html(&series, name, &error);
  run_close(run);
  if (good != expected) fail_msg("%s: %s", name, error.text);
  if (!expected) assert_non_null(strstr(error.text, "cannot write"));
}

static void test_page(void **state) {
  static const char name[] = FOLDER "/test_view.html";
  (void)state;
  if (!page_present()) {
    print_message("skipped: %s\n", page_missing());
    return;
  }
  export_page(name, 5, true);
  size_t size;
  char *text = read_whole(name, &size);
  assert_int_equal(strlen(text), size);
  assert_int_equal(count_of(text, "<script"), count_of(text, "</script>")); /* names in the run end none */
  assert_non_null(strstr(text, "\\u003c/script>\\u003cb>"));
  static const char *const section[] = {"meta", "steps", "meshes", "frames", "contacts", "reports"};
  for (size_t k = 0; k < sizeof section / sizeof section[0]; k++) {
    char id[32];
    snprintf(id, sizeof id, "id=\"abd-%s\"", section[k]);
    if (!strstr(text, id)) fail_msg("no section %s", id);
  }
  assert_non_null(strstr(text, "\"frames\":3}"));
  assert_null(strstr(text, "viewer.css\">"));
  free(text);
  export_page(FOLDER "/no/such/folder.html", 5, false);
}

int main(void) {
  const struct CMUnitTest data[] = {
      cmocka_unit_test(test_frames_are_the_runs),
      cmocka_unit_test(test_contacts_are_the_runs),
      cmocka_unit_test(test_meta_and_reports),
      cmocka_unit_test(test_rewinding_drops_frames),
      cmocka_unit_test(test_replaced_file_is_detected),
      cmocka_unit_test(test_hosts),
      cmocka_unit_test(test_page),
  };
  const struct CMUnitTest server[] = {
      cmocka_unit_test(test_answers),
      cmocka_unit_test(test_frames_of_the_bodies_that_a_page_has),
      cmocka_unit_test(test_nothing_else_is_reachable),
      cmocka_unit_test(test_foreign_pages_are_refused),
      cmocka_unit_test(test_malformed_and_oversized),
      cmocka_unit_test(test_commands),
      cmocka_unit_test(test_slow_clients),
      cmocka_unit_test(test_slow_readers),
      cmocka_unit_test(test_more_clients_than_places),
      cmocka_unit_test(test_smuggled_requests),
  };
  int failed = cmocka_run_group_tests(data, make_run, NULL);
  if (skip_server(NULL)) return failed;
  return failed + cmocka_run_group_tests(server, make_run, NULL);
}
