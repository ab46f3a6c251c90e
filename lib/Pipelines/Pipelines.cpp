// Registration of the pass pipelines.
#include "tilemlir/Pipelines/Pipelines.h"

void tilemlir::registerTilePipelines() { registerCPUPipeline(); }
