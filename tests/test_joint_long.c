/* The same as tests/test_joint_contact.c at full length: forty turns of two gears, a train of 28, ten seconds of a
 * chain of a thousand links.
 * Labels: long */
#define LONG_RUN
enum {
  GEAR_TURNS = 40,
  GEAR_TEETH_A = 20,
  GEAR_TEETH_B = 32,
  GEAR_RESOLUTION = 4,
  TRAIN_GEARS = 28,
  TRAIN_STEPS = 300,
  CHAIN_LINKS = 1000,
  CHAIN_STEPS = 1000
};
#include "test_joint_contact.c"
