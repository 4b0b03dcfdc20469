/* The unit of a 3MF file, which assimp does not pass on: the attribute "unit" of the model inside of the zip archive.
 * Tests: tests/test_mesh_assimp.c. */
#ifndef ABD_SCENE_ZIP_UNIT_H
#define ABD_SCENE_ZIP_UNIT_H

/* [m]; a millimetre, the format's default, if the file does not state another one or cannot be read. */
double zip_unit_3mf(const char *path);

#endif
