/* Picture files: PNG if libpng was found at build time (ABD_HAVE_PNG), PPM always. See picture.h. */
#include "export/picture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#ifdef ABD_HAVE_PNG
#include <png.h>
#endif

bool picture_has_png(void) {
#ifdef ABD_HAVE_PNG
  return true;
#else
  return false;
#endif
}

static bool fail(const char *path, const char *reason, char *error, size_t error_size) {
  snprintf(error, error_size, "%s: cannot write the picture: %s", path, reason);
  return false;
}

static bool save_png(const Picture *picture, const char *path, char *error, size_t error_size) {
#ifdef ABD_HAVE_PNG
  png_image image = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)picture->width,
                     .height = (png_uint_32)picture->height,
                     .format = PNG_FORMAT_RGB};
  if (png_image_write_to_file(&image, path, 0, picture->rgb, 0, NULL)) return true;
  fail(path, image.message, error, error_size);
  remove(path);
  return false;
#else
  (void)picture;
  return fail(path, "this abd was built without libpng; write a .ppm instead", error, error_size);
#endif
}

static bool save_ppm(const Picture *picture, const char *path, char *error, size_t error_size) {
  FILE *file = fopen(path, "wb");
  if (!file) return fail(path, strerror(errno), error, error_size);
  size_t size = (size_t)picture->width * (size_t)picture->height * 3;
  fprintf(file, "P6\n%d %d\n255\n", picture->width, picture->height);
  bool good = fwrite(picture->rgb, 1, size, file) == size;
  good = fclose(file) == 0 && good;
  if (good) return true;
  fail(path, strerror(errno), error, error_size);
  remove(path);
  return false;
}

bool picture_save(const Picture *picture, const char *path, char *error, size_t error_size) {
  const char *dot = strrchr(path, '.');
  if (dot && !strcasecmp(dot, ".png")) return save_png(picture, path, error, error_size);
  return save_ppm(picture, path, error, error_size);
}
