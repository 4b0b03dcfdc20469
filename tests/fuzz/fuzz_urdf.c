/* Any bytes as a URDF file, see fuzz_robot.h. */
#include "fuzz_robot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return fuzz_robot(data, size, ROBOT_URDF, "corpus/robot.urdf");
}
