#include "robot/tree.h"
bool mjcf_read(Robot *robot, Xml *top) { return xml_fail(top, robot->error, "MJCF is not read yet"); }
