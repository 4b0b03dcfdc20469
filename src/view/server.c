/* See server.h. */
#define _GNU_SOURCE
#include "view/server.h"

#ifndef ABD_HAVE_MICROHTTPD
#include <stdio.h>

bool view_server_present(void) { return false; }
ViewServer *view_server_start(const ViewServerDef *def, ViewData *data, char *error, size_t error_size) {
  (void)def, (void)data;
  snprintf(error, error_size, "this abd was built without libmicrohttpd and cannot serve");
  return NULL;
}
int view_server_port(const ViewServer *server) { return (void)server, 0; }
void view_server_watch(ViewServer *server) { (void)server; }
void view_server_stop(ViewServer *server) { (void)server; }

#else
#include "view/host.h"
#include "view/page.h"
#include "view/watch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 120, MOST_COMMAND = 4096, HEAD_BYTES = 16384, IDLE_SECONDS = 10 };

struct ViewServer {
  struct MHD_Daemon *daemon;
  ViewData data;
  ViewControl control;
  Watch watch;
  bool open; /* reachable from other machines */
  int port;
};

/* One request: the part of a command's body received so far, and the connection's clock. */
typedef struct Request {
  char body[MOST_COMMAND];
  size_t size;
  bool too_large;
  WatchSlot *slot;
} Request;

bool view_server_present(void) { return true; }

/* ---- Answers ---- */

