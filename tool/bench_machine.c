/* Describes the machine and the build, without which figures mean little. */
#define _GNU_SOURCE
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "commit.h"

/* The value of the first "KEY<spaces>: VALUE" or "KEY=VALUE" of a file; "" if there is none. */
static void find_value(const char *path, const char *key, char *value, size_t size) {
  FILE *file = fopen(path, "r");
  char line[512];
  value[0] = 0;
  while (file && !value[0] && fgets(line, sizeof line, file)) {
    size_t length = strlen(key);
    if (strncmp(line, key, length)) continue;
    const char *rest = line + length + strspn(line + length, " \t");
    if (*rest != ':' && *rest != '=') continue;
    rest += 1 + strspn(rest + 1, " \t\"");
    snprintf(value, size, "%.*s", (int)strcspn(rest, "\"\n"), rest);
  }
  if (file) fclose(file);
}

static void processor(char text[128]) {
  struct utsname name;
  find_value("/proc/cpuinfo", "model name", text, 128);
  if (!text[0] && uname(&name) == 0) snprintf(text, 128, "%.100s", name.machine);
}

static void system_name(char text[256]) {
  char release[128];
  struct utsname name;
  find_value("/etc/os-release", "PRETTY_NAME", release, sizeof release);
  if (uname(&name) != 0) memset(&name, 0, sizeof name);
  snprintf(text, 256, "%.100s%s%.40s %.60s, %.40s", release, release[0] ? ", " : "", name.sysname, name.release,
           name.machine);
}

static double memory_gib(void) { return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / (1 << 30); }

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

json_t *bench_machine_json(void) {
  char cpu[128], os[256], date[32];
  time_t now = time(NULL);
  struct tm utc;
  processor(cpu), system_name(os);
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  return json_pack("{s:s, s:i, s:f, s:s, s:s, s:s, s:s, s:s, s:s}", "processor", cpu, "processors",
                   (int)sysconf(_SC_NPROCESSORS_ONLN), "memory_gib", memory_gib(), "system", os, "compiler", COMPILER,
                   "flags", ABD_COMPILE_FLAGS, "version", abd_version(), "commit", ABD_COMMIT, "date", date);
}

void bench_machine_print(FILE *out, const json_t *machine) {
  const char *processor = "", *system = "", *compiler = "", *flags = "", *version = "", *commit = "";
  int processors = 0;
  double memory = 0;
  json_unpack((json_t *)machine, "{s?s, s?i, s?F, s?s, s?s, s?s, s?s, s?s}", "processor", &processor, "processors",
              &processors, "memory_gib", &memory, "system", &system, "compiler", &compiler, "flags", &flags, "version",
              &version, "commit", &commit);
  fprintf(out, "abd %s (%s) on %s, %d processors, %.3g GiB; %s; %s %s\n", version, commit, processor, processors,
          memory, system, compiler, flags);
}
