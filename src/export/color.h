/* Colours are stored as sRGB bytes. Lighting, glTF and USD use linear values. */
#ifndef ABD_EXPORT_COLOR_H
#define ABD_EXPORT_COLOR_H

#include <math.h>

static inline double color_linear(double c) { return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4); }
static inline double color_encoded(double c) { return c <= 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1 / 2.4) - 0.055; }

#endif