static void add_headers(struct MHD_Response *response, const char *type) {
  static const char *const header[][2] = {
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cache-Control", "no-store"},
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
  };
  MHD_add_response_header(response, "Content-Type", type);
  for (size_t k = 0; k < sizeof header / sizeof header[0]; k++)
    MHD_add_response_header(response, header[k][0], header[k][1]);
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code, const char *type,
                              struct MHD_Response *response) {
  if (!response) return MHD_NO;
  add_headers(response, type);
  if (code == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(response, "Allow", "GET, HEAD");
  enum MHD_Result result = MHD_queue_response(connection, code, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned code, const char *type,
                                   const char *text) {
  return answer(connection, code, type,
                MHD_create_response_from_buffer(strlen(text), (void *)(size_t)text, MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned code, const char *sentence) {
  char text[800];
  snprintf(text, sizeof text, "%s\n", sentence);
  return answer_text(connection, code, "text/plain; charset=utf-8", text);
}

/* Passes ownership of the bytes on. */
static enum MHD_Result answer_bytes(struct MHD_Connection *connection, const char *type, Bytes *bytes) {
  struct MHD_Response *response = bytes->data
                                      ? MHD_create_response_from_buffer(bytes->size, bytes->data, MHD_RESPMEM_MUST_FREE)
                                      : MHD_create_response_from_buffer(0, (void *)(size_t) "", MHD_RESPMEM_PERSISTENT);
  if (!response) bytes_free(bytes);
  return answer(connection, MHD_HTTP_OK, type, response);
}

static enum MHD_Result answer_page(struct MHD_Connection *connection, const char *type, PagePart part) {
  return answer(connection, MHD_HTTP_OK, type,
                MHD_create_response_from_buffer(part.size, (void *)(size_t)part.data, MHD_RESPMEM_PERSISTENT));
}

/* ---- The data ---- */

/* A whole number from the query; false if the value is no number. */
static bool read_number(struct MHD_Connection *connection, const char *key, int64_t least, int64_t *value) {
  const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, key);
  if (!text) return true;
  char *end;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (end == text || *end || errno || number < least || number > 1000000000000LL) return false;
  *value = number;
  return true;
}

static bool read_range(struct MHD_Connection *connection, size_t *first, size_t *count) {
  int64_t from = 0, most = 1;
  if (!read_number(connection, "from", 0, &from) || !read_number(connection, "count", 1, &most)) return false;
  *first = (size_t)from, *count = (size_t)most;
  return true;
}

/* A run that is being written has its log beside it. */
static bool is_written(const ViewData *data) {
  char *log = NULL;
  if (asprintf(&log, "%s-wal", data->path) < 0) return false;
  bool there = access(log, F_OK) == 0;
  free(log);
  return there;
}

static bool write_status(ViewServer *server, Bytes *out) {
  char text[4096], more[3072] = "";
  ViewData *data = &server->data;
  if (!view_data_refresh(data)) return false;
  if (server->control.status) server->control.status(server->control.user, more, sizeof more);
  snprintf(text, sizeof text,
           "{\"generation\": %lld, \"changes\": %lld, \"frames\": %zu, \"last_step\": %lld, \"writing\": %s%s%s}",
           (long long)data->generation, (long long)data->run.changes, data->run.step_count,
           data->run.step_count ? (long long)data->run.step[data->run.step_count - 1] : -1LL,
           is_written(data) ? "true" : "false", more[0] ? ", " : "", more);
  return bytes_add_text(out, text);
}

static enum MHD_Result answer_data(ViewServer *server, struct MHD_Connection *connection, const char *what) {
  static const char json[] = "application/json; charset=utf-8", binary[] = "application/octet-stream";
  ViewData *data = &server->data;
  Bytes out = {0};
  const char *type = binary;
  size_t first, count;
  int64_t after = -1, changes = data->run.changes;
  bool good;
  if (!read_range(connection, &first, &count) || !read_number(connection, "after", -1, &after) ||
      !read_number(connection, "changes", 0, &changes))
    return refuse(connection, MHD_HTTP_BAD_REQUEST, "from, count, after and changes: expected whole numbers");
  bool outdated = changes != data->run.changes; /* the page has the bodies of before, another one those of now */
  data->error.text[0] = 0;
  if (!strcmp(what, "meta")) type = json, good = view_data_meta(data, server->control.command != NULL, &out);
  else if (!strcmp(what, "status")) type = json, good = write_status(server, &out);
  else if (!strcmp(what, "steps")) good = view_data_steps(data, first, &out);
  else if (!strcmp(what, "meshes")) good = view_data_meshes(data, first, count, &out);
  else if (!strcmp(what, "frames")) good = outdated || view_data_frames(data, first, count, &out);
  else if (!strcmp(what, "contacts")) good = view_data_contacts(data, first, count, &out);
  else if (!strcmp(what, "joints")) good = view_data_joints(data, first, count, &out);
  else if (!strcmp(what, "reports")) good = view_data_reports(data, after, 20000, &out);
  else return refuse(connection, MHD_HTTP_NOT_FOUND, "there is no such thing here");
  if (good) return answer_bytes(connection, type, &out);
  bytes_free(&out);
  return refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, data->error.text[0] ? data->error.text : "out of memory");
}

static enum MHD_Result answer_get(ViewServer *server, struct MHD_Connection *connection, const char *url) {
  if (!strcmp(url, "/")) return answer_page(connection, "text/html; charset=utf-8", page_html());
  if (!strcmp(url, "/viewer.js")) return answer_page(connection, "text/javascript; charset=utf-8", page_script());
  if (!strcmp(url, "/viewer.css")) return answer_page(connection, "text/css; charset=utf-8", page_style());
  if (!strncmp(url, "/api/", 5)) return answer_data(server, connection, url + 5);
  return refuse(connection, MHD_HTTP_NOT_FOUND, "there is no such thing here");
}

/* ---- Commands ---- */

static const char *header_value(struct MHD_Connection *connection, const char *name) {
  return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result count_lengths(void *user, enum MHD_ValueKind kind, const char *name, const char *value) {
  int *count = user;
  (void)kind, (void)value;
  if (!strcasecmp(name, "Content-Length")) ++*count;
  if (!strcasecmp(name, "Transfer-Encoding")) *count += 2;
  return MHD_YES;
}

/* A body whose end is ambiguous may hide another request. */
static bool length_is_clear(struct MHD_Connection *connection) {
  int count = 0;
  MHD_get_connection_values(connection, MHD_HEADER_KIND, count_lengths, &count);
  return count == 1;
}

static enum MHD_Result answer_command(ViewServer *server, struct MHD_Connection *connection, const Request *request) {
  char error[512] = "";
  const char *type = header_value(connection, "Content-Type");
  if (!length_is_clear(connection))
    return refuse(connection, MHD_HTTP_BAD_REQUEST, "Content-Length: expected one, and no Transfer-Encoding");
  if (request->too_large) return refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE, "a command has at most 4096 bytes");
  /* Another page's form cannot send this type without a preflight request, which is refused. */
  if (!type || strncmp(type, "application/json", 16))
    return refuse(connection, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "Content-Type: expected application/json");
  if (!server->control.command(server->control.user, request->body, request->size, error, sizeof error))
    return refuse(connection, MHD_HTTP_BAD_REQUEST, error);
  return answer_text(connection, MHD_HTTP_OK, "application/json; charset=utf-8", "{}");
}

static void take_body(Request *request, const char *data, size_t size) {
  if (size > sizeof request->body - request->size) request->too_large = true;
  if (request->too_large) return;
  memcpy(request->body + request->size, data, size);
  request->size += size;
}

static Request *begin_request(ViewServer *server, struct MHD_Connection *connection) {
  Request *request = calloc(1, sizeof *request);
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  if (request && info) request->slot = info->socket_context;
  if (request) watch_turn(&server->watch, request->slot, 1);
  return request;
}

/* Called when the head of a request is complete, then for each piece of its body, then once at its end. */
static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *piece, size_t *piece_size, void **memory) {
  ViewServer *server = user;
  Request *request = *memory;
  (void)version;
  if (!request) return (*memory = begin_request(server, connection)) ? MHD_YES : MHD_NO;
  if (*piece_size) {
    take_body(request, piece, *piece_size);
    *piece_size = 0;
    return MHD_YES;
  }
  const char *host = header_value(connection, "Host");
  if (!host_allowed(host, server->open))
    return refuse(connection, MHD_HTTP_FORBIDDEN, "Host: this server answers to localhost and its own address only");
  if (!origin_allowed(header_value(connection, "Origin"), host))
    return refuse(connection, MHD_HTTP_FORBIDDEN, "Origin: another page may not use this server");
  if (!strcmp(method, "POST") && !strcmp(url, "/api/control") && server->control.command)
    return answer_command(server, connection, request);
  if (strcmp(method, "GET") && strcmp(method, "HEAD"))
    return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are answered here");
  return answer_get(server, connection, url);
}

static void on_completed(void *user, struct MHD_Connection *connection, void **memory,
                         enum MHD_RequestTerminationCode code) {
  ViewServer *server = user;
  Request *request = *memory;
  (void)connection, (void)code;
  if (request) watch_turn(&server->watch, request->slot, 0);
  free(request);
  *memory = NULL;
}

static void on_connection(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code) {
  ViewServer *server = user;
  if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
    watch_remove(&server->watch, *context);
    *context = NULL;
    return;
  }
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (info) *context = watch_add(&server->watch, info->connect_fd);
}

