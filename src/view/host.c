/* See host.h. */
#define _GNU_SOURCE
#include "view/host.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The name without port and brackets; false if it is no host. */
static bool split_host(const char *host, char name[256]) {
  size_t length;
  const char *rest;
  if (host[0] == '[') {
    length = strcspn(++host, "]");
    if (!host[length]) return false;
    rest = host + length + 1;
  } else {
    length = strcspn(host, ":");
    rest = host + length;
  }
  if (length == 0 || length > 255 || (rest[0] && rest[0] != ':')) return false;
  if (rest[0] && (strlen(rest) > 6 || strspn(rest + 1, "0123456789") != strlen(rest + 1))) return false;
  memcpy(name, host, length);
  name[length] = 0;
  return true;
}

bool host_is_loopback(const char *address) {
  struct in_addr four;
  struct in6_addr six;
  if (inet_pton(AF_INET, address, &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  return inet_pton(AF_INET6, address, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

static bool is_number(const char *name) {
  unsigned char address[16];
  return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

bool host_allowed(const char *host, bool open) {
  char name[256], own[256] = "";
  if (!host || !split_host(host, name)) return false;
  if (!strcasecmp(name, "localhost") || host_is_loopback(name)) return true;
  if (!open) return false;
  gethostname(own, sizeof own - 1);
  return is_number(name) || (own[0] && !strcasecmp(name, own));
}

bool origin_allowed(const char *origin, const char *host) {
  if (!origin) return true;
  return host && !strncasecmp(origin, "http://", 7) && !strcasecmp(origin + 7, host);
}
