// Holds nothing yet: passes are one file each beside this one.
#include "tilemlir/Conversion/Passes.h"