/* ---- Life ---- */

typedef union Address {
  struct sockaddr any;
  struct sockaddr_in four;
  struct sockaddr_in6 six;
} Address;

static bool make_address(const ViewServerDef *def, Address *address) {
  *address = (Address){0};
  if (inet_pton(AF_INET, def->address, &address->four.sin_addr) == 1) {
    address->four.sin_family = AF_INET, address->four.sin_port = htons((uint16_t)def->port);
    return true;
  }
  if (inet_pton(AF_INET6, def->address, &address->six.sin6_addr) != 1) return false;
  address->six.sin6_family = AF_INET6, address->six.sin6_port = htons((uint16_t)def->port);
  return true;
}

static void stay_silent(void *user, const char *format, va_list list) { (void)user, (void)format, (void)list; }

/* No path here needs escapes, so they are not decoded: a path with escapes is not found. */
static size_t keep_escapes(void *user, struct MHD_Connection *connection, char *text) {
  (void)user, (void)connection;
  return strlen(text);
}

static struct MHD_Daemon *listen_at(ViewServer *server, const Address *address) {
  unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | MHD_USE_ERROR_LOG;
  if (address->any.sa_family == AF_INET6) flags |= MHD_USE_IPv6;
  return MHD_start_daemon(flags, 0, NULL, NULL, on_request, server, MHD_OPTION_EXTERNAL_LOGGER, stay_silent, NULL,
                          MHD_OPTION_SOCK_ADDR, &address->any, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS,
                          MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                          (size_t)HEAD_BYTES, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
                          MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                          MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_END);
}

ViewServer *view_server_start(const ViewServerDef *def, ViewData *data, char *error, size_t error_size) {
  Address address;
  if (!make_address(def, &address)) {
    snprintf(error, error_size, "--bind %s: expected an address in numbers, such as 127.0.0.1 or 0.0.0.0",
             def->address);
    return NULL;
  }
  ViewServer *server = calloc(1, sizeof *server);
  if (!server) return snprintf(error, error_size, "out of memory"), NULL;
  server->control = def->control, server->open = !host_is_loopback(def->address);
  server->data = *data;
  watch_init(&server->watch);
  errno = 0;
  server->daemon = listen_at(server, &address);
  if (!server->daemon) {
    snprintf(error, error_size, "cannot listen at %s port %d: %s", def->address, def->port,
             errno ? strerror(errno) : "the address may be in use");
    watch_destroy(&server->watch);
    free(server);
    return NULL;
  }
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
  server->port = info ? info->port : def->port;
  *data = (ViewData){0};
  return server;
}

int view_server_port(const ViewServer *server) { return server->port; }

void view_server_watch(ViewServer *server) { watch_end_slow(&server->watch); }

void view_server_stop(ViewServer *server) {
  if (!server) return;
  MHD_stop_daemon(server->daemon);
  watch_destroy(&server->watch);
  view_data_destroy(&server->data);
  free(server);
}
#endif
