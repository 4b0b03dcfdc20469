/* The viewer's server with a thread that watches its connections, see abd/export.h. */
#include <abd/export.h>

#include "kit/kit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "view/page.h"
#include "view/server.h"

struct AbdViewer {
  ViewServer *server;
  pthread_t thread;
  atomic_bool ends;
};

static void *watch(void *user) {
  AbdViewer *viewer = user;
  while (!atomic_load(&viewer->ends)) {
    usleep(200000);
    view_server_watch(viewer->server);
  }
  return NULL;
}

static ViewServer *serve(const char *path, const char *address, int port, const AbdViewerControl *control,
                         AbdError *error) {
  ViewData data;
  char text[640];
  ViewServerDef def = {.address = address ? address : "127.0.0.1", .port = port};
  if (control) def.control = *control;
  if (!view_data_open(&data, path)) {
    fail_with(error, kit_status(data.error.kind), "%s", data.error.text);
    view_data_destroy(&data);
    return NULL;
  }
  ViewServer *server = view_server_start(&def, &data, text, sizeof text);
  view_data_destroy(&data);
  if (!server) fail_with(error, ABD_ERROR_ARGUMENT, "%s", text);
  return server;
}

const char *abd_viewer_missing(void) {
  if (!page_present()) return page_missing();
  return view_server_present() ? NULL
                               : "this abd was built without libmicrohttpd: install libmicrohttpd-dev and build again";
}

AbdViewer *abd_viewer_start(const char *run_path, const char *address, int port, AbdError *error) {
  return abd_viewer_start_live(run_path, address, port, NULL, error);
}

AbdViewer *abd_viewer_start_live(const char *run_path, const char *address, int port, const AbdViewerControl *control,
                                 AbdError *error) {
  if (abd_viewer_missing()) return fail_with(error, ABD_ERROR_STATE, "%s", abd_viewer_missing()), NULL;
  AbdViewer *viewer = calloc(1, sizeof *viewer);
  if (!viewer) return fail_with(error, ABD_ERROR_MEMORY, "out of memory for the viewer"), NULL;
  viewer->server = serve(run_path, address, port, control, error);
  if (viewer->server && pthread_create(&viewer->thread, NULL, watch, viewer) == 0) return viewer;
  if (viewer->server) fail_with(error, ABD_ERROR_MEMORY, "no thread for the viewer");
  view_server_stop(viewer->server);
  free(viewer);
  return NULL;
}

int abd_viewer_port(const AbdViewer *viewer) { return view_server_port(viewer->server); }

void abd_viewer_stop(AbdViewer *viewer) {
  if (!viewer) return;
  atomic_store(&viewer->ends, true);
  pthread_join(viewer->thread, NULL);
  view_server_stop(viewer->server);
  free(viewer);
}
